//! A native key to the official .params format.

use std::io::Write;
use std::path::Path;

use bls12_381_layout::{as_bytes, zeroed_vec};
use blstrs::{G1Affine, G2Affine};
use pipeline_stage::{Class, Lease, StageContext};
use prover_backend::BaseSource;
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use crate::atomic_file::AtomicFile;
use crate::digest::DigestState;
use crate::encoding::OfficialPoint;
use crate::native::SectionKind;
use crate::proving_key::{cancelled, check_sum};
use crate::{Digest, Progress, ProvingKey, SrsError};

/// Points that are encoded at a time.
const CHUNK: usize = 1 << 14;

/// Where exported bytes go.
type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), SrsError> + 'a;

/// Writes the key in the official .params format and returns the digest of what was written. Each section is compared with its checksum
/// on the way.
///
/// Memory: a chunk of at most 3 MiB under a permit of class `staging`. `progress` hears of each chunk.
///
/// # Errors
/// [`SrsError::Destination`] when the writer fails, [`SrsError::SectionChecksum`], memory, cancellation. What was written until then is of
/// no use.
pub fn export(
    key: &ProvingKey,
    writer: &mut dyn Write,
    progress: &mut dyn FnMut(Progress),
    context: &StageContext,
) -> Result<Digest, SrsError> {
    let digest = export_into(key, &mut |bytes| writer.write_all(bytes).map_err(SrsError::Destination), progress, context)?;
    writer.flush().map_err(SrsError::Destination)?;
    Ok(digest)
}

/// As [`export`], to a file that appears whole or not at all.
///
/// # Errors
/// [`SrsError::Io`], [`SrsError::NoSpace`], [`SrsError::SectionChecksum`], memory, cancellation.
pub fn export_to(key: &ProvingKey, target: &Path, progress: &mut dyn FnMut(Progress), context: &StageContext) -> Result<Digest, SrsError> {
    let mut file = AtomicFile::create(target)?;
    file.require_space(key.circuit().counts.official_bytes())?;
    let digest = export_into(key, &mut |bytes| file.write(bytes), progress, context)?;
    file.commit()?;
    Ok(digest)
}

fn export_into(
    key: &ProvingKey,
    sink: &mut Sink<'_>,
    progress: &mut dyn FnMut(Progress),
    context: &StageContext,
) -> Result<Digest, SrsError> {
    let mut digest = DigestState::default();
    let mut digesting = |bytes: &[u8]| {
        digest.update(bytes);
        sink(bytes)
    };
    digesting(&key.verifying_key().to_bytes())?;
    section::<G1Affine>(key, SectionKind::H, &mut digesting, progress, context)?;
    section::<G1Affine>(key, SectionKind::L, &mut digesting, progress, context)?;
    section::<G1Affine>(key, SectionKind::A, &mut digesting, progress, context)?;
    section::<G1Affine>(key, SectionKind::BG1, &mut digesting, progress, context)?;
    section::<G2Affine>(key, SectionKind::BG2, &mut digesting, progress, context)?;
    Ok(digest.finish())
}

fn section<P: OfficialPoint>(
    key: &ProvingKey,
    kind: SectionKind,
    sink: &mut Sink<'_>,
    progress: &mut dyn FnMut(Progress),
    context: &StageContext,
) -> Result<(), SrsError> {
    let section = key.section::<P>(kind);
    let entry = key.entry(kind);
    let length = section.len();
    // A section has at most 2^29 points.
    sink(&(length as u32).to_be_bytes())?;
    let chunk = length.min(CHUNK);
    let permit = context.acquire(Class::Staging, (chunk * P::BYTES) as u64)?;
    let mut encoded = Lease::try_new(permit, || zeroed_vec::<u8>(chunk * P::BYTES))?;
    let mut hash = Xxh3::new();
    let mut start = 0;
    while start < length {
        cancelled(context)?;
        let end = length.min(start + chunk);
        let points = section.points(start..end)?;
        hash.update(as_bytes(points));
        let out = &mut encoded[..points.len() * P::BYTES];
        out.par_chunks_exact_mut(P::BYTES).zip(points).with_min_len(64).for_each(|(out, point)| point.encode(out));
        sink(out)?;
        section.done_with(start..end);
        let done = entry.offset + end as u64 * entry.kind.point_bytes();
        progress(Progress { step: kind.name(), done, total: key.file_bytes() });
        start = end;
    }
    check_sum(key.path(), entry, &hash)
}

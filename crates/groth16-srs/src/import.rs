//! The official .params format to a native key, in one pass.

use std::fs::File;
use std::path::Path;

use bls12_381_layout::zeroed_vec;
use blstrs::{G1Affine, G2Affine};
use buffer_accounting::{Buffer, BufferMut, OwnedBytes};
use pipeline_stage::{Class, Lease, StageContext};
use rayon::prelude::*;

use crate::circuit::Circuit;
use crate::encoding::{OfficialPoint, Subgroup};
use crate::native::SectionKind;
use crate::official::OfficialReader;
use crate::proving_key::cancelled;
use crate::writer::NativeWriter;
use crate::{Digest, Origin, Progress, SrsError, VerifyingKey};

/// Points that are read, decoded and written at a time.
const CHUNK: usize = 1 << 14;

/// What an import checks besides lengths, canonical encoding, curve membership and infinity, which it always checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportChecks {
    /// Every point is in its subgroup; no digest is known, so the key will be [`Origin::Imported`].
    Full,
    /// Every point is in its subgroup, and the file has this digest.
    FullAndDigest(Digest),
    /// The file has this digest. The published file is known to be good, so the subgroup checks, most of the time of an import, are left
    /// out; nothing is kept of a file with another digest.
    DigestInsteadOfSubgroup(Digest),
}

impl ImportChecks {
    fn subgroup(self) -> Subgroup {
        match self {
            Self::Full | Self::FullAndDigest(_) => Subgroup::Check,
            Self::DigestInsteadOfSubgroup(_) => Subgroup::Trust,
        }
    }

    fn digest(self) -> Option<Digest> {
        match self {
            Self::Full => None,
            Self::FullAndDigest(digest) | Self::DigestInsteadOfSubgroup(digest) => Some(digest),
        }
    }
}

/// Converts an official .params file into a native key at `target`, which appears whole or not at all. Returns what the key's header says
/// of its origin.
///
/// Memory: a chunk of 16,384 points in both forms, at most 6 MiB, under a permit of class `staging`. `progress` hears of each chunk.
///
/// # Errors
/// [`SrsError::Size`] when the file has not the size that the circuit fixes, [`SrsError::Count`], [`SrsError::Truncated`],
/// [`SrsError::Point`], [`SrsError::Digest`], [`SrsError::NoSpace`], [`SrsError::Io`] of either file, memory, cancellation.
pub fn import(
    official: &Path,
    circuit: &Circuit,
    checks: ImportChecks,
    target: &Path,
    progress: &mut dyn FnMut(Progress),
    context: &StageContext,
) -> Result<Origin, SrsError> {
    let mut file = File::open(official).map_err(|e| SrsError::io("open it", official, e))?;
    let found = file.metadata().map_err(|e| SrsError::io("ask for its size", official, e))?.len();
    let expected = circuit.counts.official_bytes();
    if found != expected {
        return Err(SrsError::Size { path: official.to_owned(), what: "for this circuit", expected, found });
    }
    let mut reader = OfficialReader::new(&mut file, official);
    let mut writer = NativeWriter::create(target, circuit.clone(), progress)?;
    let mut import = Import { reader: &mut reader, writer: &mut writer, circuit, subgroup: checks.subgroup(), context };
    import.verifying_key()?;
    import.section::<G1Affine>(SectionKind::H)?;
    import.section::<G1Affine>(SectionKind::L)?;
    import.section::<G1Affine>(SectionKind::A)?;
    import.section::<G1Affine>(SectionKind::BG1)?;
    import.section::<G2Affine>(SectionKind::BG2)?;
    reader.end()?;

    let digest = reader.digest.finish();
    let origin = match checks.digest() {
        Some(expected) if expected == digest => Origin::Official { digest },
        Some(expected) => return Err(SrsError::Digest { path: official.to_owned(), expected, found: digest }),
        None => Origin::Imported { digest },
    };
    writer.commit(origin)?;
    Ok(origin)
}

/// A chunk of a section in both forms.
struct Chunk<P> {
    encoded: Vec<u8>,
    points: Vec<P>,
}

impl<P: Copy> OwnedBytes for Chunk<P> {
    fn owned_bytes(&self) -> u64 {
        self.encoded.owned_bytes() + self.points.owned_bytes()
    }
}

impl<P: Copy> Buffer for Chunk<P> {
    type Contents = Self;
    fn contents(&self) -> &Self {
        self
    }
}

impl<P: Copy> BufferMut for Chunk<P> {
    fn contents_mut(&mut self) -> &mut Self {
        self
    }
}

struct Import<'i, 'r, 'w> {
    reader: &'i mut OfficialReader<'r>,
    writer: &'i mut NativeWriter<'w>,
    circuit: &'i Circuit,
    subgroup: Subgroup,
    context: &'i StageContext,
}

impl Import<'_, '_, '_> {
    fn count(&self, what: &'static str, expected: u64, found: u64) -> Result<(), SrsError> {
        if expected == found {
            return Ok(());
        }
        let circuit = self.circuit.identity.name().to_owned();
        Err(SrsError::Count { path: self.reader.path().to_owned(), what, circuit, expected, found })
    }

    fn verifying_key(&mut self) -> Result<(), SrsError> {
        let key = VerifyingKey::read_from(self.reader)?;
        self.count("points of ic", self.circuit.counts.inputs(), key.ic.len() as u64)?;
        self.writer.verifying_key(&key)
    }

    fn section<P: OfficialPoint>(&mut self, kind: SectionKind) -> Result<(), SrsError> {
        let name = kind.name();
        let length = self.reader.length(name)?;
        self.count(name, kind.points(&self.circuit.counts), length)?;
        let length = length as usize;
        let chunk = length.min(CHUNK);
        let permit = self.context.acquire(Class::Staging, (2 * chunk * P::BYTES) as u64)?;
        let mut buffers = Lease::try_new(permit, || Chunk { encoded: zeroed_vec(chunk * P::BYTES), points: zeroed_vec::<P>(chunk) })?;
        let Chunk { encoded, points } = &mut *buffers;

        let mut start = 0;
        while start < length {
            cancelled(self.context)?;
            let n = chunk.min(length - start);
            let offset = self.reader.offset();
            let bytes = &mut encoded[..n * P::BYTES];
            self.reader.fill_undigested(name, bytes)?;
            let bytes = &*bytes;
            let (digest, subgroup, out) = (&mut self.reader.digest, self.subgroup, &mut points[..n]);
            let ((), decoded) = rayon::join(|| digest.update(bytes), || decode(bytes, out, subgroup));
            if let Err((i, fault)) = decoded {
                return Err(SrsError::Point {
                    path: self.reader.path().to_owned(),
                    section: name,
                    index: (start + i) as u64,
                    offset: offset + (i * P::BYTES) as u64,
                    fault,
                });
            }
            self.writer.append(kind, &points[..n])?;
            start += n;
        }
        Ok(())
    }
}

/// Decodes in parallel; the error is that of the first bad point.
fn decode<P: OfficialPoint>(bytes: &[u8], out: &mut [P], subgroup: Subgroup) -> Result<(), (usize, crate::PointFault)> {
    let broken =
        out.par_iter_mut().zip(bytes.par_chunks_exact(P::BYTES)).enumerate().with_min_len(64).find_map_first(|(i, (point, encoded))| {
            match P::decode(encoded, subgroup) {
                Ok(decoded) => {
                    *point = decoded;
                    None
                }
                Err(fault) => Some((i, fault)),
            }
        });
    broken.map_or(Ok(()), Err)
}

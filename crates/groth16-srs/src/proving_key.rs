//! A native proving key, mapped.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use bls12_381_layout::from_bytes;
use blstrs::{G1Affine, G2Affine};
use pipeline_stage::StageContext;
use prover_backend::BaseSource;
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use crate::circuit::Circuit;
use crate::encoding::OfficialPoint;
use crate::map::Map;
use crate::native::{Entry, HEADER_BYTES, Header, SectionKind};
use crate::{Origin, OriginPolicy, Progress, Section, SrsError, VerifyingKey};

/// Bytes that are checked between two looks at the cancellation flag.
const CHECK_BYTES: usize = 8 << 20;
/// Points that are checked between two looks at the cancellation flag.
const CHECK_POINTS: usize = 1 << 14;

/// What the header of a native proving key says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyInfo {
    /// The circuit.
    pub circuit: Circuit,
    /// Where the key comes from.
    pub origin: Origin,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// A native proving key, mapped from disk. Opening costs the same for every size; pages come as sections are read.
#[derive(Debug)]
pub struct ProvingKey {
    map: Arc<Map>,
    header: Header,
    verifying_key: VerifyingKey,
}

impl ProvingKey {
    /// Maps a key and checks what is cheap to check: magic, version, checksum of header and table, sizes, circuit, origin, and the
    /// checksums of the verifying key. Sections are trusted until [`verify_checksums`](ProvingKey::verify_checksums) is asked for.
    ///
    /// The mapped bytes are accounted as mapped memory of class `srs_section` when the context's ledger has such a budget; this may wait.
    ///
    /// # Errors
    /// [`SrsError::Io`], [`SrsError::Busy`], [`SrsError::Foreign`], [`SrsError::Version`], [`SrsError::HeaderChecksum`],
    /// [`SrsError::Header`], [`SrsError::Size`], [`SrsError::Circuit`], [`SrsError::Count`], [`SrsError::Untrusted`],
    /// [`SrsError::SectionChecksum`], memory.
    pub fn open(path: &Path, expected: &Circuit, policy: OriginPolicy, context: &StageContext) -> Result<Self, SrsError> {
        let key = Self::map(path, context)?;
        key.check_circuit(expected)?;
        let trusted = policy == OriginPolicy::Any || key.origin().is_official() || !expected.counts.is_production_size();
        if !trusted {
            return Err(SrsError::Untrusted {
                path: path.to_owned(),
                circuit: expected.identity.name().to_owned(),
                log2_domain: expected.counts.domain().log2_size(),
                origin: key.origin(),
            });
        }
        Ok(key)
    }

    /// Maps a key of whatever circuit and origin the header names, for tools that list, check and export keys. A prover uses
    /// [`open`](ProvingKey::open).
    ///
    /// # Errors
    /// As for [`open`](ProvingKey::open), without those about circuit and origin.
    pub fn open_any(path: &Path, context: &StageContext) -> Result<Self, SrsError> {
        Self::map(path, context)
    }

    /// What the header says, without mapping the file. Checks header, table and file size.
    ///
    /// # Errors
    /// As for [`open`](ProvingKey::open), without those about circuit, origin and contents.
    pub fn inspect(path: &Path) -> Result<KeyInfo, SrsError> {
        let mut file = File::open(path).map_err(|e| SrsError::io("open it", path, e))?;
        let file_bytes = file.metadata().map_err(|e| SrsError::io("ask for its size", path, e))?.len();
        let mut page = [0; HEADER_BYTES];
        match file.read_exact(&mut page) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                let expected = HEADER_BYTES as u64;
                return Err(SrsError::Size { path: path.to_owned(), what: "at least, for its header", expected, found: file_bytes });
            }
            Err(e) => return Err(SrsError::io("read it", path, e)),
        }
        let header = Header::decode(&page, path, file_bytes)?;
        Ok(KeyInfo { circuit: header.circuit, origin: header.origin, file_bytes })
    }

    fn map(path: &Path, context: &StageContext) -> Result<Self, SrsError> {
        let map = Map::open(path, HEADER_BYTES as u64, context)?;
        let mut page = [0; HEADER_BYTES];
        page.copy_from_slice(&map.bytes()[..HEADER_BYTES]);
        let header = Header::decode(&page, path, map.bytes().len() as u64)?;
        let [vk_g1, vk_g2, ..] = &header.table;
        for entry in [vk_g1, vk_g2] {
            let mut hash = Xxh3::new();
            hash.update(entry_bytes(&map, entry));
            check_sum(path, entry, &hash)?;
        }
        let verifying_key = read_verifying_key(&map, vk_g1, vk_g2)?;
        Ok(Self { map: Arc::new(map), header, verifying_key })
    }

    fn check_circuit(&self, expected: &Circuit) -> Result<(), SrsError> {
        let found = &self.header.circuit;
        if found.identity != expected.identity {
            return Err(SrsError::Circuit {
                path: self.path().to_owned(),
                expected: expected.identity.to_string(),
                found: found.identity.to_string(),
            });
        }
        let (e, f) = (&expected.counts, &found.counts);
        for (what, expected_count, found_count) in [
            ("inputs", e.inputs(), f.inputs()),
            ("auxiliary variables", e.auxiliary(), f.auxiliary()),
            ("constraints", e.constraints(), f.constraints()),
            ("variables of the A query", e.a_query(), f.a_query()),
            ("variables of the B query", e.b_query(), f.b_query()),
        ] {
            if expected_count != found_count {
                return Err(SrsError::Count {
                    path: self.path().to_owned(),
                    what,
                    circuit: expected.identity.name().to_owned(),
                    expected: expected_count,
                    found: found_count,
                });
            }
        }
        Ok(())
    }

    /// Reads the whole file and compares every section with its checksum and every padding with zero. `progress` hears of each few
    /// megabytes.
    ///
    /// # Errors
    /// [`SrsError::SectionChecksum`], [`SrsError::Padding`], [`SrsError::Cancelled`].
    pub fn verify_checksums(&self, progress: &mut dyn FnMut(Progress), context: &StageContext) -> Result<(), SrsError> {
        let total = self.header.file_bytes;
        for entry in &self.header.table {
            let mut hash = Xxh3::new();
            let end = entry.end() as usize;
            let mut at = entry.offset as usize;
            while at < end {
                cancelled(context)?;
                let next = end.min(at + CHECK_BYTES);
                self.map.will_need(at..next);
                hash.update(&self.map.bytes()[at..next]);
                self.map.done_with(at..next);
                progress(Progress { step: entry.kind.name(), done: next as u64, total });
                at = next;
            }
            check_sum(self.path(), entry, &hash)?;
            let padding = &self.map.bytes()[end..entry.padded_end() as usize];
            if let Some(i) = padding.iter().position(|b| *b != 0) {
                return Err(SrsError::Padding { path: self.path().to_owned(), offset: (end + i) as u64, found: padding[i] });
            }
        }
        Ok(())
    }

    /// Checks every point of every section: finite, on the curve, in the subgroup. Import checks this too; it is for keys that passed
    /// through untrusted hands afterwards, since checksums tell accidents, not malice.
    ///
    /// # Errors
    /// [`SrsError::Point`], [`SrsError::Cancelled`].
    pub fn verify_points(&self, progress: &mut dyn FnMut(Progress), context: &StageContext) -> Result<(), SrsError> {
        for entry in &self.header.table {
            match entry.kind {
                SectionKind::VkG2 | SectionKind::BG2 => self.verify_section::<G2Affine>(entry, progress, context)?,
                _ => self.verify_section::<G1Affine>(entry, progress, context)?,
            }
        }
        Ok(())
    }

    fn verify_section<A: OfficialPoint>(
        &self,
        entry: &Entry,
        progress: &mut dyn FnMut(Progress),
        context: &StageContext,
    ) -> Result<(), SrsError> {
        let section = Section::<A>::new(Arc::clone(&self.map), entry);
        let mut start = 0;
        while start < section.len() {
            cancelled(context)?;
            let end = section.len().min(start + CHECK_POINTS);
            let points = section.points(start..end)?;
            let broken = points.par_iter().enumerate().find_map_first(|(i, point)| point.check().err().map(|fault| (i, fault)));
            if let Some((i, fault)) = broken {
                let index = (start + i) as u64;
                return Err(SrsError::Point {
                    path: self.path().to_owned(),
                    section: entry.kind.name(),
                    index,
                    offset: entry.offset + index * entry.kind.point_bytes(),
                    fault,
                });
            }
            section.done_with(start..end);
            let done = entry.offset + end as u64 * entry.kind.point_bytes();
            progress(Progress { step: entry.kind.name(), done, total: self.header.file_bytes });
            start = end;
        }
        Ok(())
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.map.path()
    }

    /// The circuit the key belongs to.
    #[must_use]
    pub fn circuit(&self) -> &Circuit {
        &self.header.circuit
    }

    /// Where the key comes from.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.header.origin
    }

    /// Bytes of the file, and of the map.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.header.file_bytes
    }

    /// The verifying key.
    #[must_use]
    pub fn verifying_key(&self) -> &VerifyingKey {
        &self.verifying_key
    }

    pub(crate) fn entry(&self, kind: SectionKind) -> &Entry {
        // The table has one entry for each kind, in the order of the kinds.
        &self.header.table[kind as usize]
    }

    pub(crate) fn section<A: OfficialPoint>(&self, kind: SectionKind) -> Section<A> {
        Section::new(Arc::clone(&self.map), self.entry(kind))
    }

    /// h: one point for each coefficient of the quotient polynomial, τ^i·(τ^N - 1)/δ for i in 0..N - 1.
    #[must_use]
    pub fn h(&self) -> Section<G1Affine> {
        self.section(SectionKind::H)
    }

    /// l: one point for each auxiliary variable.
    #[must_use]
    pub fn l(&self) -> Section<G1Affine> {
        self.section(SectionKind::L)
    }

    /// a: one point for each input, then for each auxiliary variable that A uses.
    #[must_use]
    pub fn a(&self) -> Section<G1Affine> {
        self.section(SectionKind::A)
    }

    /// b in G1: one point for each variable that B uses, inputs first.
    #[must_use]
    pub fn b_g1(&self) -> Section<G1Affine> {
        self.section(SectionKind::BG1)
    }

    /// b in G2: as [`b_g1`](ProvingKey::b_g1).
    #[must_use]
    pub fn b_g2(&self) -> Section<G2Affine> {
        self.section(SectionKind::BG2)
    }
}

fn entry_bytes<'a>(map: &'a Map, entry: &Entry) -> &'a [u8] {
    // The header's sizes were compared with the file's.
    &map.bytes()[entry.offset as usize..entry.end() as usize]
}

pub(crate) fn check_sum(path: &Path, entry: &Entry, hash: &Xxh3) -> Result<(), SrsError> {
    let found = hash.digest128();
    if found == entry.checksum {
        return Ok(());
    }
    Err(SrsError::SectionChecksum {
        path: path.to_owned(),
        section: entry.kind.name(),
        expected: format!("{:032x}", entry.checksum),
        found: format!("{found:032x}"),
    })
}

pub(crate) fn cancelled(context: &StageContext) -> Result<(), SrsError> {
    if context.cancel().is_cancelled() { Err(SrsError::Cancelled) } else { Ok(()) }
}

fn read_verifying_key(map: &Map, vk_g1: &Entry, vk_g2: &Entry) -> Result<VerifyingKey, SrsError> {
    let wrong = |found: String| SrsError::Header {
        path: map.path().to_owned(),
        field: "the verifying key",
        expected: "points of the native format".to_owned(),
        found,
    };
    let g1 = from_bytes::<G1Affine>(entry_bytes(map, vk_g1)).map_err(|e| wrong(e.to_string()))?;
    let g2 = from_bytes::<G2Affine>(entry_bytes(map, vk_g2)).map_err(|e| wrong(e.to_string()))?;
    let (&[alpha_g1, beta_g1, delta_g1, ref ic @ ..], &[beta_g2, gamma_g2, delta_g2]) = (g1, g2) else {
        return Err(wrong(format!("{} points in G1 and {} in G2", g1.len(), g2.len())));
    };
    Ok(VerifyingKey { alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2, ic: ic.to_vec() })
}

#[cfg(test)]
mod tests {
    use pipeline_stage::StageName;

    use super::*;
    use crate::circuit::{CircuitCounts, CircuitIdentity};
    use crate::native::layout;
    use crate::{Digest, Randomness};

    /// A file with the header of a large key and holes for its sections.
    fn hollow_key(path: &Path, circuit: &Circuit, origin: Origin) {
        let (mut table, file_bytes) = layout(&circuit.counts);
        for entry in table.iter_mut().take(2) {
            let mut hash = Xxh3::new();
            hash.update(&vec![0; entry.bytes() as usize]);
            entry.checksum = hash.digest128();
        }
        let header = Header { circuit: circuit.clone(), origin, table, file_bytes };
        std::fs::write(path, header.encode()).unwrap();
        File::options().write(true).open(path).unwrap().set_len(file_bytes).unwrap();
    }

    #[test]
    fn production_size_refuses_what_nobody_vouches_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let context = StageContext::unlimited(StageName::Setup);
        let digest = Digest([1; 16]);
        // Domains of 2^24 and 2^23.
        for (constraints, production) in [(1 << 23, true), ((1 << 23) - 1, false)] {
            let counts = CircuitCounts::new(1, 10, constraints, 5, 5).unwrap();
            let circuit = Circuit { identity: CircuitIdentity::new("large", [1; 32]).unwrap(), counts };
            for origin in [
                Origin::Development(Randomness::Seeded),
                Origin::Development(Randomness::OperatingSystem),
                Origin::Imported { digest },
                Origin::Official { digest },
            ] {
                hollow_key(&path, &circuit, origin);
                let opened = ProvingKey::open(&path, &circuit, OriginPolicy::OfficialForProduction, &context);
                if production && !origin.is_official() {
                    assert!(matches!(opened, Err(SrsError::Untrusted { origin: found, .. }) if found == origin));
                } else {
                    assert_eq!(opened.unwrap().origin(), origin);
                }
                let opened = ProvingKey::open(&path, &circuit, OriginPolicy::Any, &context).unwrap();
                assert_eq!(opened.file_bytes(), ProvingKey::inspect(&path).unwrap().file_bytes);
                // Zeros are the point at infinity.
                let checked = opened.verify_points(&mut |_| {}, &context);
                assert!(matches!(checked, Err(SrsError::Point { section: "vk_g1", index: 0, .. })));
            }
        }
    }
}

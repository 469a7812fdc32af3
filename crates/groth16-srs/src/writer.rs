//! Writing a native proving key, section by section.

use std::path::Path;

use bls12_381_layout::{Affine, as_bytes};
use blstrs::{G1Affine, G2Affine};
use xxhash_rust::xxh3::Xxh3;

use crate::atomic_file::AtomicFile;
use crate::circuit::Circuit;
use crate::native::{Entry, HEADER_BYTES, Header, PAGE, SectionKind, layout};
use crate::{Origin, PointFault, Progress, SrsError, VerifyingKey};

/// Writes the sections of one key in order; the header comes last, so a file is never whole before all of it is.
pub(crate) struct NativeWriter<'a> {
    file: AtomicFile,
    circuit: Circuit,
    table: [Entry; 7],
    file_bytes: u64,
    section: usize,
    written: u64,
    hash: Xxh3,
    progress: &'a mut dyn FnMut(Progress),
}

impl<'a> NativeWriter<'a> {
    /// A new key of this circuit under a temporary name beside `target`.
    pub(crate) fn create(target: &Path, circuit: Circuit, progress: &'a mut dyn FnMut(Progress)) -> Result<Self, SrsError> {
        let (table, file_bytes) = layout(&circuit.counts);
        let mut file = AtomicFile::create(target)?;
        file.require_space(file_bytes)?;
        file.write(&[0; HEADER_BYTES])?;
        Ok(Self { file, circuit, table, file_bytes, section: 0, written: 0, hash: Xxh3::new(), progress })
    }

    /// Writes both sections of the verifying key.
    pub(crate) fn verifying_key(&mut self, key: &VerifyingKey) -> Result<(), SrsError> {
        let mut g1: Vec<G1Affine> = Vec::with_capacity(3 + key.ic.len());
        g1.extend([key.alpha_g1, key.beta_g1, key.delta_g1]);
        g1.extend(&key.ic);
        self.append(SectionKind::VkG1, &g1)?;
        let g2: [G2Affine; 3] = [key.beta_g2, key.gamma_g2, key.delta_g2];
        self.append(SectionKind::VkG2, &g2)
    }

    /// Appends points to the section in work, which must be `kind`; a full section is closed.
    pub(crate) fn append<A: Affine>(&mut self, kind: SectionKind, points: &[A]) -> Result<(), SrsError> {
        self.close_full_sections()?;
        let found = self.written + points.len() as u64;
        match self.table.get(self.section) {
            Some(entry) if entry.kind == kind && found <= entry.points => {}
            other => {
                return Err(SrsError::Count {
                    path: self.file.target().to_owned(),
                    what: kind.name(),
                    circuit: self.circuit.identity.name().to_owned(),
                    expected: other.filter(|e| e.kind == kind).map_or(0, |e| e.points),
                    found,
                });
            }
        }
        let bytes = as_bytes(points);
        self.hash.update(bytes);
        self.file.write(bytes)?;
        self.written = found;
        let done = self.table.get(self.section).map_or(0, |e| e.offset + found * kind.point_bytes());
        (self.progress)(Progress { step: kind.name(), done, total: self.file_bytes });
        self.close_full_sections()
    }

    /// The error for a point that cannot be in a section.
    pub(crate) fn point_fault(&self, kind: SectionKind, index: u64, fault: PointFault) -> SrsError {
        let offset = self.table[kind as usize].offset + index * kind.point_bytes();
        SrsError::Point { path: self.file.target().to_owned(), section: kind.name(), index, offset, fault }
    }

    /// Closes the section in work, and empty ones after it, when they have all their points.
    fn close_full_sections(&mut self) -> Result<(), SrsError> {
        while let Some(entry) = self.table.get_mut(self.section) {
            if self.written < entry.points {
                break;
            }
            entry.checksum = self.hash.digest128();
            let padding = [0u8; PAGE as usize];
            self.file.write(&padding[..(entry.padded_end() - entry.end()) as usize])?;
            self.section += 1;
            self.written = 0;
            self.hash = Xxh3::new();
        }
        Ok(())
    }

    /// Writes the header and gives the file its name.
    pub(crate) fn commit(mut self, origin: Origin) -> Result<(), SrsError> {
        self.close_full_sections()?;
        if let Some(entry) = self.table.get(self.section) {
            return Err(SrsError::Count {
                path: self.file.target().to_owned(),
                what: entry.kind.name(),
                circuit: self.circuit.identity.name().to_owned(),
                expected: entry.points,
                found: self.written,
            });
        }
        let header = Header { circuit: self.circuit, origin, table: self.table, file_bytes: self.file_bytes };
        self.file.seek(0)?;
        self.file.write(&header.encode())?;
        self.file.commit()
    }
}

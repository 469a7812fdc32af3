//! Reading the official format piece by piece.

use std::io::Read;
use std::path::Path;

use crate::SrsError;
use crate::digest::DigestState;
use crate::encoding::{OfficialPoint, Subgroup};

/// A reader that knows where it is and whose file it reads.
pub(crate) struct OfficialReader<'a> {
    inner: &'a mut dyn Read,
    path: &'a Path,
    offset: u64,
    /// Digest of what the caller has fed it; [`fill`](OfficialReader::fill) feeds it, [`fill_undigested`](OfficialReader::fill_undigested)
    /// does not, so that a caller can digest and decode a chunk side by side.
    pub(crate) digest: DigestState,
}

impl<'a> OfficialReader<'a> {
    pub(crate) fn new(inner: &'a mut dyn Read, path: &'a Path) -> Self {
        Self { inner, path, offset: 0, digest: DigestState::default() }
    }

    /// The file, for errors.
    pub(crate) fn path(&self) -> &'a Path {
        self.path
    }

    /// Bytes read so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Exactly as many bytes as fit.
    pub(crate) fn fill(&mut self, section: &'static str, out: &mut [u8]) -> Result<(), SrsError> {
        self.fill_undigested(section, out)?;
        self.digest.update(out);
        Ok(())
    }

    /// As [`fill`](OfficialReader::fill), leaving the digest to the caller.
    pub(crate) fn fill_undigested(&mut self, section: &'static str, out: &mut [u8]) -> Result<(), SrsError> {
        match self.inner.read_exact(out) {
            Ok(()) => {
                self.offset += out.len() as u64;
                Ok(())
            }
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(SrsError::Truncated { path: self.path.to_owned(), section, offset: self.offset })
            }
            Err(e) => Err(SrsError::io("read it", self.path, e)),
        }
    }

    /// A big-endian length.
    pub(crate) fn length(&mut self, section: &'static str) -> Result<u64, SrsError> {
        let mut bytes = [0; 4];
        self.fill(section, &mut bytes)?;
        Ok(u64::from(u32::from_be_bytes(bytes)))
    }

    /// One point.
    pub(crate) fn point<P: OfficialPoint>(&mut self, section: &'static str, index: u64) -> Result<P, SrsError> {
        let mut bytes = [0; 192];
        let encoded = &mut bytes[..P::BYTES];
        let offset = self.offset;
        self.fill(section, encoded)?;
        P::decode(encoded, Subgroup::Check).map_err(|fault| SrsError::Point { path: self.path.to_owned(), section, index, offset, fault })
    }

    /// Fails when there is anything left.
    pub(crate) fn end(&mut self) -> Result<(), SrsError> {
        let mut byte = [0];
        loop {
            match self.inner.read(&mut byte) {
                Ok(0) => return Ok(()),
                Ok(_) => {
                    return Err(SrsError::Size {
                        path: self.path.to_owned(),
                        what: "the end of its last section; at least one more byte follows",
                        expected: self.offset,
                        found: self.offset + 1,
                    });
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(SrsError::io("read it", self.path, e)),
            }
        }
    }
}

//! Where the bytes of a document come from.

use std::io::{ErrorKind, Read};

use crate::C1Error;

/// A stream of bytes. The lexer asks for at least a few kilobytes at a time.
pub(crate) trait Source {
    /// Writes the next bytes to the front of `out`; 0 means the end.
    fn fill(&mut self, out: &mut [u8]) -> Result<usize, C1Error>;
}

/// Bytes in memory. They are copied through the lexer's window, which costs little and keeps one lexer for every source.
pub(crate) struct SliceSource<'a>(pub(crate) &'a [u8]);

impl Source for SliceSource<'_> {
    fn fill(&mut self, out: &mut [u8]) -> Result<usize, C1Error> {
        let (now, later) = self.0.split_at(self.0.len().min(out.len()));
        out[..now.len()].copy_from_slice(now);
        self.0 = later;
        Ok(now.len())
    }
}

/// A reader, of which no more than `limit` bytes are accepted.
pub(crate) struct ReaderSource<R> {
    reader: R,
    read: u64,
    limit: u64,
}

impl<R: Read> ReaderSource<R> {
    pub(crate) fn new(reader: R, limit: u64) -> Self {
        Self { reader, read: 0, limit }
    }
}

impl<R: Read> Source for ReaderSource<R> {
    fn fill(&mut self, out: &mut [u8]) -> Result<usize, C1Error> {
        loop {
            match self.reader.read(out) {
                Ok(count) => {
                    self.read += count as u64;
                    if self.read > self.limit {
                        return Err(C1Error::TooLarge { limit: self.limit, found: self.read, at_least: true });
                    }
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(C1Error::Read { offset: self.read, source }),
            }
        }
    }
}

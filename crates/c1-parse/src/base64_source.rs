//! The document inside a wrapper's string, decoded as it is read.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use base64::{DecodeError, DecodeSliceError};

use crate::C1Error;
use crate::lexer::Lexer;
use crate::source::Source;

/// Reads base64 characters from the string that `outer` is inside of, up to and including its closing quote.
pub(crate) struct Base64Source<'o, 's> {
    outer: &'o mut Lexer<'s>,
    /// Characters that were taken and not decoded: the last four may hold the padding, so they wait for the closing quote.
    pending: [u8; 4],
    pending_len: usize,
    /// Offset of `pending[0]` in the outer document.
    pending_offset: u64,
    finished: bool,
}

impl<'o, 's> Base64Source<'o, 's> {
    /// `outer` stands behind the opening quote.
    pub(crate) fn new(outer: &'o mut Lexer<'s>) -> Self {
        Self { outer, pending: [0; 4], pending_len: 0, pending_offset: 0, finished: false }
    }

    /// Decodes whole groups of four that lie in the outer window, except for the last group.
    fn bulk(&mut self, out: &mut [u8]) -> Result<usize, C1Error> {
        let offset = self.outer.offset();
        let visible = self.outer.visible()?;
        let most = visible.len().min(out.len() / 3 * 4 + 1);
        let run = visible[..most].iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(most);
        let taken = run.saturating_sub(1) / 4 * 4;
        if taken == 0 {
            return Ok(0);
        }
        match STANDARD_NO_PAD.decode_slice(&visible[..taken], out) {
            Ok(written) => {
                self.outer.bump(taken);
                Ok(written)
            }
            Err(error) => {
                let padding = padding_at(&visible[..taken]);
                Err(self.bad(offset, padding, &error))
            }
        }
    }

    /// Decodes the pending characters.
    fn flush(&mut self, last: bool, out: &mut [u8]) -> Result<usize, C1Error> {
        let group = &self.pending[..self.pending_len];
        // Only the last group may be padded, and it must be if it is short.
        let result = if last { STANDARD.decode_slice(group, out) } else { STANDARD_NO_PAD.decode_slice(group, out) };
        let written = result.map_err(|error| self.bad(self.pending_offset, padding_at(group), &error))?;
        self.pending_len = 0;
        Ok(written)
    }

    /// The next character of the string; `None` at its end, whose quote is consumed.
    fn character(&mut self) -> Result<Option<u8>, C1Error> {
        let offset = self.outer.offset();
        let Some(byte) = self.outer.peek()? else { return Err(self.outer.unexpected_end("the rest of the base64 string")) };
        self.outer.bump(1);
        let character = match byte {
            b'"' => return Ok(None),
            b'\\' => self.outer.escape()?,
            _ => char::from(byte),
        };
        match u8::try_from(character) {
            Ok(byte) if byte.is_ascii() => Ok(Some(byte)),
            _ => {
                let found = format!("a character outside its alphabet (U+{:04X})", u32::from(character));
                Err(C1Error::Base64 { at: self.outer.at(offset), found })
            }
        }
    }

    fn bad(&self, offset: u64, padding: usize, error: &DecodeSliceError) -> C1Error {
        let (skip, found) = match error {
            DecodeSliceError::DecodeError(DecodeError::InvalidByte(at, byte)) => {
                (*at, format!("a character outside its alphabet (0x{byte:02x})"))
            }
            DecodeSliceError::DecodeError(DecodeError::InvalidLength(_)) => (0, "an incomplete last group".to_owned()),
            DecodeSliceError::DecodeError(DecodeError::InvalidLastSymbol(at, _)) => (*at, "stray bits in the last group".to_owned()),
            DecodeSliceError::DecodeError(DecodeError::InvalidPadding) => (padding, "wrong padding".to_owned()),
            DecodeSliceError::OutputSliceTooSmall => (0, "more than a group of four characters holds".to_owned()),
        };
        C1Error::Base64 { at: self.outer.at(offset + skip as u64), found }
    }
}

/// Where the padding starts, or would.
fn padding_at(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'=').unwrap_or(text.len())
}

impl Source for Base64Source<'_, '_> {
    fn fill(&mut self, out: &mut [u8]) -> Result<usize, C1Error> {
        let mut written = 0;
        while !self.finished && out.len() - written >= 3 {
            if self.pending_len == 0 {
                let bulk = self.bulk(&mut out[written..])?;
                if bulk > 0 {
                    written += bulk;
                    continue;
                }
                self.pending_offset = self.outer.offset();
            }
            if self.pending_len == 4 && !matches!(self.outer.peek()?, None | Some(b'"')) {
                written += self.flush(false, &mut out[written..])?;
                continue;
            }
            match self.character()? {
                Some(character) => {
                    self.pending[self.pending_len] = character;
                    self.pending_len += 1;
                }
                None => {
                    written += self.flush(true, &mut out[written..])?;
                    self.finished = true;
                }
            }
        }
        Ok(written)
    }
}

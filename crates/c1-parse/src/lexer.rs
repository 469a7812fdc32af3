//! Tokens of one JSON document, read through a window of fixed size, with the path and the offset of where reading is.

use std::fmt::Write;

use pipeline_stage::Cancel;

use crate::source::Source;
use crate::{C1Error, Digest, Document, Limits, Location};

/// Bytes in memory of a document at any time.
pub(crate) const WINDOW_BYTES: usize = 64 << 10;
/// Longest digest without white space: 32 numbers of 3 digits, 31 commas, 2 brackets.
const DIGEST_TEXT_MAX: usize = 129;

/// The BLS12-381 scalar modulus, least significant limb first.
const MODULUS: [u64; 4] = [0xffff_ffff_0000_0001, 0x53bd_a402_fffe_5bfe, 0x3339_d808_09a1_d805, 0x73ed_a753_299d_7d48];

/// One step of a JSON path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Key(&'static str),
    Index(usize),
}

pub(crate) struct Lexer<'s> {
    source: &'s mut (dyn Source + 's),
    document: Document,
    window: Box<[u8]>,
    start: usize,
    end: usize,
    /// Offset of `window[0]` in the document.
    base: u64,
    pub(crate) path: Vec<Step>,
    /// The string that was read last.
    pub(crate) text: String,
    bytes: Vec<u8>,
    pub(crate) limits: Limits,
    pub(crate) ignored_fields: u64,
    pub(crate) ignored_bytes: u64,
    cancel: Cancel,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s mut (dyn Source + 's), document: Document, limits: &Limits, cancel: &Cancel) -> Self {
        Self {
            source,
            document,
            window: vec![0; WINDOW_BYTES].into_boxed_slice(),
            start: 0,
            end: 0,
            base: 0,
            path: Vec::with_capacity(24),
            text: String::new(),
            bytes: Vec::new(),
            limits: *limits,
            ignored_fields: 0,
            ignored_bytes: 0,
            cancel: cancel.clone(),
        }
    }

    /// Bytes consumed so far.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Moves what is left to the front of the window and reads more behind it; `false` at the end of the document.
    #[cold]
    fn refill(&mut self) -> Result<bool, C1Error> {
        if self.cancel.is_cancelled() {
            return Err(C1Error::Cancelled { offset: self.offset() });
        }
        self.window.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        let count = self.source.fill(&mut self.window[self.end..])?;
        self.end += count;
        Ok(count > 0)
    }

    /// The next byte, which stays.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, C1Error> {
        if self.start == self.end && !self.refill()? {
            return Ok(None);
        }
        Ok(Some(self.window[self.start]))
    }

    /// Consumes `count` bytes that were seen.
    #[inline]
    pub(crate) fn bump(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    /// The bytes that can be seen without reading more; empty only at the end of the document.
    pub(crate) fn visible(&mut self) -> Result<&[u8], C1Error> {
        self.peek()?;
        Ok(&self.window[self.start..self.end])
    }

    /// The next byte that is not white space, which stays; `None` at the end.
    #[inline]
    pub(crate) fn token_or_end(&mut self) -> Result<Option<u8>, C1Error> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.start += 1,
                other => return Ok(other),
            }
        }
    }

    /// The next byte that is not white space, which stays.
    #[inline]
    pub(crate) fn token(&mut self, expected: &'static str) -> Result<u8, C1Error> {
        match self.token_or_end()? {
            Some(byte) => Ok(byte),
            None => Err(self.unexpected_end(expected)),
        }
    }

    /// Consumes `byte`, after white space.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), C1Error> {
        if self.token(expected)? == byte {
            self.start += 1;
            Ok(())
        } else {
            Err(self.syntax(expected))
        }
    }

    /// Nothing but white space may follow.
    pub(crate) fn finish(&mut self) -> Result<(), C1Error> {
        match self.token_or_end()? {
            None => Ok(()),
            Some(byte) => Err(C1Error::TrailingData { at: self.here(), found: describe(byte) }),
        }
    }

    // Numbers and digests.

    /// An unsigned decimal integer without fraction or exponent.
    pub(crate) fn unsigned(&mut self) -> Result<u64, C1Error> {
        const EXPECTED: &str = "an unsigned 64-bit integer";
        let first = self.token(EXPECTED)?;
        let offset = self.offset();
        let mut value = 0u64;
        let mut digits = 0u32;
        let mut fits = true;
        while let Some(byte @ b'0'..=b'9') = self.peek()? {
            let next = value.checked_mul(10).and_then(|value| value.checked_add(u64::from(byte - b'0')));
            fits &= next.is_some();
            value = next.unwrap_or(u64::MAX);
            digits = digits.saturating_add(1);
            self.start += 1;
        }
        let found = match self.peek()? {
            _ if digits == 0 => describe(first),
            _ if digits > 1 && first == b'0' => "a number with a leading zero".to_owned(),
            Some(b'.' | b'e' | b'E') => "a fraction".to_owned(),
            _ if !fits => "a larger number".to_owned(),
            _ => return Ok(value),
        };
        Err(C1Error::Syntax { at: self.at(offset), expected: EXPECTED, found })
    }

    /// 32 raw bytes.
    pub(crate) fn digest(&mut self) -> Result<Digest, C1Error> {
        if self.end - self.start < DIGEST_TEXT_MAX {
            self.refill()?;
        }
        if let Some((digest, length)) = dense_digest(&self.window[self.start..self.end]) {
            self.start += length;
            return Ok(digest);
        }
        let mut digest = [0; 32];
        self.array("bytes", 32, |lexer, i| {
            let found = lexer.unsigned()?;
            digest[i] = u8::try_from(found).map_err(|_| lexer.out_of_range("a byte", 256, found))?;
            Ok(())
        })?;
        Ok(digest)
    }

    /// 32 bytes that are a canonical field element, least significant byte first.
    pub(crate) fn field_element(&mut self) -> Result<Digest, C1Error> {
        self.token("an array of 32 bytes")?;
        let offset = self.offset();
        let digest = self.digest()?;
        if is_canonical(&digest) {
            return Ok(digest);
        }
        let mut found = String::with_capacity(64);
        for byte in digest {
            // Writing to a String cannot fail.
            let _ = write!(found, "{byte:02x}");
        }
        Err(C1Error::NotCanonical { at: self.at(offset), found })
    }

    // Strings.

    /// Reads a string into `self.text`.
    pub(crate) fn string(&mut self) -> Result<(), C1Error> {
        self.expect(b'"', "a string")?;
        let offset = self.offset();
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        loop {
            let Some(byte) = self.peek()? else { return Err(self.unexpected_end("the end of a string")) };
            match byte {
                b'"' => {
                    self.start += 1;
                    break;
                }
                b'\\' => {
                    self.start += 1;
                    let character = self.escape()?;
                    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                0..=0x1f => return Err(self.syntax("a string without control characters")),
                _ => {
                    bytes.push(byte);
                    self.start += 1;
                }
            }
            if bytes.len() > self.limits.max_string_bytes {
                return Err(self.limit("max_string_bytes", self.limits.max_string_bytes as u64));
            }
        }
        self.text.clear();
        match std::str::from_utf8(&bytes) {
            Ok(text) => self.text.push_str(text),
            Err(error) => {
                let at = self.at(offset);
                return Err(C1Error::Syntax { at, expected: "UTF-8", found: format!("{error}") });
            }
        }
        self.bytes = bytes;
        Ok(())
    }

    /// The character that an escape stands for; the backslash is consumed already.
    pub(crate) fn escape(&mut self) -> Result<char, C1Error> {
        const EXPECTED: &str = "an escape sequence";
        let Some(byte) = self.peek()? else { return Err(self.unexpected_end(EXPECTED)) };
        let character = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.start += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.syntax(EXPECTED)),
        };
        self.start += 1;
        Ok(character)
    }

    fn unicode_escape(&mut self) -> Result<char, C1Error> {
        let offset = self.offset();
        let first = self.hex4()?;
        let code = if (0xd800..0xdc00).contains(&first) {
            for byte in [b'\\', b'u'] {
                match self.peek()? {
                    Some(found) if found == byte => self.start += 1,
                    Some(_) => return Err(self.syntax("the second half of a surrogate pair")),
                    None => return Err(self.unexpected_end("the second half of a surrogate pair")),
                }
            }
            let second = self.hex4()?;
            match second.checked_sub(0xdc00) {
                Some(low) if low < 0x400 => 0x1_0000 + ((first - 0xd800) << 10) + low,
                _ => second,
            }
        } else {
            first
        };
        // A lone or mismatched surrogate is not a character.
        let character = if (0xd800..0xdc00).contains(&first) && code < 0x1_0000 { None } else { char::from_u32(code) };
        character.ok_or_else(|| C1Error::Syntax {
            at: self.at(offset),
            expected: "a Unicode character",
            found: "a lone surrogate".to_owned(),
        })
    }

    fn hex4(&mut self) -> Result<u32, C1Error> {
        const EXPECTED: &str = "four hexadecimal digits";
        let mut value = 0;
        for _ in 0..4 {
            let Some(byte) = self.peek()? else { return Err(self.unexpected_end(EXPECTED)) };
            let Some(digit) = char::from(byte).to_digit(16) else { return Err(self.syntax(EXPECTED)) };
            value = value * 16 + digit;
            self.start += 1;
        }
        Ok(value)
    }

    // Errors.

    /// The place of the next byte.
    pub(crate) fn here(&self) -> Box<Location> {
        self.at(self.offset())
    }

    /// The place at an offset.
    pub(crate) fn at(&self, offset: u64) -> Box<Location> {
        self.below(offset, &[])
    }

    /// A place below the current path.
    pub(crate) fn below(&self, offset: u64, steps: &[Step]) -> Box<Location> {
        let mut path = String::from("$");
        for step in self.path.iter().chain(steps) {
            // Writing to a String cannot fail.
            let _ = match step {
                Step::Key(key) => write!(path, ".{key}"),
                Step::Index(index) => write!(path, "[{index}]"),
            };
        }
        Box::new(Location { path, document: self.document, offset })
    }

    /// The next byte is not what the format has here.
    #[cold]
    pub(crate) fn syntax(&mut self, expected: &'static str) -> C1Error {
        let byte = match self.peek() {
            Ok(Some(byte)) => byte,
            Ok(None) => return self.unexpected_end(expected),
            Err(error) => return error,
        };
        C1Error::Syntax { at: self.here(), expected, found: describe(byte) }
    }

    #[cold]
    pub(crate) fn unexpected_end(&self, expected: &'static str) -> C1Error {
        C1Error::UnexpectedEnd { at: self.here(), expected }
    }

    #[cold]
    pub(crate) fn limit(&self, limit: &'static str, max: u64) -> C1Error {
        C1Error::Limit { at: self.here(), limit, max }
    }

    #[cold]
    pub(crate) fn out_of_range(&self, what: &'static str, limit: u64, found: u64) -> C1Error {
        C1Error::OutOfRange { at: self.here(), what, limit, found }
    }
}

/// What a value that starts with this byte is.
pub(crate) fn describe(byte: u8) -> String {
    match byte {
        b'"' => "a string".to_owned(),
        b'{' => "an object".to_owned(),
        b'[' => "an array".to_owned(),
        b'-' => "a negative number".to_owned(),
        b'0'..=b'9' => "a number".to_owned(),
        b't' | b'f' => "a boolean".to_owned(),
        b'n' => "null".to_owned(),
        0x21..=0x7e => format!("`{}`", char::from(byte)),
        _ => format!("the byte 0x{byte:02x}"),
    }
}

/// A digest without white space at the front of `text`, and its length; `None` for anything unusual, which the slow way reads or refuses.
#[inline]
fn dense_digest(text: &[u8]) -> Option<(Digest, usize)> {
    if text.len() < DIGEST_TEXT_MAX || text[0] != b'[' {
        return None;
    }
    let text = &text[..DIGEST_TEXT_MAX];
    let mut digest = [0u8; 32];
    let mut at = 1;
    for (i, out) in digest.iter_mut().enumerate() {
        let mut value = u32::from(text.get(at)?.wrapping_sub(b'0'));
        if value > 9 {
            return None;
        }
        at += 1;
        for _ in 0..2 {
            let digit = u32::from(text.get(at)?.wrapping_sub(b'0'));
            if digit > 9 {
                break;
            }
            if value == 0 {
                return None;
            }
            value = value * 10 + digit;
            at += 1;
        }
        *out = u8::try_from(value).ok()?;
        if *text.get(at)? != if i == 31 { b']' } else { b',' } {
            return None;
        }
        at += 1;
    }
    Some((digest, at))
}

/// Whether 32 little-endian bytes are below the modulus.
pub(crate) fn is_canonical(digest: &Digest) -> bool {
    let (limbs, _) = digest.as_chunks::<8>();
    for (limb, modulus) in limbs.iter().zip(&MODULUS).rev() {
        let limb = u64::from_le_bytes(*limb);
        if limb != *modulus {
            return limb < *modulus;
        }
    }
    false
}

//! Objects, arrays and ignored values: the shapes of JSON on top of the lexer's tokens.

use crate::C1Error;
use crate::lexer::{Lexer, Step};

impl Lexer<'_> {
    fn check_depth(&self, extra: usize) -> Result<(), C1Error> {
        if self.path.len() + extra >= self.limits.max_depth {
            return Err(self.limit("max_depth", self.limits.max_depth as u64));
        }
        Ok(())
    }

    /// An object. `each` reads the value of the field `names[i]`; fields may come in any order and not twice. Others are skipped within the limits.
    pub(crate) fn object(
        &mut self,
        names: &'static [&'static str],
        mut each: impl FnMut(&mut Self, usize) -> Result<(), C1Error>,
    ) -> Result<(), C1Error> {
        debug_assert!(names.len() <= 32);
        self.check_depth(0)?;
        self.expect(b'{', "an object")?;
        let mut seen = 0u32;
        if self.token("a field name or `}`")? == b'}' {
            self.bump(1);
            return Ok(());
        }
        loop {
            self.key()?;
            match names.iter().position(|name| *name == self.text) {
                Some(field) => {
                    self.path.push(Step::Key(names[field]));
                    if seen & (1 << field) != 0 {
                        return Err(C1Error::DuplicateField { at: self.here() });
                    }
                    seen |= 1 << field;
                    each(self, field)?;
                    self.path.pop();
                }
                None => self.ignore_field()?,
            }
            if self.another(b'}', "`,` or `}`")? {
                continue;
            }
            return Ok(());
        }
    }

    /// An object with exactly one field, which names the variant of an enum.
    pub(crate) fn variant<T>(
        &mut self,
        names: &'static [&'static str],
        each: impl FnOnce(&mut Self, usize) -> Result<T, C1Error>,
    ) -> Result<T, C1Error> {
        self.check_depth(0)?;
        self.expect(b'{', "an object")?;
        self.token("a field name")?;
        let offset = self.offset();
        self.key()?;
        let Some(variant) = names.iter().position(|name| *name == self.text) else {
            return Err(C1Error::UnknownName { at: self.at(offset), expected: names.join(", "), found: self.text.clone() });
        };
        self.path.push(Step::Key(names[variant]));
        let value = each(self, variant)?;
        self.path.pop();
        self.expect(b'}', "`}` after the only field")?;
        Ok(value)
    }

    /// An array of exactly `count` items.
    pub(crate) fn array(
        &mut self,
        what: &'static str,
        count: usize,
        each: impl FnMut(&mut Self, usize) -> Result<(), C1Error>,
    ) -> Result<(), C1Error> {
        self.list(what, count, count, each).map(|_| ())
    }

    /// An array of at least `least` and at most `most` items; gives their number.
    pub(crate) fn list(
        &mut self,
        what: &'static str,
        least: usize,
        most: usize,
        mut each: impl FnMut(&mut Self, usize) -> Result<(), C1Error>,
    ) -> Result<usize, C1Error> {
        self.check_depth(0)?;
        self.expect(b'[', "an array")?;
        let count = |at, expected: usize, found: usize| C1Error::Count { at, what, expected: expected as u64, found: found as u64 };
        let mut items = 0;
        if self.token("an item or `]`")? == b']' {
            self.bump(1);
        } else {
            loop {
                if items == most {
                    return Err(count(self.here(), most, items + 1));
                }
                self.path.push(Step::Index(items));
                each(self, items)?;
                self.path.pop();
                items += 1;
                if !self.another(b']', "`,` or `]`")? {
                    break;
                }
            }
        }
        if items < least {
            return Err(count(self.here(), least, items));
        }
        Ok(items)
    }

    /// The value of a field, or the error that it is missing from the object that was just read.
    pub(crate) fn require<T>(&self, value: Option<T>, field: &'static str) -> Result<T, C1Error> {
        value.ok_or_else(|| C1Error::MissingField { at: self.here(), field })
    }

    /// Consumes `null`.
    pub(crate) fn null(&mut self) -> Result<(), C1Error> {
        self.token("null")?;
        self.literal(b"null")
    }

    /// Consumes a name and its colon; the name is in `self.text`.
    fn key(&mut self) -> Result<(), C1Error> {
        if self.token("a field name")? != b'"' {
            return Err(self.syntax("a field name"));
        }
        self.string()?;
        self.expect(b':', "`:`")
    }

    /// Consumes a comma (`true`) or the closing bracket (`false`).
    #[inline]
    fn another(&mut self, close: u8, expected: &'static str) -> Result<bool, C1Error> {
        match self.token(expected)? {
            b',' => {
                self.bump(1);
                Ok(true)
            }
            byte if byte == close => {
                self.bump(1);
                Ok(false)
            }
            _ => Err(self.syntax(expected)),
        }
    }

    /// Skips the value of an unknown field. The grammar is checked, nothing is kept.
    fn ignore_field(&mut self) -> Result<(), C1Error> {
        self.ignored_fields += 1;
        if self.ignored_fields > self.limits.max_ignored_fields {
            return Err(self.limit("max_ignored_fields", self.limits.max_ignored_fields));
        }
        let from = self.offset();
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.check_ignored(from)?;
            match self.token("a value")? {
                bracket @ (b'{' | b'[') => {
                    self.check_depth(open.len())?;
                    self.bump(1);
                    // The closing bracket is two characters on in ASCII, for both kinds.
                    let close = bracket + 2;
                    if self.token("a value or a closing bracket")? == close {
                        self.bump(1);
                    } else {
                        open.push(close);
                        if close == b'}' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                _ => return Err(self.syntax("a value")),
            }
            loop {
                self.check_ignored(from)?;
                let Some(&close) = open.last() else {
                    self.ignored_bytes += self.offset() - from;
                    return Ok(());
                };
                if self.another(close, "`,` or a closing bracket")? {
                    if close == b'}' {
                        self.key()?;
                    }
                    break;
                }
                open.pop();
            }
        }
    }

    fn check_ignored(&self, from: u64) -> Result<(), C1Error> {
        if self.ignored_bytes + (self.offset() - from) > self.limits.max_ignored_bytes {
            return Err(self.limit("max_ignored_bytes", self.limits.max_ignored_bytes));
        }
        Ok(())
    }

    fn literal(&mut self, word: &'static [u8]) -> Result<(), C1Error> {
        for expected in word {
            if self.peek()? != Some(*expected) {
                return Err(self.syntax("true, false or null"));
            }
            self.bump(1);
        }
        Ok(())
    }

    /// Any JSON number.
    fn number(&mut self) -> Result<(), C1Error> {
        if self.peek()? == Some(b'-') {
            self.bump(1);
        }
        if self.peek()? == Some(b'0') {
            self.bump(1);
        } else {
            self.digits()?;
        }
        if self.peek()? == Some(b'.') {
            self.bump(1);
            self.digits()?;
        }
        if matches!(self.peek()?, Some(b'e' | b'E')) {
            self.bump(1);
            if matches!(self.peek()?, Some(b'+' | b'-')) {
                self.bump(1);
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), C1Error> {
        if !matches!(self.peek()?, Some(b'0'..=b'9')) {
            return Err(self.syntax("a digit"));
        }
        while matches!(self.peek()?, Some(b'0'..=b'9')) {
            self.bump(1);
        }
        Ok(())
    }
}

//! Variable-length integers: seven bits a byte, least significant first, the high bit marks a continuation (LEB128).

/// Appends a number.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads numbers off a slice; never past its end.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next number. `None` past the end or for a number of more than 63 bits.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<u64> {
        let first = *self.bytes.get(self.at)?;
        self.at += 1;
        if first < 0x80 {
            return Some(u64::from(first));
        }
        self.continued(first)
    }

    #[inline]
    fn continued(&mut self, first: u8) -> Option<u64> {
        let mut value = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
            if shift > 56 {
                return None;
            }
        }
    }

    /// True when everything was read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }
}

/// Signed to unsigned, small absolute values to small numbers.
#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_put_is_read(values in prop::collection::vec(0u64..1 << 63, 0..100), signed in any::<i64>()) {
            let mut bytes = Vec::new();
            for value in &values {
                put(&mut bytes, *value);
            }
            let mut reader = Reader::new(&bytes);
            for value in &values {
                prop_assert_eq!(reader.next(), Some(*value));
            }
            prop_assert!(reader.is_at_end());
            prop_assert_eq!(reader.next(), None);
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }
    }

    #[test]
    fn endless_continuations_are_refused() {
        assert_eq!(Reader::new(&[0xff; 20]).next(), None);
        assert_eq!(Reader::new(&[0x80]).next(), None);
    }
}

//! Blocks of rows: how the terms of one matrix are written and read.
//!
//! A row is its number of terms, then for each term the variable and the number of its coefficient, all variable-length integers. The
//! variable is `2·i + 1` for input i; for an auxiliary variable it is twice the zigzag of the distance from the last auxiliary variable of
//! the block (zero at its start). Circuits use variables soon after they allocate them, so most distances take one byte.

use crate::varint::{Reader, put, unzigzag, zigzag};

/// Rows of one block.
pub(crate) const BLOCK_ROWS: usize = 1 << 12;

/// A variable as constraints name it: the number of inputs is not known before synthesis ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Input(u64),
    Auxiliary(u64),
}

/// Writes the rows of one matrix of one block.
#[derive(Default)]
pub(crate) struct RowWriter {
    bytes: Vec<u8>,
    last: u64,
}

impl RowWriter {
    pub(crate) fn begin_row(&mut self, terms: u64) {
        put(&mut self.bytes, terms);
    }

    #[inline]
    pub(crate) fn term(&mut self, variable: Variable, coefficient: u64) {
        match variable {
            Variable::Input(i) => put(&mut self.bytes, 2 * i + 1),
            Variable::Auxiliary(j) => {
                put(&mut self.bytes, 2 * zigzag(j as i64 - self.last as i64));
                self.last = j;
            }
        }
        put(&mut self.bytes, coefficient);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins the next block, keeping the allocation.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.last = 0;
    }
}

/// Reads the rows of one matrix of one block. Variables come numbered inputs first and below `variables`, coefficients below
/// `coefficients`; what is not so ends the reading with `None`.
pub(crate) struct RowReader<'a> {
    reader: Reader<'a>,
    last: i64,
    inputs: u64,
    auxiliary: u64,
    coefficients: u64,
}

impl<'a> RowReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], inputs: u64, auxiliary: u64, coefficients: u64) -> Self {
        Self { reader: Reader::new(bytes), last: 0, inputs, auxiliary, coefficients }
    }

    /// The number of terms of the next row.
    #[inline]
    pub(crate) fn begin_row(&mut self) -> Option<u64> {
        self.reader.next()
    }

    /// The next term of the row: variable and coefficient number.
    #[inline(always)]
    pub(crate) fn term(&mut self) -> Option<(usize, usize)> {
        let code = self.reader.next()?;
        let variable = if code & 1 == 1 {
            let input = code >> 1;
            if input >= self.inputs {
                return None;
            }
            input
        } else {
            self.last = self.last.wrapping_add(unzigzag(code >> 1));
            if self.last as u64 >= self.auxiliary {
                return None;
            }
            self.inputs + self.last as u64
        };
        let coefficient = self.reader.next()?;
        (coefficient < self.coefficients).then_some((variable as usize, coefficient as usize))
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.reader.is_at_end()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Row = Vec<(Variable, u64)>;

    fn row() -> impl Strategy<Value = Row> {
        let variable = prop_oneof![(0u64..50).prop_map(Variable::Input), (0u64..1 << 28).prop_map(Variable::Auxiliary)];
        prop::collection::vec((variable, 0u64..2000), 0..20)
    }

    proptest! {
        #[test]
        fn rows_read_back(rows in prop::collection::vec(row(), 0..50)) {
            let mut writer = RowWriter::default();
            for row in &rows {
                writer.begin_row(row.len() as u64);
                for (variable, coefficient) in row {
                    writer.term(*variable, *coefficient);
                }
            }
            let mut reader = RowReader::new(writer.bytes(), 50, 1 << 28, 2000);
            for row in &rows {
                prop_assert_eq!(reader.begin_row(), Some(row.len() as u64));
                for (variable, coefficient) in row {
                    let expected = match variable { Variable::Input(i) => *i, Variable::Auxiliary(j) => 50 + j };
                    prop_assert_eq!(reader.term(), Some((expected as usize, *coefficient as usize)));
                }
            }
            prop_assert!(reader.is_at_end());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = RowReader::new(&bytes, 3, 10, 5);
            while let Some(terms) = reader.begin_row() {
                for _ in 0..terms {
                    let Some((variable, coefficient)) = reader.term() else { return Ok(()) };
                    prop_assert!(variable < 13 && coefficient < 5);
                }
            }
        }
    }
}

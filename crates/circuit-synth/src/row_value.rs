//! The value of one row of a matrix on a compact witness.

use blstrs::Scalar;
use ff::Field;
use prover_backend::WitnessView;

use crate::block::RowReader;
use crate::dictionary::{Coefficient, MINUS_ONE_ID, ONE_ID};

/// Integers below this are looked up.
const TABLE: usize = 512;

/// Evaluates rows: terms of 0/1 variables with integer coefficients are summed as integers, the others in the field.
pub(crate) struct RowEvaluator<'a> {
    witness: WitnessView<'a>,
    coefficients: &'a [Coefficient],
    integers: Vec<Scalar>,
}

impl<'a> RowEvaluator<'a> {
    pub(crate) fn new(witness: WitnessView<'a>, coefficients: &'a [Coefficient]) -> Self {
        Self { witness, coefficients, integers: (0..TABLE as u64).map(Scalar::from).collect() }
    }

    /// Reads one row and returns its value, Montgomery form. `None` when the row does not decode.
    #[inline]
    pub(crate) fn next_row(&self, reader: &mut RowReader<'_>) -> Option<Scalar> {
        let terms = reader.begin_row()?;
        // A row has fewer than 2^28 terms, each below 2^62 in absolute value.
        let mut integer = 0i128;
        let mut field = Scalar::ZERO;
        let (ones, flags) = (self.witness.ones(), self.witness.full_flags());
        for _ in 0..terms {
            let (variable, number) = reader.term()?;
            let (word, bit) = (variable / 64, variable % 64);
            if flags[word] >> bit & 1 == 1 {
                let value = self.witness.full_value(self.witness.full_rank(variable));
                match number as u64 {
                    ONE_ID => field += value,
                    MINUS_ONE_ID => field -= value,
                    _ => field += self.coefficients[number].scalar * value,
                }
            } else if ones[word] >> bit & 1 == 1 {
                let coefficient = &self.coefficients[number];
                match coefficient.small {
                    Some(small) => integer += i128::from(small),
                    None => field += coefficient.scalar,
                }
            }
        }
        if integer != 0 {
            field += self.integer(integer);
        }
        Some(field)
    }

    /// An integer as a field element.
    #[inline]
    fn integer(&self, value: i128) -> Scalar {
        let magnitude = value.unsigned_abs();
        let scalar = if magnitude < TABLE as u128 {
            self.integers[magnitude as usize]
        } else if let Ok(small) = u64::try_from(magnitude) {
            Scalar::from(small)
        } else {
            // magnitude = high·2^64 + low
            let two_to_64 = Scalar::from(u64::MAX) + Scalar::ONE;
            Scalar::from((magnitude >> 64) as u64) * two_to_64 + Scalar::from(magnitude as u64)
        };
        if value < 0 { -scalar } else { scalar }
    }
}

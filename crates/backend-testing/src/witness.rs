//! A compact witness from plain values.

use blstrs::Scalar;
use ff::Field;
use prover_backend::{FULL_CHUNK, RANK_BLOCK, WitnessView};

/// Owns the parts of a [`WitnessView`].
#[derive(Clone, Debug)]
pub struct OwnedWitness {
    variables: usize,
    ones: Vec<u64>,
    flags: Vec<u64>,
    ranks: Vec<u32>,
    full: Vec<Vec<Scalar>>,
}

impl OwnedWitness {
    /// The compact form of these values, variable by variable.
    #[must_use]
    pub fn new(values: &[Scalar]) -> Self {
        let words = values.len().div_ceil(64);
        let mut witness =
            Self { variables: values.len(), ones: vec![0; words], flags: vec![0; words], ranks: Vec::new(), full: Vec::new() };
        let mut count = 0;
        for (i, value) in values.iter().enumerate() {
            if i % RANK_BLOCK == 0 {
                witness.ranks.push(count as u32);
            }
            if *value == Scalar::ONE {
                witness.ones[i / 64] |= 1 << (i % 64);
            } else if *value != Scalar::ZERO {
                witness.flags[i / 64] |= 1 << (i % 64);
                if count % FULL_CHUNK == 0 {
                    witness.full.push(Vec::new());
                }
                witness.full.last_mut().unwrap().push(*value);
                count += 1;
            }
        }
        witness
    }

    /// The view of it.
    #[must_use]
    pub fn view(&self) -> WitnessView<'_> {
        WitnessView::new(self.variables, &self.ones, &self.flags, &self.ranks, &self.full).unwrap()
    }
}

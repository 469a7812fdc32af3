//! The hash that identifies a circuit.

use sha2::{Digest, Sha256};

use crate::shape::CircuitShape;

/// SHA-256 over the blocks as they are in the file, the dictionary and the numbers of inputs, auxiliary variables and constraints.
#[derive(Clone)]
pub(crate) struct CircuitHash(Sha256);

impl CircuitHash {
    pub(crate) fn new() -> Self {
        Self(Sha256::new_with_prefix(b"rank-1 constraint system, format 1"))
    }

    /// The next matrix of the current block (A, B, C), and after the last block the next coefficients of the dictionary.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(mut self, shape: &CircuitShape) -> [u8; 32] {
        for number in [shape.inputs, shape.auxiliary, shape.constraints] {
            self.0.update(number.to_le_bytes());
        }
        self.0.finalize().into()
    }
}

//! The constraint system as sparse matrices, as set-ups and evaluators read it.

use std::ops::Range;

use blstrs::Scalar;

use crate::BackendError;

/// One of the three matrices of a rank-1 constraint system: (A·w) ∘ (B·w) = C·w.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// Left factors.
    A,
    /// Right factors.
    B,
    /// Products.
    C,
}

impl Matrix {
    /// All three, in order.
    pub const ALL: [Self; 3] = [Self::A, Self::B, Self::C];
}

/// A rank-1 constraint system. Variables are numbered inputs first (ONE is variable 0), then auxiliary variables.
///
/// Rows are the circuit's constraints, then one row for each input i that holds the single term 1·input i in A and nothing in B and C.
pub trait ConstraintMatrices: Send + Sync {
    /// Public inputs, ONE included.
    fn inputs(&self) -> usize;

    /// Auxiliary variables.
    fn auxiliary(&self) -> usize;

    /// Constraints of the circuit, without the rows of the inputs.
    fn constraints(&self) -> usize;

    /// Inputs and auxiliary variables.
    fn variables(&self) -> usize {
        self.inputs() + self.auxiliary()
    }

    /// Constraints and input rows.
    fn rows(&self) -> usize {
        self.constraints() + self.inputs()
    }

    /// For a query of the proving key: bit i (of word i / 64) is set when variable i has a term in the matrix; for A every input's bit is set.
    fn density(&self, matrix: Matrix) -> &[u64];

    /// Calls `term(row, variable, coefficient)` for each term of the rows, in order of rows; coefficients are not zero, Montgomery form.
    ///
    /// # Errors
    /// [`BackendError::Length`] when the rows end past the matrix, [`BackendError::Bases`] when the matrix cannot be read.
    fn for_each_term(&self, matrix: Matrix, rows: Range<usize>, term: &mut dyn FnMut(usize, usize, &Scalar)) -> Result<(), BackendError>;
}

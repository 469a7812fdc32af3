//! The numbers of a circuit.

use prover_backend::{BackendError, Domain};

/// The numbers of a circuit, as its header holds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CircuitShape {
    /// Public inputs, ONE included.
    pub inputs: u64,
    /// Auxiliary variables.
    pub auxiliary: u64,
    /// Constraints, without the one row for each input.
    pub constraints: u64,
    /// Terms with a non-zero coefficient in A, B and C, without the rows of the inputs.
    pub terms: [u64; 3],
    /// Terms of the longest row of A, B and C.
    pub terms_max: [u64; 3],
    /// Distinct coefficients in all three matrices.
    pub coefficients: u64,
    /// Auxiliary variables with a term in A.
    pub a_auxiliary: u64,
    /// Inputs with a term in B.
    pub b_inputs: u64,
    /// Auxiliary variables with a term in B.
    pub b_auxiliary: u64,
}

impl CircuitShape {
    /// Constraints and input rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.constraints + self.inputs
    }

    /// Inputs and auxiliary variables.
    #[must_use]
    pub fn variables(&self) -> u64 {
        self.inputs + self.auxiliary
    }

    /// The domain of the quadratic arithmetic program.
    ///
    /// # Errors
    /// [`BackendError::DomainTooLarge`].
    pub fn domain(&self) -> Result<Domain, BackendError> {
        Domain::for_rows(self.rows() as usize)
    }
}

//! The memory of a set-up. All of it tells τ, so all of it is overwritten on drop.

use bls12_381_layout::{as_bytes_mut, zeroed_vec};
use blstrs::Scalar;
use buffer_accounting::{Buffer, BufferMut, OwnedBytes};
use pipeline_stage::{Class, Lease, StageContext};
use zeroize::Zeroize;

use crate::SrsError;
use crate::circuit::CircuitCounts;

/// Rows whose Lagrange coefficients are in memory at a time.
pub(super) const ROWS: usize = 1 << 16;
/// Scalars that are multiplied at a time.
pub(super) const CHUNK: usize = 1 << 16;

/// The QAP polynomials at τ, one value for each variable, and the buffers of a chunk.
pub(super) struct Workspace {
    /// a_j(τ)
    pub(super) a: Vec<Scalar>,
    /// b_j(τ)
    pub(super) b: Vec<Scalar>,
    /// c_j(τ); later the scalars of ic and l.
    pub(super) c: Vec<Scalar>,
    /// Lagrange coefficients of a chunk of rows.
    pub(super) lagrange: Vec<Scalar>,
    /// Scratch of their inversion.
    pub(super) scratch: Vec<Scalar>,
    /// A chunk of scalars on its way to a table.
    pub(super) scalars: Vec<Scalar>,
}

impl Workspace {
    /// A zeroed workspace under one permit of class `staging`: 96 bytes a variable and 6 MiB at most.
    pub(super) fn lease(counts: &CircuitCounts, context: &StageContext) -> Result<Lease<Self>, SrsError> {
        let variables = (counts.inputs() + counts.auxiliary()) as usize;
        let rows = counts.domain().size().min(ROWS);
        let chunk = counts.domain().size().max(variables).min(CHUNK);
        let bytes = (3 * variables + 2 * rows + chunk) * size_of::<Scalar>();
        let permit = context.acquire(Class::Staging, bytes as u64)?;
        Ok(Lease::try_new(permit, || Self {
            a: zeroed_vec(variables),
            b: zeroed_vec(variables),
            c: zeroed_vec(variables),
            lagrange: zeroed_vec(rows),
            scratch: zeroed_vec(rows),
            scalars: zeroed_vec(chunk),
        })?)
    }

    fn parts(&mut self) -> [&mut Vec<Scalar>; 6] {
        [&mut self.a, &mut self.b, &mut self.c, &mut self.lagrange, &mut self.scratch, &mut self.scalars]
    }
}

impl OwnedBytes for Workspace {
    fn owned_bytes(&self) -> u64 {
        [&self.a, &self.b, &self.c, &self.lagrange, &self.scratch, &self.scalars].iter().map(|v| v.owned_bytes()).sum()
    }
}

impl Buffer for Workspace {
    type Contents = Self;
    fn contents(&self) -> &Self {
        self
    }
}

impl BufferMut for Workspace {
    fn contents_mut(&mut self) -> &mut Self {
        self
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        for part in self.parts() {
            as_bytes_mut(part.as_mut_slice()).zeroize();
        }
    }
}

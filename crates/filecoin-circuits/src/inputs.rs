//! The public inputs of a partition.

use blstrs::Scalar;
use ff::PrimeField;
use filecoin_proofs::DefaultPieceHasher;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_porep::stacked::{PublicParams, StackedCircuit, StackedCompound, StackedDrg};

use crate::guard::{guarded, library};
use crate::shape::{PoRepTree, ShapeJob, with_shape};
use crate::statement::OfficialInputs;
use crate::{CircuitError, Statement};

/// The public inputs of a partition, as a verifier derives them from the statement: replica id, comm_d, comm_r, and for each challenge the positions
/// it opens. ONE is not among them.
///
/// # Errors
/// [`CircuitError::PartitionNumber`], [`CircuitError::NotCanonical`], and what the library reports.
pub fn public_inputs(statement: &Statement, partition: usize) -> Result<Vec<Scalar>, CircuitError> {
    statement.check_partition(partition)?;
    let official = statement.official()?;
    with_shape(statement.seal_proof, Derive { official: &official, partition })
}

struct Derive<'a> {
    official: &'a OfficialInputs,
    partition: usize,
}

impl ShapeJob for Derive<'_> {
    type Output = Vec<Scalar>;

    fn run<Tree: PoRepTree>(self, params: &PublicParams<Tree>) -> Result<Vec<Scalar>, CircuitError> {
        official_inputs(self.official, params, self.partition)
    }
}

/// What the library derives.
pub(crate) fn official_inputs<Tree: PoRepTree>(
    official: &OfficialInputs,
    params: &PublicParams<Tree>,
    partition: usize,
) -> Result<Vec<Scalar>, CircuitError> {
    guarded("deriving the public inputs", || {
        <StackedCompound<Tree, DefaultPieceHasher> as CompoundProof<
            '_,
            StackedDrg<'_, Tree, DefaultPieceHasher>,
            StackedCircuit<Tree, DefaultPieceHasher>,
        >>::generate_public_inputs(official, params, Some(partition))
        .map_err(library("deriving the public inputs"))
    })
}

/// Refuses a circuit whose inputs (without ONE) are not the official ones.
pub(crate) fn compare(partition: usize, official: &[Scalar], circuit: &[Scalar]) -> Result<(), CircuitError> {
    let different = (0..official.len().max(circuit.len())).find(|&i| official.get(i) != circuit.get(i));
    let Some(index) = different else { return Ok(()) };
    let show = |value: Option<&Scalar>| value.map_or_else(|| "nothing".to_owned(), |scalar| hex::encode(scalar.to_repr()));
    Err(CircuitError::Inputs { partition, index, expected: show(official.get(index)), found: show(circuit.get(index)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let values: Vec<Scalar> = (0..4).map(Scalar::from).collect();
        assert!(compare(0, &values, &values).is_ok());
        assert!(
            matches!(compare(7, &values, &values[..3]), Err(CircuitError::Inputs { partition: 7, index: 3, found, .. }) if found == "nothing")
        );
        assert!(matches!(compare(0, &values[1..], &values[2..]), Err(CircuitError::Inputs { index: 0, .. })));
    }
}

//! The vanilla verification of a partition: is a proof worth its synthesis?

use c1_parse::{ChallengeProof, LabelingProof, Partition};
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::DefaultPieceHasher;
use filecoin_proofs::constants::DefaultTreeHasher;
use pipeline_stage::StageContext;
use storage_proofs_core::drgraph::Graph;
use storage_proofs_core::merkle::MerkleProofTrait;
use storage_proofs_porep::stacked::{PublicParams, TOTAL_PARENTS};

use crate::guard::{guarded, library};
use crate::official::{Converter, OfficialProof, challenges};
use crate::shape::{PoRepTree, ShapeJob, with_shape};
use crate::statement::OfficialInputs;
use crate::{CircuitError, OpeningFlaw, Statement};

/// Verifies a partition as the library verifies vanilla proofs, and what the circuit reads besides: that the data path and the replica path hash to
/// their roots, and that the labels hashed are those of the parents' columns. What passes satisfies the circuit.
///
/// Holds one challenge at a time; 0.3 CPU seconds for a partition of a 32 GiB sector.
///
/// # Errors
/// [`CircuitError::Refused`] with the part that does not hold; form and number errors; cancellation.
pub fn vanilla_check(statement: &Statement, partition: &Partition, context: &StageContext) -> Result<(), CircuitError> {
    let official = statement.official()?;
    with_shape(statement.seal_proof, Verify { statement, official: &official, partition, context })
}

struct Verify<'a> {
    statement: &'a Statement,
    official: &'a OfficialInputs,
    partition: &'a Partition,
    context: &'a StageContext,
}

impl ShapeJob for Verify<'_> {
    type Output = ();

    fn run<Tree: PoRepTree>(self, params: &PublicParams<Tree>) -> Result<(), CircuitError> {
        let index = self.partition.index;
        let proofs = challenges(self.statement, self.partition)?;
        let _conversion = self.context.acquire(pipeline_stage::Class::VanillaProof, conversion_of_one(self.statement))?;
        guarded("verifying the vanilla proofs", || {
            let nodes = self.official.challenges(&params.challenges, params.graph.size(), Some(index));
            let mut converter = Converter::default();
            let mut roots = None;
            for (i, (given, node)) in proofs.iter().zip(nodes).enumerate() {
                if self.context.cancel().is_cancelled() {
                    return Err(CircuitError::Cancelled);
                }
                let proof = converter.convert::<Tree>(given, (index, i))?;
                let flaw = match roots {
                    None => comm_r_flaw(self.official, &proof),
                    Some(first) => (first != (proof.comm_c(), proof.comm_r_last())).then_some(OpeningFlaw::Roots),
                };
                roots.get_or_insert((proof.comm_c(), proof.comm_r_last()));
                let flaw = match flaw {
                    Some(flaw) => Some(flaw),
                    None => opening_flaw(self.official, params, &proof, node)?,
                };
                let flaw = flaw.or_else(|| labelling_flaw(given, node as u64));
                if let Some(flaw) = flaw {
                    return Err(CircuitError::Refused { partition: index, challenge: i, flaw });
                }
            }
            Ok(())
        })
    }
}

/// Bytes of the official form of one challenge.
fn conversion_of_one(statement: &Statement) -> u64 {
    crate::conversion_bytes(statement.seal_proof) / statement.seal_proof.challenges_per_partition() as u64
}

fn comm_r_flaw<Tree: PoRepTree>(official: &OfficialInputs, proof: &OfficialProof<Tree>) -> Option<OpeningFlaw> {
    let comm_r = <DefaultTreeHasher as Hasher>::Function::hash2(&proof.comm_c(), &proof.comm_r_last());
    (official.tau.as_ref().map(|tau| tau.comm_r) != Some(comm_r)).then_some(OpeningFlaw::CommR)
}

/// What does not hold in the opening of `node`. The library's own verdict comes first; the parts are only asked for the reason.
fn opening_flaw<Tree: PoRepTree>(
    official: &OfficialInputs,
    params: &PublicParams<Tree>,
    proof: &OfficialProof<Tree>,
    node: usize,
) -> Result<Option<OpeningFlaw>, CircuitError> {
    if !proof.verify(params, official, node, &params.graph) {
        return reason(official, params, proof, node).map(Some);
    }
    if !proof.comm_d_proofs.verify() {
        return Ok(Some(OpeningFlaw::DataPath));
    }
    Ok((!proof.comm_r_last_proof.verify()).then_some(OpeningFlaw::ReplicaPath))
}

/// The library hashes the parent labels that a labelling proof states; the circuit hashes those of the parents' columns. They must be the same.
fn labelling_flaw(proof: &ChallengeProof, node: u64) -> Option<OpeningFlaw> {
    let columns = &proof.replica_column_proofs;
    let layers = proof.labeling_proofs.len();
    // The key of the encoding is the label of the last layer.
    let stated = proof.labeling_proofs.iter().zip(1..).chain([(&proof.encoding_proof, layers)]);
    let holds = |(labelling, layer): (&LabelingProof, usize)| {
        let base = columns.drg_parents.iter().map(|parent| parent.column.rows.get(layer - 1));
        let below = layer.checked_sub(2);
        let expander = below.into_iter().flat_map(|below| columns.exp_parents.iter().map(move |parent| parent.column.rows.get(below)));
        let labels: Vec<_> = base.chain(expander).collect();
        let expected = labels.iter().copied().cycle().take(TOTAL_PARENTS);
        labelling.node == node
            && labelling.layer_index as usize == layer
            && labelling.parents.len() == TOTAL_PARENTS
            && labelling.parents.iter().map(Some).eq(expected)
    };
    stated.into_iter().find(|&stated| !holds(stated)).map(|(_, layer)| OpeningFlaw::ParentLabels { layer })
}

fn reason<Tree: PoRepTree>(
    official: &OfficialInputs,
    params: &PublicParams<Tree>,
    proof: &OfficialProof<Tree>,
    node: usize,
) -> Result<OpeningFlaw, CircuitError> {
    let (expected, data_index, replica_index) =
        (node as u64, proof.comm_d_proofs.path_index() as u64, proof.comm_r_last_proof.path_index() as u64);
    if data_index != expected {
        return Ok(OpeningFlaw::DataIndex { expected, found: data_index });
    }
    if official.tau.as_ref().map(|tau| tau.comm_d) != Some(proof.comm_d_proofs.root()) {
        return Ok(OpeningFlaw::DataRoot);
    }
    let mut parents = vec![0; params.graph.degree()];
    params.graph.parents(node, &mut parents).map_err(library("finding the parents of a node"))?;
    let columns = &proof.replica_column_proofs;
    let (base, expander) = parents.split_at(columns.drg_parents.len().min(parents.len()));
    let root = columns.c_x.root();
    if !columns.c_x.verify(node as u32, &root) {
        return Ok(OpeningFlaw::Column);
    }
    if let Some(i) = columns.drg_parents.iter().zip(base).position(|(column, &parent)| !column.verify(parent, &root)) {
        return Ok(OpeningFlaw::BaseParent(i));
    }
    if let Some(i) = columns.exp_parents.iter().zip(expander).position(|(column, &parent)| !column.verify(parent, &root)) {
        return Ok(OpeningFlaw::ExpanderParent(i));
    }
    if replica_index != expected {
        return Ok(OpeningFlaw::ReplicaIndex { expected, found: replica_index });
    }
    for (i, labeling) in proof.labeling_proofs.iter().enumerate() {
        let label = columns.c_x.get_node_at_layer(i + 1).map_err(library("reading a label"))?;
        if !labeling.verify(&official.replica_id, label) {
            return Ok(OpeningFlaw::Label { layer: i + 1 });
        }
    }
    let (replica, data) = (proof.comm_r_last_proof.leaf(), proof.comm_d_proofs.leaf());
    if !proof.encoding_proof.verify::<DefaultPieceHasher>(&official.replica_id, &replica, &data) {
        return Ok(OpeningFlaw::Encoding);
    }
    Ok(OpeningFlaw::Unknown)
}

#[cfg(test)]
mod tests {
    use c1_parse::{Expected, Limits, parse};
    use pipeline_stage::StageName;

    use super::*;

    #[test]
    fn labellings_of_other_columns_nodes_or_layers_are_flaws() {
        let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench-data/porep-2kib/c1.json")).unwrap();
        let context = StageContext::unlimited(StageName::Synth);
        let c1 = parse(&file, &Limits::default(), &Expected::default(), &context).unwrap();
        let honest = &c1.partitions[0].challenges[0];
        let node = honest.comm_d_proofs.leaf_index();
        assert_eq!(labelling_flaw(honest, node), None);
        assert_eq!(labelling_flaw(honest, node + 1), Some(OpeningFlaw::ParentLabels { layer: 1 }));
        let flaw_of = |change: fn(&mut ChallengeProof)| {
            let mut changed = honest.clone();
            change(&mut changed);
            labelling_flaw(&changed, node)
        };
        let flaw = |layer| Some(OpeningFlaw::ParentLabels { layer });
        assert_eq!(flaw_of(|p| p.replica_column_proofs.drg_parents[3].column.rows[0][5] ^= 1), flaw(1));
        assert_eq!(flaw_of(|p| p.replica_column_proofs.drg_parents[3].column.rows[1][5] ^= 1), flaw(2));
        assert_eq!(flaw_of(|p| p.replica_column_proofs.exp_parents[7].column.rows[0][5] ^= 1), flaw(2));
        assert_eq!(flaw_of(|p| p.labeling_proofs[1].parents.truncate(36)), flaw(2));
        assert_eq!(flaw_of(|p| p.labeling_proofs[0].node += 1), flaw(1));
        assert_eq!(flaw_of(|p| p.labeling_proofs[1].layer_index = 1), flaw(2));
        assert_eq!(flaw_of(|p| p.encoding_proof.node += 1), flaw(2));
        assert_eq!(flaw_of(|p| p.replica_column_proofs.drg_parents.clear()), flaw(1));
    }
}

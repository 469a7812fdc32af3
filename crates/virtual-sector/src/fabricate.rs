//! From a spec to a C1 file: data, challenges, labels, trees, openings.

use std::collections::{BTreeMap, BTreeSet};

use blstrs::Scalar;
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::constants::DefaultTreeHasher;
use filecoin_proofs::parameters::public_params;
use filecoin_proofs::{DefaultPieceHasher, SectorShape2KiB, SectorShape8MiB, SectorShape32GiB, SectorShape64GiB, SectorShape512MiB};
use filecoin_proofs_api::seal::{SealCommitPhase1Output, VanillaSealProof};
use rayon::prelude::*;
use serde::Serialize;
use storage_proofs_core::drgraph::Graph;
use storage_proofs_core::merkle::{MerkleProof, MerkleTreeTrait};
use storage_proofs_core::proof::ProofScheme;
use storage_proofs_porep::stacked::{
    Column, ColumnProof, EncodingProof, LabelingProof, Proof, PublicInputs, ReplicaColumnProof, StackedDrg, Tau, generate_replica_id,
};
use typenum::Unsigned;

use crate::c1_file::C1File;
use crate::error::library;
use crate::labels::{Columns, TreeDomain};
use crate::{Data, Error, Labels, PeriodicTree, SectorSize, SparseTree, Spec, prover_id};

type VanillaProofs<Tree> = Vec<Vec<Proof<Tree, DefaultPieceHasher>>>;
type TreeProof<Tree> = MerkleProof<
    DefaultTreeHasher,
    <Tree as MerkleTreeTrait>::Arity,
    <Tree as MerkleTreeTrait>::SubTreeArity,
    <Tree as MerkleTreeTrait>::TopTreeArity,
>;

/// A virtual sector's C1 file and how it came about.
#[derive(Clone, Debug)]
pub struct Fabricated {
    /// The file.
    pub file: C1File,
    /// What it was made of.
    pub construction: Construction,
}

/// What a virtual sector was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Construction {
    /// False when every node follows the labelling rule, as in a sealed sector.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// Where the pseudo-random values came from.
    pub spec_seed: String,
    /// What the sector holds.
    pub data: &'static str,
    /// Root of tree C, hexadecimal.
    pub comm_c: String,
    /// Root of tree R, hexadecimal.
    pub comm_r_last: String,
    /// Leaves of the sector.
    pub nodes: usize,
    /// Layers of labels.
    pub layers: usize,
    /// Leaves of tree C and tree R that are not zero.
    pub materialised_leaves: usize,
    /// Challenged nodes of each partition.
    pub challenges: Vec<Vec<usize>>,
}

/// Fabricates a virtual sector. Deterministic; 3 CPU seconds and 150 MiB at 32 GiB, half a minute at 8 MiB with [`Labels::All`].
///
/// # Errors
/// [`Error::TooLarge`] for [`Labels::All`] above 8 MiB, [`Error::Refused`] when the library does not accept the result, and the library's own.
pub fn fabricate(spec: &Spec) -> Result<Fabricated, Error> {
    if spec.labels == Labels::All && spec.size > SectorSize::MiB8 {
        return Err(Error::TooLarge { size: spec.size });
    }
    match spec.size {
        SectorSize::KiB2 => fabricate_shape::<SectorShape2KiB>(spec, VanillaSealProof::StackedDrg2KiBV1),
        SectorSize::MiB8 => fabricate_shape::<SectorShape8MiB>(spec, VanillaSealProof::StackedDrg8MiBV1),
        SectorSize::MiB512 => fabricate_shape::<SectorShape512MiB>(spec, VanillaSealProof::StackedDrg512MiBV1),
        SectorSize::GiB32 => fabricate_shape::<SectorShape32GiB>(spec, VanillaSealProof::StackedDrg32GiBV1),
        SectorSize::GiB64 => fabricate_shape::<SectorShape64GiB>(spec, VanillaSealProof::StackedDrg64GiBV1),
    }
}

fn fabricate_shape<Tree>(spec: &Spec, wrap: fn(VanillaProofs<Tree>) -> VanillaSealProof) -> Result<Fabricated, Error>
where
    Tree: 'static + MerkleTreeTrait<Hasher = DefaultTreeHasher>,
{
    let seal_proof = spec.size.seal_proof();
    let config = seal_proof.as_v1_config();
    let params = public_params::<Tree>(&config).map_err(library("setting up the proof of replication"))?;
    let nodes = params.graph.size();

    // The data come first, independent of the challenges: comm_d decides the replica id, and that decides the challenges.
    let tree_d = spec.data_tree()?;
    let comm_d = tree_d.root();
    let replica_id =
        generate_replica_id::<DefaultTreeHasher, _>(&prover_id(spec.miner), spec.sector, &spec.ticket(), comm_d, &config.porep_id);
    let mut public = PublicInputs { replica_id, seed: Some(spec.challenge_seed()), tau: None, k: None };
    let challenges: Vec<Vec<usize>> =
        (0..usize::from(config.partitions)).map(|k| public.challenges(&params.challenges, nodes, Some(k))).collect();
    let challenged: BTreeSet<u32> = challenges.iter().flatten().map(|&node| node as u32).collect();

    let columns = Columns::new(spec, &params.graph, params.num_layers, &replica_id, &challenged)?;
    let trees = Trees::new::<Tree>(columns, tree_d, nodes)?;
    let comm_r = <DefaultTreeHasher as Hasher>::Function::hash2(&trees.c.root(), &trees.r.root());
    public.tau = Some(Tau { comm_d, comm_r });

    let vanilla_proofs: VanillaProofs<Tree> = challenges
        .iter()
        .map(|partition| partition.par_iter().map(|&node| trees.open(node as u32, params.num_layers)).collect())
        .collect::<Result<_, Error>>()?;
    let accepted = StackedDrg::<Tree, DefaultPieceHasher>::verify_all_partitions(&params, &public, &vanilla_proofs)
        .map_err(library("verifying the vanilla proofs"))?;
    if !accepted {
        return Err(Error::Refused { spec: format!("{spec:?}") });
    }

    let output = SealCommitPhase1Output {
        registered_proof: seal_proof,
        vanilla_proofs: wrap(vanilla_proofs),
        comm_r: comm_r.into(),
        comm_d: comm_d.into(),
        replica_id,
        seed: spec.challenge_seed(),
        ticket: spec.ticket(),
    };
    let construction = Construction {
        is_virtual: spec.labels != Labels::All,
        spec_seed: spec.seed.clone(),
        data: match spec.data {
            Data::Pattern => "pattern of min(nodes, 1024) nodes, repeated",
            Data::Zero => "zero",
        },
        comm_c: hex::encode(trees.c.root()),
        comm_r_last: hex::encode(trees.r.root()),
        nodes,
        layers: params.num_layers,
        materialised_leaves: trees.columns.len(),
        challenges,
    };
    Ok(Fabricated { file: C1File::new(&output, spec.miner, spec.sector)?, construction })
}

/// The three trees of a sector and the columns below them.
struct Trees {
    columns: Columns,
    d: PeriodicTree<DefaultPieceHasher>,
    c: SparseTree<DefaultTreeHasher>,
    r: SparseTree<DefaultTreeHasher>,
}

impl Trees {
    fn new<Tree>(columns: Columns, d: PeriodicTree<DefaultPieceHasher>, nodes: usize) -> Result<Self, Error>
    where
        Tree: 'static + MerkleTreeTrait<Hasher = DefaultTreeHasher>,
    {
        let arities = arities::<Tree>(nodes)?;
        let opened: Vec<(u32, &[TreeDomain])> = columns.iter().collect();
        let leaf_c = |(node, labels): &(u32, &[TreeDomain])| {
            let column = Column::<DefaultTreeHasher>::new(*node, labels.to_vec()).map_err(library("building a column"))?;
            Ok((u64::from(*node), column.hash().into()))
        };
        let leaves_c = opened.par_iter().map(leaf_c).collect::<Result<BTreeMap<u64, TreeDomain>, Error>>()?;
        // The encoding of a node is its data plus its label of the last layer.
        let leaf_r = |(node, labels): &(u32, &[TreeDomain])| {
            let key = *labels.last().ok_or(Error::NotMaterialised { node: *node })?;
            let data = d.leaf(u64::from(*node));
            Ok((u64::from(*node), (Scalar::from(key) + Scalar::from(data)).into()))
        };
        let leaves_r = opened.par_iter().map(leaf_r).collect::<Result<BTreeMap<u64, TreeDomain>, Error>>()?;
        let zero = TreeDomain::default();
        let (c, r) = (SparseTree::new(arities.clone(), leaves_c, zero), SparseTree::new(arities, leaves_r, zero));
        Ok(Self { columns, d, c, r })
    }

    /// The vanilla proof of one challenged node.
    fn open<Tree>(&self, node: u32, layers: usize) -> Result<Proof<Tree, DefaultPieceHasher>, Error>
    where
        Tree: 'static + MerkleTreeTrait<Hasher = DefaultTreeHasher>,
    {
        let index = u64::from(node);
        let parents = self.columns.parents(node)?;
        let labeling_proofs = (1..=layers)
            .map(|layer| Ok(LabelingProof::new(layer as u32, index, self.columns.parent_labels(layer, node)?)))
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(Proof {
            comm_d_proofs: MerkleProof::from_parts(self.d.leaf(index), self.d.root(), self.d.path(index)),
            comm_r_last_proof: MerkleProof::from_parts(self.r.leaf(index), self.r.root(), self.r.path(index)),
            replica_column_proofs: ReplicaColumnProof {
                c_x: self.open_column::<Tree>(node)?,
                drg_parents: parents.base().iter().map(|&parent| self.open_column::<Tree>(parent)).collect::<Result<_, Error>>()?,
                exp_parents: parents.expander().iter().map(|&parent| self.open_column::<Tree>(parent)).collect::<Result<_, Error>>()?,
            },
            encoding_proof: EncodingProof::new(layers as u32, index, self.columns.parent_labels(layers, node)?),
            labeling_proofs,
        })
    }

    fn open_column<Tree>(&self, node: u32) -> Result<ColumnProof<TreeProof<Tree>>, Error>
    where
        Tree: 'static + MerkleTreeTrait<Hasher = DefaultTreeHasher>,
    {
        let index = u64::from(node);
        let inclusion = MerkleProof::from_parts(self.c.leaf(index), self.c.root(), self.c.path(index));
        Ok(ColumnProof::new(node, self.columns.column(node)?.to_vec(), inclusion))
    }
}

/// Arities of trees C and R from the leaves to the root: the base tree, then the level over the base trees, then the top.
fn arities<Tree: MerkleTreeTrait>(nodes: usize) -> Result<Vec<usize>, Error> {
    let base = Tree::Arity::USIZE;
    let above: Vec<usize> = [Tree::SubTreeArity::USIZE, Tree::TopTreeArity::USIZE].into_iter().filter(|&arity| arity > 0).collect();
    let tops: usize = above.iter().product();
    let mut arities = Vec::new();
    let mut width = tops;
    while width < nodes {
        width *= base;
        arities.push(base);
    }
    if width != nodes {
        return Err(Error::TreeShape { nodes, arity: base, tops });
    }
    arities.extend(above);
    Ok(arities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_shapes() {
        assert_eq!(arities::<SectorShape2KiB>(64).unwrap(), [8, 8]);
        assert_eq!(arities::<SectorShape512MiB>(1 << 24).unwrap(), [8; 8]);
        assert_eq!(arities::<SectorShape32GiB>(1 << 30).unwrap(), [8; 10]);
        assert_eq!(arities::<SectorShape64GiB>(1 << 31).unwrap(), [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 2]);
        assert!(matches!(arities::<SectorShape2KiB>(100), Err(Error::TreeShape { nodes: 100, arity: 8, tops: 1 })));
    }
}

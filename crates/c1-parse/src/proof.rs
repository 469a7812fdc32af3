//! The decoded vanilla proofs.

use std::mem::size_of;

use buffer_accounting::{Buffer, OwnedBytes};
use pipeline_stage::Lease;

use crate::seal_proof::{DRG_PARENTS, EXP_PARENTS, LABELING_PARENTS};
use crate::{SealProof, SectorSize, TreeShape};

/// 32 bytes. A field element is canonical and least significant byte first.
pub type Digest = [u8; 32];

/// Most levels a path has: the data tree of 64 GiB.
pub(crate) const MAX_LEVELS: usize = 31;

/// The sector a wrapper names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrappedSector {
    /// `SectorNum`.
    pub number: u64,
    /// `SectorSize`, in bytes.
    pub size_bytes: u64,
}

/// What commit phase 1 leaves: everything that phase 2 needs, checked in shape and encoding (not proved true).
#[derive(Debug)]
pub struct C1 {
    /// The registered proof.
    pub seal_proof: SealProof,
    /// The sector, when the file was wrapped.
    pub sector: Option<WrappedSector>,
    /// Commitment to the replica and the columns, a field element.
    pub comm_r: Digest,
    /// Commitment to the data, a field element.
    pub comm_d: Digest,
    /// Replica identity, a field element.
    pub replica_id: Digest,
    /// Interactive randomness, raw bytes.
    pub seed: [u8; 32],
    /// Ticket, raw bytes.
    pub ticket: [u8; 32],
    /// The partitions in order, each in a lease of its own so that it can travel alone.
    pub partitions: Vec<Lease<Partition>>,
}

/// The challenges of one partition.
#[derive(Debug)]
pub struct Partition {
    /// Position in the file, from 0.
    pub index: usize,
    /// The challenges in order.
    pub challenges: Vec<ChallengeProof>,
}

/// What is revealed for one challenged node.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ChallengeProof {
    /// The node in the data tree (binary, SHA-256).
    pub comm_d_proofs: InclusionProof,
    /// The node in the replica tree (Poseidon).
    pub comm_r_last_proof: InclusionProof,
    /// The node's column and those of its parents in the column tree (Poseidon).
    pub replica_column_proofs: ReplicaColumnProof,
    /// The label of the node, for each layer.
    pub labeling_proofs: Vec<LabelingProof>,
    /// The encoding key of the node: the labelling of the last layer.
    pub encoding_proof: LabelingProof,
}

/// The columns that a challenge opens.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ReplicaColumnProof {
    /// The node itself.
    pub c_x: ColumnProof,
    /// Its 6 parents of the same layer.
    pub drg_parents: Vec<ColumnProof>,
    /// Its 8 parents of the layer below.
    pub exp_parents: Vec<ColumnProof>,
}

/// A column and its place in the column tree.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ColumnProof {
    /// The column.
    pub column: Column,
    /// Its hash in the column tree.
    pub inclusion_proof: InclusionProof,
}

/// The labels of a node in every layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The node.
    pub index: u32,
    /// Its labels, first layer first.
    pub rows: Vec<Digest>,
}

/// What the label of a node in a layer was made from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LabelingProof {
    /// 37 labels: those of the parents, repeated.
    pub parents: Vec<Digest>,
    /// Layer, from 1.
    pub layer_index: u32,
    /// The node.
    pub node: u64,
}

/// A leaf, a root and the path between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InclusionProof {
    /// One tree.
    Single {
        /// Root of the tree.
        root: Digest,
        /// The leaf.
        leaf: Digest,
        /// From leaf to root.
        path: InclusionPath,
    },
    /// Base trees under one sub level.
    Sub {
        /// From the leaf to the root of its base tree.
        base_proof: InclusionPath,
        /// From there to the root.
        sub_proof: InclusionPath,
        /// Root of the whole tree.
        root: Digest,
        /// The leaf.
        leaf: Digest,
    },
    /// Base trees under a sub level under a top level.
    Top {
        /// From the leaf to the root of its base tree.
        base_proof: InclusionPath,
        /// From there to the root of the sub tree.
        sub_proof: InclusionPath,
        /// From there to the root.
        top_proof: InclusionPath,
        /// Root of the whole tree.
        root: Digest,
        /// The leaf.
        leaf: Digest,
    },
}

impl InclusionProof {
    /// Root of the whole tree.
    #[must_use]
    pub fn root(&self) -> &Digest {
        match self {
            Self::Single { root, .. } | Self::Sub { root, .. } | Self::Top { root, .. } => root,
        }
    }

    /// The leaf.
    #[must_use]
    pub fn leaf(&self) -> &Digest {
        match self {
            Self::Single { leaf, .. } | Self::Sub { leaf, .. } | Self::Top { leaf, .. } => leaf,
        }
    }

    /// The parts of the path, from the leaf up: base, sub, top.
    pub fn paths(&self) -> impl Iterator<Item = &InclusionPath> {
        match self {
            Self::Single { path, .. } => [Some(path), None, None],
            Self::Sub { base_proof, sub_proof, .. } => [Some(base_proof), Some(sub_proof), None],
            Self::Top { base_proof, sub_proof, top_proof, .. } => [Some(base_proof), Some(sub_proof), Some(top_proof)],
        }
        .into_iter()
        .flatten()
    }

    /// The position of the leaf that the indices of the path spell.
    #[must_use]
    pub fn leaf_index(&self) -> u64 {
        let mut place = 1u64;
        let mut index = 0u64;
        for (siblings, position) in self.paths().flat_map(InclusionPath::levels) {
            index = index.wrapping_add(place.wrapping_mul(position as u64));
            place = place.wrapping_mul(siblings.len() as u64 + 1);
        }
        index
    }
}

/// The siblings from a leaf up to a root, in one flat buffer.
#[derive(Clone, PartialEq, Eq)]
pub struct InclusionPath {
    pub(crate) siblings: Vec<Digest>,
    pub(crate) positions: [u8; MAX_LEVELS],
    pub(crate) levels: u8,
    pub(crate) arity: u8,
}

impl InclusionPath {
    /// Children of a node.
    #[must_use]
    pub fn arity(&self) -> usize {
        usize::from(self.arity)
    }

    /// Number of levels.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.levels)
    }

    /// Whether leaf and root are the same node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.levels == 0
    }

    /// The levels from the leaf up: the siblings (one fewer than the arity) and the position of the node among them.
    pub fn levels(&self) -> impl ExactSizeIterator<Item = (&[Digest], usize)> {
        let siblings = self.siblings.chunks_exact(self.arity().saturating_sub(1).max(1));
        siblings.zip(&self.positions[..self.len()]).map(|(siblings, position)| (siblings, usize::from(*position)))
    }
}

impl std::fmt::Debug for InclusionPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InclusionPath")
            .field("arity", &self.arity)
            .field("positions", &&self.positions[..self.len()])
            .finish_non_exhaustive()
    }
}

fn owned<T>(items: &Vec<T>) -> u64 {
    (items.capacity() * size_of::<T>()) as u64
}

impl OwnedBytes for InclusionProof {
    fn owned_bytes(&self) -> u64 {
        self.paths().map(|path| owned(&path.siblings)).sum()
    }
}

impl OwnedBytes for ColumnProof {
    fn owned_bytes(&self) -> u64 {
        owned(&self.column.rows) + self.inclusion_proof.owned_bytes()
    }
}

impl OwnedBytes for ChallengeProof {
    fn owned_bytes(&self) -> u64 {
        let columns = &self.replica_column_proofs;
        let parents = columns.drg_parents.iter().chain(&columns.exp_parents);
        let labels = self.labeling_proofs.iter().chain([&self.encoding_proof]);
        self.comm_d_proofs.owned_bytes()
            + self.comm_r_last_proof.owned_bytes()
            + columns.c_x.owned_bytes()
            + owned(&columns.drg_parents)
            + owned(&columns.exp_parents)
            + parents.map(OwnedBytes::owned_bytes).sum::<u64>()
            + owned(&self.labeling_proofs)
            + labels.map(|proof| owned(&proof.parents)).sum::<u64>()
    }
}

impl OwnedBytes for Partition {
    fn owned_bytes(&self) -> u64 {
        owned(&self.challenges) + self.challenges.iter().map(OwnedBytes::owned_bytes).sum::<u64>()
    }
}

impl Buffer for Partition {
    type Contents = Self;
    fn contents(&self) -> &Self {
        self
    }
}

/// Bytes that the decoded proofs of a sector size own when every buffer is exactly as large as its contents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodedSize {
    /// Of one challenge, without its slot in the partition.
    pub(crate) challenge: u64,
    /// Of the slots of a partition.
    pub(crate) slots: u64,
    /// Of one partition, slots included.
    pub(crate) partition: u64,
}

impl DecodedSize {
    pub(crate) fn of(size: SectorSize) -> Self {
        let digest = size_of::<Digest>();
        let path = |tree: TreeShape| {
            (tree.base_levels * (tree.base_arity - 1) + tree.sub_arity.saturating_sub(1) + tree.top_arity.saturating_sub(1)) * digest
        };
        let parents = DRG_PARENTS + EXP_PARENTS;
        let tree = path(size.tree());
        let challenge = path(size.data_tree())
            + tree
            + (parents + 1) * (size.layers() * digest + tree)
            + parents * size_of::<ColumnProof>()
            + size.layers() * size_of::<LabelingProof>()
            + (size.layers() + 1) * LABELING_PARENTS * digest;
        let slots = size.challenges_per_partition() * size_of::<ChallengeProof>();
        let (challenge, slots) = (challenge as u64, slots as u64);
        Self { challenge, slots, partition: slots + challenge * size.challenges_per_partition() as u64 }
    }
}

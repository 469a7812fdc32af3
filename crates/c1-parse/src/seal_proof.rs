//! Registered seal proofs and the numbers each one fixes.

use std::fmt;

use crate::proof::DecodedSize;

/// Bytes of a node of the graph, and of a digest.
pub const NODE_BYTES: u64 = 32;
/// Parents of a node in the depth-robust graph of its own layer.
pub const DRG_PARENTS: usize = 6;
/// Parents of a node in the expander graph of the layer below.
pub const EXP_PARENTS: usize = 8;
/// Parent labels that are hashed into a label: the real ones, repeated.
pub const LABELING_PARENTS: usize = 37;

/// Sector sizes with published parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectorSize {
    /// 2,048 bytes (tests).
    KiB2,
    /// 8 MiB (tests).
    MiB8,
    /// 512 MiB (tests).
    MiB512,
    /// 32 GiB.
    GiB32,
    /// 64 GiB.
    GiB64,
}

impl SectorSize {
    /// Every size, smallest first.
    pub const ALL: [Self; 5] = [Self::KiB2, Self::MiB8, Self::MiB512, Self::GiB32, Self::GiB64];

    /// The size in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::KiB2 => 1 << 11,
            Self::MiB8 => 1 << 23,
            Self::MiB512 => 1 << 29,
            Self::GiB32 => 1 << 35,
            Self::GiB64 => 1 << 36,
        }
    }

    /// The key of `vanilla_proofs` in a C1 file.
    #[must_use]
    pub const fn shape_key(self) -> &'static str {
        SHAPE_KEYS[self as usize]
    }

    /// Nodes of one layer (32 bytes each).
    #[must_use]
    pub const fn nodes(self) -> u64 {
        self.bytes() / NODE_BYTES
    }

    /// Layers of labels.
    #[must_use]
    pub const fn layers(self) -> usize {
        if self.is_production() { 11 } else { 2 }
    }

    /// Challenges of one partition.
    #[must_use]
    pub const fn challenges_per_partition(self) -> usize {
        if self.is_production() { 18 } else { 2 }
    }

    /// Whether miners may seal this size on the main network.
    #[must_use]
    pub const fn is_production(self) -> bool {
        matches!(self, Self::GiB32 | Self::GiB64)
    }

    /// The Poseidon trees over the columns and the replica.
    #[must_use]
    pub const fn tree(self) -> TreeShape {
        let (base_levels, sub_arity, top_arity) = match self {
            Self::KiB2 => (2, 0, 0),
            Self::MiB8 => (6, 0, 0),
            Self::MiB512 => (8, 0, 0),
            Self::GiB32 => (9, 8, 0),
            Self::GiB64 => (9, 8, 2),
        };
        TreeShape { base_arity: 8, base_levels, sub_arity, top_arity }
    }

    /// The binary SHA-256 tree over the data.
    #[must_use]
    pub const fn data_tree(self) -> TreeShape {
        TreeShape { base_arity: 2, base_levels: self.nodes().trailing_zeros() as usize, sub_arity: 0, top_arity: 0 }
    }
}

impl fmt::Display for SectorSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["2KiB", "8MiB", "512MiB", "32GiB", "64GiB"][*self as usize])
    }
}

/// Keys of `vanilla_proofs`, in the order of [`SectorSize::ALL`].
pub(crate) const SHAPE_KEYS: [&str; 5] =
    ["StackedDrg2KiBV1", "StackedDrg8MiBV1", "StackedDrg512MiBV1", "StackedDrg32GiBV1", "StackedDrg64GiBV1"];

/// Arities and height of a tree: equal base trees, joined by an optional sub level and an optional top level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TreeShape {
    /// Children of a node inside a base tree.
    pub base_arity: usize,
    /// Levels of a base tree, leaves not counted.
    pub base_levels: usize,
    /// Base trees under one node of the sub level; 0 when there is none.
    pub sub_arity: usize,
    /// Nodes of the sub level under the root; 0 when there is none.
    pub top_arity: usize,
}

/// How challenges are drawn and proofs are aggregated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PoRepKind {
    /// `V1`: version 1.0.
    V1,
    /// `V1_1`: version 1.1.
    V1_1,
    /// `V1_1_Feat_SyntheticPoRep`: version 1.2, challenges drawn from a synthetic set fixed before the seed is known.
    Synthetic,
    /// `V1_2_Feat_NonInteractivePoRep`: version 1.2, challenges drawn without a seed, many more partitions.
    NonInteractive,
}

impl PoRepKind {
    /// Every kind, in the order of the registered numbers.
    pub const ALL: [Self; 4] = [Self::V1, Self::V1_1, Self::Synthetic, Self::NonInteractive];
}

/// A registered seal proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SealProof {
    /// The sector size.
    pub sector_size: SectorSize,
    /// The kind of proof.
    pub kind: PoRepKind,
}

impl SealProof {
    /// Every registered seal proof, in the order of the registered numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        PoRepKind::ALL.into_iter().flat_map(|kind| SectorSize::ALL.into_iter().map(move |sector_size| Self { sector_size, kind }))
    }

    /// The proof of this name, as C1 files spell it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|proof| proof.name() == name)
    }

    /// The name, as C1 files spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        NAMES[self.kind as usize][self.sector_size as usize]
    }

    /// The registered number, 0 to 19.
    #[must_use]
    pub const fn registered_id(self) -> u64 {
        (self.kind as u64) * 5 + self.sector_size as u64
    }

    /// The 32 bytes that separate the graphs of different proofs: the registered number and a nonce of zero, little-endian.
    #[must_use]
    pub fn porep_id(self) -> [u8; 32] {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&self.registered_id().to_le_bytes());
        id
    }

    /// The version of the proofs API (major, minor, patch) that this proof belongs to; not always the one in its name.
    #[must_use]
    pub const fn api_version(self) -> (u64, u64, u64) {
        match self.kind {
            PoRepKind::V1 => (1, 0, 0),
            PoRepKind::V1_1 => (1, 1, 0),
            PoRepKind::Synthetic | PoRepKind::NonInteractive => (1, 2, 0),
        }
    }

    /// Whether the challenges come from a synthetic set.
    #[must_use]
    pub const fn is_synthetic(self) -> bool {
        matches!(self.kind, PoRepKind::Synthetic)
    }

    /// Whether the challenges are drawn without a seed.
    #[must_use]
    pub const fn is_non_interactive(self) -> bool {
        matches!(self.kind, PoRepKind::NonInteractive)
    }

    /// The key of `vanilla_proofs` in a C1 file.
    #[must_use]
    pub const fn shape_key(self) -> &'static str {
        self.sector_size.shape_key()
    }

    /// Partitions, each of which becomes one proof of 192 bytes.
    #[must_use]
    pub const fn partitions(self) -> usize {
        match (self.kind, self.sector_size.is_production()) {
            (PoRepKind::NonInteractive, true) => 126,
            (PoRepKind::NonInteractive, false) => 13,
            (_, true) => 10,
            (_, false) => 1,
        }
    }

    /// Bytes that one decoded partition takes from the ledger at most.
    #[must_use]
    pub fn partition_bytes(self) -> u64 {
        DecodedSize::of(self.sector_size).partition
    }

    /// Challenges of one partition.
    #[must_use]
    pub const fn challenges_per_partition(self) -> usize {
        self.sector_size.challenges_per_partition()
    }

    /// Layers of labels.
    #[must_use]
    pub const fn layers(self) -> usize {
        self.sector_size.layers()
    }
}

impl fmt::Display for SealProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const NAMES: [[&str; 5]; 4] = [
    SHAPE_KEYS,
    ["StackedDrg2KiBV1_1", "StackedDrg8MiBV1_1", "StackedDrg512MiBV1_1", "StackedDrg32GiBV1_1", "StackedDrg64GiBV1_1"],
    [
        "StackedDrg2KiBV1_1_Feat_SyntheticPoRep",
        "StackedDrg8MiBV1_1_Feat_SyntheticPoRep",
        "StackedDrg512MiBV1_1_Feat_SyntheticPoRep",
        "StackedDrg32GiBV1_1_Feat_SyntheticPoRep",
        "StackedDrg64GiBV1_1_Feat_SyntheticPoRep",
    ],
    [
        "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep",
        "StackedDrg8MiBV1_2_Feat_NonInteractivePoRep",
        "StackedDrg512MiBV1_2_Feat_NonInteractivePoRep",
        "StackedDrg32GiBV1_2_Feat_NonInteractivePoRep",
        "StackedDrg64GiBV1_2_Feat_NonInteractivePoRep",
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_the_numbers_say() {
        for (id, proof) in SealProof::all().enumerate() {
            assert_eq!(proof.registered_id(), id as u64);
            assert_eq!(SealProof::from_name(proof.name()), Some(proof));
            assert!(proof.name().starts_with(&format!("StackedDrg{}V1", proof.sector_size)), "{proof}");
            assert!(proof.name().starts_with(proof.shape_key()));
            assert_eq!(proof.is_synthetic(), proof.name().ends_with("SyntheticPoRep"));
            assert_eq!(proof.is_non_interactive(), proof.name().ends_with("NonInteractivePoRep"));
            assert_eq!(u64::from(proof.porep_id()[0]), proof.registered_id());
        }
        assert_eq!(SealProof::all().count(), 20);
        assert_eq!(SealProof::from_name("StackedDrg2KiBV2"), None);
    }

    #[test]
    fn trees_have_a_leaf_for_each_node() {
        for size in SectorSize::ALL {
            for tree in [size.tree(), size.data_tree()] {
                let base = (tree.base_arity as u64).pow(tree.base_levels as u32);
                assert_eq!(base * tree.sub_arity.max(1) as u64 * tree.top_arity.max(1) as u64, size.nodes(), "{size}");
            }
        }
    }

    #[test]
    fn challenges_reach_the_required_minimum() {
        for proof in SealProof::all() {
            let minimum = match (proof.is_non_interactive(), proof.sector_size.is_production()) {
                (false, false) => 2,
                (false, true) => 176,
                (true, false) => 26,
                (true, true) => 2253,
            };
            assert_eq!(usize::div_ceil(minimum, proof.partitions()), proof.challenges_per_partition(), "{proof}");
        }
    }
}

//! Merkle trees of great width that hold few distinct nodes.

use std::collections::BTreeMap;

use filecoin_hashers::Hasher;
use merkletree::hash::Algorithm;
use rayon::prelude::*;

use crate::Error;

/// Siblings on the way from a leaf to the root, each level with the position of the node among them.
pub(crate) type Path<D> = Vec<(Vec<D>, usize)>;

fn parent<H: Hasher>(children: &[H::Domain], height: usize) -> H::Domain {
    let mut function = H::Function::default();
    function.reset();
    function.multi_node(children, height)
}

/// A tree of which only some leaves are given; all others are equal.
pub struct SparseTree<H: Hasher> {
    arities: Vec<usize>,
    /// The nodes with a given leaf below, leaves first, the root last.
    levels: Vec<BTreeMap<u64, H::Domain>>,
    /// The node of each level without a given leaf below.
    elsewhere: Vec<H::Domain>,
}

impl<H: Hasher> SparseTree<H> {
    /// A tree over `leaves`, every other leaf being `elsewhere`. `arities` runs from the leaves to the root: ten times 8 for 2^30 leaves.
    ///
    /// Costs one hash a level and node with a given leaf below.
    #[must_use]
    pub fn new(arities: Vec<usize>, leaves: BTreeMap<u64, H::Domain>, elsewhere: H::Domain) -> Self {
        let mut tree = Self { arities: Vec::with_capacity(arities.len()), levels: vec![leaves], elsewhere: vec![elsewhere] };
        for (height, arity) in arities.into_iter().enumerate() {
            let mut parents: Vec<u64> = tree.levels[height].keys().map(|child| child / arity as u64).collect();
            parents.dedup();
            let level = parents.into_par_iter().map(|index| (index, parent::<H>(&tree.children(height, arity, index), height)));
            let level: Vec<(u64, H::Domain)> = level.collect();
            let blank = parent::<H>(&vec![tree.elsewhere[height]; arity], height);
            tree.levels.push(level.into_iter().collect());
            tree.elsewhere.push(blank);
            tree.arities.push(arity);
        }
        tree
    }

    fn node(&self, height: usize, index: u64) -> H::Domain {
        self.levels[height].get(&index).copied().unwrap_or(self.elsewhere[height])
    }

    fn children(&self, height: usize, arity: usize, index: u64) -> Vec<H::Domain> {
        (0..arity as u64).map(|child| self.node(height, index * arity as u64 + child)).collect()
    }

    /// The root.
    #[must_use]
    pub fn root(&self) -> H::Domain {
        self.node(self.arities.len(), 0)
    }

    /// A leaf.
    #[must_use]
    pub fn leaf(&self, index: u64) -> H::Domain {
        self.node(0, index)
    }

    /// The way from a leaf to the root.
    #[must_use]
    pub fn path(&self, leaf: u64) -> Path<H::Domain> {
        let mut index = leaf;
        let mut path = Vec::with_capacity(self.arities.len());
        for (height, &arity) in self.arities.iter().enumerate() {
            let position = (index % arity as u64) as usize;
            let mut siblings = self.children(height, arity, index / arity as u64);
            siblings.remove(position);
            path.push((siblings, position));
            index /= arity as u64;
        }
        path
    }
}

/// A binary tree whose leaves repeat with a period that is a power of two.
pub struct PeriodicTree<H: Hasher> {
    /// One period of each level, leaves first.
    levels: Vec<Vec<H::Domain>>,
}

impl<H: Hasher> PeriodicTree<H> {
    /// A tree of 2^`height` leaves that repeats `pattern`. Costs two hashes a leaf of the pattern and one a level.
    ///
    /// # Errors
    /// [`Error::Pattern`] when the pattern's length is no power of two up to 2^`height`.
    pub fn new(pattern: Vec<H::Domain>, height: usize) -> Result<Self, Error> {
        if !pattern.len().is_power_of_two() || pattern.len().trailing_zeros() as usize > height {
            return Err(Error::Pattern { height, found: pattern.len() });
        }
        let mut levels = vec![pattern];
        for below in 0..height {
            let level = match levels[below][..] {
                [only] => vec![parent::<H>(&[only, only], below)],
                ref nodes => nodes.chunks(2).map(|pair| parent::<H>(pair, below)).collect(),
            };
            levels.push(level);
        }
        Ok(Self { levels })
    }

    fn node(&self, height: usize, index: u64) -> H::Domain {
        let level = &self.levels[height];
        level[(index % level.len() as u64) as usize]
    }

    /// Levels above the leaves.
    fn height(&self) -> usize {
        self.levels.len() - 1
    }

    /// The root.
    #[must_use]
    pub fn root(&self) -> H::Domain {
        self.node(self.height(), 0)
    }

    /// A leaf.
    #[must_use]
    pub fn leaf(&self, index: u64) -> H::Domain {
        self.node(0, index)
    }

    /// The way from a leaf to the root.
    #[must_use]
    pub fn path(&self, leaf: u64) -> Path<H::Domain> {
        (0..self.height())
            .map(|height| {
                let index = leaf >> height;
                (vec![self.node(height, index ^ 1)], (index & 1) as usize)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
    use filecoin_hashers::sha256::{Sha256Domain, Sha256Hasher};
    use storage_proofs_core::merkle::{MerkleProof, MerkleProofTrait};
    use typenum::{U0, U2, U8};

    use super::*;

    fn bytes(i: u64) -> [u8; 32] {
        let mut out = [0; 32];
        out[..8].copy_from_slice(&(i + 1).to_le_bytes());
        out
    }

    /// Hashes all leaves, level by level.
    fn dense_root<H: Hasher>(mut nodes: Vec<H::Domain>, arities: &[usize]) -> H::Domain {
        for (height, &arity) in arities.iter().enumerate() {
            nodes = nodes.chunks(arity).map(|children| parent::<H>(children, height)).collect();
        }
        assert_eq!(nodes.len(), 1);
        nodes[0]
    }

    #[test]
    fn sparse_tree_equals_the_dense_one_and_opens_everywhere() {
        let arities = vec![8, 8, 2];
        let given: BTreeMap<u64, PoseidonDomain> = [0, 9, 10, 127].into_iter().map(|i| (i, bytes(i).into())).collect();
        let blank: PoseidonDomain = bytes(5000).into();
        let dense = (0..128).map(|i| given.get(&i).copied().unwrap_or(blank)).collect();
        let root = dense_root::<PoseidonHasher>(dense, &arities);
        let tree = SparseTree::<PoseidonHasher>::new(arities, given, blank);
        assert_eq!(tree.root(), root);
        for leaf in 0..128 {
            let proof = MerkleProof::<PoseidonHasher, U8, U2, U0>::from_parts(tree.leaf(leaf), root, tree.path(leaf));
            assert!(proof.verify());
            assert!(proof.proves_challenge(leaf as usize));
        }
    }

    #[test]
    fn periodic_tree_equals_the_dense_one_and_opens_everywhere() {
        for period in [1, 2, 8, 32] {
            let pattern: Vec<Sha256Domain> = (0..period).map(|i| bytes(i).into()).collect();
            let dense = (0..32).map(|i| bytes(i % period).into()).collect();
            let tree = PeriodicTree::<Sha256Hasher>::new(pattern, 5).unwrap();
            assert_eq!(tree.root(), dense_root::<Sha256Hasher>(dense, &[2; 5]));
            for leaf in 0..32 {
                let proof = MerkleProof::<Sha256Hasher, U2>::from_parts(tree.leaf(leaf), tree.root(), tree.path(leaf));
                assert!(proof.verify());
                assert!(proof.proves_challenge(leaf as usize));
            }
        }
    }

    #[test]
    fn odd_patterns_are_refused() {
        for length in [0, 3, 64] {
            let pattern = vec![Sha256Domain::default(); length];
            assert!(matches!(PeriodicTree::<Sha256Hasher>::new(pattern, 5), Err(Error::Pattern { height: 5, found }) if found == length));
        }
    }
}

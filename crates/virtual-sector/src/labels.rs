//! The columns of labels of the nodes that a proof opens.

use std::collections::{BTreeMap, BTreeSet};

use filecoin_hashers::Hasher;
use filecoin_proofs::constants::{DRG_DEGREE, DefaultTreeHasher, EXP_DEGREE};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use storage_proofs_core::drgraph::Graph;
use storage_proofs_porep::stacked::{StackedBucketGraph, TOTAL_PARENTS};

use crate::error::library;
use crate::{Error, Labels, Spec};

/// A node of tree C or tree R.
pub(crate) type TreeDomain = <DefaultTreeHasher as Hasher>::Domain;

/// Nodes that share a parent in tree C: the leaves of one group are siblings in an opening.
const SIBLINGS: u32 = 8;

/// The parents of one node.
#[derive(Clone, Copy)]
pub(crate) struct Parents([u32; DRG_DEGREE + EXP_DEGREE]);

impl Parents {
    /// In the same layer, lower numbers.
    pub(crate) fn base(&self) -> &[u32] {
        &self.0[..DRG_DEGREE]
    }

    /// In the layer before.
    pub(crate) fn expander(&self) -> &[u32] {
        &self.0[DRG_DEGREE..]
    }
}

/// The materialised nodes: those that are opened, their parents, and the siblings of both in tree C.
pub(crate) struct Columns {
    columns: BTreeMap<u32, Vec<TreeDomain>>,
    parents: BTreeMap<u32, Parents>,
}

impl Columns {
    /// Labels of `layers` layers.
    pub(crate) fn new(
        spec: &Spec,
        graph: &StackedBucketGraph<DefaultTreeHasher>,
        layers: usize,
        replica_id: &TreeDomain,
        challenged: &BTreeSet<u32>,
    ) -> Result<Self, Error> {
        let labelled: BTreeSet<u32> = match spec.labels {
            Labels::All => (0..graph.size() as u32).collect(),
            Labels::Challenged => challenged.clone(),
        };
        let parents: BTreeMap<u32, Parents> =
            labelled.par_iter().map(|&node| Ok((node, parents_of(graph, node)?))).collect::<Result<_, Error>>()?;
        let groups: BTreeSet<u32> = labelled.iter().chain(parents.values().flat_map(|p| &p.0)).map(|node| node / SIBLINGS).collect();
        let materialised: Vec<u32> = groups.into_iter().flat_map(|group| group * SIBLINGS..(group + 1) * SIBLINGS).collect();

        // A node that follows the labelling rule gets its column below; the others get a pseudo-random one.
        let column = |node: u32| match labelled.contains(&node) {
            true => Vec::with_capacity(layers),
            false => (1..=layers as u64).map(|layer| spec.pseudo_random("label", layer, u64::from(node)).into()).collect(),
        };
        let columns = materialised.into_par_iter().map(|node| (node, column(node))).collect::<Vec<_>>().into_iter().collect();
        let mut made = Self { columns, parents };
        // Layer by layer, ascending: base parents (same layer, lower number) and expander parents (layer before) exist before their child.
        for layer in 1..=layers {
            for &node in &labelled {
                let parents = if node == 0 { Vec::new() } else { made.parent_labels(layer, node)? };
                let label = label(replica_id, layer as u32, node, &parents);
                made.columns.get_mut(&node).ok_or(Error::NotMaterialised { node })?.push(label);
            }
        }
        Ok(made)
    }

    /// Every materialised node with its column, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[TreeDomain])> {
        self.columns.iter().map(|(&node, column)| (node, column.as_slice()))
    }

    /// Number of materialised nodes.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// The labels of a node, first layer first.
    pub(crate) fn column(&self, node: u32) -> Result<&[TreeDomain], Error> {
        self.columns.get(&node).map(Vec::as_slice).ok_or(Error::NotMaterialised { node })
    }

    /// The parents of a node that follows the labelling rule.
    pub(crate) fn parents(&self, node: u32) -> Result<&Parents, Error> {
        self.parents.get(&node).ok_or(Error::NotMaterialised { node })
    }

    /// What the label of a node in a layer (from 1) hashes: the labels of its parents, repeated until there are 37.
    pub(crate) fn parent_labels(&self, layer: usize, node: u32) -> Result<Vec<TreeDomain>, Error> {
        let parents = self.parents(node)?;
        let at =
            |layer: usize| move |&parent: &u32| self.column(parent)?.get(layer - 1).copied().ok_or(Error::NotMaterialised { node: parent });
        let mut labels = parents.base().iter().map(at(layer)).collect::<Result<Vec<_>, Error>>()?;
        if layer > 1 {
            for parent in parents.expander() {
                labels.push(at(layer - 1)(parent)?);
            }
        }
        Ok(labels.into_iter().cycle().take(TOTAL_PARENTS).collect())
    }
}

fn parents_of(graph: &StackedBucketGraph<DefaultTreeHasher>, node: u32) -> Result<Parents, Error> {
    let mut parents = Parents([0; DRG_DEGREE + EXP_DEGREE]);
    graph.parents(node as usize, &mut parents.0).map_err(library("finding the parents of a node"))?;
    match parents.base().iter().find(|&&parent| node > 0 && parent >= node) {
        Some(&parent) => Err(Error::ParentOrder { node, parent }),
        None => Ok(parents),
    }
}

/// SHA-256 of replica id, layer (32 bits, big-endian), node (64 bits, big-endian), 20 zero bytes and the labels of the parents, cut to 254 bits.
fn label(replica_id: &TreeDomain, layer: u32, node: u32, parents: &[TreeDomain]) -> TreeDomain {
    let mut head = [0; 64];
    head[..32].copy_from_slice(replica_id.as_ref());
    head[32..36].copy_from_slice(&layer.to_be_bytes());
    head[36..44].copy_from_slice(&u64::from(node).to_be_bytes());
    let mut hash = Sha256::new_with_prefix(head);
    for parent in parents {
        hash.update(AsRef::<[u8]>::as_ref(parent));
    }
    let mut out: [u8; 32] = hash.finalize().into();
    out[31] &= 0x3f;
    out.into()
}

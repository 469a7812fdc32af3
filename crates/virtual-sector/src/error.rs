//! Why no C1 file was made.

use crate::SectorSize;

/// Why no C1 file was made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The proof library failed.
    #[error("{step} failed in the proof library")]
    Library {
        /// What it was asked to do.
        step: &'static str,
        /// What it said.
        #[source]
        source: anyhow::Error,
    },
    /// The library's own verification does not accept what was made.
    #[error("the library's vanilla verification refuses the sector that was made of {spec}; nothing is returned")]
    Refused {
        /// The spec, for the report of this defect.
        spec: String,
    },
    /// A node was asked for that was not materialised.
    #[error("node {node} is opened but has no column: the sets of opened and materialised nodes differ")]
    NotMaterialised {
        /// Which node.
        node: u32,
    },
    /// The graph has an edge that the order of labelling does not expect.
    #[error("node {node} has base parent {parent}, expected a lower number")]
    ParentOrder {
        /// The child.
        node: u32,
        /// Its parent.
        parent: u32,
    },
    /// The leaves are no whole number of base trees.
    #[error("{nodes} leaves are no power of {arity} times {tops}, as the tree shape of this sector size wants")]
    TreeShape {
        /// Leaves of the sector.
        nodes: usize,
        /// Arity of the base trees.
        arity: usize,
        /// Number of base trees.
        tops: usize,
    },
    /// The pattern of a periodic tree has no power of two of leaves, or more than the tree has.
    #[error("a periodic tree of height {height} cannot repeat {found} leaves: expected a power of two up to 2^{height}")]
    Pattern {
        /// Height of the tree.
        height: usize,
        /// Leaves of the pattern.
        found: usize,
    },
    /// Every node would have to be labelled, in a sector too large for it.
    #[error("labelling every node is for sectors of at most 8 MiB, {size} was asked for")]
    TooLarge {
        /// The size asked for.
        size: SectorSize,
    },
    /// A file of the scratch folder could not be written.
    #[error("writing to the scratch folder")]
    Io(#[from] std::io::Error),
    /// The result could not be encoded as JSON.
    #[error("encoding as JSON")]
    Json(#[from] serde_json::Error),
    /// The result could not be encoded as bincode.
    #[error("encoding as bincode")]
    Bincode(#[from] bincode::Error),
}

/// Names the step that an error of the library came from.
pub(crate) fn library(step: &'static str) -> impl FnOnce(anyhow::Error) -> Error {
    move |source| Error::Library { step, source }
}

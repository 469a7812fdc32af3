#![doc = include_str!("../README.md")]

mod base64_source;
mod challenge;
mod document;
mod error;
mod inclusion;
mod lexer;
mod limits;
mod proof;
mod seal_proof;
mod serialize;
mod source;
mod walk;

pub use document::{parse, parse_reader};
pub use error::{Authority, C1Error, Document, Location};
pub use limits::{Expected, Limits};
pub use proof::{
    C1, ChallengeProof, Column, ColumnProof, Digest, InclusionPath, InclusionProof, LabelingProof, Partition, ReplicaColumnProof,
    WrappedSector,
};
pub use seal_proof::{DRG_PARENTS, EXP_PARENTS, LABELING_PARENTS, NODE_BYTES, PoRepKind, SealProof, SectorSize, TreeShape};

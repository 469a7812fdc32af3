#![doc = include_str!("../README.md")]

mod c1_file;
mod error;
mod fabricate;
mod labels;
mod seal;
mod spec;
mod trees;

pub use c1_file::{C1File, Meta};
pub use error::Error;
pub use fabricate::{Construction, Fabricated, fabricate};
pub use seal::{Fixture, seal, seal_fixture};
pub use spec::{Data, Labels, SectorSize, Spec, UnknownSectorSize, prover_id};
pub use trees::{PeriodicTree, SparseTree};

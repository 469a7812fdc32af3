//! Reference values of official circuits: counts, digests of vectors, sums and proofs, as `bench-data` keeps them.

mod classes;
mod report;
mod system;

pub use report::{reference, shape, statistics};

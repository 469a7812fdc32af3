//! Against bellperson's generator, prover and verifier.

#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it")]

mod chains;
mod reference;
mod toy;

//! Against bellperson's generator, prover and verifier.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod chains;
mod reference;
mod toy;

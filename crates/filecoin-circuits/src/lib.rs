#![doc = include_str!("../README.md")]

mod error;
mod guard;
mod identity;
mod inputs;
mod known;
mod official;
mod shape;
mod statement;
mod synthesis;
mod vanilla;

pub use error::{CircuitError, OpeningFlaw};
pub use identity::{CircuitIdentity, OfficialFile, identity};
pub use inputs::public_inputs;
pub use known::{KnownCircuit, known_circuit};
pub use official::conversion_bytes;
pub use statement::Statement;
pub use synthesis::{Checked, Synthesized, check, compile, open, open_or_compile, synthesize};
pub use vanilla::vanilla_check;

#![doc = include_str!("../README.md")]

mod bits;
mod block;
mod check;
mod compile;
mod compiled;
mod dictionary;
mod error;
mod evaluate;
mod format;
mod hash;
#[allow(unsafe_code)]
mod map;
mod record;
mod row_value;
mod scatter;
mod shape;
mod varint;
mod witness;
mod witness_cs;
mod writer;

pub use check::{BrokenConstraint, Satisfaction, check};
pub use compile::{Opened, compile, open_or_compile};
pub use compiled::CompiledCircuit;
pub use error::SynthError;
pub use evaluate::{RowOrder, evaluate, evaluate_scratch_bytes};
pub use shape::CircuitShape;
pub use witness::{CompactWitness, witness_bytes_max};
pub use witness_cs::synthesize_witness;

//! What the user gives: C1 files, sectors, proofs.

mod c1;
mod hex_value;
mod proof;
mod public_inputs;
mod sector;

pub(crate) use c1::read_c1;
pub(crate) use hex_value::{parse_digest, parse_seed};
pub(crate) use proof::read_proof;
pub(crate) use public_inputs::PublicInputs;
pub(crate) use sector::{SectorArgs, parse_sector_size};

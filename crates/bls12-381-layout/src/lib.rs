#![doc = include_str!("../README.md")]

mod affine;
mod fp;
mod fp2;
mod limbs;
mod plain;

pub use affine::{Affine, CoordinateField};
pub use fp::Fp;
pub use fp2::Fp2;
pub use limbs::{Limbs, canonical_limbs, scalar_from_limbs};
pub use plain::{LayoutError, Plain, as_bytes, as_bytes_mut, from_bytes, zeroed_vec};

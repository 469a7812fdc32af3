//! Multi-scalar multiplication: Pippenger's bucket method with signed digits, whose additions are affine and share inversions.
//!
//! The points come in chunks, so that a section need not be resident. For each chunk the scalars are sorted into classes: zeros are
//! dropped; the points of ones are summed in a tree; everything else goes through the buckets, where small values (below 2^64, or close
//! below the group order) meet only the low windows. Buckets of all windows live through all chunks and are summed up once, at the end.
//!
//! Sources: Pippenger, "On the evaluation of powers and related problems" (1976); Bernstein, Doumen, Lange, Oosterwijk, "Faster
//! batch forgery identification" (2012), section 4; batches of affine additions as in Aztec's barretenberg and in gnark-crypto.

pub mod naive;

pub(crate) mod batch_affine;
mod bits;
mod blocks;
mod buckets;
pub(crate) mod digits;
mod driver;
pub(crate) mod fetch;
mod plan;
mod reduce;
mod sort;
mod workspace;

pub(crate) use driver::sum;
pub(crate) use plan::scratch_bytes;

//! Our kernels beside those of others, in one process, alternating, on the same data.

mod rounds;
mod sums;
mod transforms;

pub use rounds::{Comparison, Size, Times};
pub use sums::{compare_g1, compare_g2, compare_witness};
pub use transforms::compare_transforms;

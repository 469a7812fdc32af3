//! Points brought into the cache ahead of use.

use bls12_381_layout::{Affine, as_bytes};

/// So many points are fetched at a time: few enough to stay in the first-level cache until they are used.
pub(crate) const FETCH_AHEAD: usize = 64;

/// Reads a byte of every line of some points that lie in no order in memory.
///
/// The loads of a loop that does nothing else overlap far better than those among the branches and copies of gathering.
#[inline]
pub(crate) fn fetch<'a, A: Affine>(points: impl Iterator<Item = &'a A>) {
    let mut any = 0;
    for point in points {
        let bytes = as_bytes(std::slice::from_ref(point));
        any |= bytes[bytes.len() - 1];
        for line in bytes.chunks(64) {
            any |= line[0];
        }
    }
    std::hint::black_box(any);
}

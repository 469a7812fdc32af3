//! How a sum is done, and the memory it takes.

use bls12_381_layout::{Affine, Limbs};

use super::digits::Windows;
use super::workspace::Workspace;
use crate::scratch::bytes_of;

/// Points of a block: the unit in which scalars are sorted into classes.
pub(crate) const BLOCK: usize = 1 << 12;

/// Blocks of a chunk.
pub(crate) const CHUNK_BLOCKS: usize = 32;

/// Most points of a chunk: the unit in which points are asked for.
pub(crate) const CHUNK: usize = BLOCK * CHUNK_BLOCKS;

/// Up to so many values are multiplied one by one.
const DIRECT_MAX: usize = 8;

/// Most bytes of all buckets together.
const BUCKET_BYTES_MAX: u64 = 100 << 20;

/// Widest window.
const WINDOW_BITS_MAX: u32 = 17;

/// How many scalars need more than one addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// Values of any size.
    pub(crate) full: usize,
    /// Values below 2^64 in absolute value, but not 0 or ±1.
    pub(crate) small: usize,
}

impl Census {
    /// What the values weigh in full-size ones: a small value has digits in a quarter of the windows.
    fn weight(self) -> usize {
        self.full + self.small.div_ceil(4)
    }

    fn entries(self) -> usize {
        self.full + self.small
    }
}

/// The windows of a sum and the sizes of its scratch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// `None` when the values are multiplied one by one.
    pub(crate) windows: Option<Windows>,
    /// Positions of a chunk.
    pub(crate) positions: usize,
    /// Values of a chunk that go through buckets, at most.
    pub(crate) entries: usize,
}

impl Plan {
    pub(crate) fn new<A: Affine>(points: usize, census: Census) -> Self {
        let positions = points.min(CHUNK);
        if census.entries() <= DIRECT_MAX {
            return Self { windows: None, positions, entries: 0 };
        }
        // A step function of the next power of two, so that the memory of all smaller sums is known from a few of them.
        let bits = window_bits::<A>(census.weight().next_power_of_two());
        Self { windows: Some(Windows::new(bits)), positions, entries: census.entries().min(positions) }
    }

    /// Buckets of all windows.
    pub(crate) fn buckets(self) -> usize {
        self.windows.map_or(0, |w| w.count() * w.buckets())
    }

    /// Sorted values of all windows.
    pub(crate) fn sorted(self) -> usize {
        self.windows.map_or(0, |w| w.count() * self.entries)
    }

    /// Bytes of everything that [`sum`](super::sum) takes: buckets, their ends in the sorted values, the sorted values; for each position of
    /// a chunk a recoded value, its index, and the index of a one; the workspaces.
    pub(crate) fn bytes<A: Affine>(self, workers: usize) -> u64 {
        bytes_of::<A>(self.buckets())
            + bytes_of::<u32>(self.buckets())
            + bytes_of::<u32>(self.sorted())
            + bytes_of::<Limbs>(self.positions)
            + 2 * bytes_of::<u32>(self.positions)
            + workers as u64 * Workspace::<A>::bytes()
    }
}

/// The width with the fewest additions: each window adds every value once and every bucket twice.
fn window_bits<A: Affine>(values: usize) -> u32 {
    let fits = |bits: &u32| bytes_of::<A>(Windows::count_for(*bits) << (*bits - 1)) <= BUCKET_BYTES_MAX;
    let additions = |bits: &u32| Windows::count_for(*bits) * (values + (2 << (*bits - 1)));
    (2..=WINDOW_BITS_MAX).filter(fits).min_by_key(additions).unwrap_or(2)
}

/// Bytes of scratch of a sum over `points` points at most, whatever the scalars.
///
/// The width of the windows follows the weight of the values rounded up to a power of two, so each width is met below.
pub(crate) fn scratch_bytes<A: Affine>(points: usize, workers: usize) -> u64 {
    let positions = points.min(CHUNK);
    let bytes = |weight: usize| {
        // So many values at most have that weight: four small ones weigh as much as a full-size one.
        let values = weight.saturating_mul(4);
        let windows = (values > DIRECT_MAX).then(|| Windows::new(window_bits::<A>(weight)));
        let entries = if windows.is_some() { values.min(positions) } else { 0 };
        Plan { windows, positions, entries }.bytes::<A>(workers)
    };
    let weights = (0..usize::BITS).map(|k| 1usize << k).take_while(|weight| *weight < points.next_power_of_two());
    weights.chain([points.next_power_of_two()]).map(bytes).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use blstrs::{G1Affine, G2Affine};
    use proptest::prelude::*;

    use super::*;

    fn bound_holds<A: Affine>(points: usize, full: usize, small: usize, workers: usize) {
        let census = Census { full, small };
        let bytes = Plan::new::<A>(points, census).bytes::<A>(workers);
        let bound = scratch_bytes::<A>(points, workers);
        assert!(bytes <= bound, "{points} points, {census:?}: {bytes} bytes, said {bound}");
    }

    #[test]
    fn the_bound_holds_for_every_mixture_of_few_values() {
        for points in 0..70 {
            for full in 0..=points {
                for small in 0..=points - full {
                    bound_holds::<G1Affine>(points, full, small, 2);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_bound_holds_for_any_values(
            log2 in 0u32..27,
            noise in any::<usize>(),
            full in any::<prop::sample::Index>(),
            small in any::<prop::sample::Index>(),
            workers in 1usize..100,
        ) {
            let points = (1 << log2) + noise % (1 << log2);
            let full = full.index(points + 1);
            let small = small.index(points - full + 1);
            // Few full-size values among many small ones, and the other way round.
            for (full, small) in [(full, small), (full >> (noise % 24), small), (full, small >> (noise % 24))] {
                bound_holds::<G1Affine>(points, full, small, workers);
                bound_holds::<G2Affine>(points, full, small, workers);
            }
        }
    }
}

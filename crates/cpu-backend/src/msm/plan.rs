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
pub(crate) fn scratch_bytes<A: Affine>(points: usize, workers: usize) -> u64 {
    let most_values = |weight: usize| Census { full: weight.div_ceil(4).max(weight), small: 0 };
    // For each possible weight the most entries are four small values for each unit of it.
    let bytes = |weight: usize| {
        let plan = Plan::new::<A>(points, most_values(weight));
        let entries = weight.saturating_mul(4).min(plan.positions);
        Plan { entries: if plan.windows.is_some() { entries } else { 0 }, ..plan }.bytes::<A>(workers)
    };
    let powers = (0..usize::BITS).map(|k| 1usize << k).take_while(|w| *w < points);
    powers.chain([points]).map(bytes).max().unwrap_or(0)
}

//! Points into buckets.

use bls12_381_layout::Affine;

use super::blocks::NEGATIVE;
use super::fetch::{FETCH_AHEAD, fetch};
use super::workspace::Workspace;

/// Some neighbouring buckets of a window, and the sorted values that belong to them.
pub(crate) struct Task<'a, A> {
    buckets: &'a mut [A],
    /// Ends of the buckets in `order`.
    ends: &'a [u32],
    /// Start of the first bucket in `order`.
    start: u32,
    order: &'a [u32],
}

/// Cuts a window into tasks of about `size` values; a bucket is never cut.
pub(crate) fn tasks<'a, A>(mut buckets: &'a mut [A], mut ends: &'a [u32], order: &'a [u32], size: usize) -> Vec<Task<'a, A>> {
    let mut tasks = Vec::new();
    let mut start = 0;
    while let Some(total) = ends.last().filter(|total| **total > start) {
        let target = (start + size as u32).min(*total);
        let count = ends.partition_point(|end| *end < target) + 1;
        let (own_buckets, other_buckets) = std::mem::take(&mut buckets).split_at_mut(count);
        let (own_ends, other_ends) = ends.split_at(count);
        tasks.push(Task { buckets: own_buckets, ends: own_ends, start, order });
        start = own_ends[count - 1];
        (buckets, ends) = (other_buckets, other_ends);
    }
    tasks
}

impl<A: Affine> Task<'_, A> {
    /// Adds the points to their buckets. What a bucket holds already is one more point of its run, so nothing is added twice.
    pub(crate) fn run(self, points: &[A], workspace: &mut Workspace<A>) {
        let Self { buckets, ends, mut start, order } = self;
        let last = ends.last().map_or(start, |end| *end) as usize;
        let mut fetched = start as usize;
        workspace.clear();
        for (i, end) in ends.iter().enumerate() {
            let mut list = &order[start as usize..*end as usize];
            start = *end;
            while fetched < last.min(start as usize + FETCH_AHEAD) {
                let next = last.min(fetched + FETCH_AHEAD);
                fetch(order[fetched..next].iter().map(|index| &points[(index & !NEGATIVE) as usize]));
                fetched = next;
            }
            while !list.is_empty() {
                let mut now = list.len();
                if now + 1 > workspace.room() {
                    if workspace.len() > 0 {
                        flush(buckets, workspace);
                    }
                    now = now.min(workspace.room() - 1);
                }
                let first = workspace.len();
                workspace.gather(&buckets[i], false);
                let (head, tail) = list.split_at(now);
                for index in head {
                    workspace.gather(&points[(index & !NEGATIVE) as usize], index & NEGATIVE != 0);
                }
                workspace.close_run(first, i as u32);
                if !tail.is_empty() {
                    // The rest of the bucket goes on from this sum. Infinities, which are left out, can leave room for it here: then it would
                    // become a second run of the same owner, and one sum would replace the other.
                    flush(buckets, workspace);
                }
                list = tail;
            }
        }
        flush(buckets, workspace);
    }
}

fn flush<A: Affine>(buckets: &mut [A], workspace: &mut Workspace<A>) {
    workspace.collapse();
    for (owner, sum) in workspace.sums() {
        buckets[owner as usize] = sum;
    }
    workspace.clear();
}

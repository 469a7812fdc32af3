//! What one worker needs to add points in batches.

use bls12_381_layout::{Affine, CoordinateField};
use buffer_accounting::{Buffer, BufferMut, OwnedBytes};

use super::batch_affine::{Step, add_neighbours};
use crate::scratch::bytes_of;

/// Bytes of points a worker gathers before it adds: with the steps of the additions they fill most of a second-level cache of 1 MiB.
const GATHER_BYTES: usize = 448 << 10;

/// A run of points that are to become one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Where the run starts among the gathered points.
    pub(crate) start: u32,
    /// How many points it has.
    pub(crate) len: u32,
    /// Whose sum it is.
    pub(crate) owner: u32,
}

/// Gathered points, the runs they form, and the scratch to add them.
pub(crate) struct Workspace<A: Affine> {
    points: Vec<A>,
    runs: Vec<Run>,
    pairs: Vec<(u32, u32)>,
    steps: Vec<Step<A::Coordinate>>,
}

impl<A: Affine> OwnedBytes for Workspace<A> {
    fn owned_bytes(&self) -> u64 {
        self.points.owned_bytes() + self.runs.owned_bytes() + self.pairs.owned_bytes() + self.steps.owned_bytes()
    }
}

impl<A: Affine> Buffer for Workspace<A> {
    type Contents = Self;
    fn contents(&self) -> &Self {
        self
    }
}

impl<A: Affine> BufferMut for Workspace<A> {
    fn contents_mut(&mut self) -> &mut Self {
        self
    }
}

impl<A: Affine> Workspace<A> {
    /// Points that fit.
    pub(crate) const CAPACITY: usize = GATHER_BYTES / size_of::<A>();

    /// Bytes of a workspace.
    pub(crate) const fn bytes() -> u64 {
        bytes_of::<A>(Self::CAPACITY)
            + bytes_of::<Run>(Self::CAPACITY)
            + bytes_of::<(u32, u32)>(Self::CAPACITY / 2)
            + bytes_of::<Step<A::Coordinate>>(Self::CAPACITY / 2)
    }

    pub(crate) fn new() -> Self {
        let blank = Step { denominator: A::Coordinate::ZERO, product: A::Coordinate::ZERO };
        Self {
            points: Vec::with_capacity(Self::CAPACITY),
            runs: Vec::with_capacity(Self::CAPACITY),
            pairs: Vec::with_capacity(Self::CAPACITY / 2),
            steps: vec![blank; Self::CAPACITY / 2],
        }
    }

    /// Points that can still be gathered.
    pub(crate) fn room(&self) -> usize {
        Self::CAPACITY - self.points.len()
    }

    /// Forgets points and runs.
    pub(crate) fn clear(&mut self) {
        self.points.clear();
        self.runs.clear();
    }

    /// Number of gathered points.
    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }

    /// Gathers a point, or its opposite. Infinity adds nothing and is left out.
    #[inline(always)]
    pub(crate) fn gather(&mut self, point: &A, negative: bool) {
        let y = point.y();
        if y.is_zero() {
            return;
        }
        self.points.push(if negative { A::from_xy(point.x(), y.neg()) } else { *point });
    }

    /// Closes a run that began when `start` points were gathered. An empty run stays out.
    pub(crate) fn close_run(&mut self, start: usize, owner: u32) {
        let len = self.points.len() - start;
        if len > 0 {
            self.runs.push(Run { start: start as u32, len: len as u32, owner });
        }
    }

    /// Adds every run up to one point. The runs are left with a length of 1, or 0 where the sum is infinity.
    pub(crate) fn collapse(&mut self) {
        while self.halve() {}
    }

    /// One round of additions of neighbours in all runs. False when nothing was left to add.
    fn halve(&mut self) -> bool {
        self.pairs.clear();
        for run in &self.runs {
            for k in 0..run.len / 2 {
                self.pairs.push((run.start + 2 * k, run.start + k));
            }
        }
        if self.pairs.is_empty() {
            return false;
        }
        let cancelled = add_neighbours(&mut self.points, &self.pairs, &mut self.steps);
        for run in &mut self.runs {
            let half = run.len / 2;
            if run.len % 2 == 1 {
                self.points[(run.start + half) as usize] = self.points[(run.start + run.len - 1) as usize];
            }
            run.len -= half;
        }
        if cancelled {
            self.drop_infinities();
        }
        true
    }

    #[cold]
    fn drop_infinities(&mut self) {
        for run in &mut self.runs {
            let mut kept = 0;
            for k in 0..run.len {
                let point = self.points[(run.start + k) as usize];
                if !point.y().is_zero() {
                    self.points[(run.start + kept) as usize] = point;
                    kept += 1;
                }
            }
            run.len = kept;
        }
    }

    /// The sum of each collapsed run with its owner.
    pub(crate) fn sums(&self) -> impl Iterator<Item = (u32, A)> + '_ {
        self.runs.iter().map(|run| (run.owner, if run.len == 0 { A::identity() } else { self.points[run.start as usize] }))
    }

    /// All gathered points as one run, halved until few are left, which stay gathered.
    pub(crate) fn condense(&mut self, few: usize) {
        self.runs.clear();
        self.close_run(0, 0);
        while self.points.len() > few.max(1) {
            self.halve();
            let len = self.runs.first().map_or(0, |run| run.len);
            self.points.truncate(len as usize);
        }
        self.runs.clear();
    }

    /// Three rows of `lanes` points at infinity, and steps for one row. What was gathered is forgotten.
    pub(crate) fn lanes(&mut self, lanes: usize) -> ([&mut [A]; 3], &mut [Step<A::Coordinate>]) {
        self.clear();
        let lanes = lanes.min(Self::CAPACITY / 3);
        self.points.resize(3 * lanes, A::identity());
        let (first, rest) = self.points.split_at_mut(lanes);
        let (second, third) = rest.split_at_mut(lanes);
        ([first, second, third], &mut self.steps[..lanes])
    }

    /// The gathered points.
    pub(crate) fn points(&self) -> &[A] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use blstrs::{G1Affine, G1Projective, G2Affine, Scalar};
    use group::{Curve, Group};
    use proptest::prelude::*;

    use super::super::batch_affine::add_assign;
    use super::*;

    fn multiple<A: Affine>(k: i64) -> A {
        let point = A::generator() * Scalar::from(k.unsigned_abs());
        if k < 0 { (-point).to_affine() } else { point.to_affine() }
    }

    /// Small multiples of one point meet themselves and their opposites all the time.
    fn runs_collapse<A: Affine>(runs: &[Vec<i64>]) {
        let mut workspace = Workspace::<A>::new();
        for (owner, run) in runs.iter().enumerate() {
            let start = workspace.len();
            for k in run {
                workspace.gather(&multiple::<A>(k.abs()), *k < 0);
            }
            workspace.close_run(start, owner as u32);
        }
        workspace.collapse();
        let mut found = vec![A::identity(); runs.len()];
        for (owner, sum) in workspace.sums() {
            found[owner as usize] = sum;
        }
        let expected: Vec<A> = runs.iter().map(|run| multiple::<A>(run.iter().sum())).collect();
        assert!(found == expected, "{runs:?}");
    }

    proptest! {
        #[test]
        fn any_runs(runs in prop::collection::vec(prop::collection::vec(-3i64..=3, 0..20), 1..12)) {
            runs_collapse::<G1Affine>(&runs);
            runs_collapse::<G2Affine>(&runs);
        }

        #[test]
        fn condensing_keeps_the_sum(run in prop::collection::vec(-3i64..=3, 0..300), few in 0usize..20) {
            let mut workspace = Workspace::<G1Affine>::new();
            for k in &run {
                workspace.gather(&multiple(k.abs()), *k < 0);
            }
            workspace.condense(few);
            prop_assert!(workspace.len() <= few.max(1));
            let sum = workspace.points().iter().fold(G1Projective::identity(), |sum, p| sum + p);
            prop_assert_eq!(sum.to_affine(), multiple::<G1Affine>(run.iter().sum()));
        }

        #[test]
        fn pointwise_sums(pairs in prop::collection::vec((-2i64..=2, -2i64..=2), 0..50)) {
            let mut sums: Vec<G1Affine> = pairs.iter().map(|p| multiple(p.0)).collect();
            let addends: Vec<G1Affine> = pairs.iter().map(|p| multiple(p.1)).collect();
            let blank = Step { denominator: bls12_381_layout::Fp::ZERO, product: bls12_381_layout::Fp::ZERO };
            add_assign(&mut sums, &addends, &mut vec![blank; pairs.len()]);
            let expected: Vec<G1Affine> = pairs.iter().map(|p| multiple(p.0 + p.1)).collect();
            prop_assert_eq!(sums, expected);
        }
    }
}

//! A sum from beginning to end: chunk after chunk into the buckets, then the buckets into one point.

use bls12_381_layout::{Affine, Limbs, scalar_from_limbs};
use group::Group;
use pipeline_stage::{Class, Lease, StageContext};
use prover_backend::{BackendError, BaseSource, Scalars};
use rayon::prelude::*;

use super::blocks::{Entries, NEGATIVE, Span, Spans, census};
use super::digits::Windows;
use super::plan::Plan;
use super::workspace::Workspace;
use super::{bits, buckets, reduce, sort};
use crate::scratch::{Pool, Reservation, check_cancel};

/// Values of one task of the bucket phase, about: many groups of a workspace, so that a last one that is not full matters little.
const TASK_VALUES: usize = 1 << 15;

type Workspaces<A> = Pool<Lease<Workspace<A>>>;

/// The scratch of the bucket phase.
struct Tables<A: Affine> {
    windows: Windows,
    buckets: Lease<Vec<A>>,
    ends: Lease<Vec<u32>>,
    order: Lease<Vec<u32>>,
}

/// Σ scalars\[i\]·bases\[i\], with scratch for `workers` workers.
pub(crate) fn sum<A: Affine>(
    bases: &dyn BaseSource<A>,
    scalars: &Scalars<'_>,
    workers: usize,
    context: &StageContext,
) -> Result<A::Projective, BackendError> {
    let len = scalars.len();
    if bases.len() != len {
        return Err(BackendError::Length { what: "points of a sum", expected: len, found: bases.len() });
    }
    check_cancel(context)?;
    if len == 0 {
        return Ok(A::Projective::identity());
    }
    let plan = Plan::new::<A>(len, census(scalars));
    let mut reservation = Reservation::new(context, Class::MsmBuckets, plan.bytes::<A>(workers))?;
    let workspaces =
        (0..workers).map(|_| reservation.make(Workspace::<A>::bytes(), Workspace::new)).collect::<Result<Vec<Lease<Workspace<A>>>, _>>()?;
    let workspaces = Pool::new(workspaces);
    let mut recoded = reservation.zeroed::<Limbs>(plan.positions)?;
    let mut index = reservation.zeroed::<u32>(plan.positions)?;
    let mut ones = reservation.zeroed::<u32>(plan.positions)?;
    let mut tables = match plan.windows {
        None => None,
        Some(windows) => Some(Tables {
            windows,
            buckets: reservation.zeroed(plan.buckets())?,
            ends: reservation.zeroed(plan.buckets())?,
            order: reservation.zeroed(plan.sorted())?,
        }),
    };
    drop(reservation);

    let mut total = A::Projective::identity();
    let mut walk = Spans::new(scalars);
    let mut spans = walk.next_chunk();
    while let (Some(first), Some(last)) = (spans.first(), spans.last()) {
        check_cancel(context)?;
        let range = first.positions.start..last.positions.end;
        let next = walk.next_chunk();
        if let (Some(first), Some(last)) = (next.first(), next.last()) {
            bases.will_need(first.positions.start..last.positions.end);
        }
        let points = bases.points(range.clone())?;
        if points.len() != range.len() {
            return Err(BackendError::Length { what: "points of a range", expected: range.len(), found: points.len() });
        }
        let mut blocks = slots(&spans, &mut index, &mut recoded, &mut ones);
        blocks.par_iter_mut().zip(&spans).for_each(|(block, span)| block.fill(scalars, span, range.start, plan.windows));
        total += sum_ones(&blocks, points, workers, &workspaces);
        check_cancel(context)?;
        match &mut tables {
            None => total += multiply_each(&blocks, points),
            Some(tables) => tables.add(&blocks, points, workers, &workspaces, context)?,
        }
        bases.done_with(range);
        spans = next;
    }
    if let Some(tables) = &tables {
        total += reduce::sum_windows(&tables.buckets, tables.windows, &workspaces, context)?;
    }
    Ok(total)
}

/// Slots for each span's positions.
fn slots<'a>(spans: &[Span], mut index: &'a mut [u32], mut recoded: &'a mut [Limbs], mut ones: &'a mut [u32]) -> Vec<Entries<'a>> {
    let mut blocks = Vec::with_capacity(spans.len());
    for span in spans {
        let len = span.positions.len();
        let (own_index, other_index) = index.split_at_mut(len);
        let (own_recoded, other_recoded) = recoded.split_at_mut(len);
        let (own_ones, other_ones) = ones.split_at_mut(len);
        blocks.push(Entries::new(own_index, own_recoded, own_ones));
        (index, recoded, ones) = (other_index, other_recoded, other_ones);
    }
    blocks
}

fn sum_ones<A: Affine>(blocks: &[Entries<'_>], points: &[A], workers: usize, workspaces: &Workspaces<A>) -> A::Projective {
    let group = blocks.len().div_ceil(2 * workers);
    blocks
        .par_chunks(group)
        .map(|blocks| {
            if blocks.iter().all(|block| block.ones().is_empty()) {
                return A::Projective::identity();
            }
            workspaces.with(|workspace| bits::sum_ones(blocks, points, workspace))
        })
        .reduce(A::Projective::identity, |a, b| a + b)
}

/// For a handful of values.
fn multiply_each<A: Affine>(blocks: &[Entries<'_>], points: &[A]) -> A::Projective {
    let mut total = A::Projective::identity();
    for (index, magnitude) in blocks.iter().flat_map(|block| block.full().chain(block.small())) {
        // A magnitude is below the group order, so it is a scalar.
        if let Some(scalar) = scalar_from_limbs(magnitude) {
            let product = points[(index & !NEGATIVE) as usize] * scalar;
            total += if index & NEGATIVE != 0 { -product } else { product };
        }
    }
    total
}

impl<A: Affine> Tables<A> {
    /// Adds the values of a chunk to the buckets of all windows.
    fn add(
        &mut self,
        blocks: &[Entries<'_>],
        points: &[A],
        workers: usize,
        workspaces: &Workspaces<A>,
        context: &StageContext,
    ) -> Result<(), BackendError> {
        let values = blocks.iter().map(Entries::len).sum::<usize>();
        if values == 0 {
            return Ok(());
        }
        let windows = self.windows;
        let buckets = windows.buckets();
        self.order
            .par_chunks_mut(values)
            .zip(self.ends.par_chunks_mut(buckets))
            .take(windows.count())
            .enumerate()
            .for_each(|(window, (order, ends))| sort::sort_window(windows, window, blocks, ends, order));
        check_cancel(context)?;
        let task_values = TASK_VALUES.min((values * windows.count()).div_ceil(4 * workers)).max(Workspace::<A>::CAPACITY);
        let tasks: Vec<buckets::Task<'_, A>> = self
            .buckets
            .chunks_mut(buckets)
            .zip(self.ends.chunks(buckets))
            .zip(self.order.chunks(values))
            .flat_map(|((buckets, ends), order)| buckets::tasks(buckets, ends, order, task_values))
            .collect();
        tasks.into_par_iter().try_for_each(|task| {
            check_cancel(context)?;
            workspaces.with(|workspace| task.run(points, workspace));
            Ok(())
        })
    }
}

//! The cache-blocked, parallel transform over blst's field arithmetic.
//!
//! A transform that fits a block is done in place. A larger one is a matrix of R rows: the first log2(R) levels act on its columns,
//! which are brought into a tile a few at a time, then every row is a transform of its own with its own shift. So memory is read and
//! written once for each nine levels or so, and once for the blocks.

use blstrs::Scalar;
use ff::{Field, PrimeField};
use pipeline_stage::{Class, Lease, StageContext};
use prover_backend::{BackendError, Coset};
use rayon::prelude::*;

use super::kernel::{forward_levels, inverse_levels};
use super::roots::{bit_reversed_roots, fill_twiddles, log2_size, primitive_root};
use crate::scratch::{Pool, Reservation, bytes_of, check_cancel};

/// log2 of the values of a block. Block and twiddles, 256 KiB each, share a core's second-level cache.
const LOG2_BLOCK: u32 = 13;

/// Most levels done on columns at a time: 2^9 rows of 16 scalars (eight cache lines) fill a tile of the block's size.
const COLUMN_LEVELS_MAX: u32 = 9;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Inverse,
}

/// Roots for one direction.
#[derive(Debug)]
struct Roots {
    forward: Vec<Scalar>,
    inverse: Vec<Scalar>,
}

/// The transforms of a backend: its roots (256 KiB) and how many workers it may use.
#[derive(Debug)]
pub(crate) struct Transforms {
    workers: usize,
    roots: Roots,
}

impl Transforms {
    pub(crate) fn new(workers: usize) -> Self {
        let roots = Roots { forward: bit_reversed_roots(LOG2_BLOCK - 1, false), inverse: bit_reversed_roots(LOG2_BLOCK - 1, true) };
        Self { workers, roots }
    }

    /// One workspace a worker: the twiddles of a block, or a tile.
    pub(crate) fn scratch_bytes(&self, log2_size: u32) -> u64 {
        self.workers_for(log2_size) as u64 * bytes_of::<Scalar>(workspace_len(log2_size))
    }

    fn workers_for(&self, log2_size: u32) -> usize {
        if log2_size <= LOG2_BLOCK { 1 } else { self.workers }
    }

    pub(crate) fn forward(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError> {
        let log2_size = log2_size(values.len())?;
        let shift = match coset {
            Coset::Subgroup => Scalar::ONE,
            Coset::Shifted(shift) => shift,
        };
        self.run(values, log2_size, Direction::Forward, shift, None, context)
    }

    pub(crate) fn inverse(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError> {
        let log2_size = log2_size(values.len())?;
        let shift = match coset {
            Coset::Subgroup => Scalar::ONE,
            Coset::Shifted(shift) => Option::<Scalar>::from(shift.invert()).ok_or(BackendError::Length {
                what: "invertible coset shifts",
                expected: 1,
                found: 0,
            })?,
        };
        let mut scale = Scalar::ONE;
        for _ in 0..log2_size {
            scale *= &Scalar::TWO_INV;
        }
        self.run(values, log2_size, Direction::Inverse, shift, Some(scale), context)
    }

    fn run(
        &self,
        values: &mut [Scalar],
        log2_size: u32,
        direction: Direction,
        shift: Scalar,
        scale: Option<Scalar>,
        context: &StageContext,
    ) -> Result<(), BackendError> {
        let mut reservation = Reservation::new(context, Class::NttScratch, self.scratch_bytes(log2_size))?;
        let workspaces = (0..self.workers_for(log2_size))
            .map(|_| reservation.zeroed(workspace_len(log2_size)))
            .collect::<Result<Vec<Lease<Vec<Scalar>>>, _>>()?;
        let roots = if direction == Direction::Forward { &self.roots.forward } else { &self.roots.inverse };
        let run = Run { roots, direction, context, workspaces: Pool::new(workspaces), tasks: 2 * self.workers };
        run.transform(values, shift, scale, run.tasks)
    }
}

/// Scalars of a workspace.
fn workspace_len(log2_size: u32) -> usize {
    1 << log2_size.min(LOG2_BLOCK)
}

/// Levels to do on the columns of a transform of 2^`log2_size` values, evenly over the passes that it takes.
fn column_levels(log2_size: u32) -> u32 {
    let levels = log2_size.saturating_sub(LOG2_BLOCK);
    levels.div_ceil(levels.div_ceil(COLUMN_LEVELS_MAX).max(1))
}

/// One transform under way.
struct Run<'a> {
    roots: &'a [Scalar],
    direction: Direction,
    context: &'a StageContext,
    workspaces: Pool<Lease<Vec<Scalar>>>,
    tasks: usize,
}

impl Run<'_> {
    /// `shift` is the coset's for a forward transform, its inverse for an inverse one.
    fn transform(&self, values: &mut [Scalar], shift: Scalar, scale: Option<Scalar>, tasks: usize) -> Result<(), BackendError> {
        check_cancel(self.context)?;
        let log2_size = values.len().trailing_zeros();
        let levels = column_levels(log2_size);
        if levels == 0 {
            self.workspaces.with(|table| self.block(values, table, &shift, scale.as_ref()));
            return Ok(());
        }
        match self.direction {
            Direction::Forward => {
                self.columns(values, levels, &shift, None, tasks)?;
                self.rows(values, levels, shift)
            }
            Direction::Inverse => {
                self.rows(values, levels, shift)?;
                self.columns(values, levels, &shift, scale.as_ref(), tasks)
            }
        }
    }

    fn block(&self, values: &mut [Scalar], table: &mut [Scalar], shift: &Scalar, scale: Option<&Scalar>) {
        let levels = values.len().trailing_zeros();
        let table = &mut table[..values.len() - 1];
        fill_twiddles(table, self.roots, levels, levels, shift);
        match self.direction {
            Direction::Forward => forward_levels(values, table, levels),
            Direction::Inverse => inverse_levels(values, table, levels, 1, scale),
        }
    }

    /// Every row on its own: row b holds the coset with the shift times ω^`bit_reverse(b)`.
    fn rows(&self, values: &mut [Scalar], levels: u32, shift: Scalar) -> Result<(), BackendError> {
        let root = primitive_root(values.len().trailing_zeros(), self.direction == Direction::Inverse);
        let row_len = values.len() >> levels;
        values.par_chunks_mut(row_len).enumerate().try_for_each(|(b, row)| {
            let exponent = b.reverse_bits() >> (usize::BITS - levels);
            self.transform(row, shift * root.pow_vartime([exponent as u64]), None, 1)
        })
    }

    /// The outer `levels` levels, which act on whole rows.
    fn columns(
        &self,
        values: &mut [Scalar],
        levels: u32,
        shift: &Scalar,
        scale: Option<&Scalar>,
        tasks: usize,
    ) -> Result<(), BackendError> {
        let log2_size = values.len().trailing_zeros();
        let rows = 1usize << levels;
        let row_len = values.len() >> levels;
        let mut table = vec![Scalar::ZERO; rows - 1];
        fill_twiddles(&mut table, self.roots, log2_size, levels, shift);
        let width = workspace_len(log2_size) / rows;
        // Each task owns a range of columns: the same range of every row.
        let columns = row_len.div_ceil(tasks).next_multiple_of(width);
        let mut strips: Vec<Vec<&mut [Scalar]>> = (0..row_len.div_ceil(columns)).map(|_| Vec::with_capacity(rows)).collect();
        for row in values.chunks_exact_mut(row_len) {
            for (strip, part) in strips.iter_mut().zip(row.chunks_mut(columns)) {
                strip.push(part);
            }
        }
        strips.into_par_iter().try_for_each(|mut strip| {
            let columns = strip.first().map_or(0, |row| row.len());
            self.workspaces.with(|tile| {
                for first in (0..columns).step_by(width) {
                    check_cancel(self.context)?;
                    let span = first..first + width;
                    for (tile_row, row) in tile.chunks_exact_mut(width).zip(&strip) {
                        tile_row.copy_from_slice(&row[span.clone()]);
                    }
                    match self.direction {
                        Direction::Forward => forward_levels(tile, &table, levels),
                        Direction::Inverse => inverse_levels(tile, &table, levels, width, scale),
                    }
                    for (tile_row, row) in tile.chunks_exact(width).zip(&mut strip) {
                        row[span.clone()].copy_from_slice(tile_row);
                    }
                }
                Ok(())
            })
        })
    }
}

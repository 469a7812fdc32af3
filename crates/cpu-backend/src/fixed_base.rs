//! Many multiples of one point: a table of all digits of all windows, then one affine addition a window for thousands of scalars in
//! lockstep, which share the inversions.

use bls12_381_layout::{Affine, CoordinateField, Limbs, canonical_limbs};
use blstrs::Scalar;
use group::{Curve, Group};
use pipeline_stage::{Class, Lease, StageContext};
use prover_backend::{BackendError, FixedBaseTable};
use rayon::prelude::*;

use crate::msm::batch_affine::{Step, add_assign};
use crate::msm::digits::{Value, Windows, classify};
use crate::msm::fetch::{FETCH_AHEAD, fetch};
use crate::scratch::{Pool, Reservation, bytes_of, check_cancel};

/// Scalars in lockstep: sums, addends and steps of so many points of G1 fit a second-level cache of 1 MiB.
const LOCKSTEP: usize = 2048;

/// Widest window: 48 MiB of table in G1, 96 in G2.
const WINDOW_BITS_MAX: u32 = 16;

/// Fewest scalars a workspace has room for: a table made for few multiplications may still get many.
const LOCKSTEP_MIN: usize = 256;

/// d·2^(w·bits)·base for every window w and every digit d from 1 to 2^(bits-1).
///
/// The workspaces live as long as the table, under the same reservation: a multiplication takes nothing from the ledger, so whoever
/// holds a table never waits for memory that another holder of a table keeps.
pub(crate) struct WindowTable<A: Affine> {
    windows: Windows,
    multiples: Lease<Vec<A>>,
    workspaces: Pool<Lease<Workspace<A>>>,
    lockstep: usize,
}

/// The width with the fewest additions, those that make the table included.
fn window_bits(multiplications: usize) -> u32 {
    let additions = |bits: &u32| Windows::count_for(*bits) * ((1 << (*bits - 1)) + multiplications);
    (2..=WINDOW_BITS_MAX).min_by_key(additions).unwrap_or(2)
}

impl<A: Affine> WindowTable<A> {
    pub(crate) fn new(base: &A, multiplications: usize, workers: usize, context: &StageContext) -> Result<Self, BackendError> {
        let windows = Windows::new(window_bits(multiplications));
        let digits = windows.buckets();
        let table_len = windows.count() * digits;
        let lockstep = multiplications.clamp(LOCKSTEP_MIN, LOCKSTEP);
        let total = bytes_of::<A>(table_len) + workers as u64 * Workspace::<A>::bytes(lockstep);
        let mut reservation = Reservation::new(context, Class::MsmBuckets, total)?;
        let mut multiples = reservation.zeroed::<A>(table_len)?;
        let workspaces = workspaces::<A>(&mut reservation, workers, lockstep)?;
        let mut power = base.to_curve();
        for window in multiples.chunks_mut(digits) {
            window[0] = power.to_affine();
            for _ in 0..windows.bits() {
                power = power.double();
            }
        }
        multiples.par_chunks_mut(digits).try_for_each(|window| {
            workspaces.with(|workspace| {
                let mut done = 1;
                while done < window.len() {
                    check_cancel(context)?;
                    // From 1..=done by adding done·P: the first of them is a doubling, which the addition knows.
                    let more = done.min(window.len() - done).min(lockstep);
                    let (old, new) = window.split_at_mut(done);
                    let new = &mut new[..more];
                    new.copy_from_slice(&old[..more]);
                    let Workspace { addends, steps, .. } = &mut **workspace;
                    addends[..more].fill(old[done - 1]);
                    add_assign(new, &addends[..more], &mut steps[..more]);
                    done += more;
                }
                Ok::<(), BackendError>(())
            })
        })?;
        Ok(Self { windows, multiples, workspaces, lockstep })
    }
}

/// What a worker needs for scalars in lockstep.
struct Workspace<A: Affine> {
    addends: Vec<A>,
    recoded: Vec<(Limbs, bool)>,
    steps: Vec<Step<A::Coordinate>>,
}

impl<A: Affine> buffer_accounting::OwnedBytes for Workspace<A> {
    fn owned_bytes(&self) -> u64 {
        self.addends.owned_bytes() + self.recoded.owned_bytes() + self.steps.owned_bytes()
    }
}

impl<A: Affine> buffer_accounting::Buffer for Workspace<A> {
    type Contents = Self;
    fn contents(&self) -> &Self {
        self
    }
}

impl<A: Affine> buffer_accounting::BufferMut for Workspace<A> {
    fn contents_mut(&mut self) -> &mut Self {
        self
    }
}

impl<A: Affine> Workspace<A> {
    fn bytes(len: usize) -> u64 {
        bytes_of::<A>(len) + bytes_of::<(Limbs, bool)>(len) + bytes_of::<Step<A::Coordinate>>(len)
    }

    fn new(len: usize) -> Self {
        let blank = Step { denominator: A::Coordinate::ZERO, product: A::Coordinate::ZERO };
        Self { addends: vec![A::identity(); len], recoded: vec![([0; 4], false); len], steps: vec![blank; len] }
    }
}

fn workspaces<A: Affine>(reservation: &mut Reservation, workers: usize, len: usize) -> Result<Pool<Lease<Workspace<A>>>, BackendError> {
    let workspaces = (0..workers)
        .map(|_| reservation.make(Workspace::<A>::bytes(len), || Workspace::new(len)))
        .collect::<Result<Vec<Lease<Workspace<A>>>, _>>()?;
    Ok(Pool::new(workspaces))
}

impl<A: Affine> FixedBaseTable<A> for WindowTable<A> {
    fn multiply(&self, scalars: &[Scalar], out: &mut [A], context: &StageContext) -> Result<(), BackendError> {
        if scalars.len() != out.len() {
            return Err(BackendError::Length { what: "multiples of a point", expected: scalars.len(), found: out.len() });
        }
        check_cancel(context)?;
        scalars.par_chunks(self.lockstep).zip(out.par_chunks_mut(self.lockstep)).try_for_each(|(scalars, out)| {
            check_cancel(context)?;
            self.workspaces.with(|workspace| self.multiply_in_lockstep(scalars, out, workspace));
            Ok(())
        })
    }
}

impl<A: Affine> WindowTable<A> {
    fn multiply_in_lockstep(&self, scalars: &[Scalar], out: &mut [A], workspace: &mut Workspace<A>) {
        let Workspace { addends, recoded, steps } = workspace;
        let len = scalars.len();
        let (addends, recoded, steps) = (&mut addends[..len], &mut recoded[..len], &mut steps[..len]);
        for (recoded, scalar) in recoded.iter_mut().zip(scalars) {
            let (magnitude, negative) = match classify(&canonical_limbs(scalar)) {
                Value::Zero => ([0; 4], false),
                Value::One { negative } => ([1, 0, 0, 0], negative),
                Value::Small { magnitude, negative } | Value::Full { magnitude, negative } => (magnitude, negative),
            };
            *recoded = (self.windows.recode(&magnitude), negative);
        }
        for (window, table) in self.multiples.chunks_exact(self.windows.buckets()).enumerate() {
            let reader = self.windows.reader(window);
            for (addends, recoded) in addends.chunks_mut(FETCH_AHEAD).zip(recoded.chunks(FETCH_AHEAD)) {
                let mut digits = [0; FETCH_AHEAD];
                for (digit, (recoded, _)) in digits.iter_mut().zip(recoded) {
                    *digit = reader.digit(recoded);
                }
                fetch(digits[..recoded.len()].iter().filter(|digit| **digit != 0).map(|digit| &table[digit.unsigned_abs() as usize - 1]));
                for ((addend, (_, negative)), digit) in addends.iter_mut().zip(recoded).zip(digits) {
                    *addend = match digit.unsigned_abs() as usize {
                        0 => A::identity(),
                        d if (digit < 0) != *negative => A::from_xy(table[d - 1].x(), table[d - 1].y().neg()),
                        d => table[d - 1],
                    };
                }
            }
            if window == 0 {
                out.copy_from_slice(addends);
            } else {
                add_assign(out, addends, steps);
            }
        }
    }
}

//! Buckets into the sum of a window.

use bls12_381_layout::Affine;
use group::Group;
use pipeline_stage::StageContext;
use prover_backend::BackendError;
use rayon::prelude::*;

use super::batch_affine::add_assign;
use super::digits::Windows;
use super::workspace::Workspace;
use crate::scratch::{Pool, check_cancel};

/// Running sums kept side by side, so that they share inversions.
const LANES: usize = 256;

/// Buckets of a task.
const PART: usize = 1 << 14;

/// Σ B_i and Σ (i + 1)·B_i over some buckets.
#[derive(Clone, Copy)]
struct Sums<P> {
    plain: P,
    weighted: P,
}

/// Σ over the windows w of 2^(w·bits)·Σ (i + 1)·B_{w,i}.
///
/// # Errors
/// Cancellation.
pub(crate) fn sum_windows<A, W>(
    buckets: &[A],
    windows: Windows,
    workspaces: &Pool<W>,
    context: &StageContext,
) -> Result<A::Projective, BackendError>
where
    A: Affine,
    W: std::ops::DerefMut<Target = Workspace<A>> + Send,
{
    let part = windows.buckets().min(PART);
    let parts = buckets
        .par_chunks(part)
        .map(|buckets| {
            check_cancel(context)?;
            Ok(workspaces.with(|workspace| sum_part(buckets, workspace)))
        })
        .collect::<Result<Vec<Sums<A::Projective>>, BackendError>>()?;
    let mut total = A::Projective::identity();
    for window in parts.chunks(windows.buckets() / part).rev() {
        for _ in 0..windows.bits() {
            total = total.double();
        }
        total += join(window, part).weighted;
    }
    Ok(total)
}

/// Sums of neighbouring stretches of `len` buckets, a power of two, into one.
fn join<P: Group>(stretches: &[Sums<P>], len: usize) -> Sums<P> {
    // The weight of a bucket in stretch s is its weight there and s·len.
    let (mut plain, mut steps) = (P::identity(), P::identity());
    for stretch in stretches.iter().skip(1).rev() {
        plain += stretch.plain;
        steps += plain;
    }
    for _ in 0..len.trailing_zeros() {
        steps = steps.double();
    }
    let first = stretches.first().map_or(P::identity(), |s| s.plain);
    Sums { plain: plain + first, weighted: stretches.iter().fold(steps, |sum, s| sum + s.weighted) }
}

fn sum_part<A: Affine>(buckets: &[A], workspace: &mut Workspace<A>) -> Sums<A::Projective> {
    if buckets.iter().all(|b| b.y() == Default::default()) {
        return Sums { plain: A::Projective::identity(), weighted: A::Projective::identity() };
    }
    let lanes = buckets.len().min(LANES);
    let len = buckets.len() / lanes;
    let ([plain, weighted, addends], steps) = workspace.lanes(lanes);
    let gather = |out: &mut [A], k: usize| {
        for (out, lane) in out.iter_mut().zip(buckets.chunks_exact(len)) {
            *out = lane[k];
        }
    };
    gather(plain, len - 1);
    weighted.copy_from_slice(plain);
    for k in (0..len - 1).rev() {
        gather(addends, k);
        add_assign(plain, addends, steps);
        add_assign(weighted, plain, steps);
    }
    let sums: Vec<Sums<A::Projective>> = plain
        .iter()
        .zip(weighted.iter())
        .map(|(plain, weighted)| Sums { plain: plain.to_curve(), weighted: weighted.to_curve() })
        .collect();
    join(&sums, len)
}

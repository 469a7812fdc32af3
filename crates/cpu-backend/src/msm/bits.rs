//! The sum of points whose scalars are one: no buckets, a tree of affine additions.

use bls12_381_layout::Affine;
use group::Group;

use super::blocks::{Entries, NEGATIVE};
use super::workspace::Workspace;

/// So few points are added one by one in the end: a batch of less does not pay for its inversion.
const FEW: usize = 16;

/// Σ ±points\[i\] over the ones of these blocks.
pub(crate) fn sum_ones<A: Affine>(blocks: &[Entries<'_>], points: &[A], workspace: &mut Workspace<A>) -> A::Projective {
    workspace.clear();
    for index in blocks.iter().flat_map(Entries::ones) {
        if workspace.room() == 0 {
            // What is left makes the next rounds fuller.
            workspace.condense(Workspace::<A>::CAPACITY / 8);
        }
        workspace.gather(&points[(index & !NEGATIVE) as usize], index & NEGATIVE != 0);
    }
    workspace.condense(FEW);
    workspace.points().iter().fold(A::Projective::identity(), |sum, point| sum + point)
}

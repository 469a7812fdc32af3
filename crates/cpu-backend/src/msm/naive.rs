//! The sum by definition: the reference.

use bls12_381_layout::Affine;
use group::Group;
use prover_backend::{BackendError, BaseSource, Scalars};

/// Σ scalars\[i\]·bases\[i\] by double-and-add, one product after the other.
///
/// # Errors
/// [`BackendError::Length`], or what the source of the points says.
pub fn sum<A: Affine>(bases: &dyn BaseSource<A>, scalars: &Scalars<'_>) -> Result<A::Projective, BackendError> {
    let scalars = scalars.to_vec();
    if bases.len() != scalars.len() {
        return Err(BackendError::Length { what: "points of a sum", expected: scalars.len(), found: bases.len() });
    }
    let points = bases.points(0..scalars.len())?;
    Ok(points.iter().zip(&scalars).fold(A::Projective::identity(), |sum, (point, scalar)| sum + *point * *scalar))
}

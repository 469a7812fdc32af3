//! Affine additions that share an inversion (Montgomery's trick): six multiplications each, where a projective one takes eleven.

use bls12_381_layout::{Affine, CoordinateField};

/// Scratch of one addition: the denominator of the slope, and the product of the denominators before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<F> {
    pub(crate) denominator: F,
    pub(crate) product: F,
}

/// What the denominator of the slope says about two points that are not at infinity.
#[inline(always)]
fn denominator<A: Affine>(p: &A, q: &A) -> A::Coordinate {
    let difference = q.x().sub(&p.x());
    if difference.is_zero() { denominator_of_same_x(p, q) } else { difference }
}

/// Twice y for equal points, which is never zero on a curve of odd order; 1 for opposite points, whose slope is not used.
#[cold]
fn denominator_of_same_x<A: Affine>(p: &A, q: &A) -> A::Coordinate {
    if p.y() == q.y() { p.y().add(&p.y()) } else { A::Coordinate::ONE }
}

/// p + q with the inverse of their denominator. Neither is infinity.
#[inline(always)]
fn finish<A: Affine>(p: &A, q: &A, inverse: &A::Coordinate) -> A {
    let (x1, y1, x2) = (p.x(), p.y(), q.x());
    if x1 == x2 {
        return finish_same_x(p, q, inverse);
    }
    let slope = q.y().sub(&y1).mul(inverse);
    let x3 = slope.square().sub(&x1).sub(&x2);
    let y3 = slope.mul(&x1.sub(&x3)).sub(&y1);
    A::from_xy(x3, y3)
}

#[cold]
fn finish_same_x<A: Affine>(p: &A, q: &A, inverse: &A::Coordinate) -> A {
    let (x, y) = (p.x(), p.y());
    if y != q.y() {
        return A::identity();
    }
    let square = x.square();
    let slope = square.add(&square).add(&square).mul(inverse);
    let x3 = slope.square().sub(&x).sub(&x);
    let y3 = slope.mul(&x.sub(&x3)).sub(&y);
    A::from_xy(x3, y3)
}

/// Adds neighbours in place: for each (from, to) `points[to]` becomes `points[from] + points[from + 1]`.
///
/// Both columns of `pairs` ascend, `to` is at most `from`, pairs do not overlap, and no point is infinity; a result may be: then true is
/// returned. `steps` has an entry for each pair.
pub(crate) fn add_neighbours<A: Affine>(points: &mut [A], pairs: &[(u32, u32)], steps: &mut [Step<A::Coordinate>]) -> bool {
    let mut product = A::Coordinate::ONE;
    for ((from, _), step) in pairs.iter().zip(steps.iter_mut()).rev() {
        let from = *from as usize;
        let denominator = denominator(&points[from], &points[from + 1]);
        *step = Step { denominator, product };
        product = product.mul(&denominator);
    }
    let mut inverse = product.inverse();
    let mut cancelled = false;
    // Ascending, so that a result lands only on points that have been read.
    for ((from, to), step) in pairs.iter().zip(steps.iter()) {
        let from = *from as usize;
        let own = inverse.mul(&step.product);
        inverse = inverse.mul(&step.denominator);
        let sum = finish(&points[from], &points[from + 1], &own);
        cancelled |= sum.y().is_zero();
        points[*to as usize] = sum;
    }
    cancelled
}

/// `sums[i] += addends[i]` for all i. Any point may be infinity. `steps` has an entry for each.
pub(crate) fn add_assign<A: Affine>(sums: &mut [A], addends: &[A], steps: &mut [Step<A::Coordinate>]) {
    let mut product = A::Coordinate::ONE;
    for ((p, q), step) in sums.iter().zip(addends).zip(steps.iter_mut()) {
        let denominator = if p.y().is_zero() || q.y().is_zero() { A::Coordinate::ONE } else { denominator(p, q) };
        *step = Step { denominator, product };
        product = product.mul(&denominator);
    }
    let mut inverse = product.inverse();
    for ((p, q), step) in sums.iter_mut().zip(addends).zip(steps.iter()).rev() {
        let own = inverse.mul(&step.product);
        inverse = inverse.mul(&step.denominator);
        if p.y().is_zero() {
            *p = *q;
        } else if !q.y().is_zero() {
            *p = finish(p, q, &own);
        }
    }
}

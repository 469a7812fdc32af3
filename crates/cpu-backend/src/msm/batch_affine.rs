//! Affine additions that share an inversion (Montgomery's trick): six multiplications each, where a projective one takes eleven.
//!
//! Every result is written where it is to live, in the steps, and read again only an addition later: copying a result right after blst
//! has written it waits for the stores.

use bls12_381_layout::{Affine, CoordinateField};

/// Scratch of one addition: the denominator of the slope, and the product of the denominators before it; then the coordinates of the sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<F> {
    pub(crate) denominator: F,
    pub(crate) product: F,
}

impl<F: CoordinateField> Step<F> {
    /// Makes `product` the product of all denominators before this one.
    #[inline(always)]
    fn chain(&mut self, before: Option<&Self>) {
        match before {
            Some(before) => self.product.set_product(&before.product, &before.denominator),
            None => self.product = F::ONE,
        }
    }
}

/// The inverse of all denominators, from the last step.
fn invert<F: CoordinateField>(last: Option<&Step<F>>) -> F {
    last.map_or(F::ONE, |last| last.product.mul(&last.denominator).inverse())
}

/// Twice y for equal points, which is never zero on a curve of odd order; 1 for opposite points, whose slope is not used.
#[cold]
fn denominator_of_same_x<A: Affine>(p: &A, q: &A) -> A::Coordinate {
    if p.y() == q.y() { p.y().add(&p.y()) } else { A::Coordinate::ONE }
}

/// Turns a step into the coordinates of p + q, and `inverse`, that of all denominators up to this one, into that of those before it.
/// The points have different x, and neither is infinity.
#[inline(always)]
fn finish<A: Affine>(p: &A, q: &A, step: &mut Step<A::Coordinate>, inverse: &mut A::Coordinate) {
    let (x1, y1, x2, y2) = (p.x(), p.y(), q.x(), q.y());
    let mut own = A::Coordinate::ZERO;
    own.set_product(inverse, &step.product);
    inverse.mul_assign(&step.denominator);
    let mut slope = A::Coordinate::ZERO;
    slope.set_difference(&y2, &y1);
    slope.mul_assign(&own);
    let (x3, y3) = (&mut step.denominator, &mut step.product);
    x3.set_square(&slope);
    x3.sub_assign(&x1);
    x3.sub_assign(&x2);
    y3.set_difference(&x1, x3);
    y3.mul_assign(&slope);
    y3.sub_assign(&y1);
}

/// The same for points with the same x, or when one of them is infinity.
#[cold]
fn finish_exception<A: Affine>(p: &A, q: &A, step: &mut Step<A::Coordinate>, inverse: &mut A::Coordinate) {
    let own = inverse.mul(&step.product);
    inverse.mul_assign(&step.denominator);
    let sum = if p.y().is_zero() {
        *q
    } else if q.y().is_zero() {
        *p
    } else if p.y() != q.y() {
        A::identity()
    } else {
        let (x, y) = (p.x(), p.y());
        let square = x.square();
        let slope = square.add(&square).add(&square).mul(&own);
        let x3 = slope.square().sub(&x).sub(&x);
        A::from_xy(x3, slope.mul(&x.sub(&x3)).sub(&y))
    };
    *step = Step { denominator: sum.x(), product: sum.y() };
}

#[inline(always)]
fn sum_of<A: Affine>(step: &Step<A::Coordinate>) -> A {
    A::from_xy(step.denominator, step.product)
}

/// Adds neighbours in place: for each (from, to) `points[to]` becomes `points[from] + points[from + 1]`.
///
/// Both columns of `pairs` ascend, `to` is at most `from`, pairs do not overlap, and no point is infinity; a result may be: then true is
/// returned. `steps` has an entry for each pair.
pub(crate) fn add_neighbours<A: Affine>(points: &mut [A], pairs: &[(u32, u32)], steps: &mut [Step<A::Coordinate>]) -> bool {
    let steps = &mut steps[..pairs.len()];
    let mut exceptions = false;
    for (i, (from, _)) in pairs.iter().enumerate().rev() {
        let (steps, before) = steps.split_at_mut(i + 1);
        let step = &mut steps[i];
        step.chain(before.first());
        let (p, q) = (&points[*from as usize], &points[*from as usize + 1]);
        if p.x() == q.x() {
            exceptions = true;
            step.denominator = denominator_of_same_x(p, q);
        } else {
            step.denominator.set_difference(&q.x(), &p.x());
        }
    }
    let mut inverse = invert(steps.first());
    let mut cancelled = false;
    // Ascending, so that a result lands only on points that have been read.
    for (i, (from, _)) in pairs.iter().enumerate() {
        let (p, q) = (&points[*from as usize], &points[*from as usize + 1]);
        if exceptions && p.x() == q.x() {
            finish_exception(p, q, &mut steps[i], &mut inverse);
            cancelled |= steps[i].product.is_zero();
        } else {
            finish(p, q, &mut steps[i], &mut inverse);
        }
        if i > 0 {
            points[pairs[i - 1].1 as usize] = sum_of(&steps[i - 1]);
        }
    }
    if let (Some((_, to)), Some(step)) = (pairs.last(), steps.last()) {
        points[*to as usize] = sum_of(step);
    }
    cancelled
}

/// `sums[i] += addends[i]` for all i. Any point may be infinity. `steps` has an entry for each.
pub(crate) fn add_assign<A: Affine>(sums: &mut [A], addends: &[A], steps: &mut [Step<A::Coordinate>]) {
    let steps = &mut steps[..sums.len()];
    let is_exception = |p: &A, q: &A| p.y().is_zero() || q.y().is_zero() || p.x() == q.x();
    for (i, (p, q)) in sums.iter().zip(addends).enumerate() {
        let (before, steps) = steps.split_at_mut(i);
        let step = &mut steps[0];
        step.chain(before.last());
        if !is_exception(p, q) {
            step.denominator.set_difference(&q.x(), &p.x());
        } else if p.y().is_zero() || q.y().is_zero() {
            step.denominator = A::Coordinate::ONE;
        } else {
            step.denominator = denominator_of_same_x(p, q);
        }
    }
    let mut inverse = invert(steps.last());
    for i in (0..steps.len()).rev() {
        let (p, q) = (&sums[i], &addends[i]);
        if is_exception(p, q) {
            finish_exception(p, q, &mut steps[i], &mut inverse);
        } else {
            finish(p, q, &mut steps[i], &mut inverse);
        }
        if i + 1 < steps.len() {
            sums[i + 1] = sum_of(&steps[i + 1]);
        }
    }
    if let (Some(sum), Some(step)) = (sums.first_mut(), steps.first()) {
        *sum = sum_of(step);
    }
}

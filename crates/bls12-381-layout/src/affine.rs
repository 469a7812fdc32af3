//! The coordinates of affine points.

use blst::{blst_p1_affine, blst_p2_affine};
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective};
use group::prime::{PrimeCurve, PrimeCurveAffine};

use crate::{Fp, Fp2, Plain};

/// The field that a curve's coordinates live in.
pub trait CoordinateField: Plain + Eq + std::fmt::Debug + Default {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// True for zero.
    fn is_zero(&self) -> bool;
    /// `self + rhs`
    #[must_use]
    fn add(&self, rhs: &Self) -> Self;
    /// `self - rhs`
    #[must_use]
    fn sub(&self, rhs: &Self) -> Self;
    /// `-self`
    #[must_use]
    fn neg(&self) -> Self;
    /// `self * rhs`
    #[must_use]
    fn mul(&self, rhs: &Self) -> Self;
    /// `self * self`
    #[must_use]
    fn square(&self) -> Self;
    /// `1 / self`; zero for zero.
    #[must_use]
    fn inverse(&self) -> Self;

    // The same written where the result is to live. blst stores eight bytes at a time, and copying sixteen at a time right after that has
    // to wait for the stores, so loops over many elements gain from results that stay where they are.

    /// `self = a - b`
    fn set_difference(&mut self, a: &Self, b: &Self);
    /// `self = a * b`
    fn set_product(&mut self, a: &Self, b: &Self);
    /// `self = a * a`
    fn set_square(&mut self, a: &Self);
    /// `self = self - rhs`
    fn sub_assign(&mut self, rhs: &Self);
    /// `self = self * rhs`
    fn mul_assign(&mut self, rhs: &Self);
}

macro_rules! coordinate_field {
    ($field:ty) => {
        impl CoordinateField for $field {
            const ZERO: Self = <$field>::ZERO;
            const ONE: Self = <$field>::ONE;
            #[inline]
            fn is_zero(&self) -> bool {
                <$field>::is_zero(self)
            }
            #[inline]
            fn add(&self, rhs: &Self) -> Self {
                <$field>::add(self, rhs)
            }
            #[inline]
            fn sub(&self, rhs: &Self) -> Self {
                <$field>::sub(self, rhs)
            }
            #[inline]
            fn neg(&self) -> Self {
                <$field>::neg(self)
            }
            #[inline]
            fn mul(&self, rhs: &Self) -> Self {
                <$field>::mul(self, rhs)
            }
            #[inline]
            fn square(&self) -> Self {
                <$field>::square(self)
            }
            #[inline]
            fn inverse(&self) -> Self {
                <$field>::inverse(self)
            }
            #[inline]
            fn set_difference(&mut self, a: &Self, b: &Self) {
                <$field>::set_difference(self, a, b);
            }
            #[inline]
            fn set_product(&mut self, a: &Self, b: &Self) {
                <$field>::set_product(self, a, b);
            }
            #[inline]
            fn set_square(&mut self, a: &Self) {
                <$field>::set_square(self, a);
            }
            #[inline]
            fn sub_assign(&mut self, rhs: &Self) {
                <$field>::sub_assign(self, rhs);
            }
            #[inline]
            fn mul_assign(&mut self, rhs: &Self) {
                <$field>::mul_assign(self, rhs);
            }
        }
    };
}
coordinate_field!(Fp);
coordinate_field!(Fp2);

/// An affine point with its coordinates at hand. The curve is y² = x³ + b (no linear term) and has odd order.
pub trait Affine: Plain + PrimeCurveAffine<Curve = Self::Projective, Scalar = blstrs::Scalar> + Eq {
    /// The field of the coordinates.
    type Coordinate: CoordinateField;
    /// The projective twin.
    type Projective: PrimeCurve<Affine = Self, Scalar = blstrs::Scalar>;

    /// The x coordinate; zero for the point at infinity.
    fn x(&self) -> Self::Coordinate;
    /// The y coordinate; zero for the point at infinity, and only for it.
    fn y(&self) -> Self::Coordinate;
    /// A point from coordinates that the caller knows to be on the curve; (0, 0) is the point at infinity.
    #[must_use]
    fn from_xy(x: Self::Coordinate, y: Self::Coordinate) -> Self;
    /// The point at infinity, all zeros in memory.
    #[inline]
    #[must_use]
    fn is_zero_point(&self) -> bool {
        self.x().is_zero() && self.y().is_zero()
    }
}

impl Affine for G1Affine {
    type Coordinate = Fp;
    type Projective = G1Projective;

    #[inline]
    fn x(&self) -> Fp {
        Fp(AsRef::<blst_p1_affine>::as_ref(self).x)
    }

    #[inline]
    fn y(&self) -> Fp {
        Fp(AsRef::<blst_p1_affine>::as_ref(self).y)
    }

    #[inline]
    fn from_xy(x: Fp, y: Fp) -> Self {
        let point = blst_p1_affine { x: x.0, y: y.0 };
        // SAFETY: blstrs declares the point `repr(transparent)` over blst_p1_affine, and every bit pattern is a `Plain` value.
        unsafe { std::mem::transmute::<blst_p1_affine, Self>(point) }
    }
}

impl Affine for G2Affine {
    type Coordinate = Fp2;
    type Projective = G2Projective;

    #[inline]
    fn x(&self) -> Fp2 {
        Fp2(AsRef::<blst_p2_affine>::as_ref(self).x)
    }

    #[inline]
    fn y(&self) -> Fp2 {
        Fp2(AsRef::<blst_p2_affine>::as_ref(self).y)
    }

    #[inline]
    fn from_xy(x: Fp2, y: Fp2) -> Self {
        let point = blst_p2_affine { x: x.0, y: y.0 };
        // SAFETY: blstrs declares the point `repr(transparent)` over blst_p2_affine, and every bit pattern is a `Plain` value.
        unsafe { std::mem::transmute::<blst_p2_affine, Self>(point) }
    }
}

#[cfg(test)]
mod tests {
    use group::{Curve, Group};
    use rand_core::SeedableRng;

    use super::*;

    fn writing_in_place_agrees<F: CoordinateField>(a: F, b: F) {
        for (a, b) in [(a, b), (b, a), (a, a), (a, F::ZERO), (F::ZERO, b), (a.neg(), F::ONE)] {
            let mut out = b;
            out.set_difference(&a, &b);
            assert_eq!(out, a.sub(&b));
            out.set_product(&a, &b);
            assert_eq!(out, a.mul(&b));
            out.set_square(&a);
            assert_eq!(out, a.square());
            out.sub_assign(&b);
            assert_eq!(out, a.square().sub(&b));
            out.mul_assign(&a);
            assert_eq!(out, a.square().sub(&b).mul(&a));
        }
    }

    /// The tangent formula over our coordinates against blst's own doubling.
    fn doubling_agrees<A: Affine>()
    where
        A::Projective: Curve<AffineRepr = A> + Group,
    {
        let mut rng = rand_xorshift::XorShiftRng::seed_from_u64(3);
        for _ in 0..20 {
            let point = A::Projective::random(&mut rng).to_affine();
            let (x, y) = (point.x(), point.y());
            let xx = x.square();
            let slope = xx.add(&xx).add(&xx).mul(&y.add(&y).inverse());
            let x3 = slope.square().sub(&x).sub(&x);
            let y3 = slope.mul(&x.sub(&x3)).sub(&y);
            assert!(A::from_xy(x3, y3) == point.to_curve().double().to_affine());
            assert!(A::from_xy(x, y.neg()) == -point);
            assert_eq!(x.mul(&x.inverse()), A::Coordinate::ONE);
            writing_in_place_agrees(x, y);
        }
        assert!(A::identity().is_zero_point());
        assert!(A::from_xy(A::Coordinate::ZERO, A::Coordinate::ZERO) == A::identity());
        assert_eq!(A::Coordinate::ZERO.inverse(), A::Coordinate::ZERO);
    }

    #[test]
    fn g1() {
        doubling_agrees::<G1Affine>();
    }

    #[test]
    fn g2() {
        doubling_agrees::<G2Affine>();
    }
}

//! The base field of G2, arithmetic by blst.

use blst::{blst_fp2, blst_fp2_add, blst_fp2_cneg, blst_fp2_eucl_inverse, blst_fp2_mul, blst_fp2_sqr, blst_fp2_sub};

use crate::Fp;

const BLANK: blst_fp2 = blst_fp2 { fp: [Fp::ZERO.0, Fp::ZERO.0] };

/// An element c0 + c1·u of the quadratic extension, u² = -1, both parts as in [`Fp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Fp2(pub(crate) blst_fp2);

impl Fp2 {
    /// Zero.
    pub const ZERO: Self = Self(BLANK);
    /// One.
    pub const ONE: Self = Self(blst_fp2 { fp: [Fp::ONE.0, Fp::ZERO.0] });

    /// The element c0 + c1·u.
    #[must_use]
    pub fn new(c0: Fp, c1: Fp) -> Self {
        Self(blst_fp2 { fp: [c0.0, c1.0] })
    }

    /// The part without u.
    #[must_use]
    pub fn c0(&self) -> Fp {
        Fp(self.0.fp[0])
    }

    /// The factor of u.
    #[must_use]
    pub fn c1(&self) -> Fp {
        Fp(self.0.fp[1])
    }

    /// True for zero.
    #[inline]
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.fp[0].l == [0; 6] && self.0.fp[1].l == [0; 6]
    }

    /// `self + rhs`
    #[inline]
    #[must_use]
    pub fn add(&self, rhs: &Self) -> Self {
        let mut out = BLANK;
        // SAFETY: blst reads two field elements and writes one; all are live and distinct from `out`.
        unsafe { blst_fp2_add(&raw mut out, &raw const self.0, &raw const rhs.0) };
        Self(out)
    }

    /// `self - rhs`
    #[inline]
    #[must_use]
    pub fn sub(&self, rhs: &Self) -> Self {
        let mut out = BLANK;
        // SAFETY: as for `add`.
        unsafe { blst_fp2_sub(&raw mut out, &raw const self.0, &raw const rhs.0) };
        Self(out)
    }

    /// `-self`
    #[inline]
    #[must_use]
    pub fn neg(&self) -> Self {
        let mut out = BLANK;
        // SAFETY: as for `add`.
        unsafe { blst_fp2_cneg(&raw mut out, &raw const self.0, true) };
        Self(out)
    }

    /// `self * rhs`
    #[inline]
    #[must_use]
    pub fn mul(&self, rhs: &Self) -> Self {
        let mut out = BLANK;
        // SAFETY: as for `add`.
        unsafe { blst_fp2_mul(&raw mut out, &raw const self.0, &raw const rhs.0) };
        Self(out)
    }

    /// `self * self`
    #[inline]
    #[must_use]
    pub fn square(&self) -> Self {
        let mut out = BLANK;
        // SAFETY: as for `add`.
        unsafe { blst_fp2_sqr(&raw mut out, &raw const self.0) };
        Self(out)
    }

    /// `self = a - b`
    #[inline]
    pub fn set_difference(&mut self, a: &Self, b: &Self) {
        // SAFETY: blst reads two field elements and writes one; all are live, and `self` is borrowed for writing alone.
        unsafe { blst_fp2_sub(&raw mut self.0, &raw const a.0, &raw const b.0) };
    }

    /// `self = a * b`
    #[inline]
    pub fn set_product(&mut self, a: &Self, b: &Self) {
        // SAFETY: as for `set_difference`.
        unsafe { blst_fp2_mul(&raw mut self.0, &raw const a.0, &raw const b.0) };
    }

    /// `self = a * a`
    #[inline]
    pub fn set_square(&mut self, a: &Self) {
        // SAFETY: as for `set_difference`, with one element to read.
        unsafe { blst_fp2_sqr(&raw mut self.0, &raw const a.0) };
    }

    /// `self = self - rhs`
    #[inline]
    pub fn sub_assign(&mut self, rhs: &Self) {
        let this = &raw mut self.0;
        // SAFETY: as for `set_difference`; blst's own formulas subtract in place.
        unsafe { blst_fp2_sub(this, this, &raw const rhs.0) };
    }

    /// `self = self * rhs`
    #[inline]
    pub fn mul_assign(&mut self, rhs: &Self) {
        let this = &raw mut self.0;
        // SAFETY: as for `set_difference`; blst's own formulas multiply in place.
        unsafe { blst_fp2_mul(this, this, &raw const rhs.0) };
    }

    /// `1 / self`; zero for zero.
    #[inline]
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut out = BLANK;
        // SAFETY: as for `add`.
        unsafe { blst_fp2_eucl_inverse(&raw mut out, &raw const self.0) };
        Self(out)
    }
}

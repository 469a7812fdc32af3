//! The base field of G1, arithmetic by blst.

use blst::{blst_fp, blst_fp_add, blst_fp_cneg, blst_fp_eucl_inverse, blst_fp_mul, blst_fp_sqr, blst_fp_sub};

/// An element of the base field, six 64-bit limbs in Montgomery form, reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Fp(pub(crate) blst_fp);

impl Fp {
    /// Zero.
    pub const ZERO: Self = Self(blst_fp { l: [0; 6] });
    /// One: 2^384 mod p.
    pub const ONE: Self = Self(blst_fp {
        l: [
            0x7609_0000_0002_fffd,
            0xebf4_000b_c40c_0002,
            0x5f48_9857_53c7_58ba,
            0x77ce_5853_7052_5745,
            0x5c07_1a97_a256_ec6d,
            0x15f6_5ec3_fa80_e493,
        ],
    });

    /// The Montgomery limbs.
    #[must_use]
    pub fn montgomery_limbs(&self) -> [u64; 6] {
        self.0.l
    }

    /// An element from Montgomery limbs, which must be reduced (below p); otherwise later results are meaningless, though memory-safe.
    #[must_use]
    pub fn from_montgomery_limbs(limbs: [u64; 6]) -> Self {
        Self(blst_fp { l: limbs })
    }

    /// True for zero.
    #[inline]
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.l == [0; 6]
    }

    /// `self + rhs`
    #[inline]
    #[must_use]
    pub fn add(&self, rhs: &Self) -> Self {
        let mut out = blst_fp { l: [0; 6] };
        // SAFETY: blst reads two field elements and writes one; all are live and distinct from `out`.
        unsafe { blst_fp_add(&raw mut out, &raw const self.0, &raw const rhs.0) };
        Self(out)
    }

    /// `self - rhs`
    #[inline]
    #[must_use]
    pub fn sub(&self, rhs: &Self) -> Self {
        let mut out = blst_fp { l: [0; 6] };
        // SAFETY: as for `add`.
        unsafe { blst_fp_sub(&raw mut out, &raw const self.0, &raw const rhs.0) };
        Self(out)
    }

    /// `-self`
    #[inline]
    #[must_use]
    pub fn neg(&self) -> Self {
        let mut out = blst_fp { l: [0; 6] };
        // SAFETY: as for `add`.
        unsafe { blst_fp_cneg(&raw mut out, &raw const self.0, true) };
        Self(out)
    }

    /// `self * rhs`
    #[inline]
    #[must_use]
    pub fn mul(&self, rhs: &Self) -> Self {
        let mut out = blst_fp { l: [0; 6] };
        // SAFETY: as for `add`.
        unsafe { blst_fp_mul(&raw mut out, &raw const self.0, &raw const rhs.0) };
        Self(out)
    }

    /// `self * self`
    #[inline]
    #[must_use]
    pub fn square(&self) -> Self {
        let mut out = blst_fp { l: [0; 6] };
        // SAFETY: as for `add`.
        unsafe { blst_fp_sqr(&raw mut out, &raw const self.0) };
        Self(out)
    }

    /// `self = a - b`
    #[inline]
    pub fn set_difference(&mut self, a: &Self, b: &Self) {
        // SAFETY: blst reads two field elements and writes one; all are live, and `self` is borrowed for writing alone.
        unsafe { blst_fp_sub(&raw mut self.0, &raw const a.0, &raw const b.0) };
    }

    /// `self = a * b`
    #[inline]
    pub fn set_product(&mut self, a: &Self, b: &Self) {
        // SAFETY: as for `set_difference`.
        unsafe { blst_fp_mul(&raw mut self.0, &raw const a.0, &raw const b.0) };
    }

    /// `self = a * a`
    #[inline]
    pub fn set_square(&mut self, a: &Self) {
        // SAFETY: as for `set_difference`, with one element to read.
        unsafe { blst_fp_sqr(&raw mut self.0, &raw const a.0) };
    }

    /// `self = self - rhs`
    #[inline]
    pub fn sub_assign(&mut self, rhs: &Self) {
        let this = &raw mut self.0;
        // SAFETY: as for `set_difference`; blst's own formulas subtract in place.
        unsafe { blst_fp_sub(this, this, &raw const rhs.0) };
    }

    /// `self = self * rhs`
    #[inline]
    pub fn mul_assign(&mut self, rhs: &Self) {
        let this = &raw mut self.0;
        // SAFETY: as for `set_difference`; blst's own formulas multiply in place.
        unsafe { blst_fp_mul(this, this, &raw const rhs.0) };
    }

    /// `1 / self`; zero for zero.
    #[inline]
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut out = blst_fp { l: [0; 6] };
        // SAFETY: as for `add`.
        unsafe { blst_fp_eucl_inverse(&raw mut out, &raw const self.0) };
        Self(out)
    }
}

//! Levels of a transform inside one block that fits the cache, two levels a pass over the block.

use blst::blst_fr;
use blstrs::Scalar;
use ff::Field;

type Quarters<'a> = [&'a mut [Scalar]; 4];

fn quarters(node: &mut [Scalar]) -> Quarters<'_> {
    let (low, high) = node.split_at_mut(node.len() / 2);
    let (a, b) = low.split_at_mut(low.len() / 2);
    let (c, d) = high.split_at_mut(high.len() / 2);
    [a, b, c, d]
}

fn split_quarters(q: Quarters<'_>, at: usize) -> (Quarters<'_>, Quarters<'_>) {
    let [a, b, c, d] = q;
    let ((a0, a1), (b0, b1)) = (a.split_at_mut(at), b.split_at_mut(at));
    let ((c0, c1), (d0, d1)) = (c.split_at_mut(at), d.split_at_mut(at));
    ([a0, b0, c0, d0], [a1, b1, c1, d1])
}

/// The group order r, which all values are below.
const ORDER: [u64; 4] = [0xffff_ffff_0000_0001, 0x53bd_a402_fffe_5bfe, 0x3339_d808_09a1_d805, 0x73ed_a753_299d_7d48];

/// x - y over the integers, and whether that is negative.
#[inline(always)]
fn difference(x: [u64; 4], y: [u64; 4]) -> ([u64; 4], bool) {
    let (d0, borrow) = x[0].borrowing_sub(y[0], false);
    let (d1, borrow) = x[1].borrowing_sub(y[1], borrow);
    let (d2, borrow) = x[2].borrowing_sub(y[2], borrow);
    let (d3, borrow) = x[3].borrowing_sub(y[3], borrow);
    ([d0, d1, d2, d3], borrow)
}

/// x + y modulo 2^256.
#[inline(always)]
fn sum(x: [u64; 4], y: [u64; 4]) -> [u64; 4] {
    let (s0, carry) = x[0].carrying_add(y[0], false);
    let (s1, carry) = x[1].carrying_add(y[1], carry);
    let (s2, carry) = x[2].carrying_add(y[2], carry);
    let (s3, _) = x[3].carrying_add(y[3], carry);
    [s0, s1, s2, s3]
}

/// (a, b) becomes (a + b, a - b), both reduced.
///
/// Inline, for what a call costs here: b is fresh from a multiplication, which stores limb by limb, and a copy of it by wider loads waits
/// until these stores have left for the cache. Read limb by limb it comes straight from the store queue.
#[inline(always)]
fn cross(a: &mut Scalar, b: &mut Scalar) {
    let (x, y) = (blst_fr::from(*a).l, blst_fr::from(*b).l);
    // Both are below r < 2^255, so the sum does not overflow.
    let total = sum(x, y);
    let (reduced, small) = difference(total, ORDER);
    let plus = std::array::from_fn(|i| if small { total[i] } else { reduced[i] });
    let (minus, negative) = difference(x, y);
    let minus = sum(minus, ORDER.map(|limb| if negative { limb } else { 0 }));
    *a = Scalar::from(blst_fr { l: plus });
    *b = Scalar::from(blst_fr { l: minus });
}

/// The first `levels` levels of a forward transform; `table` as [`fill_twiddles`](super::roots::fill_twiddles) makes it.
pub(crate) fn forward_levels(values: &mut [Scalar], table: &[Scalar], levels: u32) {
    let mut level = 0;
    if levels % 2 == 1 {
        forward_level(values, &table[0]);
        level = 1;
    }
    while level < levels {
        let nodes = 1usize << level;
        let outer = &table[nodes - 1..2 * nodes - 1];
        let inner = &table[2 * nodes - 1..4 * nodes - 1];
        let size = values.len() / nodes;
        for ((node, w), pair) in values.chunks_exact_mut(size).zip(outer).zip(inner.chunks_exact(2)) {
            forward_two(quarters(node), w, &pair[0], &pair[1]);
        }
        level += 2;
    }
}

fn forward_level(node: &mut [Scalar], w: &Scalar) {
    let (low, high) = node.split_at_mut(node.len() / 2);
    let trivial = *w == Scalar::ONE;
    for (a, b) in low.iter_mut().zip(high) {
        if !trivial {
            *b *= w;
        }
        cross(a, b);
    }
}

fn forward_two([a, b, c, d]: Quarters<'_>, w: &Scalar, w0: &Scalar, w1: &Scalar) {
    // With w = 1 and w0 = 1 (node 0 of a transform without shift) only d's second factor is left.
    let trivial = *w == Scalar::ONE && *w0 == Scalar::ONE;
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        if !trivial {
            *c *= w;
            *d *= w;
        }
        cross(a, c);
        cross(b, d);
        if !trivial {
            *b *= w0;
        }
        *d *= w1;
        cross(a, b);
        cross(c, d);
    }
}

/// Undoes [`forward_levels`] with the inverse twiddles, but for a factor 2^levels, and multiplies by `scale`.
///
/// A value is a row of `row` consecutive scalars. The factor rides on the twiddles: what leaves a butterfly as a difference is
/// multiplied anyway, so only row 0, which is never a difference, costs a multiplication of its own.
pub(crate) fn inverse_levels(values: &mut [Scalar], table: &[Scalar], levels: u32, row: usize, scale: Option<&Scalar>) {
    let mut level = levels;
    while level >= 2 {
        level -= 2;
        let nodes = 1usize << level;
        let outer = &table[nodes - 1..2 * nodes - 1];
        let inner = &table[2 * nodes - 1..4 * nodes - 1];
        let size = values.len() / nodes;
        for ((node, w), pair) in values.chunks_exact_mut(size).zip(outer).zip(inner.chunks_exact(2)) {
            let (w0, w1) = (&pair[0], &pair[1]);
            match scale {
                None => inverse_two(quarters(node), w, w, w0, w1),
                Some(scale) => {
                    let (first, rest) = split_quarters(quarters(node), row);
                    inverse_two(first, &(w * scale), w, &(w0 * scale), &(w1 * scale));
                    inverse_two(rest, w, w, w0, w1);
                }
            }
        }
    }
    if level == 1 {
        let (low, high) = values.split_at_mut(values.len() / 2);
        let w = &table[0];
        match scale {
            None => inverse_level(low, high, w),
            Some(scale) => {
                inverse_level(&mut low[..row], &mut high[..row], &(w * scale));
                inverse_level(&mut low[row..], &mut high[row..], w);
            }
        }
    }
    if let Some(scale) = scale {
        for value in &mut values[..row] {
            *value *= scale;
        }
    }
}

fn inverse_level(low: &mut [Scalar], high: &mut [Scalar], w: &Scalar) {
    let trivial = *w == Scalar::ONE;
    for (a, b) in low.iter_mut().zip(high) {
        cross(a, b);
        if !trivial {
            *b *= w;
        }
    }
}

fn inverse_two([a, b, c, d]: Quarters<'_>, w_ac: &Scalar, w_bd: &Scalar, w0: &Scalar, w1: &Scalar) {
    let trivial = *w_ac == Scalar::ONE && *w_bd == Scalar::ONE && *w0 == Scalar::ONE;
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        cross(a, b);
        cross(c, d);
        if !trivial {
            *b *= w0;
        }
        *d *= w1;
        cross(a, c);
        cross(b, d);
        if !trivial {
            *c *= w_ac;
            *d *= w_bd;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn crosses_like_blst(x: Scalar, y: Scalar) {
        let (mut a, mut b) = (x, y);
        cross(&mut a, &mut b);
        assert_eq!((a, b), (x + y, x - y), "of {x:?} and {y:?}");
    }

    /// A value whose limbs in memory, the Montgomery form, are these modulo r.
    fn with_limbs(limbs: [u64; 4]) -> Scalar {
        let (reduced, below) = difference(limbs, ORDER);
        Scalar::from(blst_fr { l: if below { limbs } else { reduced } })
    }

    #[test]
    fn sums_and_differences_at_the_edges() {
        let last = [ORDER[0] - 1, ORDER[1], ORDER[2], ORDER[3]];
        let half = std::array::from_fn(|i| ORDER[i] >> 1 | ORDER.get(i + 1).map_or(0, |next| next << 63));
        let above_half = sum(half, [1, 0, 0, 0]);
        let limbs = [[0; 4], [1, 0, 0, 0], [u64::MAX, 0, 0, 0], [0, 0, 0, 1], [u64::MAX, u64::MAX, u64::MAX, 0], half, above_half];
        let edges: Vec<Scalar> = limbs.into_iter().chain([last]).map(with_limbs).collect();
        for x in &edges {
            for y in &edges {
                crosses_like_blst(*x, *y);
            }
        }
    }

    proptest! {
        #[test]
        fn sums_and_differences(x in any::<[u64; 4]>(), y in any::<[u64; 4]>()) {
            let below_2_255 = |mut limbs: [u64; 4]| {
                limbs[3] >>= 1;
                with_limbs(limbs)
            };
            crosses_like_blst(below_2_255(x), below_2_255(y));
        }
    }
}

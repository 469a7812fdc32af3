//! Levels of a transform inside one block that fits the cache, two levels a pass over the block.

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

/// (a, b) becomes (a + b, a - b).
#[inline(always)]
fn cross(a: &mut Scalar, b: &mut Scalar) {
    let t = *b;
    *b = *a;
    *b -= &t;
    *a += &t;
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

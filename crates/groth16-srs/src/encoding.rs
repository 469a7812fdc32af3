//! Points as the official files hold them: uncompressed, big-endian, the ZCash encoding of BLS12-381.

use bls12_381_layout::Affine;
use blstrs::{G1Affine, G2Affine};

use crate::PointFault;

/// The field modulus, big-endian.
const MODULUS: [u8; 48] = [
    0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x9a, 0x4b, 0x1b, 0xa7, 0xb6, 0x43, 0x4b, 0xac, 0xd7, 0x64, 0x77, 0x4b, 0x84, 0xf3, 0x85,
    0x12, 0xbf, 0x67, 0x30, 0xd2, 0xa0, 0xf6, 0xb0, 0xf6, 0x24, 0x1e, 0xab, 0xff, 0xfe, 0xb1, 0x53, 0xff, 0xff, 0xb9, 0xfe, 0xff, 0xff,
    0xff, 0xff, 0xaa, 0xab,
];

/// Flag bits of the first byte: compressed, infinity, sign.
const COMPRESSED: u8 = 0x80;
const FLAGS: u8 = 0xe0;

/// Whether points are checked to be in the subgroup of prime order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subgroup {
    /// Every point.
    Check,
    /// Not: something else vouches for the bytes.
    Trust,
}

/// A point with its official encoding.
pub(crate) trait OfficialPoint: Affine {
    /// Bytes of the encoding: 96 for G1, 192 for G2.
    const BYTES: usize;

    /// Decodes a finite point from exactly [`BYTES`](OfficialPoint::BYTES) bytes: flags, canonical coordinates, curve, and subgroup when
    /// asked for. The point at infinity is refused: no place of a key may hold it.
    fn decode(bytes: &[u8], subgroup: Subgroup) -> Result<Self, PointFault>;

    /// Encodes into exactly [`BYTES`](OfficialPoint::BYTES) bytes.
    fn encode(&self, out: &mut [u8]);

    /// Checks a point that is in memory already: finite, on the curve, in the subgroup.
    fn check(&self) -> Result<(), PointFault>;
}

/// Why blst refused the bytes.
fn fault_of(bytes: &[u8]) -> PointFault {
    if bytes.first().is_some_and(|b| b & FLAGS != 0) {
        PointFault::Flags
    } else if bytes.chunks_exact(48).any(|coordinate| *coordinate >= MODULUS[..]) {
        PointFault::NotCanonical
    } else {
        PointFault::NotOnCurve
    }
}

macro_rules! official_point {
    ($point:ty, $bytes:literal) => {
        impl OfficialPoint for $point {
            const BYTES: usize = $bytes;

            fn decode(bytes: &[u8], subgroup: Subgroup) -> Result<Self, PointFault> {
                // blst would read a compressed point from the first half when this flag is set.
                let Ok(encoded) = <&[u8; $bytes]>::try_from(bytes) else { return Err(PointFault::Flags) };
                if encoded[0] & COMPRESSED != 0 {
                    return Err(PointFault::Flags);
                }
                let Some(point) = Option::<Self>::from(Self::from_uncompressed_unchecked(encoded)) else {
                    return Err(fault_of(encoded));
                };
                if point.is_zero_point() {
                    return Err(PointFault::Infinity);
                }
                if subgroup == Subgroup::Check && !bool::from(point.is_torsion_free()) {
                    return Err(PointFault::NotInSubgroup);
                }
                Ok(point)
            }

            fn encode(&self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_uncompressed());
            }

            fn check(&self) -> Result<(), PointFault> {
                if self.is_zero_point() {
                    Err(PointFault::Infinity)
                } else if !bool::from(self.is_on_curve()) {
                    Err(PointFault::NotOnCurve)
                } else if !bool::from(self.is_torsion_free()) {
                    Err(PointFault::NotInSubgroup)
                } else {
                    Ok(())
                }
            }
        }
    };
}
official_point!(G1Affine, 96);
official_point!(G2Affine, 192);

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<P: OfficialPoint>() {
        let point = P::generator();
        let mut bytes = vec![0; P::BYTES];
        point.encode(&mut bytes);
        assert!(P::decode(&bytes, Subgroup::Check) == Ok(point));
        assert_eq!(point.check(), Ok(()));

        for flag in [0x80, 0x20, 0x40, 0xa0, 0xc0] {
            let mut flagged = bytes.clone();
            flagged[0] |= flag;
            assert!(P::decode(&flagged, Subgroup::Trust) == Err(PointFault::Flags), "flag {flag:#x}");
        }
        let mut infinity = vec![0; P::BYTES];
        infinity[0] = 0x40;
        assert!(P::decode(&infinity, Subgroup::Trust) == Err(PointFault::Infinity));
        assert_eq!(P::identity().check(), Err(PointFault::Infinity));
        assert!(P::decode(&vec![0; P::BYTES], Subgroup::Trust) == Err(PointFault::NotOnCurve));

        // The last coordinate plus the modulus is the same residue, written another way.
        let mut high = bytes.clone();
        let mut carry = 0u16;
        for (byte, modulus) in high[P::BYTES - 48..].iter_mut().zip(MODULUS).rev() {
            let sum = u16::from(*byte) + u16::from(modulus) + carry;
            *byte = sum as u8;
            carry = sum >> 8;
        }
        assert!(P::decode(&high, Subgroup::Trust) == Err(PointFault::NotCanonical));

        let mut off = bytes.clone();
        off[P::BYTES - 1] ^= 1;
        assert!(P::decode(&off, Subgroup::Trust) == Err(PointFault::NotOnCurve));
        assert!(P::decode(&bytes[1..], Subgroup::Trust).is_err());
    }

    #[test]
    fn g1() {
        round_trip::<G1Affine>();
    }

    #[test]
    fn g2() {
        round_trip::<G2Affine>();
    }

    #[test]
    fn a_point_outside_the_subgroup_is_refused_when_checked() {
        // Few points of the curve are in the subgroup: a small x soon gives one that is not.
        let mut x = [0u8; 48];
        x[0] = COMPRESSED;
        let outside = (1u8..=255).find_map(|v| {
            x[47] = v;
            let point = Option::<G1Affine>::from(G1Affine::from_compressed_unchecked(&x))?;
            (!bool::from(point.is_torsion_free())).then_some(point)
        });
        let outside = outside.unwrap();
        let mut bytes = [0; 96];
        outside.encode(&mut bytes);
        assert!(G1Affine::decode(&bytes, Subgroup::Trust) == Ok(outside));
        assert!(G1Affine::decode(&bytes, Subgroup::Check) == Err(PointFault::NotInSubgroup));
        assert_eq!(outside.check(), Err(PointFault::NotInSubgroup));
    }
}

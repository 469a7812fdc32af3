//! Compressed points, checked.

use blstrs::{G1Affine, G2Affine};
use pipeline_stage::{Classified, ErrorClass};

/// One of the three points of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProofElement {
    /// In G1, bytes 0 to 47.
    A,
    /// In G2, bytes 48 to 143.
    B,
    /// In G1, bytes 144 to 191.
    C,
}

impl ProofElement {
    /// Where the element starts in the 192 bytes.
    #[must_use]
    pub fn offset(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 48,
            Self::C => 144,
        }
    }
}

impl std::fmt::Display for ProofElement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "element {self:?} at byte {}", self.offset())
    }
}

/// Bytes that are no proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The length is wrong.
    #[error("a proof of one partition has {expected} bytes, found {found}")]
    Length {
        /// Bytes of a proof.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// The flag of a compressed point is missing.
    #[error("{0}: expected a compressed point (highest bit set), found an uncompressed one or other data")]
    NotCompressed(ProofElement),
    /// The point at infinity, which no honest proof contains.
    #[error("{0}: expected a point other than infinity, found the flag of infinity")]
    Infinity(ProofElement),
    /// A coordinate is not below the modulus.
    #[error(
        "{0}: expected a coordinate below the field's modulus, found a larger number; the bytes were made by faulty software or altered"
    )]
    NotCanonical(ProofElement),
    /// There is no point with this coordinate.
    #[error("{0}: no point of the curve has this coordinate; the bytes were altered")]
    NotOnCurve(ProofElement),
    /// The point is outside the prime-order subgroup.
    #[error("{0}: the point is on the curve but outside the subgroup of prime order; the bytes were altered")]
    NotInSubgroup(ProofElement),
}

impl Classified for DecodeError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Fatal
    }
}

const COMPRESSED: u8 = 0x80;
const INFINITY: u8 = 0x40;
const FLAGS: u8 = 0xe0;

/// The modulus of the coordinate field, big-endian.
const MODULUS: [u8; 48] = [
    0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x9a, 0x4b, 0x1b, 0xa7, 0xb6, 0x43, 0x4b, 0xac, 0xd7, 0x64, 0x77, 0x4b, 0x84, 0xf3, 0x85,
    0x12, 0xbf, 0x67, 0x30, 0xd2, 0xa0, 0xf6, 0xb0, 0xf6, 0x24, 0x1e, 0xab, 0xff, 0xfe, 0xb1, 0x53, 0xff, 0xff, 0xb9, 0xfe, 0xff, 0xff,
    0xff, 0xff, 0xaa, 0xab,
];

/// Flags of the first byte, then every 48-byte coordinate below the modulus.
fn check_form(bytes: &[u8], element: ProofElement) -> Result<(), DecodeError> {
    let flags = bytes.first().copied().unwrap_or_default();
    if flags & COMPRESSED == 0 {
        return Err(DecodeError::NotCompressed(element));
    }
    if flags & INFINITY != 0 {
        return Err(DecodeError::Infinity(element));
    }
    for (index, coordinate) in bytes.as_chunks::<48>().0.iter().enumerate() {
        let mut plain = *coordinate;
        if index == 0 {
            plain[0] &= !FLAGS;
        }
        if plain >= MODULUS {
            return Err(DecodeError::NotCanonical(element));
        }
    }
    Ok(())
}

/// A point of the prime-order subgroup of G1, not infinity.
pub(crate) fn decode_g1(bytes: &[u8; 48], element: ProofElement) -> Result<G1Affine, DecodeError> {
    check_form(bytes, element)?;
    let point = Option::<G1Affine>::from(G1Affine::from_compressed_unchecked(bytes)).ok_or(DecodeError::NotOnCurve(element))?;
    if bool::from(point.is_torsion_free()) { Ok(point) } else { Err(DecodeError::NotInSubgroup(element)) }
}

/// A point of the prime-order subgroup of G2, not infinity.
pub(crate) fn decode_g2(bytes: &[u8; 96], element: ProofElement) -> Result<G2Affine, DecodeError> {
    check_form(bytes, element)?;
    let point = Option::<G2Affine>::from(G2Affine::from_compressed_unchecked(bytes)).ok_or(DecodeError::NotOnCurve(element))?;
    if bool::from(point.is_torsion_free()) { Ok(point) } else { Err(DecodeError::NotInSubgroup(element)) }
}

#[cfg(test)]
mod tests {
    use bls12_381_layout::Fp;
    use group::prime::PrimeCurveAffine;

    use super::*;

    fn refused(mut change: impl FnMut(&mut [u8; 48])) -> DecodeError {
        let mut bytes = G1Affine::generator().to_compressed();
        change(&mut bytes);
        decode_g1(&bytes, ProofElement::A).unwrap_err()
    }

    #[test]
    fn every_fault_of_g1_has_its_name() {
        assert_eq!(decode_g1(&G1Affine::generator().to_compressed(), ProofElement::C).unwrap(), G1Affine::generator());
        assert_eq!(refused(|b| b[0] &= !COMPRESSED), DecodeError::NotCompressed(ProofElement::A));
        assert_eq!(refused(|b| *b = G1Affine::identity().to_compressed()), DecodeError::Infinity(ProofElement::A));
        assert_eq!(refused(|b| b[0] |= INFINITY), DecodeError::Infinity(ProofElement::A));
        // The modulus itself, and the largest number the bits hold.
        assert_eq!(
            refused(|b| {
                *b = MODULUS;
                b[0] |= COMPRESSED;
            }),
            DecodeError::NotCanonical(ProofElement::A)
        );
        assert_eq!(
            refused(|b| *b = [[0x9f].as_slice(), &[0xff; 47]].concat().try_into().unwrap()),
            DecodeError::NotCanonical(ProofElement::A)
        );
        // x = 1: 1 + 4 = 5 is no square modulo the prime. x = 4: 68 is one, and the point is outside the subgroup.
        let x = |x: u8| move |b: &mut [u8; 48]| *b = [[COMPRESSED].as_slice(), &[0; 46], &[x]].concat().try_into().unwrap();
        assert_eq!(refused(x(1)), DecodeError::NotOnCurve(ProofElement::A));
        assert_eq!(refused(x(4)), DecodeError::NotInSubgroup(ProofElement::A));
        // One below the modulus is canonical: whatever is said about it, it is not the form.
        let below = refused(|b| {
            *b = MODULUS;
            b[47] -= 1;
            b[0] |= COMPRESSED;
        });
        assert!(matches!(below, DecodeError::NotOnCurve(_) | DecodeError::NotInSubgroup(_)), "{below}");
    }

    #[test]
    fn every_fault_of_g2_has_its_name() {
        let generator = G2Affine::generator().to_compressed();
        assert_eq!(decode_g2(&generator, ProofElement::B).unwrap(), G2Affine::generator());
        let refused = |change: &dyn Fn(&mut [u8; 96])| {
            let mut bytes = generator;
            change(&mut bytes);
            decode_g2(&bytes, ProofElement::B).unwrap_err()
        };
        assert_eq!(refused(&|b| b[0] = 0), DecodeError::NotCompressed(ProofElement::B));
        assert_eq!(refused(&|b| b[0] |= INFINITY), DecodeError::Infinity(ProofElement::B));
        // A flag in the second coordinate makes it too large a number.
        assert_eq!(refused(&|b| b[48] |= COMPRESSED), DecodeError::NotCanonical(ProofElement::B));
        assert_eq!(refused(&|b| b[48..].copy_from_slice(&MODULUS)), DecodeError::NotCanonical(ProofElement::B));
        let mut seen = [false; 2];
        for x in 1..40u8 {
            match refused(&|b| *b = [[COMPRESSED].as_slice(), &[0; 94], &[x]].concat().try_into().unwrap()) {
                DecodeError::NotOnCurve(ProofElement::B) => seen[0] = true,
                DecodeError::NotInSubgroup(ProofElement::B) => seen[1] = true,
                other => panic!("x = {x}: {other}"),
            }
        }
        assert_eq!(seen, [true; 2]);
    }

    #[test]
    fn the_modulus_is_the_fields() {
        // x = modulus - k on the curve: in the field that is -k, so adding ONE k times to the decoded x must give zero.
        let mut found = 0;
        for k in 1..=40u8 {
            let mut bytes = MODULUS;
            bytes[47] -= k;
            bytes[0] |= COMPRESSED;
            let Some(point) = Option::<G1Affine>::from(G1Affine::from_compressed_unchecked(&bytes)) else { continue };
            let sum = (0..k).fold(bls12_381_layout::Affine::x(&point), |x, _| x.add(&Fp::ONE));
            assert!(sum.is_zero(), "k = {k}");
            found += 1;
        }
        assert!(found > 5);
    }
}

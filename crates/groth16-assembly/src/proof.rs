//! A proof before and after its verification.

use blstrs::{G1Affine, G2Affine};

use crate::DecodeError;
use crate::encoding::{ProofElement, decode_g1, decode_g2};

/// Bytes of one encoded proof.
pub const PROOF_BYTES: usize = 192;

/// Three points that may or may not prove something. [`PreparedVerifyingKey::verify`](crate::PreparedVerifyingKey::verify) decides.
///
/// It has no encoding on purpose: bytes leave this crate verified or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnverifiedProof {
    pub(crate) a: G1Affine,
    pub(crate) b: G2Affine,
    pub(crate) c: G1Affine,
}

impl UnverifiedProof {
    /// Decodes 192 bytes: A, B, C compressed in the ZCash encoding. Every accepted proof has exactly this one encoding.
    ///
    /// # Errors
    /// [`DecodeError`]: length, flags, canonical coordinates, curve and subgroup, and the point at infinity, with the element it is about.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let wrong_length = DecodeError::Length { expected: PROOF_BYTES, found: bytes.len() };
        let (a, rest) = bytes.split_first_chunk::<48>().ok_or(wrong_length)?;
        let (b, rest) = rest.split_first_chunk::<96>().ok_or(wrong_length)?;
        let c = <&[u8; 48]>::try_from(rest).map_err(|_| wrong_length)?;
        Ok(Self { a: decode_g1(a, ProofElement::A)?, b: decode_g2(b, ProofElement::B)?, c: decode_g1(c, ProofElement::C)? })
    }
}

/// A proof that was verified against a key and public inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof(pub(crate) UnverifiedProof);

impl Proof {
    /// A, B, C compressed, as bellperson writes them.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PROOF_BYTES] {
        let mut bytes = [0; PROOF_BYTES];
        let (a, rest) = bytes.split_at_mut(ProofElement::B.offset());
        let (b, c) = rest.split_at_mut(ProofElement::C.offset() - ProofElement::B.offset());
        a.copy_from_slice(&self.0.a.to_compressed());
        b.copy_from_slice(&self.0.b.to_compressed());
        c.copy_from_slice(&self.0.c.to_compressed());
        bytes
    }

    /// The same points for verification against something else.
    #[must_use]
    pub fn as_unverified(&self) -> &UnverifiedProof {
        &self.0
    }
}

//! What a virtual sector is made from.

use std::fmt;
use std::str::FromStr;

use filecoin_proofs::{DefaultPieceDomain, DefaultPieceHasher};
use filecoin_proofs_api::RegisteredSealProof;
use sha2::{Digest, Sha256};

use crate::{Error, PeriodicTree};

/// Leaves of the data pattern at most: 32 KiB.
const PATTERN_LEAVES_LOG2_MAX: usize = 10;

/// The sector sizes that have official circuits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectorSize {
    /// 2 KiB, for tests.
    KiB2,
    /// 8 MiB, for tests.
    MiB8,
    /// 512 MiB, for tests.
    MiB512,
    /// 32 GiB, of the main network.
    GiB32,
    /// 64 GiB, of the main network.
    GiB64,
}

impl SectorSize {
    /// All of them, ascending.
    pub const ALL: [Self; 5] = [Self::KiB2, Self::MiB8, Self::MiB512, Self::GiB32, Self::GiB64];

    /// Size in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::KiB2 => 2 << 10,
            Self::MiB8 => 8 << 20,
            Self::MiB512 => 512 << 20,
            Self::GiB32 => 32 << 30,
            Self::GiB64 => 64 << 30,
        }
    }

    /// The short name, as [`FromStr`] reads it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KiB2 => "2kib",
            Self::MiB8 => "8mib",
            Self::MiB512 => "512mib",
            Self::GiB32 => "32gib",
            Self::GiB64 => "64gib",
        }
    }

    /// The interactive seal proof of version 1.1.
    pub(crate) fn seal_proof(self) -> RegisteredSealProof {
        match self {
            Self::KiB2 => RegisteredSealProof::StackedDrg2KiBV1_1,
            Self::MiB8 => RegisteredSealProof::StackedDrg8MiBV1_1,
            Self::MiB512 => RegisteredSealProof::StackedDrg512MiBV1_1,
            Self::GiB32 => RegisteredSealProof::StackedDrg32GiBV1_1,
            Self::GiB64 => RegisteredSealProof::StackedDrg64GiBV1_1,
        }
    }
}

impl fmt::Display for SectorSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A sector size by another name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown sector size {found:?}: expected 2kib, 8mib, 512mib, 32gib or 64gib")]
pub struct UnknownSectorSize {
    /// What was given.
    pub found: String,
}

impl FromStr for SectorSize {
    type Err = UnknownSectorSize;

    fn from_str(text: &str) -> Result<Self, UnknownSectorSize> {
        Self::ALL
            .into_iter()
            .find(|size| size.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownSectorSize { found: text.to_owned() })
    }
}

/// What the sector holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// A pseudo-random pattern of at most 1,024 nodes that repeats.
    Pattern,
    /// Zeros, as a sector of committed capacity.
    Zero,
}

/// Which nodes follow the labelling rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// The challenged ones, which a proof can tell.
    Challenged,
    /// All, as in a sealed sector. For sectors of at most 8 MiB.
    All,
}

/// Everything a virtual sector follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its size.
    pub size: SectorSize,
    /// What the pseudo-random values are drawn from: ticket, challenge seed, data, labels.
    pub seed: String,
    /// Miner (actor) number.
    pub miner: u64,
    /// Sector number.
    pub sector: u64,
    /// What the sector holds.
    pub data: Data,
    /// Which nodes follow the labelling rule.
    pub labels: Labels,
}

impl Spec {
    /// The usual sector of a size: seed "0", miner 1000, sector 1, patterned data.
    #[must_use]
    pub fn new(size: SectorSize) -> Self {
        Self { size, seed: "0".to_owned(), miner: 1000, sector: 1, data: Data::Pattern, labels: Labels::Challenged }
    }

    /// 32 pseudo-random bytes, little-endian below 2^254 and so a canonical scalar.
    pub(crate) fn pseudo_random(&self, what: &str, a: u64, b: u64) -> [u8; 32] {
        let mut out: [u8; 32] = Sha256::new()
            .chain_update(b"vsector/1\0")
            .chain_update(self.seed.as_bytes())
            .chain_update([0])
            .chain_update(what.as_bytes())
            .chain_update([0])
            .chain_update(a.to_le_bytes())
            .chain_update(b.to_le_bytes())
            .finalize()
            .into();
        out[31] &= 0x3f;
        out
    }

    pub(crate) fn ticket(&self) -> [u8; 32] {
        self.pseudo_random("ticket", 0, 0)
    }

    pub(crate) fn challenge_seed(&self) -> [u8; 32] {
        self.pseudo_random("challenge seed", 0, 0)
    }

    /// The tree over the data.
    pub(crate) fn data_tree(&self) -> Result<PeriodicTree<DefaultPieceHasher>, Error> {
        let height = (self.size.bytes() / 32).trailing_zeros() as usize;
        let pattern: Vec<DefaultPieceDomain> = match self.data {
            Data::Zero => vec![[0; 32].into()],
            Data::Pattern => (0..1u64 << height.min(PATTERN_LEAVES_LOG2_MAX)).map(|i| self.pseudo_random("data", i, 0).into()).collect(),
        };
        PeriodicTree::new(pattern, height)
    }
}

/// The prover id of a miner: the LEB128 form of its number (the payload of its f0 address), zero padded.
#[must_use]
pub fn prover_id(miner: u64) -> [u8; 32] {
    let mut id = [0; 32];
    let mut rest = miner;
    for byte in &mut id {
        *byte = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            break;
        }
        *byte |= 0x80;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prover_ids_are_leb128() {
        assert_eq!(prover_id(0), [0; 32]);
        assert_eq!(prover_id(1000)[..3], [0xe8, 0x07, 0]);
        assert_eq!(prover_id(127)[..2], [0x7f, 0]);
        assert_eq!(prover_id(128)[..3], [0x80, 0x01, 0]);
        assert_eq!(prover_id(u64::MAX)[..11], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0]);
    }

    #[test]
    fn size_names_round_trip() {
        for size in SectorSize::ALL {
            assert_eq!(size.name().parse(), Ok(size));
            assert_eq!(size.name().to_uppercase().parse(), Ok(size));
        }
        assert_eq!("3kib".parse::<SectorSize>(), Err(UnknownSectorSize { found: "3kib".into() }));
    }
}

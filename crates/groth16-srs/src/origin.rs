//! Where a proving key comes from.

use std::fmt;

use crate::Digest;

/// Where the secrets of a development set-up came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Randomness {
    /// From a known seed or given outright: anybody who knows them can forge proofs.
    Seeded,
    /// From the operating system's generator, forgotten afterwards.
    OperatingSystem,
}

/// Where a proving key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Made by [`setup`](crate::setup) on one machine.
    Development(Randomness),
    /// Imported from a file whose digest was the published one.
    Official {
        /// The digest.
        digest: Digest,
    },
    /// Imported from a file in the official format that nobody vouches for: no published digest was known.
    Imported {
        /// The file's digest.
        digest: Digest,
    },
}

impl Origin {
    /// True when a published digest vouches for the key.
    #[must_use]
    pub fn is_official(&self) -> bool {
        matches!(self, Self::Official { .. })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Development(Randomness::Seeded) => f.write_str("a development key from a known seed"),
            Self::Development(Randomness::OperatingSystem) => f.write_str("a development key from this machine's generator"),
            Self::Official { digest } => write!(f, "official (digest {digest})"),
            Self::Imported { digest } => write!(f, "imported without a published digest (its digest is {digest})"),
        }
    }
}

/// Which origins are good enough when a key is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OriginPolicy {
    /// Circuits of production size need an official key, the others take any.
    #[default]
    OfficialForProduction,
    /// Any origin for any circuit: tests and measurements.
    Any,
}

//! Which circuit a key belongs to.

use std::fmt;

use prover_backend::{ConstraintMatrices, Domain, Matrix};

use crate::SrsError;
use crate::native::{SectionKind, layout};

/// log2 of the smallest domain whose circuits count as production: every official circuit that goes on chain for real storage with a
/// large proof (PoRep and SnapDeals of 32 and 64 GiB, WindowPoSt) has 2^27, the test sizes at most 2^23.
pub const PRODUCTION_LOG2_DOMAIN: u32 = 24;

const NAME_MAX: usize = 200;

/// A circuit's name and the hash of its matrices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CircuitIdentity {
    name: String,
    hash: [u8; 32],
}

impl CircuitIdentity {
    /// An identity. The name becomes part of file names.
    ///
    /// # Errors
    /// [`SrsError::CircuitName`] when the name is empty, longer than 200 characters, starts with a dot or has a character other than
    /// letters, digits, `.`, `_`, `-`.
    pub fn new(name: &str, hash: [u8; 32]) -> Result<Self, SrsError> {
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if name.is_empty() || name.len() > NAME_MAX || name.starts_with('.') || !plain {
            return Err(SrsError::CircuitName { found: name.to_owned(), max: NAME_MAX });
        }
        Ok(Self { name: name.to_owned(), hash })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The hash of the matrices.
    #[must_use]
    pub fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// The file name of this circuit's native proving key: `<name>-<first 16 hex digits of the hash>.pmkey`.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}-{}.pmkey", self.name, hex::encode(&self.hash[..8]))
    }
}

impl fmt::Display for CircuitIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, hex::encode(self.hash))
    }
}

/// What fixes the length of each section of a circuit's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircuitCounts {
    inputs: u64,
    auxiliary: u64,
    constraints: u64,
    a_query: u64,
    b_query: u64,
    domain: Domain,
}

impl CircuitCounts {
    /// Counts of a circuit: public inputs (ONE included), auxiliary variables, constraints (without the rows of the inputs), variables of
    /// the A query (all inputs, then the auxiliary variables that A uses) and of the B query (the variables that B uses).
    ///
    /// # Errors
    /// [`SrsError::CircuitCounts`] when they cannot be those of a circuit with at most 2^28 rows.
    pub fn new(inputs: u64, auxiliary: u64, constraints: u64, a_query: u64, b_query: u64) -> Result<Self, SrsError> {
        let limit = 1u64 << prover_backend::MAX_LOG2_SIZE;
        let within = |what, found: u64, low: u64, high: u64| {
            if (low..=high).contains(&found) {
                Ok(())
            } else {
                Err(SrsError::CircuitCounts { what, expected: format!("{low} to {high}"), found })
            }
        };
        within("the number of inputs", inputs, 1, limit)?;
        within("the number of auxiliary variables", auxiliary, 0, limit)?;
        within("the number of constraints", constraints, 0, limit - inputs)?;
        within("the size of the A query", a_query, inputs, inputs + auxiliary)?;
        within("the size of the B query", b_query, 0, inputs + auxiliary)?;
        let domain = Domain::for_rows((constraints + inputs) as usize)?;
        Ok(Self { inputs, auxiliary, constraints, a_query, b_query, domain })
    }

    /// The counts of compiled matrices.
    ///
    /// # Errors
    /// [`SrsError::CircuitCounts`] when the circuit is larger than supported.
    pub fn of(matrices: &dyn ConstraintMatrices) -> Result<Self, SrsError> {
        let ones = |matrix| matrices.density(matrix).iter().map(|w| u64::from(w.count_ones())).sum();
        Self::new(matrices.inputs() as u64, matrices.auxiliary() as u64, matrices.constraints() as u64, ones(Matrix::A), ones(Matrix::B))
    }

    /// Public inputs, ONE included.
    #[must_use]
    pub fn inputs(&self) -> u64 {
        self.inputs
    }

    /// Auxiliary variables.
    #[must_use]
    pub fn auxiliary(&self) -> u64 {
        self.auxiliary
    }

    /// Constraints, without the rows of the inputs.
    #[must_use]
    pub fn constraints(&self) -> u64 {
        self.constraints
    }

    /// Points of section a.
    #[must_use]
    pub fn a_query(&self) -> u64 {
        self.a_query
    }

    /// Points of section b_g1, and of section b_g2.
    #[must_use]
    pub fn b_query(&self) -> u64 {
        self.b_query
    }

    /// Points of section h: one less than the domain.
    #[must_use]
    pub fn h_query(&self) -> u64 {
        self.domain.size() as u64 - 1
    }

    /// The evaluation domain: the smallest with a place for each constraint and each input.
    #[must_use]
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// True from a domain of 2^[`PRODUCTION_LOG2_DOMAIN`]: such circuits refuse development keys unless told otherwise.
    #[must_use]
    pub fn is_production_size(&self) -> bool {
        self.domain.log2_size() >= PRODUCTION_LOG2_DOMAIN
    }

    /// Bytes of the official .params file of this circuit.
    #[must_use]
    pub fn official_bytes(&self) -> u64 {
        let vk = 3 * 96 + 3 * 192 + 4 + 96 * self.inputs;
        let g1 = self.h_query() + self.auxiliary + self.a_query + self.b_query;
        vk + 5 * 4 + 96 * g1 + 192 * self.b_query
    }

    /// Bytes of the native key of this circuit, as a file and as a map.
    #[must_use]
    pub fn native_bytes(&self) -> u64 {
        layout(self).1
    }

    /// Name and bytes of each section of the native key that a prover reads, without padding: h, l, a, b_g1, b_g2.
    #[must_use]
    pub fn native_sections(&self) -> [(&'static str, u64); 5] {
        [SectionKind::H, SectionKind::L, SectionKind::A, SectionKind::BG1, SectionKind::BG2]
            .map(|kind| (kind.name(), kind.points(self) * kind.point_bytes()))
    }
}

/// A circuit as a key file must match it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Name and hash.
    pub identity: CircuitIdentity,
    /// What fixes the section lengths.
    pub counts: CircuitCounts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn official_sizes_are_the_published_ones() {
        // PoRep 2 KiB, 8 MiB and 32 GiB, SnapDeals 32 GiB, WindowPoSt 32 GiB, WinningPoSt 32 GiB.
        let official = [
            (40, 2_685_673, 2_687_921, 2_674_948, 685_522, 22, 1_114_707_768),
            (40, 3_842_449, 3_844_929, 3_815_036, 1_011_290, 22, 1_429_027_896),
            (328, 130_169_893, 130_278_541, 129_753_620, 33_112_282, 27, 47_373_928_632),
            (5, 80_978_488, 81_049_499, 80_743_586, 20_983_608, 27, 34_453_501_368),
            (25_840, 126_902_376, 125_279_217, 96_205_645, 91_925_767, 27, 60_780_374_232),
            (133, 375_210, 370_590, 284_329, 272_185, 19, 192_050_232),
        ];
        for (inputs, auxiliary, constraints, a, b, log2_domain, bytes) in official {
            let counts = CircuitCounts::new(inputs, auxiliary, constraints, a, b).unwrap();
            assert_eq!(counts.official_bytes(), bytes);
            assert_eq!(counts.domain().log2_size(), log2_domain);
            assert_eq!(counts.is_production_size(), log2_domain == 27);
        }
    }

    #[test]
    fn impossible_counts_and_names_are_refused() {
        assert!(CircuitCounts::new(0, 1, 1, 1, 1).is_err());
        assert!(CircuitCounts::new(2, 1, 1, 1, 1).is_err());
        assert!(CircuitCounts::new(2, 1, 1, 4, 1).is_err());
        assert!(CircuitCounts::new(2, 1, 1, 3, 4).is_err());
        assert!(CircuitCounts::new(2, 1, 1 << 28, 3, 3).is_err());
        assert!(CircuitCounts::new(u64::MAX, u64::MAX, u64::MAX, u64::MAX, u64::MAX).is_err());
        for name in ["", ".hidden", "../up", "a b", "é", &"x".repeat(201)] {
            assert!(CircuitIdentity::new(name, [0; 32]).is_err(), "{name:?}");
        }
        let identity = CircuitIdentity::new("porep-2kib", [0xab; 32]).unwrap();
        assert_eq!(identity.file_name(), "porep-2kib-abababababababab.pmkey");
    }
}

//! What a circuit's partitions are proved with.

use circuit_synth::CompiledCircuit;
use groth16_assembly::PreparedVerifyingKey;
use groth16_srs::{CircuitCounts, ProvingKey, SrsError};
use pipeline_stage::{Classified, ErrorClass};

/// Why circuit and key do not make a pair.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The circuit's counts are out of range.
    #[error("{0}")]
    Srs(#[from] SrsError),
    /// The key is of another circuit.
    #[error("the proving key {path} is of circuit {found}, expected {expected}: set up or import the key of this circuit")]
    Mismatch {
        /// The key's file.
        path: String,
        /// The compiled circuit.
        expected: String,
        /// The circuit in the key's header.
        found: String,
    },
    /// The verifying key cannot be used.
    #[error("{0}")]
    VerifyingKey(#[from] groth16_assembly::KeyError),
}

impl Classified for KeysError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Srs(error) => error.class(),
            Self::Mismatch { .. } | Self::VerifyingKey(_) => ErrorClass::Fatal,
        }
    }
}

/// A compiled circuit, its proving key and its prepared verifying key: what the partitions of one circuit share.
#[derive(Debug)]
pub struct CircuitKeys {
    circuit: CompiledCircuit,
    proving_key: ProvingKey,
    verifying_key: PreparedVerifyingKey,
}

impl CircuitKeys {
    /// Pairs a circuit with a key.
    ///
    /// # Errors
    /// [`KeysError::Mismatch`] when the key is of another circuit or its counts differ, [`KeysError::VerifyingKey`].
    pub fn new(circuit: CompiledCircuit, proving_key: ProvingKey) -> Result<Self, KeysError> {
        let counts = CircuitCounts::of(&circuit)?;
        let found = proving_key.circuit();
        if found.identity.hash() != circuit.hash() || found.counts != counts {
            return Err(KeysError::Mismatch {
                path: proving_key.path().display().to_string(),
                expected: format!("{} ({})", circuit.name(), hex::encode(circuit.hash())),
                found: found.identity.to_string(),
            });
        }
        let verifying_key = PreparedVerifyingKey::new(proving_key.verifying_key())?;
        Ok(Self { circuit, proving_key, verifying_key })
    }

    /// The compiled circuit.
    #[must_use]
    pub fn circuit(&self) -> &CompiledCircuit {
        &self.circuit
    }

    /// The proving key.
    #[must_use]
    pub fn proving_key(&self) -> &ProvingKey {
        &self.proving_key
    }

    /// The verifying key, prepared.
    #[must_use]
    pub fn verifying_key(&self) -> &PreparedVerifyingKey {
        &self.verifying_key
    }
}

//! Commit phase 2 by filecoin-proofs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use filecoin_proofs_api::seal::{self, SealCommitPhase1Output};
use filecoin_proofs_api::{ProverId, SectorId};
use serde_json::Value;
use storage_proofs_core::parameter_cache::parameter_cache_dir;

/// The variable from which the library takes its parameter folder, once, on first use.
pub const PARAMETER_FOLDER_VARIABLE: &str = "FIL_PROOFS_PARAMETER_CACHE";

/// The folder from which the library in this process reads parameters. Fixed from its first use on.
#[must_use]
pub fn parameter_folder() -> PathBuf {
    parameter_cache_dir()
}

/// A C1 file in the library's own types.
#[derive(Clone)]
pub struct C1File {
    /// What commit phase 1 gave.
    pub output: SealCommitPhase1Output,
    /// The sector's number when the file names it (the wrapped form does).
    pub sector: Option<u64>,
}

impl C1File {
    /// Reads a C1 file, bare or wrapped.
    ///
    /// # Errors
    /// A file that cannot be read or is no C1, with its path.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        Self::parse(&bytes).with_context(|| format!("{} is no C1 file", path.display()))
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let value: Value = serde_json::from_slice(bytes)?;
        let Some(inner) = value.get("Phase1Out") else {
            return Ok(Self { output: serde_json::from_slice(bytes)?, sector: None });
        };
        let inner = inner.as_str().context("Phase1Out: expected base64 text")?;
        let inner = base64::engine::general_purpose::STANDARD.decode(inner).context("Phase1Out: expected base64")?;
        Ok(Self { output: serde_json::from_slice(&inner)?, sector: value.get("SectorNum").and_then(Value::as_u64) })
    }

    /// The sector's number: the given one, which must not contradict the file's, or else the file's.
    ///
    /// # Errors
    /// When neither says it or they differ.
    pub fn sector(&self, given: Option<u64>) -> Result<u64> {
        match (given, self.sector) {
            (Some(given), Some(own)) if given != own => bail!("sector {given} was given, but the file is of sector {own}"),
            (Some(sector), _) | (None, Some(sector)) => Ok(sector),
            (None, None) => bail!("the file does not name its sector: give its number"),
        }
    }
}

/// A miner's id as the library wants it: LEB128, then zeros.
#[must_use]
pub fn prover_id(miner: u64) -> ProverId {
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

/// Commit phase 2: synthesis, proof of all partitions and the library's own verification. Gives the proof's bytes.
///
/// Parameters are read from [`parameter_folder`].
///
/// # Errors
/// The library's: missing or broken parameters, a proof that does not verify (for instance for another miner or sector).
pub fn prove_seal(c1: &C1File, miner: u64, sector: u64) -> Result<Vec<u8>> {
    let registered = c1.output.registered_proof;
    let parameters = registered.cache_params_path()?;
    ensure!(parameters.is_file(), "the parameters {} are missing; make or fetch them first", parameters.display());
    let output = seal::seal_commit_phase2(c1.output.clone(), prover_id(miner), SectorId::from(sector))
        .with_context(|| format!("commit phase 2 of {registered:?}, miner {miner}, sector {sector}"))?;
    Ok(output.proof)
}

/// Whether the library accepts the proof for this C1's sector. The verifying key is read from [`parameter_folder`].
///
/// # Errors
/// The library's: a missing verifying key, bytes that are no proof.
pub fn verify_seal(c1: &C1File, miner: u64, sector: u64, proof: &[u8]) -> Result<bool> {
    let c1 = &c1.output;
    let (prover, sector) = (prover_id(miner), SectorId::from(sector));
    seal::verify_seal(c1.registered_proof, c1.comm_r, c1.comm_d, prover, sector, c1.ticket, c1.seed, proof)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miners_as_the_library_wants_them() {
        let id = |bytes: &[u8]| {
            let mut id = [0; 32];
            id[..bytes.len()].copy_from_slice(bytes);
            id
        };
        assert_eq!(prover_id(0), id(&[0]));
        assert_eq!(prover_id(127), id(&[127]));
        assert_eq!(prover_id(1000), id(&[0xe8, 0x07]));
        assert_eq!(prover_id(u64::MAX), id(&[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]));
    }

    #[test]
    fn a_sector_comes_from_the_file_or_the_caller() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-data/porep-2kib");
        let wrapped = C1File::read(&folder.join("c1.json")).unwrap();
        let bare = C1File::read(&folder.join("c1.raw.json")).unwrap();
        assert_eq!(serde_json::to_value(&wrapped.output).unwrap(), serde_json::to_value(&bare.output).unwrap());
        assert_eq!((wrapped.sector(None).unwrap(), wrapped.sector(Some(1)).unwrap(), bare.sector(Some(7)).unwrap()), (1, 1, 7));
        assert!(wrapped.sector(Some(2)).unwrap_err().to_string().contains("sector 1"));
        assert!(bare.sector(None).is_err());
        assert!(C1File::read(&folder.join("meta.json")).is_err());
    }
}

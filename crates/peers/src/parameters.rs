//! Parameter generation by bellperson.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use bellpepper_core::Circuit;
use bellperson::groth16::{self, Parameters};
use blstrs::{Bls12, G1Projective, G2Projective, Scalar};
use ff::Field;
use filecoin_proofs::parameters::public_params;
use filecoin_proofs::{DefaultPieceHasher, SectorShapeBase};
use filecoin_proofs_api::RegisteredSealProof;
use group::Group;
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};
use serde_json::{Value, json};
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::parameter_cache::{metadata_id, parameter_id, verifying_key_id};
use storage_proofs_porep::stacked::{StackedCircuit, StackedCompound, StackedDrg};

type PoRepCircuit = StackedCircuit<SectorShapeBase, DefaultPieceHasher>;
type PoRep = StackedCompound<SectorShapeBase, DefaultPieceHasher>;

/// Largest sector whose circuit this generates parameters for: the next one has 130 million constraints.
const SECTOR_BYTES_MAX: u64 = 512 << 20;

/// Generators and toxic waste of a set-up.
pub struct Secrets {
    /// Generator of G1.
    pub g1: G1Projective,
    /// Generator of G2.
    pub g2: G2Projective,
    /// α, β, γ, δ, τ.
    pub scalars: [Scalar; 5],
}

impl Secrets {
    /// g1, g2, α, β, γ, δ, τ, drawn in this order as the library draws them.
    #[must_use]
    pub fn draw(rng: &mut impl RngCore) -> Self {
        Self {
            g1: G1Projective::random(&mut *rng),
            g2: G2Projective::random(&mut *rng),
            scalars: [(); 5].map(|()| Scalar::random(&mut *rng)),
        }
    }

    /// Drawn from a ChaCha20 generator seeded by the label's bytes and zeros.
    ///
    /// # Errors
    /// A label longer than the 32 bytes of a seed.
    pub fn from_label(label: &str) -> Result<Self> {
        let mut seed = [0; 32];
        let start = seed.get_mut(..label.len()).with_context(|| format!("the label has {} bytes, a seed has 32", label.len()))?;
        start.copy_from_slice(label.as_bytes());
        Ok(Self::draw(&mut ChaCha20Rng::from_seed(seed)))
    }
}

/// bellperson's set-up of any circuit.
///
/// # Errors
/// The circuit's or bellperson's.
pub fn generate_parameters<C: Circuit<Scalar>>(circuit: C, secrets: &Secrets) -> Result<Parameters<Bls12>> {
    let [alpha, beta, gamma, delta, tau] = secrets.scalars;
    Ok(groth16::generate_parameters::<Bls12, C>(circuit, secrets.g1, secrets.g2, alpha, beta, gamma, delta, tau)?)
}

/// The three files of one circuit's parameters, as the library names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterFiles {
    /// Proving and verifying key.
    pub params: PathBuf,
    /// Verifying key alone.
    pub verifying_key: PathBuf,
    /// Sector size, as JSON.
    pub metadata: PathBuf,
}

impl ParameterFiles {
    /// The files in `folder` of the circuit that proves `seal_proof`. They need not exist.
    ///
    /// # Errors
    /// The library's, when it has no circuit for the proof.
    pub fn of(seal_proof: RegisteredSealProof, folder: &Path) -> Result<Self> {
        let identifier = seal_proof.circuit_identifier()?;
        Ok(Self {
            params: folder.join(parameter_id(&identifier)),
            verifying_key: folder.join(verifying_key_id(&identifier)),
            metadata: folder.join(metadata_id(&identifier)),
        })
    }

    /// All three.
    #[must_use]
    pub fn paths(&self) -> [&Path; 3] {
        [&self.params, &self.verifying_key, &self.metadata]
    }
}

/// The library's name of a seal proof (`StackedDrg2KiBV1_1`).
///
/// # Errors
/// A name it does not know.
pub fn parse_seal_proof(name: &str) -> Result<RegisteredSealProof> {
    serde_json::from_value(Value::String(name.to_owned())).with_context(|| format!("{name:?} is no registered seal proof"))
}

/// Generates the parameters of a PoRep circuit (sectors up to 512 MiB) and writes the three files. Existing files are replaced whole.
///
/// For 2 KiB about 1,170 CPU seconds and 5 GB of memory.
///
/// # Errors
/// A larger sector, bellperson's, or a folder that cannot be written.
pub fn generate_porep_parameters(seal_proof: RegisteredSealProof, secrets: &Secrets, folder: &Path) -> Result<ParameterFiles> {
    let config = seal_proof.as_v1_config();
    let sector_bytes = u64::from(config.sector_size);
    ensure!(sector_bytes <= SECTOR_BYTES_MAX, "sectors of {sector_bytes} bytes: parameters are generated for up to {SECTOR_BYTES_MAX}");
    let files = ParameterFiles::of(seal_proof, folder)?;
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let public = public_params::<SectorShapeBase>(&config)?;
    let circuit = <PoRep as CompoundProof<StackedDrg<'_, SectorShapeBase, DefaultPieceHasher>, PoRepCircuit>>::blank_circuit(&public);
    let parameters = generate_parameters(circuit, secrets)?;
    write_whole(&files.params, |out| parameters.write(out))?;
    write_whole(&files.verifying_key, |out| parameters.vk.write(out))?;
    write_whole(&files.metadata, |out| out.write_all(json!({ "sector_size": sector_bytes }).to_string().as_bytes()))?;
    Ok(files)
}

/// Writes beside the target and renames, so that a file is whole or not there.
fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let write_it = || -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let file = tempfile::NamedTempFile::new_in(folder)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        write(&mut out)?;
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write_it().with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_seed() {
        let (x, y) = (Secrets::from_label("some label").unwrap(), Secrets::from_label("some label").unwrap());
        assert!(x.g1 == y.g1 && x.g2 == y.g2 && x.scalars == y.scalars);
        assert!(x.scalars != Secrets::from_label("another").unwrap().scalars);
        assert!(Secrets::from_label(&"x".repeat(33)).is_err());
    }

    #[test]
    fn files_are_named_as_the_library_names_them() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-data/porep-2kib");
        let meta: Value = serde_json::from_slice(&std::fs::read(folder.join("meta.json")).unwrap()).unwrap();
        let identifier = meta["circuit_identifier"].as_str().unwrap();
        let seal_proof = parse_seal_proof(meta["registered_seal_proof"].as_str().unwrap()).unwrap();
        let files = ParameterFiles::of(seal_proof, Path::new("f")).unwrap();
        assert_eq!(files.params, Path::new("f").join(format!("v28-{identifier}.params")));
        assert_eq!(files.verifying_key, Path::new("f").join(format!("v28-{identifier}.vk")));
        assert_eq!(files.metadata, Path::new("f").join(format!("v28-{identifier}.meta")));
        assert!(parse_seal_proof("StackedDrg3KiBV1").is_err());
    }

    #[test]
    fn a_sector_too_large_is_refused_before_any_work() {
        let secrets = Secrets::from_label("x").unwrap();
        let large = parse_seal_proof("StackedDrg32GiBV1_1").unwrap();
        assert!(generate_porep_parameters(large, &secrets, Path::new("/nonexistent")).is_err_and(|e| e.to_string().contains("up to")));
    }

    #[test]
    fn a_file_is_whole_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let failed = write_whole(&path, |out| {
            out.write_all(b"half")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(failed.is_err() && std::fs::read_dir(folder.path()).unwrap().next().is_none());
        write_whole(&path, |out| out.write_all(b"whole")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    }
}

//! The verifying key and the official .vk format.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use blstrs::{G1Affine, G2Affine};

use crate::SrsError;
use crate::atomic_file::AtomicFile;
use crate::encoding::OfficialPoint;
use crate::official::OfficialReader;

/// More points than this cannot be the public inputs of a supported circuit.
const IC_MAX: u64 = 1 << prover_backend::MAX_LOG2_SIZE;

/// A Groth16 verifying key. No point is infinity; every point read is canonical, on the curve and in its subgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    /// α in G1.
    pub alpha_g1: G1Affine,
    /// β in G1.
    pub beta_g1: G1Affine,
    /// β in G2.
    pub beta_g2: G2Affine,
    /// γ in G2.
    pub gamma_g2: G2Affine,
    /// δ in G1.
    pub delta_g1: G1Affine,
    /// δ in G2.
    pub delta_g2: G2Affine,
    /// (β·a_j(τ) + α·b_j(τ) + c_j(τ)) / γ for each public input, ONE first.
    pub ic: Vec<G1Affine>,
}

impl VerifyingKey {
    /// Reads a .vk file.
    ///
    /// # Errors
    /// [`SrsError::Io`], [`SrsError::Truncated`], [`SrsError::Size`] when more follows, [`SrsError::Point`], [`SrsError::Header`] for an
    /// impossible number of inputs.
    pub fn open(path: &Path) -> Result<Self, SrsError> {
        let file = File::open(path).map_err(|e| SrsError::io("open it", path, e))?;
        let mut reader = BufReader::new(file);
        let mut reader = OfficialReader::new(&mut reader, path);
        let key = Self::read_from(&mut reader)?;
        reader.end()?;
        Ok(key)
    }

    /// Reads a key from the start of `reader`, which may hold more (a .params file starts with its verifying key). `name` is the file that
    /// errors name.
    ///
    /// # Errors
    /// As for [`open`](VerifyingKey::open), except that more may follow.
    pub fn read(mut reader: impl Read, name: &Path) -> Result<Self, SrsError> {
        Self::read_from(&mut OfficialReader::new(&mut reader, name))
    }

    pub(crate) fn read_from(reader: &mut OfficialReader<'_>) -> Result<Self, SrsError> {
        let alpha_g1 = reader.point("alpha_g1", 0)?;
        let beta_g1 = reader.point("beta_g1", 0)?;
        let beta_g2 = reader.point("beta_g2", 0)?;
        let gamma_g2 = reader.point("gamma_g2", 0)?;
        let delta_g1 = reader.point("delta_g1", 0)?;
        let delta_g2 = reader.point("delta_g2", 0)?;
        let inputs = reader.length("ic")?;
        if inputs == 0 || inputs > IC_MAX {
            return Err(SrsError::Header {
                path: reader.path().to_owned(),
                field: "the length of ic",
                expected: format!("1 to {IC_MAX}"),
                found: inputs.to_string(),
            });
        }
        // Grown as the points come, so that a false length in a short file reserves nothing.
        let mut ic = Vec::new();
        for index in 0..inputs {
            ic.push(reader.point("ic", index)?);
        }
        Ok(Self { alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2, ic })
    }

    /// Writes the official bytes.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, writer: &mut dyn Write) -> std::io::Result<()> {
        writer.write_all(&self.to_bytes())
    }

    /// Writes a .vk file, whole or not at all.
    ///
    /// # Errors
    /// [`SrsError::Io`].
    pub fn save(&self, path: &Path) -> Result<(), SrsError> {
        let mut file = AtomicFile::create(path)?;
        file.write(&self.to_bytes())?;
        file.commit()
    }

    /// The official bytes: the six points in the order of the fields, the length of ic as a big-endian u32, the points of ic.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        fn put<P: OfficialPoint>(out: &mut Vec<u8>, point: &P) {
            let start = out.len();
            out.resize(start + P::BYTES, 0);
            point.encode(&mut out[start..]);
        }
        let mut out = Vec::with_capacity(3 * 96 + 3 * 192 + 4 + 96 * self.ic.len());
        put(&mut out, &self.alpha_g1);
        put(&mut out, &self.beta_g1);
        put(&mut out, &self.beta_g2);
        put(&mut out, &self.gamma_g2);
        put(&mut out, &self.delta_g1);
        put(&mut out, &self.delta_g2);
        // A key of more than 2^28 inputs is neither read nor made.
        out.extend_from_slice(&(self.ic.len() as u32).to_be_bytes());
        for point in &self.ic {
            put(&mut out, point);
        }
        out
    }
}

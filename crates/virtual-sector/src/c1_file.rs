//! The C1 file: bare and wrapped JSON, and what to know about it.

use std::io::{self, Write};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use filecoin_proofs_api::seal::SealCommitPhase1Output;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::library;
use crate::{Error, prover_id};

/// A C1 file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct C1File {
    /// The bare JSON.
    pub raw: Vec<u8>,
    /// What to know about it.
    pub meta: Meta,
}

/// What to know about a C1 file. The fields are in alphabetical order, as they are in the JSON; byte strings are hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Meta {
    /// Size in the library's binary form.
    pub c1_bincode_bytes: u64,
    /// Size of the bare JSON.
    pub c1_raw_json_bytes: u64,
    /// SHA-256 of the bare JSON.
    pub c1_raw_sha256: String,
    /// Size of the wrapped JSON.
    pub c1_wrapped_json_bytes: u64,
    /// The official identifier of the circuit.
    pub circuit_identifier: String,
    /// Commitment to the data.
    pub comm_d: String,
    /// Commitment to the replica.
    pub comm_r: String,
    /// Miner (actor) number.
    pub miner_id: u64,
    /// The miner as the proofs know it.
    pub prover_id: String,
    /// Name of the seal proof.
    pub registered_seal_proof: String,
    /// The replica id.
    pub replica_id: String,
    /// Sector number.
    pub sector_id: u64,
    /// Sector size in bytes.
    pub sector_size: u64,
    /// What the challenges are drawn from.
    pub seed: String,
    /// Randomness of the sealing.
    pub ticket: String,
}

impl C1File {
    pub(crate) fn new(output: &SealCommitPhase1Output, miner: u64, sector: u64) -> Result<Self, Error> {
        let raw = serde_json::to_vec(output)?;
        let proof = output.registered_proof;
        let mut file = Self {
            meta: Meta {
                c1_bincode_bytes: bincode::serialized_size(output)?,
                c1_raw_json_bytes: raw.len() as u64,
                c1_raw_sha256: hex::encode(Sha256::digest(&raw)),
                c1_wrapped_json_bytes: 0,
                circuit_identifier: proof.circuit_identifier().map_err(library("naming the circuit"))?,
                comm_d: hex::encode(output.comm_d),
                comm_r: hex::encode(output.comm_r),
                miner_id: miner,
                prover_id: hex::encode(prover_id(miner)),
                registered_seal_proof: format!("{proof:?}"),
                replica_id: hex::encode(output.replica_id),
                sector_id: sector,
                sector_size: proof.sector_size().into(),
                seed: hex::encode(output.seed),
                ticket: hex::encode(output.ticket),
            },
            raw,
        };
        file.meta.c1_wrapped_json_bytes = file.write_wrapped(io::sink())?;
        Ok(file)
    }

    /// Writes the wrapped JSON, keys and spacing as Go writes `struct{SectorNum; Phase1Out []byte; SectorSize}`. Returns its size.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_wrapped(&self, out: impl Write) -> io::Result<u64> {
        let mut out = Counted { out, bytes: 0 };
        write!(out, "{{\"SectorNum\":{},\"Phase1Out\":\"", self.meta.sector_id)?;
        let mut encoder = EncoderWriter::new(&mut out, &STANDARD);
        encoder.write_all(&self.raw)?;
        encoder.finish()?;
        drop(encoder);
        write!(out, "\",\"SectorSize\":{}}}", self.meta.sector_size)?;
        out.flush()?;
        Ok(out.bytes)
    }

    /// [`Meta`] as JSON, indented by one space, without a newline at the end.
    ///
    /// # Errors
    /// None that is known: strings and numbers have a JSON form.
    pub fn meta_json(&self) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        let indented = serde_json::ser::PrettyFormatter::with_indent(b" ");
        self.meta.serialize(&mut serde_json::Serializer::with_formatter(&mut out, indented))?;
        Ok(out)
    }
}

/// Counts what passes.
struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.out.write(buffer)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

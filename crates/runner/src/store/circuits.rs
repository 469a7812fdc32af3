//! Compiled circuits: found, made, opened.

use std::path::Path;

use c1_parse::{PoRepKind, SealProof, SectorSize};
use circuit_synth::{CompiledCircuit, Opened};
use filecoin_circuits::CircuitError;
use pipeline_stage::StageName;

use super::lock_folder;
use crate::exit::{Exit, Failure};
use crate::output::{create_folder, note};
use crate::session::Session;

/// Extension of the files.
pub(super) const EXTENSION: &str = "circuit";

/// Compiled circuits up to this size are compared with all their checksums when they are opened: milliseconds. A larger one is compared
/// block by block as it is read; a damaged block ends the proof with an error that names the file.
const CHECKED_WHOLE_BYTES_MAX: u64 = 1 << 30;

/// A seal proof of a sector size; all of them share one circuit.
pub(crate) fn seal_proof_of(size: SectorSize) -> SealProof {
    SealProof { sector_size: size, kind: PoRepKind::V1_1 }
}

/// The name of the circuit of a sector size.
///
/// # Errors
/// [`Exit::Internal`] when the proof library cannot set up its own parameters.
pub(crate) fn circuit_name(size: SectorSize) -> Result<&'static str, Failure> {
    let identity = filecoin_circuits::identity(seal_proof_of(size)).map_err(|error| failure(size, &error))?;
    Ok(identity.name)
}

fn failure(size: SectorSize, error: &CircuitError) -> Failure {
    Failure::from_part(format!("circuit of {size} sectors"), error, Exit::Internal)
}

/// Opens a compiled circuit.
///
/// # Errors
/// [`Exit::NoInput`] when it is not there, [`Exit::Data`] when it cannot be trusted.
pub(crate) fn open_circuit(session: &Session<'_>, size: SectorSize) -> Result<CompiledCircuit, Failure> {
    filecoin_circuits::open(seal_proof_of(size), session.config.cache_dir()?, &session.context(StageName::Setup))
        .map_err(|error| Failure::from_part(format!("circuit of {size} sectors"), &error, Exit::Data))
}

/// Opens a compiled circuit; one that is missing or damaged is compiled.
///
/// # Errors
/// What making folder and file gives, and the compilation's own.
pub(crate) fn open_or_compile(session: &Session<'_>, size: SectorSize) -> Result<CompiledCircuit, Failure> {
    let folder = session.config.cache_dir()?;
    let context = session.context(StageName::Setup);
    // The usual case neither locks nor writes, so that a folder that may only be read is as good.
    if let Ok(circuit) = filecoin_circuits::open(seal_proof_of(size), folder, &context)
        && is_whole(&circuit, session)
    {
        return Ok(circuit);
    }
    with_folder(session, size, folder, || {
        let (circuit, opened) =
            filecoin_circuits::open_or_compile(seal_proof_of(size), folder, &context).map_err(|error| failure(size, &error))?;
        if let Opened::Rebuilt(reason) = &opened {
            note(&format!("the compiled circuit could not be trusted and was compiled again: {reason}"));
        }
        if matches!(opened, Opened::Found) && !is_whole(&circuit, session) {
            session.go_on()?;
            note(&format!("{}: the compiled circuit is damaged and is compiled again", circuit.path().display()));
            return filecoin_circuits::compile(seal_proof_of(size), folder, &context).map_err(|error| failure(size, &error));
        }
        Ok(circuit)
    })
}

/// Compiles a circuit, whether it is there or not.
///
/// # Errors
/// As for [`open_or_compile`].
pub(crate) fn compile(session: &Session<'_>, size: SectorSize) -> Result<CompiledCircuit, Failure> {
    let folder = session.config.cache_dir()?;
    let context = session.context(StageName::Setup);
    with_folder(session, size, folder, || {
        filecoin_circuits::compile(seal_proof_of(size), folder, &context).map_err(|error| failure(size, &error))
    })
}

fn with_folder(
    session: &Session<'_>,
    size: SectorSize,
    folder: &Path,
    work: impl FnOnce() -> Result<CompiledCircuit, Failure>,
) -> Result<CompiledCircuit, Failure> {
    create_folder(folder)?;
    // Saves the second of two processes the work of the first.
    let _lock = lock_folder(session, folder)?;
    let _bar = session.bars.spinner(&format!("circuit of {size} sectors"));
    work()
}

fn is_whole(circuit: &CompiledCircuit, session: &Session<'_>) -> bool {
    circuit.file_bytes() > CHECKED_WHOLE_BYTES_MAX || circuit.verify_checksums(&session.context(StageName::Setup)).is_ok()
}

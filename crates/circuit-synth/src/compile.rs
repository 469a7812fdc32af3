//! Compiling a circuit to its file, and keeping that file.

use std::path::Path;

use bellpepper_core::Circuit;
use blstrs::Scalar;
use pipeline_stage::StageContext;

use crate::compiled::CompiledCircuit;
use crate::error::SynthError;
use crate::format::check_name;
use crate::record::Recorder;
use crate::writer::CircuitWriter;

/// Synthesises `circuit` once, without assignments, streaming its matrices to `path`, and opens the result. The file appears whole or not at
/// all; a file of that name is replaced. Two processes that compile at once each write a file of their own and the last one stays.
///
/// Memory: the blocks being written, 4 bits a variable for the densities (class `compiled_circuit`), and what the circuit itself needs.
///
/// # Errors
/// [`SynthError::Synthesis`] from the circuit, [`SynthError::Io`], [`SynthError::TooLarge`], [`SynthError::UnknownVariable`],
/// [`SynthError::Name`], memory, [`SynthError::Cancelled`]. Whatever happens, no half-written file stays.
pub fn compile<C: Circuit<Scalar>>(circuit: C, name: &str, path: &Path, context: &StageContext) -> Result<CompiledCircuit, SynthError> {
    check_name(name)?;
    let mut recorder = Recorder::new(CircuitWriter::create(path)?, context.clone());
    let outcome = circuit.synthesize(&mut recorder);
    // A fault of the recorder is the cause; what the circuit made of it is not.
    if let Some(fault) = recorder.take_fault() {
        return Err(fault);
    }
    outcome.map_err(|source| SynthError::Synthesis { circuit: name.to_owned(), source })?;
    recorder.finish(name)?;
    CompiledCircuit::open(path, name, context)
}

/// How [`open_or_compile`] came by a circuit.
#[derive(Debug)]
pub enum Opened {
    /// The file was there and is good.
    Found,
    /// There was no file.
    Compiled,
    /// There was a file that could not be trusted, for this reason.
    Rebuilt(SynthError),
}

/// Opens the compiled circuit at `path`, or compiles it when there is none or when what is there is truncated, damaged, foreign or of
/// another version or circuit.
///
/// `path` must name the version of the circuit's source: a file is not compared with the circuit, whose synthesis is what it saves.
///
/// # Errors
/// As for [`compile`]; [`SynthError::Io`] when a file is there and cannot be read.
pub fn open_or_compile<C: Circuit<Scalar>>(
    circuit: impl FnOnce() -> C,
    name: &str,
    path: &Path,
    context: &StageContext,
) -> Result<(CompiledCircuit, Opened), SynthError> {
    let opened = match CompiledCircuit::open(path, name, context) {
        Ok(compiled) => return Ok((compiled, Opened::Found)),
        Err(SynthError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Opened::Compiled,
        Err(error) if error.is_mended_by_compiling() => Opened::Rebuilt(error),
        Err(error) => return Err(error),
    };
    Ok((compile(circuit(), name, path, context)?, opened))
}

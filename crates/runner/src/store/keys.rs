//! Proving parameters: found, made, opened.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use c1_parse::SectorSize;
use circuit_synth::CompiledCircuit;
use groth16_pipeline::CircuitKeys;
use groth16_srs::{Circuit, CircuitCounts, CircuitIdentity, OriginPolicy, ProvingKey, SetupSecrets, setup};
use pipeline_stage::StageName;

use super::circuits::circuit_name;
use super::listing::list_keys;
use crate::config::Bytes;
use crate::exit::{Exit, Failure};
use crate::output::{create_folder, note};
use crate::session::Session;

/// Time between two looks at a folder that another process has locked.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// Keys up to this size, those of the test sizes, are compared with all their checksums before they are used: less than a second. Larger
/// ones are compared by `params check`; a proof from a damaged key does not verify and is not given out in any case.
const CHECKED_WHOLE_BYTES_MAX: u64 = 2 << 30;

/// Which keys may be opened.
pub(crate) fn policy(session: &Session<'_>) -> OriginPolicy {
    if session.config.accept_development_parameters.value { OriginPolicy::Any } else { OriginPolicy::OfficialForProduction }
}

/// The key that a compiled circuit needs.
pub(crate) fn wanted(circuit: &CompiledCircuit) -> Result<Circuit, Failure> {
    let part = |error| Failure::from_part(circuit.name(), &error, Exit::Internal);
    Ok(Circuit {
        identity: CircuitIdentity::new(circuit.name(), *circuit.hash()).map_err(part)?,
        counts: CircuitCounts::of(circuit).map_err(part)?,
    })
}

/// Where a circuit's key is kept.
pub(crate) fn key_path(session: &Session<'_>, circuit: &Circuit) -> Result<PathBuf, Failure> {
    Ok(session.config.params_dir()?.join(circuit.identity.file_name()))
}

/// A request for a circuit's key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyRequest {
    /// Draw the secrets of a set-up from this seed.
    pub(crate) seed: Option<[u8; 32]>,
    /// Replace a key that is there.
    pub(crate) replace: bool,
}

/// Opens a circuit's key; one that is missing is made, for circuits of test size or where development parameters are accepted.
///
/// # Errors
/// [`Exit::Unavailable`] when a circuit of production size has no key; what opening and making give.
pub(crate) fn open_or_setup(session: &Session<'_>, size: SectorSize, circuit: CompiledCircuit) -> Result<Arc<CircuitKeys>, Failure> {
    let wanted = wanted(&circuit)?;
    let path = key_path(session, &wanted)?;
    let there = path.try_exists().map_err(|error| Failure::reading(&path, &error))?;
    if !there {
        if wanted.counts.is_production_size() && !session.config.accept_development_parameters.value {
            return Err(missing_official(size, &path));
        }
        set_up(session, &circuit, &wanted, &path, KeyRequest { seed: None, replace: false })?;
    }
    let context = session.context(StageName::Setup);
    let key = ProvingKey::open(&path, &wanted, policy(session), &context)
        .map_err(|error| Failure::from_part("proving parameters", &error, Exit::Data))?;
    if there && key.file_bytes() <= CHECKED_WHOLE_BYTES_MAX {
        let bar = session.bars.bytes("check");
        key.verify_checksums(&mut |progress| bar.set(progress.done, progress.total), &context)
            .map_err(|error| Failure::from_part("proving parameters", &error, Exit::Data))?;
    }
    let keys = CircuitKeys::new(circuit, key).map_err(|error| Failure::from_part("proving parameters", &error, Exit::Data))?;
    Ok(Arc::new(keys))
}

fn missing_official(size: SectorSize, path: &Path) -> Failure {
    let official = filecoin_circuits::identity(super::seal_proof_of(size)).map(|identity| identity.params.name).unwrap_or_default();
    Failure::new(
        Exit::Unavailable,
        format!(
            "{}: there are no proving parameters for sectors of {size}: import the official file {official} with \
             `proofmill params import FILE --sector-size {size}` (for tests, --accept-development-parameters makes worthless ones)",
            path.display()
        ),
    )
}

/// Makes development parameters. Says loudly what they are.
///
/// # Errors
/// What making folder and file gives, and the set-up's own.
pub(crate) fn set_up(
    session: &Session<'_>,
    circuit: &CompiledCircuit,
    wanted: &Circuit,
    path: &Path,
    request: KeyRequest,
) -> Result<(), Failure> {
    let folder = session.config.params_dir()?;
    create_folder(folder)?;
    // Two set-ups draw different secrets: without this, the proofs of one process would not verify with the key that the other one left.
    let _lock = lock_folder(session, folder)?;
    if !request.replace && path.try_exists().map_err(|error| Failure::reading(path, &error))? {
        return Ok(());
    }
    note(&format!(
        "WARNING: making development parameters for {}: they are FOR TESTING ONLY, since whoever makes parameters can forge proofs; they are kept in {}",
        wanted.identity.name(),
        path.display()
    ));
    let secrets = match request.seed {
        Some(seed) => SetupSecrets::from_seed(seed),
        None => SetupSecrets::from_os().map_err(|error| Failure::from_part("set-up", &error, Exit::Temporary))?,
    };
    let bar = session.bars.bytes("set-up");
    let mut progress = |progress: groth16_srs::Progress| {
        bar.step(progress.step);
        bar.set(progress.done, progress.total);
    };
    let context = session.context(StageName::Setup);
    setup(&wanted.identity, circuit, secrets, session.backend().as_ref(), path, &mut progress, &context)
        .map_err(|error| Failure::from_part("set-up of development parameters", &error, Exit::Internal))
}

/// Locks a folder against other processes that fill it, until the result is dropped. The kernel unlocks it when a process dies. A file
/// system without locks leaves it unlocked: the files themselves appear whole or not at all in any case.
///
/// # Errors
/// Cancellation, and what opening the folder gives.
pub(crate) fn lock_folder(session: &Session<'_>, folder: &Path) -> Result<File, Failure> {
    let file = File::open(folder).map_err(|error| Failure::reading(folder, &error))?;
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                if !told {
                    note(&format!("{}: another process is filling this folder; waiting for it", folder.display()));
                    told = true;
                }
                session.go_on()?;
                std::thread::sleep(LOCK_POLL);
            }
            Err(TryLockError::Error(error)) => {
                tracing::warn!(folder = %folder.display(), %error, "the folder cannot be locked");
                return Ok(file);
            }
        }
    }
}

/// The key of a sector size that is in the parameter folder, without a compiled circuit at hand.
///
/// # Errors
/// [`Exit::Unavailable`] when there is none, or more than one and no compiled circuit to tell which.
pub(crate) fn stored_key(session: &Session<'_>, size: SectorSize) -> Result<ProvingKey, Failure> {
    let folder = session.config.params_dir()?;
    let name = circuit_name(size)?;
    let mut found: Vec<_> = list_keys(folder)?
        .into_iter()
        .filter_map(|listed| listed.found.ok().map(|info| (listed.path, info)))
        .filter(|(_, info)| info.circuit.identity.name() == name)
        .collect();
    if found.len() > 1
        && let Ok(circuit) = super::open_circuit(session, size)
    {
        found.retain(|(_, info)| info.circuit.identity.hash() == circuit.hash());
    }
    match found.as_slice() {
        [(path, info)] => ProvingKey::open(path, &info.circuit, policy(session), &session.context(StageName::Setup))
            .map_err(|error| Failure::from_part("proving parameters", &error, Exit::Data)),
        [] => Err(Failure::new(
            Exit::Unavailable,
            format!(
                "{}: there are no parameters for {name}: make them with `proofmill params setup --sector-size {size}` or import them",
                folder.display()
            ),
        )),
        several => {
            let names: Vec<_> = several.iter().map(|(path, info)| format!("{} ({})", path.display(), Bytes(info.file_bytes))).collect();
            Err(Failure::new(
                Exit::Unavailable,
                format!(
                    "several parameters for {name}: {}: compile the circuit with `proofmill circuit compile --sector-size {size}` to tell which",
                    names.join(", ")
                ),
            ))
        }
    }
}

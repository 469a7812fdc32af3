//! The main job as a newcomer runs it: prove twice, verify, refuse a broken proof.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, ensure};

use crate::repository::{Repository, run as run_command, spelled};

const C1: &str = "bench-data/porep-2kib/c1.json";
/// One partition.
const PROOF_BYTES: usize = 192;
/// Exit code of the program for a proof that does not verify.
const WRONG_INPUT: i32 = 65;

/// Runs the main job in a data folder of its own.
pub(super) fn run(repository: &Repository) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let data = folder.path().join("data");
    let proofs = ["first.bin", "second.bin"].map(|name| folder.path().join(name));

    prove(repository, &data, &proofs[0])?;
    let after_set_up = files_below(&data)?;
    ensure!(!after_set_up.is_empty(), "the first run kept nothing in its data folder: the second would set up again");
    prove(repository, &data, &proofs[1])?;
    ensure!(files_below(&data)? == after_set_up, "the second run changed the data folder: it set up again");

    for proof in &proofs {
        run_command(&mut verify(repository, &data, proof))?;
    }
    refuses_a_flipped_bit(repository, &data, &proofs[1])
}

/// The program as it is without the user's parameters, compiled circuits, configuration and variables.
fn proofmill(repository: &Repository, data: &Path) -> Command {
    let mut command = repository.cargo();
    command.args(["run", "--release", "--"]);
    proofmill_variables(&mut command, data);
    command
}

/// Takes the user's settings away, and gives the command a data folder of its own.
pub(super) fn proofmill_variables(command: &mut Command, data: &Path) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PROOFMILL_")) {
        command.env_remove(name);
    }
    for name in ["XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] {
        command.env(name, data);
    }
}

fn prove(repository: &Repository, data: &Path, proof: &Path) -> Result<()> {
    let started = Instant::now();
    run_command(proofmill(repository, data).args(["prove", C1, "--out"]).arg(proof))?;
    println!("took {:.1} s", started.elapsed().as_secs_f64());
    let length = std::fs::read(proof).with_context(|| format!("no proof in {}", proof.display()))?.len();
    ensure!(length == PROOF_BYTES, "expected a proof of {PROOF_BYTES} bytes, found {length}");
    Ok(())
}

fn verify(repository: &Repository, data: &Path, proof: &Path) -> Command {
    let mut command = proofmill(repository, data);
    command.arg("verify").arg(proof).args(["--c1", C1]);
    command
}

/// A proof with one bit changed does not verify, and the exit code says so.
fn refuses_a_flipped_bit(repository: &Repository, data: &Path, proof: &Path) -> Result<()> {
    let mut bytes = std::fs::read(proof)?;
    let last = bytes.last_mut().context("the proof is empty")?;
    *last ^= 1;
    let broken = proof.with_extension("broken");
    std::fs::write(&broken, bytes)?;
    let mut command = verify(repository, data, &broken);
    println!("$ {}", spelled(&command));
    let status = command.status().context("cannot start proofmill")?;
    ensure!(status.code() == Some(WRONG_INPUT), "of a proof with a flipped bit: expected exit code {WRONG_INPUT}, found {status}");
    Ok(())
}

/// Size and time of the last change of every file below a folder; lock files apart, which a run may touch.
fn files_below(folder: &Path) -> Result<BTreeMap<PathBuf, (u64, SystemTime)>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).with_context(|| format!("cannot read {}", next.display()))? {
            let path = entry?.path();
            let meta = path.metadata()?;
            if meta.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|extension| extension != "lock") {
                files.insert(path, (meta.len(), meta.modified()?));
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::files_below;

    #[test]
    fn a_changed_file_is_seen_and_a_lock_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("keys");
        std::fs::create_dir(&key).unwrap();
        std::fs::write(key.join("a.key"), b"1").unwrap();
        let before = files_below(folder.path()).unwrap();
        assert_eq!(before.len(), 1);
        std::fs::write(key.join("a.lock"), b"").unwrap();
        assert_eq!(files_below(folder.path()).unwrap(), before);
        std::fs::write(key.join("a.key"), b"12").unwrap();
        assert_ne!(files_below(folder.path()).unwrap(), before);
    }
}

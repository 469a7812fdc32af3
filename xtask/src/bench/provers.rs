//! Provers as child processes, so that each has a peak of memory of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::repository::{Repository, run, spelled};

/// What one run of a prover took.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) cpu_s: f64,
    pub(super) wall_s: f64,
    pub(super) peak_anonymous_bytes: f64,
    pub(super) peak_file_bytes: f64,
    pub(super) peak_resident_bytes: f64,
    /// The proof in hex.
    pub(super) proof: String,
    /// Wall seconds of each stage's work, in order.
    pub(super) stages: Vec<(String, f64)>,
    /// Wall seconds of each step before the pipeline, in order.
    pub(super) steps: Vec<(String, f64)>,
    /// Peak bytes of each class of buffer, with its space.
    pub(super) buffers: Vec<(String, f64)>,
    /// Whether it made its parameters instead of finding them.
    pub(super) made_parameters: bool,
}

/// What is to be known about a C1 file's sector, from the `meta.json` beside it.
pub(super) struct Sector {
    circuit_identifier: String,
    pub(super) seal_proof: String,
    size: u64,
    miner: u64,
}

impl Sector {
    /// Reads the file beside a C1 file.
    pub(super) fn beside(c1: &Path) -> Result<Self> {
        let path = c1.with_file_name("meta.json");
        let meta =
            std::fs::read(&path).with_context(|| format!("another prover needs {}, which names circuit and miner", path.display()))?;
        Self::parse(&serde_json::from_slice(&meta)?).with_context(|| format!("in {}", path.display()))
    }

    fn parse(meta: &Value) -> Result<Self> {
        let integer = |key: &str| meta.get(key).and_then(Value::as_u64).with_context(|| format!("expected an integer at {key} in {meta}"));
        Ok(Self {
            circuit_identifier: text(meta, "/circuit_identifier")?,
            seal_proof: text(meta, "/registered_seal_proof")?,
            size: integer("sector_size")?,
            miner: integer("miner_id")?,
        })
    }

    /// The size as our program spells it.
    pub(super) fn size_name(&self) -> Result<&'static str> {
        Ok(match self.size {
            0x800 => "2KiB",
            0x80_0000 => "8MiB",
            0x2000_0000 => "512MiB",
            other => bail!("another prover is run on sectors of 2 KiB, 8 MiB or 512 MiB, not of {other} bytes"),
        })
    }

    /// The library's name of a parameter file.
    pub(super) fn parameter_file(&self, extension: &str) -> String {
        format!("v28-{}.{extension}", self.circuit_identifier)
    }
}

/// Builds the other provers.
pub(super) fn build_peers(repository: &Repository) -> Result<()> {
    run(repository.cargo().args(["build", "--release", "--package", "peers"]))
}

/// The number at a JSON pointer.
pub(super) fn number(object: &Value, pointer: &str) -> Result<f64> {
    object.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("expected a number at {pointer} in {object}"))
}

fn text(object: &Value, pointer: &str) -> Result<String> {
    Ok(object.pointer(pointer).and_then(Value::as_str).with_context(|| format!("expected a text at {pointer} in {object}"))?.to_owned())
}

fn rows(object: &Value, list: &str, row: impl Fn(&Value) -> Result<(String, f64)>) -> Result<Vec<(String, f64)>> {
    object.pointer(list).and_then(Value::as_array).with_context(|| format!("expected a list at {list}"))?.iter().map(row).collect()
}

fn child_json(command: &mut Command) -> Result<Value> {
    let output = command.output().with_context(|| format!("cannot start {}", spelled(command)))?;
    if !output.status.success() {
        bail!("{} failed ({}): {}", spelled(command), output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("{} did not print one JSON object", spelled(command)))
}

/// Our prover, with folders of its own for keys and circuits.
pub(super) struct Ours {
    program: PathBuf,
    folder: PathBuf,
}

impl Ours {
    /// Builds it. `folder` keeps keys and circuits from one benchmark to the next.
    pub(super) fn build(repository: &Repository, folder: &Path) -> Result<Self> {
        run(repository.cargo().args(["build", "--release", "--package", "runner"]))?;
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self { program: repository.target().join("release/proofmill"), folder: folder.to_owned() })
    }

    /// The same program with another folder.
    pub(super) fn in_folder(&self, folder: &Path) -> Self {
        Self { program: self.program.clone(), folder: folder.to_owned() }
    }

    /// The program without the user's keys, circuits, configuration and variables.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PROOFMILL_")) {
            command.env_remove(name);
        }
        for (variable, folder) in [("XDG_DATA_HOME", "data"), ("XDG_CACHE_HOME", "cache"), ("XDG_CONFIG_HOME", "config")] {
            command.env(variable, self.folder.join(folder));
        }
        command
    }

    /// Proves a C1 file once.
    pub(super) fn prove(&self, c1: &Path) -> Result<Run> {
        let started = SystemTime::now();
        let object = child_json(self.command().arg("prove").arg(c1).args(["--output", "json"]))?;
        let made_parameters = key_files(&object)?.iter().any(|file| {
            let changed = std::fs::metadata(file).and_then(|file| file.modified());
            changed.is_ok_and(|changed| changed >= started)
        });
        Ok(Run { made_parameters, ..parse_ours(&object)? })
    }

    /// Is this proof good in the eyes of our verifier?
    pub(super) fn verify(&self, c1: &Path, proof: &Path) -> Result<()> {
        child_json(self.command().arg("verify").arg(proof).arg("--c1").arg(c1).args(["--output", "json"])).map(drop)
    }
}

/// The proving keys that a run used.
fn key_files(object: &Value) -> Result<Vec<String>> {
    let keys = object.pointer("/summary/parameters").and_then(Value::as_array).context("expected a list at /summary/parameters")?;
    keys.iter().map(|key| text(key, "/file")).collect()
}

fn parse_ours(object: &Value) -> Result<Run> {
    let summary = object.pointer("/summary").context("expected a summary in what prove prints")?;
    let elapsed = |part: &str| number(summary, &format!("/elapsed/{part}"));
    Ok(Run {
        cpu_s: elapsed("cpu/user_s")? + elapsed("cpu/system_s")?,
        wall_s: elapsed("wall_s")?,
        peak_anonymous_bytes: number(summary, "/resident/anonymous_bytes")?,
        peak_file_bytes: number(summary, "/resident/file_backed_bytes")?,
        peak_resident_bytes: number(summary, "/resident/high_water_bytes")?,
        proof: text(object, "/proofs/0/proof")?,
        stages: rows(summary, "/stages", |row| Ok((text(row, "/stage")?, number(row, "/work_s")?)))?,
        steps: rows(summary, "/steps", |row| Ok((text(row, "/step")?, number(row, "/wall_s")?)))?,
        buffers: rows(summary, "/buffers", |row| {
            Ok((format!("{} ({})", text(row, "/class")?, text(row, "/space")?), number(row, "/peak_bytes")?))
        })?,
        made_parameters: false,
    })
}

/// bellperson through filecoin-proofs, with our key in its format.
pub(super) struct Bellperson {
    program: PathBuf,
    parameters: PathBuf,
    miner: u64,
}

impl Bellperson {
    /// Builds it and gives it our key, exported under the names the library looks for.
    pub(super) fn build(repository: &Repository, ours: &Ours, sector: &Sector) -> Result<Self> {
        build_peers(repository)?;
        let parameters = ours.folder.join("bellperson");
        std::fs::create_dir_all(&parameters).with_context(|| format!("cannot make {}", parameters.display()))?;
        let file = |extension: &str| parameters.join(sector.parameter_file(extension));
        let size = sector.size_name()?;
        let export =
            |file: &Path, more: &[&str]| run(ours.command().args(["params", "export", "--sector-size", size]).args(more).arg(file));
        export(&file("vk"), &["--verifying-key"])?;
        if !file("params").is_file() || !same_key(&file("params"), &file("vk"))? {
            export(&file("params"), &[])?;
        }
        std::fs::write(file("meta"), format!("{{\"sector_size\":{}}}", sector.size))?;
        Ok(Self { program: repository.target().join("release/peers-run"), parameters, miner: sector.miner })
    }

    /// Proves a C1 file once, and verifies.
    pub(super) fn prove(&self, c1: &Path) -> Result<Run> {
        let mut command = Command::new(&self.program);
        command.arg("seal-commit-phase2").arg("--c1").arg(c1).arg("--parameters").arg(&self.parameters);
        let object = child_json(command.args(["--miner", &self.miner.to_string()]))?;
        ensure!(object.pointer("/verified") == Some(&Value::Bool(true)), "bellperson's proof does not verify: {object}");
        Ok(Run {
            cpu_s: number(&object, "/cpu_s")?,
            wall_s: number(&object, "/wall_s")?,
            peak_anonymous_bytes: number(&object, "/peak_anon_bytes")?,
            peak_file_bytes: number(&object, "/peak_file_bytes")?,
            peak_resident_bytes: number(&object, "/peak_rss_bytes")?,
            proof: text(&object, "/proof")?,
            stages: Vec::new(),
            steps: Vec::new(),
            buffers: Vec::new(),
            made_parameters: false,
        })
    }

    /// Is this proof good in the eyes of the library?
    pub(super) fn verify(&self, c1: &Path, proof: &Path) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.arg("verify-seal").arg("--c1").arg(c1).arg("--parameters").arg(&self.parameters).arg("--proof").arg(proof);
        child_json(command.args(["--miner", &self.miner.to_string()])).map(drop)
    }
}

/// A parameter file begins with its verifying key.
fn same_key(parameters: &Path, verifying_key: &Path) -> Result<bool> {
    use std::io::Read;
    let key = std::fs::read(verifying_key)?;
    let mut start = vec![0; key.len()];
    let read = std::fs::File::open(parameters)?.read_exact(&mut start);
    Ok(read.is_ok() && start == key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Sector, key_files, parse_ours, same_key};

    #[test]
    fn a_run_is_read_and_a_missing_figure_is_named() {
        let mut object = json!({
            "proofs": [{ "proof": "ab" }],
            "summary": {
                "elapsed": { "wall_s": 2.0, "cpu": { "user_s": 3.0, "system_s": 0.5 } },
                "resident": { "anonymous_bytes": 10, "file_backed_bytes": 5, "high_water_bytes": 20 },
                "parameters": [{ "file": "a.key" }],
                "stages": [{ "stage": "ntt", "work_s": 1.5 }],
                "steps": [{ "step": "circuit", "wall_s": 0.5 }],
                "buffers": [{ "class": "witness", "space": "host", "peak_bytes": 7 }],
            },
        });
        let run = parse_ours(&object).unwrap();
        assert_eq!((run.cpu_s, run.wall_s, run.proof.as_str()), (3.5, 2.0, "ab"));
        assert_eq!((run.peak_anonymous_bytes, run.peak_file_bytes, run.peak_resident_bytes), (10.0, 5.0, 20.0));
        assert_eq!(key_files(&object).unwrap(), ["a.key"]);
        assert_eq!(run.stages, [("ntt".to_owned(), 1.5)]);
        assert_eq!(run.buffers, [("witness (host)".to_owned(), 7.0)]);
        object["summary"]["resident"] = json!({});
        assert!(parse_ours(&object).unwrap_err().to_string().contains("/resident/anonymous_bytes"));
    }

    #[test]
    fn a_sector_is_read_and_a_missing_field_is_named() {
        let mut meta = json!({ "circuit_identifier": "id", "registered_seal_proof": "P", "sector_size": 8_388_608, "miner_id": 1000 });
        let sector = Sector::parse(&meta).unwrap();
        assert_eq!((sector.size_name().unwrap(), sector.miner, sector.seal_proof.as_str()), ("8MiB", 1000, "P"));
        assert_eq!(sector.parameter_file("vk"), "v28-id.vk");
        assert!(Sector { size: 7, ..sector }.size_name().is_err());
        meta["miner_id"] = json!(-1);
        assert!(Sector::parse(&meta).err().unwrap().to_string().contains("miner_id"));
    }

    #[test]
    fn a_parameter_file_is_known_by_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let [parameters, key, other, longer] = [("p", "abcdef"), ("k", "abc"), ("o", "abd"), ("l", "abcdefg")].map(|(name, bytes)| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        });
        assert!(same_key(&parameters, &key).unwrap());
        assert!(!same_key(&parameters, &other).unwrap() && !same_key(&parameters, &longer).unwrap());
    }
}

//! Provers as child processes, so that each has a peak of memory of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::repository::{Repository, run, spelled};

/// What one run of a prover took.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) cpu_s: f64,
    pub(super) wall_s: f64,
    pub(super) peak_anonymous_bytes: f64,
    pub(super) peak_resident_bytes: f64,
    /// The proof in hex.
    pub(super) proof: String,
    /// Wall seconds of each stage's work, in order.
    pub(super) stages: Vec<(String, f64)>,
    /// Wall seconds of each step before the pipeline, in order.
    pub(super) steps: Vec<(String, f64)>,
    /// Peak bytes of each class of buffer, with its space.
    pub(super) buffers: Vec<(String, f64)>,
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

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("XDG_DATA_HOME", self.folder.join("data")).env("XDG_CACHE_HOME", self.folder.join("cache"));
        command
    }

    /// Proves a C1 file once.
    pub(super) fn prove(&self, c1: &Path) -> Result<Run> {
        parse_ours(&child_json(self.command().arg("prove").arg(c1).args(["--output", "json"]))?)
    }
}

fn parse_ours(object: &Value) -> Result<Run> {
    let summary = object.pointer("/summary").context("expected a summary in what prove prints")?;
    let elapsed = |part: &str| number(summary, &format!("/elapsed/{part}"));
    Ok(Run {
        cpu_s: elapsed("cpu/user_s")? + elapsed("cpu/system_s")?,
        wall_s: elapsed("wall_s")?,
        peak_anonymous_bytes: number(summary, "/resident/anonymous_bytes")?,
        peak_resident_bytes: number(summary, "/resident/high_water_bytes")?,
        proof: text(object, "/proofs/0/proof")?,
        stages: rows(summary, "/stages", |row| Ok((text(row, "/stage")?, number(row, "/work_s")?)))?,
        steps: rows(summary, "/steps", |row| Ok((text(row, "/step")?, number(row, "/wall_s")?)))?,
        buffers: rows(summary, "/buffers", |row| {
            Ok((format!("{} ({})", text(row, "/class")?, text(row, "/space")?), number(row, "/peak_bytes")?))
        })?,
    })
}

/// bellperson through filecoin-proofs, with our key in its format.
pub(super) struct Bellperson {
    program: PathBuf,
    parameters: PathBuf,
    miner: u64,
}

impl Bellperson {
    /// Builds it and gives it our key: exported under the names the library looks for, which `meta.json` beside the C1 file tells.
    pub(super) fn build(repository: &Repository, ours: &Ours, c1: &Path) -> Result<Self> {
        run(repository.cargo().args(["build", "--release", "--package", "peers"]))?;
        let path = c1.with_file_name("meta.json");
        let meta = std::fs::read(&path).with_context(|| format!("--peers needs {}, which names circuit and miner", path.display()))?;
        let meta: Value = serde_json::from_slice(&meta).with_context(|| format!("{} is no JSON", path.display()))?;
        let identifier = text(&meta, "/circuit_identifier")?;
        let sector_size = number(&meta, "/sector_size")? as u64;
        let parameters = ours.folder.join("bellperson");
        std::fs::create_dir_all(&parameters).with_context(|| format!("cannot make {}", parameters.display()))?;
        let file = |extension: &str| parameters.join(format!("v28-{identifier}.{extension}"));
        let size = match sector_size {
            2048 => "2KiB",
            0x80_0000 => "8MiB",
            0x2000_0000 => "512MiB",
            other => bail!("a peer is run on sectors of 2 KiB, 8 MiB or 512 MiB, not of {other} bytes"),
        };
        let export =
            |file: &Path, more: &[&str]| run(ours.command().args(["params", "export", "--sector-size", size]).args(more).arg(file));
        export(&file("vk"), &["--verifying-key"])?;
        if !file("params").is_file() || !same_key(&file("params"), &file("vk"))? {
            export(&file("params"), &[])?;
        }
        std::fs::write(file("meta"), format!("{{\"sector_size\":{sector_size}}}"))?;
        let miner = number(&meta, "/miner_id")? as u64;
        Ok(Self { program: repository.target().join("release/peers-run"), parameters, miner })
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
            peak_resident_bytes: number(&object, "/peak_rss_bytes")?,
            proof: text(&object, "/proof")?,
            stages: Vec::new(),
            steps: Vec::new(),
            buffers: Vec::new(),
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

    use super::parse_ours;

    #[test]
    fn a_run_is_read_and_a_missing_figure_is_named() {
        let mut object = json!({
            "proofs": [{ "proof": "ab" }],
            "summary": {
                "elapsed": { "wall_s": 2.0, "cpu": { "user_s": 3.0, "system_s": 0.5 } },
                "resident": { "anonymous_bytes": 10, "high_water_bytes": 20 },
                "stages": [{ "stage": "ntt", "work_s": 1.5 }],
                "steps": [{ "step": "circuit", "wall_s": 0.5 }],
                "buffers": [{ "class": "witness", "space": "host", "peak_bytes": 7 }],
            },
        });
        let run = parse_ours(&object).unwrap();
        assert_eq!((run.cpu_s, run.wall_s, run.proof.as_str()), (3.5, 2.0, "ab"));
        assert_eq!(run.stages, [("ntt".to_owned(), 1.5)]);
        assert_eq!(run.buffers, [("witness (host)".to_owned(), 7.0)]);
        object["summary"]["resident"] = json!({});
        assert!(parse_ours(&object).unwrap_err().to_string().contains("/resident/anonymous_bytes"));
    }
}

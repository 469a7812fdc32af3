//! Parameters made once by ours and once by bellperson, from the same secrets.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::child::{Usage, watched};
use super::provers::{Ours, Sector, build_peers};
use crate::repository::Repository;

/// From which both draw generators and secrets, at most 32 bytes. Everyone knows it: the parameters are thrown away.
const LABEL: &str = "bench of the set-up";

/// What the two set-ups took.
pub(super) struct SetUps {
    ours: Usage,
    bellperson: Usage,
}

/// Runs both and compares the parameter files byte for byte, before any time is told.
pub(super) fn compare(repository: &Repository, folder: &Path, sector: &Sector) -> Result<SetUps> {
    let built = Ours::build(repository, folder)?;
    build_peers(repository)?;
    let scratch = tempfile::tempdir_in(folder)?;
    let ours = built.in_folder(&scratch.path().join("ours"));
    let size = sector.size_name()?;
    let set_up = watched(ours.command().args(["params", "setup", "--sector-size", size, "--seed", &seed(LABEL)]))?;

    let theirs = scratch.path().join("bellperson");
    let mut generate = Command::new(repository.target().join("release/peers-run"));
    generate.args(["generate-parameters", "--seal-proof", &sector.seal_proof, "--label", LABEL, "--output"]).arg(&theirs);
    let generated = watched(&mut generate)?;

    let exported = scratch.path().join("exported");
    watched(ours.command().args(["params", "export", "--sector-size", size]).arg(&exported))?;
    let parameters = theirs.join(sector.parameter_file("params"));
    ensure!(same_bytes(&exported, &parameters)?, "from the same secrets, our parameters and bellperson's differ");
    Ok(SetUps { ours: set_up, bellperson: generated })
}

const MIB: f64 = (1 << 20) as f64;

/// Name, value, decimals.
type Figure = (&'static str, fn(&Usage) -> f64, usize);

const FIGURES: [Figure; 4] = [
    ("CPU s", |usage| usage.cpu_s, 1),
    ("wall s", |usage| usage.wall_s, 1),
    ("peak anonymous MiB", |usage| usage.peak_anonymous_bytes as f64 / MIB, 0),
    ("peak file-backed MiB", |usage| usage.peak_file_bytes as f64 / MIB, 0),
];

impl SetUps {
    pub(super) fn print(&self) {
        println!("{:<34} {:>10} {:>10} {:>10}", "set-up, one run, equal parameters", "proofmill", "bellperson", "ratio");
        for (name, value, decimals) in FIGURES {
            let (ours, theirs) = (value(&self.ours), value(&self.bellperson));
            println!("{name:<34} {ours:>10.decimals$} {theirs:>10.decimals$} {:>10.3}", ours / theirs);
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({ "proofmill": self.ours.json(), "bellperson": self.bellperson.json() })
    }
}

/// The seed that bellperson's side makes of a label: its bytes, then zeros.
fn seed(label: &str) -> String {
    let digits: String = label.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{digits:0<64}")
}

fn same_bytes(one: &Path, other: &Path) -> Result<bool> {
    let open = |path: &Path| File::open(path).with_context(|| format!("cannot open {}", path.display()));
    let (one, other) = (open(one)?, open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    let (mut left, mut right) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    loop {
        let read = one.read(&mut left)?;
        if read == 0 {
            return Ok(true);
        }
        other.read_exact(&mut right[..read])?;
        if left[..read] != right[..read] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LABEL, same_bytes, seed};

    #[test]
    fn a_label_fills_a_seed() {
        assert_eq!(seed("ab"), format!("6162{}", "0".repeat(60)));
        assert_eq!(seed(LABEL).len(), 64);
    }

    #[test]
    fn files_are_compared_to_their_last_byte() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let mut bytes = vec![7; (1 << 20) + 3];
        let (one, same) = (file("one", &bytes), file("same", &bytes));
        let shorter = file("shorter", &bytes[1..]);
        bytes[(1 << 20) + 2] = 8;
        let other = file("other", &bytes);
        assert!(same_bytes(&one, &same).unwrap());
        assert!(!same_bytes(&one, &shorter).unwrap() && !same_bytes(&one, &other).unwrap());
        assert!(same_bytes(&one, &folder.path().join("absent")).is_err());
    }
}

//! `cargo xtask bench`: time and peak bytes of a proof by stage, and beside other provers on the same data.

mod child;
mod kernels;
mod machine;
mod provers;
mod report;
mod set_up;
mod statistics;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::repository::Repository;
use machine::Machine;
use provers::{Bellperson, Ours, Run, Sector};
use report::Proofs;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The C1 file to prove; the 2 KiB sector of `bench-data` when none is given.
    #[arg(long, value_name = "FILE")]
    c1: Option<PathBuf>,
    /// Runs that count, of each prover; with 0 nothing is proved.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=100))]
    runs: u32,
    /// Also run bellperson through filecoin-proofs, alternating with ours on the same C1 file and the same key.
    #[arg(long)]
    peers: bool,
    /// Also make the circuit's parameters once with ours and once with bellperson, from the same secrets (for 2 KiB 20 CPU minutes and 5 GB).
    #[arg(long)]
    peers_setup: bool,
    /// Also alternate our sums and transforms with those of blst and bellperson.
    #[arg(long)]
    kernels: bool,
    /// Also write everything as one JSON object to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// After `--`: arguments for the program `kernels`, for instance `-- g1 ntt --g1 20 --rounds 9`.
    #[arg(last = true, value_name = "ARGUMENT", requires = "kernels")]
    kernel_arguments: Vec<String>,
}

/// From the root of the repository.
const DEFAULT_C1: &str = "bench-data/porep-2kib/c1.json";

impl Arguments {
    fn check(&self) -> Result<()> {
        ensure!(
            self.runs > 0 || self.kernels || self.peers_setup,
            "with --runs 0 there is nothing to measure: add --kernels or --peers-setup"
        );
        ensure!(self.runs > 0 || !self.peers, "with --runs 0 nothing is proved: leave --peers out, or give it a run");
        Ok(())
    }

    /// The C1 file: where it lies, and what it is called in a report.
    fn c1(&self, repository: &Repository) -> Result<(PathBuf, String)> {
        Ok(match &self.c1 {
            Some(given) => (std::path::absolute(given)?, given.display().to_string()),
            None => (repository.root().join(DEFAULT_C1), DEFAULT_C1.to_owned()),
        })
    }
}

/// Measures and prints.
pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    arguments.check()?;
    let (c1, c1_name) = arguments.c1(repository)?;
    let folder = repository.target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut machine = Machine::look(repository);

    let proofs = (arguments.runs > 0).then(|| prove(repository, &folder, &c1, arguments, &mut machine)).transpose()?;
    if let Some(proofs) = &proofs {
        println!("\n{machine}");
        proofs.print();
    }
    let set_up = arguments.peers_setup.then(|| set_up::compare(repository, &folder, &Sector::beside(&c1)?)).transpose()?;
    if let Some(set_up) = &set_up {
        machine.note_load();
        println!("\n{machine}");
        set_up.print();
    }
    let kernels = arguments.kernels.then(|| kernels::run(repository, &arguments.kernel_arguments)).transpose()?;
    machine.note_load();
    if kernels.is_some() {
        println!("\n{machine}");
    }

    if let Some(path) = &arguments.json {
        let object = json!({
            "version": 1,
            "c1": c1_name,
            "machine": machine.json(),
            "proofs": proofs.map(|proofs| proofs.json()),
            "set_up": set_up.map(|set_up| set_up.json()),
            "kernels": kernels,
        });
        std::fs::write(path, format!("{object:#}\n")).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// One run that makes what is missing, then the runs that count.
fn prove(repository: &Repository, folder: &Path, c1: &Path, arguments: &Arguments, machine: &mut Machine) -> Result<Proofs> {
    let ours = Ours::build(repository, folder)?;
    println!("first run, which makes what is missing and does not count");
    let first = ours.prove(c1)?;
    let bellperson = arguments.peers.then(|| Bellperson::build(repository, &ours, &Sector::beside(c1)?)).transpose()?;
    let mut proofs = Proofs { first, ours: Vec::new(), bellperson: Vec::new() };
    for number in 1..=arguments.runs {
        println!("run {number} of {}", arguments.runs);
        machine.note_load();
        proofs.ours.push(ours.prove(c1)?);
        if let Some(bellperson) = &bellperson {
            proofs.bellperson.push(bellperson.prove(c1)?);
        }
    }
    machine.note_load();
    if let Some(bellperson) = &bellperson {
        judge(&ours, bellperson, &proofs, c1, &folder.join("proof"))?;
    }
    Ok(proofs)
}

/// Every proof in the eyes of the other prover's verifier, before any comparison is printed.
fn judge(ours: &Ours, bellperson: &Bellperson, proofs: &Proofs, c1: &Path, file: &Path) -> Result<()> {
    for run in &proofs.ours {
        write_proof(file, run)?;
        bellperson.verify(c1, file).context("our proof is not accepted by filecoin-proofs")?;
    }
    for run in &proofs.bellperson {
        write_proof(file, run)?;
        ours.verify(c1, file).context("bellperson's proof is not accepted by ours")?;
    }
    Ok(())
}

fn write_proof(file: &Path, run: &Run) -> Result<()> {
    let bytes = from_hex(&run.proof).with_context(|| format!("expected a proof in hex, found {:?}", run.proof))?;
    ensure!(!bytes.is_empty(), "a proof has no bytes");
    std::fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Arguments, DEFAULT_C1, from_hex};
    use crate::repository::Repository;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parsed(words: &[&str]) -> Result<Arguments, clap::Error> {
        Line::try_parse_from(["bench"].iter().chain(words)).map(|line| line.arguments)
    }

    #[test]
    fn a_bench_of_nothing_is_refused() {
        let holds = |words: &[&str]| parsed(words).unwrap().check().is_ok();
        assert!(holds(&[]) && holds(&["--runs", "0", "--kernels"]) && holds(&["--runs", "0", "--peers-setup"]));
        assert!(!holds(&["--runs", "0"]) && !holds(&["--runs", "0", "--kernels", "--peers"]));
        assert_eq!(parsed(&["--kernels", "--", "g1", "--g1", "3"]).unwrap().kernel_arguments, ["g1", "--g1", "3"]);
        assert!(parsed(&["--", "g1"]).is_err() && parsed(&["--runs", "101"]).is_err());
    }

    #[test]
    fn the_file_is_there_from_any_folder() {
        let (path, name) = parsed(&[]).unwrap().c1(&Repository::find().unwrap()).unwrap();
        assert!(path.is_absolute() && path.is_file() && name == DEFAULT_C1);
        let (path, name) = parsed(&["--c1", "a/b.json"]).unwrap().c1(&Repository::find().unwrap()).unwrap();
        assert!(path.is_absolute() && path.ends_with("a/b.json") && name == "a/b.json");
    }

    #[test]
    fn hex_is_decoded_and_anything_else_refused() {
        assert_eq!(from_hex("00ff7A"), Some(vec![0, 255, 0x7a]));
        assert_eq!(from_hex(""), Some(vec![]));
        assert_eq!(from_hex("0g"), None);
        assert_eq!(from_hex("abc"), None);
    }
}

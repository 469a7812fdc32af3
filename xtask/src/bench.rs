//! `cargo xtask bench`: time and peak bytes of a proof by stage, and beside another prover on the same data.

mod provers;
mod statistics;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::repository::Repository;
use provers::{Bellperson, Ours, Run};
use statistics::Spread;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The C1 file to prove.
    #[arg(long, value_name = "FILE", default_value = "bench-data/porep-2kib/c1.json")]
    c1: PathBuf,
    /// Runs that count, of each prover.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Also run bellperson through filecoin-proofs, alternating with ours on the same C1 file and the same key.
    #[arg(long)]
    peers: bool,
    /// Also write everything as one JSON object to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const MIB: f64 = (1 << 20) as f64;

/// Measures and prints.
pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    let c1 = std::path::absolute(&arguments.c1)?;
    let folder = repository.target().join("bench");
    let ours = Ours::build(repository, &folder)?;
    println!("first run, which makes what is missing and does not count:");
    let first = ours.prove(&c1)?;
    for (step, wall_s) in &first.steps {
        println!("  {step:<24} {wall_s:>9.3} s wall");
    }
    let bellperson = arguments.peers.then(|| Bellperson::build(repository, &ours, &c1)).transpose()?;

    let (mut our_runs, mut peer_runs, mut loads) = (Vec::new(), Vec::new(), vec![load()]);
    for number in 1..=arguments.runs {
        println!("run {number} of {}", arguments.runs);
        our_runs.push(ours.prove(&c1)?);
        if let Some(bellperson) = &bellperson {
            peer_runs.push(bellperson.prove(&c1)?);
        }
        loads.push(load());
    }
    if let (Some(bellperson), Some(ours_last), Some(theirs)) = (&bellperson, our_runs.last(), peer_runs.last()) {
        // Each prover's proof in the eyes of the other's verifier, before any comparison is printed.
        let file = folder.join("proof");
        write_proof(&file, &ours_last.proof)?;
        bellperson.verify(&c1, &file).context("our proof is not accepted by filecoin-proofs")?;
        write_proof(&file, &theirs.proof)?;
        let status = ours.command().arg("verify").arg(&file).arg("--c1").arg(&c1).output()?.status;
        ensure!(status.success(), "bellperson's proof is not accepted by ours ({status})");
    }

    let machine = machine(repository, &loads);
    println!("\n{machine}");
    print_table(&our_runs, &peer_runs);
    if let Some(path) = &arguments.json {
        let object = json!({
            "version": 1,
            "c1": arguments.c1,
            "machine": machine,
            "load": loads,
            "first_run_steps_s": first.steps,
            "proofmill": figures(&our_runs),
            "bellperson": (!peer_runs.is_empty()).then(|| figures(&peer_runs)),
            "ratios": ratios(&our_runs, &peer_runs).into_iter().map(|(name, s)| (name.to_owned(), s.json())).collect::<serde_json::Map<_, _>>(),
        });
        std::fs::write(path, format!("{object:#}\n")).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn write_proof(file: &Path, hex: &str) -> Result<()> {
    let nibbles: Vec<u32> = hex.chars().map(|c| c.to_digit(16)).collect::<Option<_>>().context("a proof is not in hex")?;
    let bytes: Vec<u8> = nibbles.chunks(2).map(|pair| pair.iter().fold(0, |byte, nibble| byte << 4 | *nibble as u8)).collect();
    std::fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// Name, value of a run, decimals.
type Figure = (&'static str, fn(&Run) -> f64, usize);

const WHOLE: [Figure; 4] = [
    ("CPU s", |run| run.cpu_s, 2),
    ("wall s", |run| run.wall_s, 2),
    ("peak anonymous MiB", |run| run.peak_anonymous_bytes / MIB, 0),
    ("peak resident MiB", |run| run.peak_resident_bytes / MIB, 0),
];

/// A named row of every run, and its spread.
fn named(runs: &[Run], rows: fn(&Run) -> &[(String, f64)], scale: f64) -> Vec<(String, Spread)> {
    let names = runs.first().map(|run| rows(run).iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()).unwrap_or_default();
    let value = |run: &Run, name: &str| rows(run).iter().find(|(n, _)| n == name).map(|(_, v)| v / scale);
    names.into_iter().filter_map(|name| Spread::of(runs.iter().filter_map(|run| value(run, &name))).map(|s| (name, s))).collect()
}

/// Ours over theirs, run by run.
fn ratios(ours: &[Run], theirs: &[Run]) -> Vec<(&'static str, Spread)> {
    let spread = |value: fn(&Run) -> f64| Spread::of(ours.iter().zip(theirs).map(|(a, b)| value(a) / value(b)));
    WHOLE.iter().filter_map(|(name, value, _)| spread(*value).map(|s| (*name, s))).collect()
}

fn print_table(ours: &[Run], theirs: &[Run]) {
    let line = |name: &str, [min, median, max]: [String; 3]| println!("{name:<34} {min:>10} {median:>10} {max:>10}");
    println!("{:<34} {:>10} {:>10} {:>10}", format!("{} runs", ours.len()), "min", "median", "max");
    for (stage, spread) in named(ours, |run| &run.stages, 1.0) {
        line(&format!("stage {stage}, wall s"), spread.columns(3));
    }
    for (class, spread) in named(ours, |run| &run.buffers, MIB) {
        line(&format!("peak {class}, MiB"), spread.columns(2));
    }
    for (prover, runs) in [("proofmill", ours), ("bellperson", theirs)] {
        for (name, value, decimals) in WHOLE {
            if let Some(spread) = Spread::of(runs.iter().map(value)) {
                line(&format!("{prover}, {name}"), spread.columns(decimals));
            }
        }
    }
    for (name, spread) in ratios(ours, theirs) {
        line(&format!("proofmill / bellperson, {name}"), spread.columns(3));
    }
}

fn figures(runs: &[Run]) -> Value {
    let map = |rows: Vec<(String, Spread)>| rows.into_iter().map(|(name, s)| (name, s.json())).collect::<serde_json::Map<_, _>>();
    let whole = WHOLE.iter().filter_map(|(name, value, _)| Spread::of(runs.iter().map(*value)).map(|s| ((*name).to_owned(), s)));
    json!({
        "whole": map(whole.collect()),
        "stages_wall_s": map(named(runs, |run| &run.stages, 1.0)),
        "buffers_peak_mib": map(named(runs, |run| &run.buffers, MIB)),
    })
}

/// The one-minute load average, as the system spells it.
fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").map(|text| text.split(' ').take(1).collect()).unwrap_or_else(|_| "unknown".to_owned())
}

fn machine(repository: &Repository, loads: &[String]) -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| rest.trim_matches([':', ' ', '\t']));
    let threads = std::thread::available_parallelism().map_or(0, usize::from);
    let commit = repository.output("git", ["describe", "--always", "--dirty"]).unwrap_or_else(|_| "unknown commit".to_owned());
    let compiler = repository.output("rustc", ["--version"]).unwrap_or_else(|_| "unknown compiler".to_owned());
    format!("{model}, {threads} threads, load {}; commit {}; {}", loads.join(" "), commit.trim(), compiler.trim())
}

#[cfg(test)]
mod tests {
    use super::{Run, named, ratios, write_proof};

    fn run(cpu_s: f64) -> Run {
        Run {
            cpu_s,
            wall_s: 1.0,
            peak_anonymous_bytes: 100.0,
            peak_resident_bytes: 200.0,
            proof: String::new(),
            stages: vec![("ntt".to_owned(), cpu_s / 2.0)],
            steps: Vec::new(),
            buffers: Vec::new(),
        }
    }

    #[test]
    fn ratios_pair_the_runs_in_order() {
        let found = ratios(&[run(1.0), run(4.0)], &[run(4.0), run(8.0)]);
        assert_eq!(found[0].0, "CPU s");
        assert_eq!((found[0].1.min, found[0].1.max), (0.25, 0.5));
        assert!(ratios(&[run(1.0)], &[]).is_empty());
    }

    #[test]
    fn rows_are_matched_by_name() {
        let rows = named(&[run(1.0), run(3.0)], |run| &run.stages, 1.0);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].0.as_str(), rows[0].1.median), ("ntt", 1.0));
    }

    #[test]
    fn proofs_are_decoded_from_hex() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p");
        write_proof(&file, "00ff7a").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), [0, 255, 0x7a]);
        assert!(write_proof(&file, "0g").is_err());
    }
}

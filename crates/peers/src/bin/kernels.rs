//! Alternates our sums and transforms with those of blst and bellperson on the same data, and prints CPU time and ratios.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use cpu_backend::CpuBackend;
use peers::{Comparison, Size, compare_g1, compare_g2, compare_transforms, compare_witness};
use prover_backend::ProverBackend;
use serde_json::{Value, json};

/// Alternates our sums and transforms with those of blst and bellperson on the same data, in one process.
///
/// A time is printed after all results of its rounds were found equal. Times are CPU time of all threads: in the best round, and as ratios
/// ours / theirs of each round. Sizes are powers of two.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// What to compare; everything when nothing is named.
    kinds: Vec<Kind>,
    /// Sizes of the sums in G1.
    #[arg(long, value_delimiter = ',', default_value = "16,18", value_parser = log2_len())]
    g1: Vec<u32>,
    /// Sizes of the sums in G2.
    #[arg(long, value_delimiter = ',', default_value = "14,16", value_parser = log2_len())]
    g2: Vec<u32>,
    /// Sizes of the sums over witnesses in G1.
    #[arg(long, value_delimiter = ',', default_value = "18", value_parser = log2_len())]
    witness: Vec<u32>,
    /// Sizes of the transforms.
    #[arg(long, value_delimiter = ',', default_value = "16,18,20", value_parser = log2_len())]
    ntt: Vec<u32>,
    /// Rounds that count, after one that does not.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Also write one JSON object to this file, with the time of every round.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    G1,
    G2,
    Witness,
    Ntt,
}

fn log2_len() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=26)
}

fn compare(kind: Kind, backend: &CpuBackend, size: Size) -> Result<Vec<Comparison>> {
    match kind {
        Kind::G1 => compare_g1(backend, size).map(|one| vec![one]),
        Kind::G2 => compare_g2(backend, size).map(|one| vec![one]),
        Kind::Witness => compare_witness(backend, size),
        Kind::Ntt => compare_transforms(backend, size),
    }
}

const HEADING: [&str; 8] = ["kernel", "size", "prover", "ns", "a", "min ratio", "median", "max"];

fn line(cells: &[String; 8]) -> String {
    let [kernel, size, prover, ns, unit, min, median, max] = cells;
    format!("{kernel:<26} {size:>5} {prover:<13} {ns:>9} {unit:<9} {min:>9} {median:>9} {max:>9}")
}

/// Lines of the table: one a contender, with the ratio of ours to it.
fn lines(comparison: &Comparison) -> Vec<String> {
    let cells = |times: &peers::Times, spread: [String; 3]| {
        let [min, median, max] = spread;
        let ns = format!("{:.2}", comparison.best_ns(times));
        line(&[
            comparison.kernel.clone(),
            format!("2^{}", comparison.log2_len),
            times.name.clone(),
            ns,
            comparison.unit.clone(),
            min,
            median,
            max,
        ])
    };
    let mut lines = Vec::new();
    for (number, times) in comparison.contenders.iter().enumerate() {
        // Ours beside itself says nothing.
        let ratios = if number == 0 { None } else { comparison.ratios(times) };
        let spread = ratios.map_or([const { String::new() }; 3], |ratios| ratios.map(|ratio| format!("{ratio:.3}")));
        lines.push(cells(times, spread));
    }
    lines
}

fn run(arguments: &Arguments) -> Result<()> {
    let backend = CpuBackend::new();
    let kinds = if arguments.kinds.is_empty() { Kind::value_variants() } else { &arguments.kinds };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", line(&HEADING.map(str::to_owned)))?;
    let mut all = Vec::new();
    for &kind in kinds {
        let sizes = match kind {
            Kind::G1 => &arguments.g1,
            Kind::G2 => &arguments.g2,
            Kind::Witness => &arguments.witness,
            Kind::Ntt => &arguments.ntt,
        };
        for &log2_len in sizes {
            let size = Size { log2_len, rounds: arguments.rounds };
            let compared = compare(kind, &backend, size).with_context(|| format!("{kind:?} of 2^{log2_len}"))?;
            for comparison in compared {
                for line in lines(&comparison) {
                    writeln!(out, "{}", line.trim_end())?;
                }
                all.push(comparison);
            }
        }
    }
    if let Some(path) = &arguments.json {
        let object = object(backend.name(), arguments.rounds, &all)?;
        std::fs::write(path, format!("{object:#}\n")).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn object(backend: &str, rounds: u32, comparisons: &[Comparison]) -> Result<Value> {
    let threads = std::thread::available_parallelism().map_or(0, usize::from);
    Ok(json!({ "version": 1, "backend": backend, "threads": threads, "rounds": rounds, "comparisons": serde_json::to_value(comparisons)? }))
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed stderr leaves the exit status to speak.
            let _ = writeln!(std::io::stderr(), "kernels: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use peers::{Comparison, Times};

    use super::{Arguments, Kind, lines, object};

    fn comparison() -> Comparison {
        let times = |name: &str, cpu_s: [f64; 3]| Times { name: name.to_owned(), cpu_s: cpu_s.to_vec() };
        Comparison {
            kernel: "sum".to_owned(),
            log2_len: 0,
            unit: "point".to_owned(),
            units: 1,
            contenders: vec![times("ours", [2e-9, 1e-9, 3e-9]), times("theirs", [4e-9, 4e-9, 4e-9])],
        }
    }

    #[test]
    fn a_line_tells_the_best_round_and_the_ratios() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines = lines(&comparison());
        assert_eq!(words(&lines[0]), ["sum", "2^0", "ours", "1.00", "point"]);
        assert_eq!(words(&lines[1]), ["sum", "2^0", "theirs", "4.00", "point", "0.250", "0.500", "0.750"]);
    }

    #[test]
    fn the_object_has_every_round() {
        let object = object("b", 3, &[comparison()]).unwrap();
        assert_eq!(object["comparisons"][0]["contenders"][1]["cpu_s"].as_array().unwrap().len(), 3);
        assert_eq!(serde_json::from_value::<Vec<Comparison>>(object["comparisons"].clone()).unwrap(), [comparison()]);
    }

    #[test]
    fn kinds_and_sizes_are_taken() {
        let arguments = Arguments::try_parse_from(["kernels", "ntt", "g1", "--g1", "3,4"]).unwrap();
        assert_eq!((arguments.kinds, arguments.g1, arguments.ntt), (vec![Kind::Ntt, Kind::G1], vec![3, 4], vec![16, 18, 20]));
        assert!(Arguments::try_parse_from(["kernels", "--ntt", "27"]).is_err() && Arguments::try_parse_from(["kernels", "fft"]).is_err());
    }
}

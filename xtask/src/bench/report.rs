//! The figures of the runs as a table and as JSON.

use serde_json::{Map, Value, json};

use super::provers::Run;
use super::statistics::Spread;

const MIB: f64 = (1 << 20) as f64;

/// The runs of a benchmark.
pub(super) struct Proofs {
    /// The run that made what was missing.
    pub(super) first: Run,
    /// The runs that count, in order; bellperson's beside ours.
    pub(super) ours: Vec<Run>,
    pub(super) bellperson: Vec<Run>,
}

/// Name, value of a run, decimals.
type Figure = (&'static str, fn(&Run) -> f64, usize);

const WHOLE: [Figure; 5] = [
    ("CPU s", |run| run.cpu_s, 2),
    ("wall s", |run| run.wall_s, 2),
    ("peak anonymous MiB", |run| run.peak_anonymous_bytes / MIB, 0),
    ("peak file-backed MiB", |run| run.peak_file_bytes / MIB, 0),
    ("peak resident MiB", |run| run.peak_resident_bytes / MIB, 0),
];

/// A named row of every run, and its spread.
fn named(runs: &[Run], rows: fn(&Run) -> &[(String, f64)], scale: f64) -> Vec<(String, Spread)> {
    let names = runs.first().map(|run| rows(run).iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()).unwrap_or_default();
    let value = |run: &Run, name: &str| rows(run).iter().find(|(n, _)| n == name).map(|(_, v)| v / scale);
    names.into_iter().filter_map(|name| Spread::of(runs.iter().filter_map(|run| value(run, &name))).map(|s| (name, s))).collect()
}

fn whole(runs: &[Run]) -> Vec<(&'static str, Spread, usize)> {
    WHOLE.iter().filter_map(|(name, value, decimals)| Spread::of(runs.iter().map(value)).map(|s| (*name, s, *decimals))).collect()
}

/// Ours over theirs, run by run.
fn ratios(ours: &[Run], theirs: &[Run]) -> Vec<(&'static str, Spread)> {
    let spread = |value: fn(&Run) -> f64| Spread::of(ours.iter().zip(theirs).map(|(a, b)| value(a) / value(b)));
    WHOLE.iter().filter_map(|(name, value, _)| spread(*value).map(|s| (*name, s))).collect()
}

/// What the first run did beyond the others.
#[derive(Debug, PartialEq)]
struct SetUp {
    /// Its CPU seconds less the median of the others.
    cpu_s: f64,
    /// Its own peak: that of the set-up or of the proof after it, whichever is higher.
    peak_anonymous_mib: f64,
}

impl SetUp {
    /// `None` when the first run found its parameters.
    fn of(first: &Run, others: &[Run]) -> Option<Self> {
        let usual = Spread::of(others.iter().map(|run| run.cpu_s))?;
        first.made_parameters.then(|| Self { cpu_s: first.cpu_s - usual.median, peak_anonymous_mib: first.peak_anonymous_bytes / MIB })
    }
}

fn column_line(name: &str, columns: [String; 3]) -> String {
    let [min, median, max] = columns;
    format!("{name:<44} {min:>10} {median:>10} {max:>10}")
}

impl Proofs {
    pub(super) fn print(&self) {
        for line in self.lines() {
            println!("{line}");
        }
    }

    fn lines(&self) -> Vec<String> {
        let (ours, theirs) = (&self.ours, &self.bellperson);
        let mut lines = Vec::new();
        match SetUp::of(&self.first, ours) {
            Some(set_up) => {
                let steps = self.first.steps.iter().map(|(step, wall_s)| format!("{step} {wall_s:.2} s wall"));
                lines.push(format!("set-up (the first run): {}", steps.collect::<Vec<_>>().join(", ")));
                let (cpu_s, peak) = (set_up.cpu_s, set_up.peak_anonymous_mib);
                lines.push(format!("set-up: {cpu_s:.1} CPU s more than the median of the others, peak anonymous {peak:.0} MiB"));
            }
            None => lines.push("set-up: none, circuit and parameters were there (in target/bench)".to_owned()),
        }
        lines.push(column_line(&format!("{} runs", ours.len()), ["min", "median", "max"].map(str::to_owned)));
        for (stage, spread) in named(ours, |run| &run.stages, 1.0) {
            lines.push(column_line(&format!("stage {stage}, wall s"), spread.columns(3)));
        }
        for (class, spread) in named(ours, |run| &run.buffers, MIB) {
            lines.push(column_line(&format!("peak {class}, MiB"), spread.columns(2)));
        }
        for (prover, runs) in [("proofmill", ours), ("bellperson", theirs)] {
            for (name, spread, decimals) in whole(runs) {
                lines.push(column_line(&format!("{prover}, {name}"), spread.columns(decimals)));
            }
        }
        for (name, spread) in ratios(ours, theirs) {
            lines.push(column_line(&format!("proofmill / bellperson, {name}"), spread.columns(3)));
        }
        lines
    }

    pub(super) fn json(&self) -> Value {
        let ratios: Map<_, _> = ratios(&self.ours, &self.bellperson).into_iter().map(|(name, s)| (name.to_owned(), s.json())).collect();
        let steps: Map<_, _> = self.first.steps.iter().map(|(step, wall_s)| (step.clone(), (*wall_s).into())).collect();
        let set_up = SetUp::of(&self.first, &self.ours).map(
            |set_up| json!({ "steps_wall_s": steps, "cpu_s_by_difference": set_up.cpu_s, "peak_anonymous_mib": set_up.peak_anonymous_mib }),
        );
        json!({
            "set_up": set_up,
            "proofmill": figures(&self.ours),
            "bellperson": (!self.bellperson.is_empty()).then(|| figures(&self.bellperson)),
            "ratios": ratios,
        })
    }
}

fn figures(runs: &[Run]) -> Value {
    let map = |rows: Vec<(String, Spread)>| rows.into_iter().map(|(name, s)| (name, s.json())).collect::<Map<_, _>>();
    json!({
        "whole": map(whole(runs).into_iter().map(|(name, spread, _)| (name.to_owned(), spread)).collect()),
        "stages_wall_s": map(named(runs, |run| &run.stages, 1.0)),
        "buffers_peak_mib": map(named(runs, |run| &run.buffers, MIB)),
    })
}

#[cfg(test)]
mod tests {
    use super::{Proofs, Run, SetUp, named, ratios};

    fn run(cpu_s: f64) -> Run {
        Run {
            cpu_s,
            wall_s: 1.0,
            peak_anonymous_bytes: f64::from(100 << 20),
            peak_file_bytes: 50.0,
            peak_resident_bytes: 200.0,
            proof: String::new(),
            stages: vec![("ntt".to_owned(), cpu_s / 2.0)],
            steps: vec![("circuit".to_owned(), 1.5)],
            buffers: Vec::new(),
            made_parameters: false,
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
    fn a_set_up_is_told_only_when_there_was_one() {
        let made = Run { made_parameters: true, ..run(90.0) };
        assert_eq!(SetUp::of(&made, &[run(9.0), run(10.0), run(30.0)]), Some(SetUp { cpu_s: 80.0, peak_anonymous_mib: 100.0 }));
        assert_eq!(SetUp::of(&run(90.0), &[run(10.0)]), None);
        assert_eq!(SetUp::of(&made, &[]), None);
    }

    #[test]
    fn lines_and_json_say_the_same() {
        let first = Run { made_parameters: true, ..run(42.0) };
        let proofs = Proofs { first, ours: vec![run(2.0), run(4.0)], bellperson: vec![run(8.0), run(8.0)] };
        let lines = proofs.lines();
        let line =
            |start: &str| lines.iter().find(|line| line.starts_with(start)).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(line("set-up (the"), "set-up (the first run): circuit 1.50 s wall");
        assert!(line("set-up: 39.0 CPU s").contains("100 MiB"));
        assert_eq!(line("proofmill / bellperson, CPU s"), "proofmill / bellperson, CPU s 0.250 0.375 0.500");
        let json = proofs.json();
        assert_eq!(json["ratios"]["CPU s"]["median"], 0.375);
        assert_eq!(json["set_up"]["cpu_s_by_difference"], 39.0);
        assert_eq!(json["proofmill"]["stages_wall_s"]["ntt"]["max"], 2.0);
        let alone = Proofs { bellperson: Vec::new(), ..proofs };
        assert!(alone.json()["bellperson"].is_null() && !alone.lines().iter().any(|line| line.contains("bellperson")));
    }
}

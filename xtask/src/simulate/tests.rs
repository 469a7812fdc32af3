//! What the history must show whatever the figures, and that the page says what the program prints.

use std::collections::BTreeMap;

use clap::Parser;

use super::inputs::Settings;
use super::outcome::Outcome;
use super::{Arguments, chart, history, table};
use crate::repository::Repository;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn settings(words: &[&str]) -> Settings {
    Line::parse_from(["simulate"].iter().chain(words)).arguments.settings()
}

/// Runs every scheme, by its letter.
fn with_outcomes<T>(settings: &Settings, look: impl FnOnce(&BTreeMap<char, Outcome<'_>>) -> T) -> T {
    let schemes = history::schemes(settings);
    look(&Outcome::all(&schemes).0.into_iter().map(|outcome| (outcome.scheme.key, outcome)).collect())
}

#[test]
fn the_order_of_the_peaks_is_that_of_the_history() {
    // Whenever synthesis is faster than the device; the figures themselves are not pinned.
    for words in [&[][..], &["--seed", "9"], &["--workers", "16"], &["--synthesis", "12..20"], &["--device", "4..6", "--jobs", "9"]] {
        with_outcomes(&settings(words), |runs| {
            let peak = |key| runs[&key].peak_in_flight();
            assert!(peak('a') > peak('c') && peak('c') > peak('b') && peak('b') > 2.0 * peak('f') && peak('f') > peak('e'), "{words:?}");
            // Admission alone lowers the peak of the deep channel at the same pace.
            assert!(peak('c') > peak('d') && peak('d') > 2.0 * peak('f') && runs[&'d'].pace() < 1.01 * runs[&'c'].pace(), "{words:?}");
            // Four buffers are as fast as the deep channel; two make evaluation and device take turns.
            assert!(runs[&'f'].pace() < 1.01 * runs[&'c'].pace() && runs[&'e'].pace() > runs[&'f'].pace(), "{words:?}");
            assert!(runs[&'f'].device_idle() < 0.01 && runs[&'e'].device_idle() > runs[&'f'].device_idle(), "{words:?}");
            assert!(runs.values().all(|outcome| outcome.run.left_over == 0));
        });
    }
}

#[test]
fn only_the_early_permit_grows_with_the_number_of_jobs() {
    let peaks = |jobs: &str| with_outcomes(&settings(&["--jobs", jobs]), |runs| runs.values().map(Outcome::peak).collect::<Vec<_>>());
    let (some, twice) = (peaks("20"), peaks("40"));
    assert!(twice[0] > 1.5 * some[0], "{} and {}", twice[0], some[0]);
    for (key, (some, twice)) in ('a'..).zip(some.iter().zip(&twice)).skip(1) {
        assert!((some - twice).abs() < 0.05 * some, "{key}: {some} and {twice}");
    }
}

#[test]
fn the_bounds_of_each_scheme_hold() {
    for (workers, synthesis) in [("4", "30"), ("12", "3"), ("30", "1..60")] {
        let chosen = settings(&["--workers", workers, "--synthesis", synthesis]);
        with_outcomes(&chosen, |runs| {
            // A permit or a place for each partition with full vectors, two with the device, and what is behind it with a witness.
            let full = |outcome: &Outcome<'_>| outcome.run.samples.iter().map(|s| s.stages[0].working + outcome.piled_up(s)).max().unwrap();
            assert!(full(&runs[&'b']) <= chosen.workers + 1 + 2);
            assert!(full(&runs[&'c']) <= 2 * chosen.workers + 2);
            assert!(runs[&'e'].peak_made() <= 8.0 + 4.0 * 0.081 * f64::from(chosen.workers + 4));
            assert!(runs.values().skip(3).all(|ours| ours.run.peak.bytes <= chosen.budget));
        });
    }
}

#[test]
fn a_budget_slows_our_schemes_down_and_is_kept() {
    with_outcomes(&settings(&["--budget", "75"]), |runs| {
        assert!(runs[&'f'].peak() <= 75.0 && runs[&'f'].pace() > runs[&'e'].pace());
    });
    let chosen = settings(&["--budget", "50"]);
    let schemes = history::schemes(&chosen);
    let (outcomes, refused) = Outcome::all(&schemes);
    assert_eq!(outcomes.iter().map(|outcome| outcome.scheme.key).collect::<String>(), "abc");
    let text = table::report(&chosen, &outcomes, &refused).unwrap();
    assert_eq!(text.matches("raise the budget").count(), 4, "{text}");
}

#[test]
fn arguments_are_bounded() {
    let refused = |words: &[&str]| Line::try_parse_from(["simulate"].iter().chain(words)).is_err();
    assert!(
        refused(&["--workers", "0"]) && refused(&["--jobs", "1001"]) && refused(&["--synthesis", "36..29"]) && refused(&["--budget", "0"])
    );
}

#[test]
fn rows_and_columns_of_the_gauges_fit_and_the_layers_hold_everything() {
    let chosen = settings(&["--jobs", "2"]);
    let schemes = history::schemes(&chosen);
    let (outcomes, refused) = Outcome::all(&schemes);
    assert!(refused.is_empty());
    let csv = chart::csv(&outcomes);
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == columns));
    assert_eq!(csv.lines().count(), 1 + outcomes.iter().map(|outcome| outcome.run.samples.len()).sum::<usize>());
    assert!(csv.starts_with("scheme,time_s,in_use_bytes,vanilla_proof_bytes,"));
    for sample in outcomes.iter().flat_map(|outcome| &outcome.run.samples) {
        assert_eq!(chart::drawn_bytes(sample), sample.in_use());
    }
}

#[test]
fn the_page_and_its_picture_show_what_is_printed() {
    let root = Repository::find().unwrap().root().to_path_buf();
    let chosen = settings(&[]);
    let schemes = history::schemes(&chosen);
    let (outcomes, refused) = Outcome::all(&schemes);
    assert!(refused.is_empty());
    let page = std::fs::read_to_string(root.join("docs/SIMULATOR.md")).unwrap();
    for line in table::report(&chosen, &outcomes, &refused).unwrap().lines() {
        assert!(page.contains(line), "docs/SIMULATOR.md lacks the line below: put in what `cargo xtask simulate` prints\n{line}");
    }
    let picture = std::fs::read_to_string(root.join("docs/simulator.svg")).unwrap();
    assert!(picture == chart::svg(&chosen, &outcomes), "make it anew: cargo xtask simulate --svg docs/simulator.svg");
}

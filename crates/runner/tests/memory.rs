//! Memory of the main job: peaks within the plan with one, two and six sectors, and six under a budget for one and a half.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod support;

use support::{Place, assert_within_plan, bench_data};

/// As many copies of a sector's C1 file.
fn copies(place: &Place, c1: &str, count: usize) -> Vec<String> {
    let names: Vec<_> = (0..count).map(|i| format!("sector-{i}.json")).collect();
    for name in &names {
        std::fs::copy(bench_data(c1), place.path(name)).unwrap();
    }
    names
}

/// Proves as many sectors with these settings, and gives the report.
fn prove(place: &Place, c1: &str, count: usize, settings: &[&str]) -> serde_json::Value {
    let mut arguments = vec!["prove".to_owned(), "--output".to_owned(), "json".to_owned()];
    arguments.extend(copies(place, c1, count));
    arguments.extend(settings.iter().map(|text| (*text).to_owned()));
    let object = place.run(&arguments).succeeded().object();
    let proofs = object["proofs"].as_array().unwrap();
    assert_eq!(proofs.len(), count);
    assert!(proofs.iter().all(|proof| proof["verified"] == true), "{object}");
    object
}

fn plan_bytes(place: &Place, size: &str, jobs: usize) -> u64 {
    let jobs = jobs.to_string();
    let run = place.run(&["plan", "--sector-size", size, "--jobs", &jobs, "--memory", "1TiB", "--output", "json"]).succeeded();
    run.object()["planned_bytes"].as_u64().unwrap()
}

fn stays_within_its_plan(c1: &str, size: &str) {
    let place = Place::new();
    // The set-up has peaks of its own.
    place.run(&["params", "setup", "--sector-size", size]).succeeded();
    for jobs in [1, 2, 6] {
        assert_within_plan(&prove(&place, c1, jobs, &[])["summary"]);
    }
    let budget = plan_bytes(&place, size, 1) * 3 / 2;
    let least = format!("{}MiB", budget >> 20);
    let summary = &prove(&place, c1, 6, &["--memory", &least])["summary"];
    assert_within_plan(summary);
    assert!(summary["budgets"][0]["peak_bytes"].as_u64().unwrap() <= budget, "{summary}");
    // Each stage had every partition, and worked on them between the waits.
    for stage in summary["stages"].as_array().unwrap() {
        assert_eq!(stage["items"], 6, "{stage}");
    }
}

#[test]
#[ignore = "two minutes with --release: a set-up and fifteen proofs"]
fn sectors_of_2_kib_stay_within_their_plan() {
    stays_within_its_plan("porep-2kib/c1.json", "2KiB");
}

#[test]
#[ignore = "five minutes with --release: a set-up and fifteen proofs"]
fn sectors_of_8_mib_stay_within_their_plan() {
    stays_within_its_plan("porep-8mib/c1.json", "8MiB");
}

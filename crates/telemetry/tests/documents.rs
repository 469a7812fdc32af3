//! The documents that name metrics name those that exist, and all of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it unwraps")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use telemetry::{Details, Kind, Metric};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The words between backticks of a cell.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_page_has_a_row_for_each_metric_and_no_other() {
    let page = read("docs/METRICS.md");
    let mut rows = BTreeMap::new();
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, labels, meaning] = cells[..] else { panic!("{line}") };
        assert!(!meaning.is_empty(), "{line}");
        assert_eq!(rows.insert(quoted(name)[0].to_owned(), (kind.to_owned(), labels.to_owned())), None, "{name} is there twice");
    }
    for metric in Metric::ALL {
        let Details { name, kind, labels, .. } = metric.details();
        let (written_kind, written_labels) = rows.remove(name).unwrap_or_else(|| panic!("docs/METRICS.md has no row for {name}"));
        assert_eq!(written_kind, kind.name(), "{name}");
        assert_eq!(quoted(&written_labels), labels, "{name}");
    }
    assert!(rows.is_empty(), "docs/METRICS.md has rows for what does not exist: {rows:?}");
}

/// The metrics that a text names, with what a histogram appends.
fn named(text: &str) -> BTreeSet<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words =
        text.split(|c| !word(c)).filter(|word| ["proofmill_", "jemalloc_", "process_"].iter().any(|prefix| word.starts_with(prefix)));
    words.collect()
}

fn exists(name: &str) -> bool {
    let histogram = ["_bucket", "_sum", "_count"].iter().filter_map(|suffix| name.strip_suffix(suffix)).filter_map(Metric::from_name);
    Metric::from_name(name).is_some_and(|metric| !matches!(metric.details().kind, Kind::Histogram(_)))
        || histogram.into_iter().any(|metric| matches!(metric.details().kind, Kind::Histogram(_)))
}

#[test]
fn alerts_and_dashboard_name_what_exists() {
    for (path, expected_at_least) in [
        ("deploy/prometheus/proofmill.rules.yml", 8),
        ("deploy/prometheus/proofmill.rules.test.yml", 8),
        ("deploy/grafana/proofmill.json", 15),
    ] {
        let text = read(path);
        let names = named(&text);
        assert!(names.len() >= expected_at_least, "{path} names only {names:?}");
        let unknown: Vec<_> = names.into_iter().filter(|name| !exists(name)).collect();
        assert!(unknown.is_empty(), "{path} names what does not exist: {unknown:?}");
    }
    assert!(exists("proofmill_stage_duration_seconds_bucket") && !exists("proofmill_stage_duration_seconds"));
    assert!(!exists("proofmill_buffer_bytes_count") && !exists("proofmill_nothing"));
}

#[test]
fn the_dashboard_asks_by_labels_that_exist() {
    let dashboard: serde_json::Value = serde_json::from_str(&read("deploy/grafana/proofmill.json")).unwrap();
    let known: BTreeSet<&str> =
        Metric::ALL.iter().flat_map(|metric| metric.details().labels).copied().chain(["job", "instance", "le"]).collect();
    let panels = dashboard["panels"].as_array().unwrap();
    let expressions: Vec<&str> = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().into_iter().flatten())
        .map(|target| target["expr"].as_str().unwrap())
        .collect();
    assert!(expressions.len() > 20, "{expressions:?}");
    for expression in expressions {
        for list in expression.split(" by (").skip(1) {
            let labels = list.split(')').next().unwrap().split(", ");
            assert!(labels.clone().all(|label| known.contains(label)), "{expression}");
        }
    }
}

//! The documents that name metrics name those that exist, and all of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it unwraps")]

use std::collections::BTreeMap;
use std::path::Path;

use telemetry::{Details, Metric};

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

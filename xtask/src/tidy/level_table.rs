//! The level table of the architecture document says what the checks hold.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::levels::{LEVELS, UNSAFE_FENCE};
use crate::repository::SourceFile;

const DOCUMENT: &str = "docs/ARCHITECTURE.md";

/// Compares the document with the tables the checks use.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    match files.iter().find(|file| file.path == DOCUMENT) {
        Some(document) => compare(&document.text),
        None => vec![Finding::whole(DOCUMENT, "is missing")],
    }
}

fn compare(text: &str) -> Vec<Finding> {
    let written = written_levels(text);
    let mut findings = Vec::new();
    for (name, level) in LEVELS {
        let message = match written.get(name) {
            None => format!("the level table has no row for {name}, which is of level {level}"),
            Some((line, found)) if *found != level.to_string() => {
                findings.push(Finding::at(DOCUMENT, *line, format!("{name}: expected level {level}, found {found}")));
                continue;
            }
            Some(_) => continue,
        };
        findings.push(Finding::whole(DOCUMENT, message));
    }
    for (name, (line, _)) in written.iter().filter(|(name, _)| !LEVELS.iter().any(|(known, _)| known == *name)) {
        findings.push(Finding::at(DOCUMENT, *line, format!("{name} is in the level table and not in xtask/src/levels.rs")));
    }
    for (place, _) in UNSAFE_FENCE.iter().filter(|(place, _)| !text.contains(&format!("`{place}`"))) {
        findings.push(Finding::whole(DOCUMENT, format!("does not name `{place}`, where unsafe may live")));
    }
    findings
}

/// The rows `` | level | `crate`, `crate` | `` of the table whose header starts with "Level": crate to line and level.
fn written_levels(text: &str) -> BTreeMap<&str, (usize, String)> {
    let mut levels = BTreeMap::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        inside = line.starts_with('|') && (inside || cells[0].eq_ignore_ascii_case("level"));
        if inside && cells.len() > 1 {
            for name in cells[1].split('`').skip(1).step_by(2) {
                levels.insert(name, (number + 1, cells[0].to_owned()));
            }
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::compare;
    use crate::levels::{LEVELS, UNSAFE_FENCE};

    fn document() -> String {
        let rows: String = LEVELS.iter().map(|(name, level)| format!("| {level} | `{name}` | what it does with `words` |\n")).collect();
        let fence: String = UNSAFE_FENCE.iter().map(|(place, _)| format!("- `{place}`\n")).collect();
        format!("# Architecture\n\n| Level | Crates | Purpose |\n|---|---|---|\n{rows}\n| other | `table` |\n\n{fence}")
    }

    #[test]
    fn the_table_itself_passes() {
        assert_eq!(compare(&document()), []);
    }

    #[test]
    fn wrong_missing_and_unknown_rows_are_found() {
        assert_eq!(compare(&document().replace("| 6 | `runner`", "| 5 | `runner`")).len(), 1);
        assert_eq!(compare(&document().replace("| 6 | `runner`", "| 6 | `walker`")).len(), 2);
        assert_eq!(compare(&document().replace("- `crates/bls12-381-layout/src/`\n", "")).len(), 1);
    }
}

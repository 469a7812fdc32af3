//! Rules on any text.

use crate::finding::Finding;
use crate::repository::SourceFile;

/// Folders that exist on somebody's machine only.
const MACHINE_FOLDERS: &[&str] = &["home", "root", "Users", "work", "tmp", "mnt"];

/// Homes of nobody, for examples and tests.
const EXAMPLE_HOMES: &[&str] = &["ada", "user"];

/// No space at the end of a line, no carriage return, one newline at the end.
pub(super) fn whitespace(file: &SourceFile) -> Vec<Finding> {
    let mut findings: Vec<Finding> = file
        .text
        .split('\n')
        .enumerate()
        .filter(|(_, line)| line.ends_with([' ', '\t', '\r']))
        .map(|(number, _)| Finding::at(&file.path, number + 1, "space at the end of the line"))
        .collect();
    if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
        findings.push(Finding::whole(&file.path, "does not end in exactly one newline"));
    }
    findings
}

/// No path that starts in a folder of somebody's machine.
pub(super) fn machine_paths(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        for folder in MACHINE_FOLDERS.iter().filter(|folder| starts_a_path(line, folder)) {
            let message = format!("path into /{folder}: it is not there on another machine, use a relative path or a temporary folder");
            findings.push(Finding::at(&file.path, number + 1, message));
        }
    }
    findings
}

/// Whether the line has `/folder/` where a path starts.
fn starts_a_path(line: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    line.match_indices(&path).any(|(at, _)| {
        let (before, rest) = (line[..at].chars().next_back(), &line[at + path.len()..]);
        let starts = before.is_none_or(|c| c.is_whitespace() || "\"'`(=:,[{<".contains(c));
        let example = folder == "home" && EXAMPLE_HOMES.iter().any(|home| is_home(rest, home));
        starts && !example && rest.starts_with(|c: char| c.is_alphanumeric() || c == '.')
    })
}

/// Whether the first part of `rest` is `name`.
fn is_home(rest: &str, name: &str) -> bool {
    rest.strip_prefix(name).is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-'))
}

#[cfg(test)]
mod tests {
    use super::{machine_paths, whitespace};
    use crate::repository::SourceFile;

    fn file(text: &str) -> SourceFile {
        SourceFile { path: "a.md".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn spaces_and_missing_newlines_are_found() {
        assert_eq!(whitespace(&file("a\nb\n")), []);
        assert_eq!(whitespace(&file("")), []);
        for (text, line) in [("a \nb\n", Some(1)), ("a\nb\t\n", Some(2)), ("a\r\n", Some(1)), ("a", None), ("a\n\n", None)] {
            let found = whitespace(&file(text));
            assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [line], "of {text:?}");
        }
    }

    #[test]
    fn paths_of_a_machine_are_found_and_others_are_not() {
        let path = |folder: &str| format!("see `/{folder}/someone/a.json`\n");
        for folder in ["home", "root", "Users"] {
            assert_eq!(machine_paths(&file(&path(folder))).len(), 1, "{folder}");
        }
        for text in [
            "crates/work/a",
            "https://host/home/page",
            "/proc/self/status",
            "and /home or",
            "a/tmp/b",
            "HOME=/home/ada/x",
            "(\"/home/ada\")",
        ] {
            assert_eq!(machine_paths(&file(text)), [], "{text}");
        }
    }
}

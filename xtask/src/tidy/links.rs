//! Links of the documents lead somewhere, and documents that sources mention are there.

use crate::finding::Finding;
use crate::repository::SourceFile;

/// Checks the targets of `[text](target)` in every Markdown file against the files of the checkout and the headings of the target.
pub(super) fn check(files: &[SourceFile], paths: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        for (line, target) in targets(&file.text) {
            if let Some(message) = broken(file, &target, files, paths) {
                findings.push(Finding::at(&file.path, line, message));
            }
        }
    }
    for file in files {
        findings.extend(
            mentions(file)
                .filter(|(_, path)| !paths.contains(path))
                .map(|(line, path)| Finding::at(&file.path, line, format!("mentions {path}, which is not there"))),
        );
    }
    findings
}

/// The documents that a file speaks of by their path from the root, in code, comments and text.
fn mentions(file: &SourceFile) -> impl Iterator<Item = (usize, String)> {
    let part_of_path = |c: char| c.is_ascii_alphanumeric() || "/_-.".contains(c);
    file.text.lines().enumerate().flat_map(move |(number, line)| {
        let words = line.split(move |c: char| !part_of_path(c)).map(|word| word.trim_end_matches('.'));
        words.filter(|word| word.starts_with("docs/") && word.ends_with(".md")).map(move |word| (number + 1, word.to_owned()))
    })
}

fn broken(file: &SourceFile, target: &str, files: &[SourceFile], paths: &[String]) -> Option<String> {
    // Addresses are not asked for, and a path with `::` is rustdoc's to check.
    if target.contains("://") || target.contains("::") || target.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let resolved = if path.is_empty() { file.path.clone() } else { resolve(&file.path, path) };
    let folder = format!("{}/", resolved.trim_end_matches('/'));
    if !paths.iter().any(|known| *known == resolved || known.starts_with(&folder)) {
        return Some(format!("link to {target}: there is no {resolved}"));
    }
    let text = files.iter().find(|other| other.path == resolved).map(|other| other.text.as_str());
    if !heading.is_empty() && !text.is_some_and(|text| anchors(text).any(|anchor| anchor == heading)) {
        return Some(format!("link to {target}: {resolved} has no heading #{heading}"));
    }
    None
}

/// A relative path, from the root of the repository.
fn resolve(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The targets of inline links and of link definitions outside code, with their lines.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, content) in outside_code_blocks(text) {
        let content = without_code_spans(content);
        for (at, _) in content.match_indices("](") {
            if let Some(end) = content[at + 2..].find(')') {
                found.push((line, content[at + 2..at + 2 + end].split_whitespace().next().unwrap_or("").to_owned()));
            }
        }
    }
    found
}

/// What GitHub calls the headings of a document.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    outside_code_blocks(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

fn outside_code_blocks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        if line.trim_start().starts_with("```") {
            inside = !inside;
            return None;
        }
        (!inside).then_some((number + 1, line))
    })
}

/// The line with the inside of `code spans` taken out, link texts in backticks kept as brackets.
fn without_code_spans(line: &str) -> String {
    line.split('`').enumerate().filter(|(part, _)| part % 2 == 0).map(|(_, text)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::repository::SourceFile;

    fn found(text: &str) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [file("pages/a.md", text), file("README.md", "# The house\n")];
        let paths = ["pages/a.md", "README.md", "crates/x/src/lib.rs", concat!("docs", "/c.md")].map(str::to_owned);
        check(&files, &paths).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        for text in [
            "[r](../README.md)",
            "[r](../README.md#the-house)",
            "[x](../crates/x)",
            "[a](a.md) and [h](https://host/x.md)",
            "# Here we are\n[h](#here-we-are)",
            "`[no](link.md)`",
            "```\n[no](link.md)\n```",
            "[`T`](crate::T)",
            concat!("see `docs", "/c.md`."),
        ] {
            assert_eq!(found(text), [""; 0], "of {text}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        assert_eq!(found("x\n[`b`](b.md)"), ["pages/a.md:2: link to b.md: there is no pages/b.md"]);
        assert_eq!(found("[r](../README.md#no)"), ["pages/a.md:1: link to ../README.md#no: README.md has no heading #no"]);
        assert_eq!(found("[r](#no)").len(), 1);
        assert_eq!(found(&format!("see {}", concat!("docs", "/none.md."))).len(), 1);
    }
}

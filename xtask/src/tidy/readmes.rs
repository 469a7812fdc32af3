//! Each crate has a README that is its documentation page.

use std::ops::RangeInclusive;

use crate::finding::Finding;
use crate::repository::SourceFile;

/// Long enough to say something, short enough to be read.
const LINES: RangeInclusive<usize> = 12..=60;

const INCLUDED: &str = "#![doc = include_str!(\"../README.md\")]";

/// Looks at the README and the root source of every package.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let mut findings = Vec::new();
    for folder in package_folders(files) {
        let readme = format!("{folder}/README.md");
        match text(&readme).map(|text| text.lines().count()) {
            None => findings.push(Finding::whole(&readme, "is missing: a crate starts with what it is for")),
            Some(lines) if !LINES.contains(&lines) => {
                let message = format!("has {lines} lines, expected {} to {}", LINES.start(), LINES.end());
                findings.push(Finding::whole(&readme, message));
            }
            Some(_) => {}
        }
        let roots = ["lib.rs", "main.rs"].map(|root| format!("{folder}/src/{root}"));
        if !roots.iter().filter_map(|root| text(root)).any(|text| text.contains(INCLUDED)) {
            findings.push(Finding::whole(&roots[0], format!("the README is not the documentation page: start with `{INCLUDED}`")));
        }
    }
    findings
}

/// The folders of the packages below the root. Fuzz targets are workspaces of their own, in the form that cargo-fuzz wants.
pub(super) fn package_folders(files: &[SourceFile]) -> impl Iterator<Item = &str> {
    files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml")).filter(|folder| folder.split('/').next_back() != Some("fuzz"))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::repository::SourceFile;

    fn files(readme_lines: usize, root: &str) -> Vec<SourceFile> {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        vec![file("crates/a/Cargo.toml", ""), file("crates/a/README.md", &"x\n".repeat(readme_lines)), file("crates/a/src/lib.rs", root)]
    }

    #[test]
    fn a_page_of_the_right_length_passes() {
        assert_eq!(check(&files(12, "#![doc = include_str!(\"../README.md\")]\n")), []);
    }

    #[test]
    fn short_long_missing_and_not_included_are_found() {
        let included = "#![doc = include_str!(\"../README.md\")]\n";
        assert_eq!(check(&files(11, included)).len(), 1);
        assert_eq!(check(&files(61, included)).len(), 1);
        assert_eq!(check(&files(20, "//! A crate.\n")).len(), 1);
        assert_eq!(check(&files(20, included)[..1]).len(), 2);
    }
}

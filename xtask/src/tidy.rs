//! `cargo xtask tidy`: what must not be in the sources and documents.

mod code;
mod level_table;
mod links;
mod manifests;
mod names;
mod readmes;
mod source;
mod text;
mod unused;

use anyhow::Result;

use crate::finding::{self, Finding};
use crate::repository::{Repository, SourceFile};

/// A check of one text file.
type FileCheck = fn(&SourceFile) -> Vec<Finding>;

const FILE_CHECKS: &[FileCheck] =
    &[source::length, source::unfinished, source::unsafe_outside_the_fence, text::whitespace, text::machine_paths];

/// Runs every check on the files of the checkout.
pub(crate) fn run(repository: &Repository) -> Result<()> {
    let paths = repository.paths()?;
    let mut findings = names::check(&paths);
    let mut files = Vec::new();
    for path in paths.iter().filter(|path| is_written_by_hand(path)) {
        files.extend(repository.read(path)?);
    }
    for file in &files {
        findings.extend(FILE_CHECKS.iter().flat_map(|check| check(file)));
    }
    findings.extend(source::stale_fence(&files));
    findings.extend(links::check(&files, &paths));
    findings.extend(readmes::check(&files));
    findings.extend(manifests::check(&files));
    findings.extend(unused::check(&files));
    findings.extend(level_table::check(&files));
    finding::report("tidy", findings)
}

/// Test data, the lock file and licence texts are kept as they come.
fn is_written_by_hand(path: &str) -> bool {
    let generated = path.starts_with("bench-data/") && !path.ends_with(".md");
    !generated && path != "Cargo.lock" && !path.starts_with("LICENSE-")
}

//! What must not be found anywhere below a stage crate, however deep.

use anyhow::Result;

use crate::finding::Finding;
use crate::metadata::{Kind, Metadata};
use crate::repository::Repository;

/// Packages that a stage crate does not reach: a stage is synchronous, reports through its context and has typed errors.
const KEPT_OUT: &[&str] = &["tokio", "flume", "metrics", "anyhow", "tonic"];

/// Crates whose whole tree of normal dependencies is free of [`KEPT_OUT`].
const WHOLE_TREE: &[&str] = &[
    "c1-parse",
    "circuit-synth",
    "groth16-srs",
    "cpu-backend",
    "groth16-assembly",
    "prover-backend",
    "pipeline-stage",
    "buffer-accounting",
    "bls12-381-layout",
];

/// Crates that name none of [`KEPT_OUT`] themselves; the official proof libraries below them do.
const DIRECT_ONLY: &[&str] = &["filecoin-circuits"];

/// Asks `cargo tree` for each crate, so that features count as they do when the crate is built alone.
pub(super) fn check(repository: &Repository, metadata: &Metadata) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for member in metadata.members() {
        let name = member.name.as_str();
        if WHOLE_TREE.contains(&name) {
            let arguments = ["tree", "--locked", "-p", name, "-e", "normal", "--target", "all", "--prefix", "none", "--format", "{p}"];
            findings.extend(kept_out(name, &repository.output("cargo", arguments)?));
        }
        if DIRECT_ONLY.contains(&name) {
            let direct = member.dependencies.iter().filter(|dependency| dependency.kind == Kind::Normal);
            let named: Vec<&str> = direct.map(|dependency| dependency.name.as_str()).collect();
            findings.extend(kept_out(name, &named.join("\n")));
        }
    }
    Ok(findings)
}

/// Reads a listing with one package a line, its name first.
fn kept_out(member: &str, listing: &str) -> Vec<Finding> {
    let reached = listing.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| KEPT_OUT.contains(name));
    reached
        .map(|name| {
            let message = format!("reaches {name}: a stage crate does not; see `cargo tree -p {member} -e normal -i {name}`");
            Finding::whole(member, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::kept_out;

    #[test]
    fn only_whole_names_count() {
        assert_eq!(kept_out("c1-parse", "c1-parse v0.1.0 (path)\nserde v1.0.0\nmetrics-util v0.1.0\n"), []);
        let found = kept_out("c1-parse", "c1-parse v0.1.0 (path)\nflume v0.12.0\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].message.starts_with("reaches flume"), "{}", found[0]);
    }
}

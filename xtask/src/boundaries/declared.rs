//! Rules on the dependencies that manifests name.

use crate::finding::Finding;
use crate::levels::{LEVELS, Level, level_of};
use crate::metadata::{Dependency, Kind, Metadata, Package};

/// A package, or a family of packages when the pattern ends in `*`, that only some crates may name.
struct Reserved {
    pattern: &'static str,
    kinds: Kinds,
    crates: &'static [&'static str],
    reason: &'static str,
}

enum Kinds {
    All,
    NotDev,
}

const PROOF_LIBRARIES: &[&str] = &["filecoin-circuits", "virtual-sector", "peers"];
const PROOF_LIBRARIES_REASON: &str = "the official circuits and proofs are reached through filecoin-circuits alone";

const RESERVED: &[Reserved] = &[
    Reserved { pattern: "flume", kinds: Kinds::All, crates: &["scheduler"], reason: "channels are scheduler links" },
    Reserved {
        pattern: "metrics",
        kinds: Kinds::All,
        crates: &["telemetry"],
        reason: "metrics are recorded through telemetry's enumeration",
    },
    Reserved { pattern: "metrics-*", kinds: Kinds::All, crates: &["telemetry"], reason: "telemetry is the one exporter" },
    Reserved { pattern: "storage-proofs*", kinds: Kinds::NotDev, crates: PROOF_LIBRARIES, reason: PROOF_LIBRARIES_REASON },
    Reserved { pattern: "filecoin-proofs*", kinds: Kinds::NotDev, crates: PROOF_LIBRARIES, reason: PROOF_LIBRARIES_REASON },
    Reserved { pattern: "filecoin-hashers", kinds: Kinds::NotDev, crates: PROOF_LIBRARIES, reason: PROOF_LIBRARIES_REASON },
    Reserved {
        pattern: "bellperson",
        kinds: Kinds::NotDev,
        crates: &["peers"],
        reason: "another prover is an oracle of tests and benchmarks, not a part",
    },
    Reserved { pattern: "ec-gpu-gen", kinds: Kinds::NotDev, crates: &["peers"], reason: "another backend is an oracle, not a part" },
    Reserved {
        pattern: "anyhow",
        kinds: Kinds::All,
        crates: &["runner", "virtual-sector", "peers", "xtask"],
        reason: "libraries have typed errors with a class",
    },
];

/// Every member is in the level table, depends downward only, and names only what it may.
pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, _) in LEVELS {
        if !metadata.members().any(|member| member.name == *name) {
            findings.push(Finding::whole(*name, "is in the level table and not in the workspace: take it out of xtask/src/levels.rs"));
        }
    }
    for member in metadata.members() {
        let Some(level) = level_of(&member.name) else {
            findings.push(Finding::whole(&member.name, "has no level: add it to xtask/src/levels.rs and docs/ARCHITECTURE.md"));
            continue;
        };
        for dependency in &member.dependencies {
            findings.extend(upward(member, level, dependency));
            findings.extend(reserved(member, dependency, metadata));
        }
    }
    findings
}

fn upward(member: &Package, level: Level, dependency: &Dependency) -> Option<Finding> {
    let below = level_of(&dependency.name)?;
    let allowed = match (level, below) {
        _ if dependency.kind == Kind::Dev => true,
        (Level::Tool, _) => true,
        _ => below < level,
    };
    let message = format!("is of level {level} and depends on {} of level {below}: a crate depends only on lower levels", dependency.name);
    (!allowed).then(|| Finding::whole(&member.name, message))
}

fn reserved(member: &Package, dependency: &Dependency, metadata: &Metadata) -> Vec<Finding> {
    let named = RESERVED.iter().filter(|rule| match rule.pattern.strip_suffix('*') {
        Some(family) => dependency.name.starts_with(family),
        None => dependency.name == rule.pattern,
    });
    let broken = named.filter(|rule| {
        let kept = match rule.kinds {
            Kinds::All => false,
            // Tests may ask an oracle. They may ask the proof libraries only where these are built anyway.
            Kinds::NotDev => dependency.kind == Kind::Dev && (rule.crates != PROOF_LIBRARIES || reaches_proof_libraries(member, metadata)),
        };
        !kept && !rule.crates.contains(&member.name.as_str())
    });
    broken
        .map(|rule| {
            let message = format!("names {}, which only {} may: {}", dependency.name, rule.crates.join(", "), rule.reason);
            Finding::whole(&member.name, message)
        })
        .collect()
}

/// Whether a package reaches the proof libraries through its normal dependencies inside the workspace.
fn reaches_proof_libraries(member: &Package, metadata: &Metadata) -> bool {
    PROOF_LIBRARIES.contains(&member.name.as_str())
        || member
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind != Kind::Dev && dependency.path.is_some())
            .filter_map(|dependency| metadata.members().find(|other| other.name == dependency.name))
            .any(|other| reaches_proof_libraries(other, metadata))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::boundaries::test_support::workspace;
    use crate::levels::LEVELS;

    fn messages(extra: &[(&str, &[(&str, &str)])]) -> Vec<String> {
        let mut members: Vec<(&str, &[(&str, &str)])> = extra.to_vec();
        for (name, _) in LEVELS {
            if !extra.iter().any(|(given, _)| given == name) {
                members.push((name, &[]));
            }
        }
        check(&workspace(&members)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn downward_dependencies_pass() {
        assert_eq!(messages(&[("prover-backend", &[("pipeline-stage", "normal")]), ("xtask", &[("runner", "normal")])]), [""; 0]);
    }

    #[test]
    fn upward_and_sideways_dependencies_are_found() {
        let found = messages(&[("scheduler", &[("groth16-pipeline", "normal")]), ("c1-parse", &[("circuit-synth", "build")])]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|m| m.contains("scheduler: is of level 3 and depends on groth16-pipeline of level 5")), "{found:?}");
        assert!(found.iter().any(|m| m.contains("c1-parse: is of level 3 and depends on circuit-synth of level 3")), "{found:?}");
    }

    #[test]
    fn nothing_of_the_product_depends_on_a_tool_but_its_tests_may() {
        let found = messages(&[("runner", &[("peers", "normal"), ("virtual-sector", "dev")])]);
        assert_eq!(found, ["runner: is of level 6 and depends on peers of level tool: a crate depends only on lower levels"]);
    }

    #[test]
    fn reserved_packages_are_found() {
        let found = messages(&[
            ("groth16-pipeline", &[("flume", "dev"), ("metrics", "normal"), ("metrics-util", "dev")]),
            ("telemetry", &[("metrics", "normal"), ("metrics-exporter-prometheus", "normal")]),
            ("runner", &[("storage-proofs-core", "normal"), ("anyhow", "normal"), ("bellperson", "dev")]),
        ]);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found.iter().any(|m| m.starts_with("groth16-pipeline: names metrics, which only telemetry may")), "{found:?}");
        assert!(found.iter().any(|m| m.starts_with("groth16-pipeline: names flume, which only scheduler may")), "{found:?}");
        assert!(found.iter().any(|m| m.starts_with("runner: names storage-proofs-core")), "{found:?}");
    }

    #[test]
    fn tests_may_use_the_proof_libraries_only_where_they_are_built_anyway() {
        assert_eq!(messages(&[("runner", &[("filecoin-circuits", "normal"), ("filecoin-proofs", "dev")])]), [""; 0]);
        assert_eq!(messages(&[("c1-parse", &[("filecoin-proofs", "dev")])]).len(), 1);
    }

    #[test]
    fn strangers_and_absentees_are_found() {
        let found = messages(&[("newcomer", &[])]);
        assert_eq!(found, ["newcomer: has no level: add it to xtask/src/levels.rs and docs/ARCHITECTURE.md"]);
        let found: Vec<_> = check(&workspace(&[("runner", &[])])).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), LEVELS.len() - 1);
    }
}

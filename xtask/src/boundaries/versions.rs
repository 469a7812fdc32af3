//! Crates whose types cross our boundaries come in one version.

use crate::finding::Finding;
use crate::metadata::Metadata;

/// One compatible version of each, anywhere in the tree.
const ONE_IN_THE_TREE: &[&str] = &["ff", "group", "pairing", "bellpepper-core", "blstrs", "metrics"];

/// The compatible version our own manifests must agree on, where the tree needs others for itself.
const OURS: &[(&str, &str)] = &[("rand_core", "0.6")];

/// Looks for second versions.
pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in ONE_IN_THE_TREE {
        let mut compatible: Vec<String> = metadata.versions(name).iter().map(|version| compatibility(version)).collect();
        compatible.sort();
        compatible.dedup();
        if compatible.len() > 1 {
            let message = format!("comes in {} incompatible versions ({}): see `cargo tree -d`", compatible.len(), compatible.join(", "));
            findings.push(Finding::whole(*name, message));
        }
    }
    for (name, expected) in OURS {
        for (version, users) in metadata.direct_versions(name) {
            if compatibility(version) != *expected {
                let message = format!("expected version {expected}, found {version}, named by {}", users.join(", "));
                findings.push(Finding::whole(*name, message));
            }
        }
    }
    findings
}

/// The part of a version that decides whether types fit: up to the first number that is not zero.
fn compatibility(version: &str) -> String {
    let mut parts = Vec::new();
    for part in version.split(['.', '-', '+']).take(3) {
        parts.push(part);
        if part != "0" {
            break;
        }
    }
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::{check, compatibility};
    use crate::boundaries::test_support::workspace;

    #[test]
    fn compatibility_is_cargo_s() {
        for (version, expected) in [("1.2.3", "1"), ("0.13.1", "0.13"), ("0.0.4", "0.0.4"), ("2.0.0-rc.1", "2"), ("0.7.1+x", "0.7")] {
            assert_eq!(compatibility(version), expected);
        }
    }

    #[test]
    fn patch_versions_are_no_second_version() {
        assert_eq!(check(&workspace(&[("a", &[("ff@0.13.0", "normal")]), ("b", &[("ff@0.13.1", "normal")])])), []);
    }

    #[test]
    fn a_second_major_is_found() {
        let found = check(&workspace(&[("a", &[("ff@0.13.0", "normal")]), ("b", &[("ff@0.14.0", "dev")])]));
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("0.13, 0.14"), "{}", found[0]);
    }

    #[test]
    fn our_own_rand_core_is_held_to_its_version() {
        let found = check(&workspace(&[("a", &[("rand_core@0.6.4", "normal")]), ("b", &[("rand_core@0.9.0", "normal")])]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "rand_core: expected version 0.6, found 0.9.0, named by b");
    }
}

//! No package of the workspace depends on itself, not even through the dependencies of tests.
//!
//! Cargo allows a cycle through tests; it would compile a crate twice, as two types that do not fit. A crate that names itself, to
//! have its test features on in its own tests, is no such cycle.

use crate::finding::Finding;
use crate::metadata::{Metadata, Package};

/// Finds each member that reaches itself.
pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in metadata.members() {
        let mut path = Vec::new();
        let mut seen = Vec::new();
        if reaches(metadata, member, &member.name, &mut path, &mut seen) {
            path.reverse();
            findings.push(Finding::whole(&member.name, format!("depends on itself through {}", path.join(" -> "))));
        }
    }
    findings
}

/// Depth-first search for `goal`; the path is pushed from its end.
fn reaches<'a>(metadata: &'a Metadata, from: &'a Package, goal: &str, path: &mut Vec<&'a str>, seen: &mut Vec<&'a str>) -> bool {
    for dependency in from.dependencies.iter().filter(|dependency| dependency.path.is_some() && dependency.name != from.name) {
        let name = dependency.name.as_str();
        if name == goal {
            path.push(name);
            return true;
        }
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let next = metadata.members().find(|member| member.name == name);
        if next.is_some_and(|next| reaches(metadata, next, goal, path, seen)) {
            path.push(name);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::boundaries::test_support::workspace;

    #[test]
    fn a_diamond_is_no_cycle() {
        let diamond = workspace(&[
            ("top", &[("left", "normal"), ("right", "dev")]),
            ("left", &[("bottom", "normal")]),
            ("right", &[("bottom", "normal")]),
            ("bottom", &[("bottom", "dev")]),
        ]);
        assert_eq!(check(&diamond), []);
    }

    #[test]
    fn a_cycle_through_tests_is_found_with_its_path() {
        let cycle = workspace(&[("a", &[("b", "normal")]), ("b", &[("c", "dev")]), ("c", &[("a", "normal")]), ("d", &[("a", "normal")])]);
        let found: Vec<_> = check(&cycle).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "a: depends on itself through b -> c -> a",
                "b: depends on itself through c -> a -> b",
                "c: depends on itself through a -> b -> c"
            ]
        );
    }
}

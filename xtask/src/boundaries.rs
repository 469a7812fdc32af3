//! `cargo xtask boundaries`: which crate may depend on which.

mod cycles;
mod declared;
mod tree;
mod versions;

use anyhow::Result;

use crate::finding;
use crate::metadata::Metadata;
use crate::repository::Repository;

/// Runs every check on the dependency graph of the checkout.
pub(crate) fn run(repository: &Repository) -> Result<()> {
    let metadata = Metadata::load(repository)?;
    let mut findings = declared::check(&metadata);
    findings.extend(cycles::check(&metadata));
    findings.extend(versions::check(&metadata));
    findings.extend(tree::check(repository, &metadata)?);
    finding::report("boundaries", findings)
}

#[cfg(test)]
mod test_support {
    use crate::metadata::Metadata;

    /// Metadata of a workspace: for each package, `(name, [(dependency, kind)])`; dependencies that are no members are versioned `1.0.0`.
    pub(super) fn workspace(members: &[(&str, &[(&str, &str)])]) -> Metadata {
        let kind = |kind: &str| if kind == "normal" { serde_json::Value::Null } else { kind.into() };
        let is_member = |name: &str| members.iter().any(|(member, _)| *member == name);
        let mut packages = Vec::new();
        let mut nodes = Vec::new();
        for (name, dependencies) in members {
            let declared: Vec<_> = dependencies
                .iter()
                .map(|(on, of)| serde_json::json!({"name": on, "kind": kind(of), "path": is_member(on).then(|| format!("crates/{on}"))}))
                .collect();
            packages.push(serde_json::json!({"name": name, "version": "0.1.0", "id": name, "dependencies": declared}));
            nodes.push(serde_json::json!({"id": name, "dependencies": dependencies.iter().map(|(on, _)| *on).collect::<Vec<_>>()}));
            for (on, _) in dependencies.iter().filter(|(on, _)| !is_member(on)) {
                let (package, version) = on.split_once('@').unwrap_or((on, "1.0.0"));
                packages.push(serde_json::json!({"name": package, "version": version, "id": on, "dependencies": []}));
            }
        }
        let names: Vec<_> = members.iter().map(|(name, _)| *name).collect();
        let all = serde_json::json!({"packages": packages, "workspace_members": names, "resolve": {"nodes": nodes}});
        Metadata::parse(&all.to_string()).unwrap()
    }
}

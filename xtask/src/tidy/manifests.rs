//! Rules on the manifests of the packages.

use toml::{Table, Value};

use super::readmes::package_folders;
use crate::finding::Finding;
use crate::levels::UNSAFE_FENCE;
use crate::repository::SourceFile;

/// Looks at every manifest below the root.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let is_package = |file: &&SourceFile| package_folders(files).any(|folder| file.path.strip_suffix("/Cargo.toml") == Some(folder));
    files.iter().filter(is_package).flat_map(manifest).collect()
}

fn manifest(file: &SourceFile) -> Vec<Finding> {
    match file.text.parse::<Table>() {
        Ok(table) => dependencies(file, &table).into_iter().chain(lints(file, &table)).collect(),
        Err(error) => vec![Finding::whole(&file.path, format!("is no TOML: {error}"))],
    }
}

/// A dependency is named once, in the table of the workspace.
fn dependencies(file: &SourceFile, table: &Table) -> Vec<Finding> {
    let targets =
        table.get("target").and_then(Value::as_table).into_iter().flat_map(|targets| targets.values().filter_map(Value::as_table));
    let mut findings = Vec::new();
    for scope in std::iter::once(table).chain(targets) {
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let named = scope.get(section).and_then(Value::as_table).into_iter().flatten();
            for (name, _) in named.filter(|(_, value)| value.get("workspace").and_then(Value::as_bool) != Some(true)) {
                let message = format!("{section}: {name} is not taken from [workspace.dependencies]: write `{name}.workspace = true`");
                findings.push(Finding::whole(&file.path, message));
            }
        }
    }
    findings
}

/// A package takes the lints of the workspace, or is inside the `unsafe` fence and spells its own with a comment that says why.
fn lints(file: &SourceFile, table: &Table) -> Vec<Finding> {
    let own = table.get("lints").and_then(Value::as_table);
    if own.and_then(|lints| lints.get("workspace")).and_then(Value::as_bool) == Some(true) {
        return Vec::new();
    }
    let Some(own) = own else {
        return vec![Finding::whole(&file.path, "has no lints: write `[lints]` and `workspace = true`")];
    };
    let mut findings = Vec::new();
    if !lints_are_explained(&file.text) {
        findings.push(Finding::whole(&file.path, "spells its own lints: say why in a comment beside them"));
    }
    let folder = file.path.trim_end_matches("Cargo.toml");
    let rust = own.get("rust").and_then(Value::as_table);
    let unsafe_code = rust.and_then(|rust| rust.get("unsafe_code")).and_then(Value::as_str).unwrap_or("allow");
    if unsafe_code != "forbid" && !UNSAFE_FENCE.iter().any(|(place, _)| place.starts_with(folder)) {
        let message = "does not forbid unsafe code and is outside the fence (xtask/src/levels.rs)";
        findings.push(Finding::whole(&file.path, message));
    }
    if rust.is_none_or(|rust| !rust.contains_key("missing_docs")) {
        findings.push(Finding::whole(&file.path, "spells its own lints and leaves missing_docs out"));
    }
    findings
}

/// Whether there is a comment among the lints or right above them.
fn lints_are_explained(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("[lints")).unwrap_or(lines.len());
    lines[first.saturating_sub(1)..].iter().any(|line| line.trim_start().starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::manifest;
    use crate::repository::SourceFile;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        manifest(&file).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_manifest_of_the_house_passes() {
        let text = "[dependencies]\na.workspace = true\nb = { workspace = true, features = [\"x\"] }\n[lints]\nworkspace = true\n";
        assert_eq!(found("crates/a/Cargo.toml", text), [""; 0]);
    }

    #[test]
    fn dependencies_with_a_version_of_their_own_are_found() {
        let text = "[dependencies]\na = \"1\"\n[target.'cfg(unix)'.dev-dependencies]\nb = { path = \"../b\" }\n[lints]\nworkspace = true\n";
        let found = found("crates/a/Cargo.toml", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("dependencies: a is") && found[1].starts_with("dev-dependencies: b is"), "{found:?}");
    }

    #[test]
    fn lints_of_its_own_need_a_reason_and_the_fence() {
        assert_eq!(found("crates/a/Cargo.toml", "").len(), 1);
        let own = "[package]\n[lints.rust]\nmissing_docs = \"warn\"\n# Views of memory.\nunsafe_code = \"allow\"\n";
        assert_eq!(found("crates/bls12-381-layout/Cargo.toml", own), [""; 0]);
        assert_eq!(found("crates/scheduler/Cargo.toml", own).len(), 1);
        assert_eq!(found("crates/bls12-381-layout/Cargo.toml", &own.replace("# Views of memory.\n", "")).len(), 1);
        let above = own.replace("# Views of memory.\n", "").replace("[lints", "# Views of memory.\n[lints");
        assert_eq!(found("crates/bls12-381-layout/Cargo.toml", &above), [""; 0]);
        assert_eq!(found("crates/bls12-381-layout/Cargo.toml", &own.replace("missing_docs = \"warn\"\n", "")).len(), 1);
    }

    #[test]
    fn a_broken_manifest_is_found() {
        assert_eq!(found("crates/a/Cargo.toml", "[package").len(), 1);
    }
}

//! Dependencies that nothing names.

use toml::{Table, Value};

use super::code::has_word;
use super::readmes::package_folders;
use crate::finding::Finding;
use crate::repository::SourceFile;

const WORKSPACE: &str = "Cargo.toml";

/// Each dependency of a package is named in its sources, and each of the workspace by a package. A dependency that is there for its
/// features only has a comment on its line that says so.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used = Vec::new();
    for folder in package_folders(files) {
        let manifest = format!("{folder}/Cargo.toml");
        let Some((file, table)) = parsed(files, &manifest) else { continue };
        let own = table.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        let sources: Vec<&SourceFile> = files.iter().filter(|source| is_source_of(source, folder)).collect();
        for name in dependencies(&table) {
            let identifier = name.replace('-', "_");
            let named = sources.iter().any(|source| has_word(&source.text, &identifier));
            let line = file.text.lines().position(|line| line.starts_with(&name) && !line[name.len()..].starts_with(is_name));
            let explained = line.and_then(|line| file.text.lines().nth(line)).is_some_and(|line| line.contains('#'));
            if !named && !explained && own != Some(&name) {
                let message = format!("{name} is named in no source: take it out, or say on its line what it is there for");
                findings.push(Finding { place: manifest.clone(), line: line.map(|line| line + 1), message });
            }
            used.push(name);
        }
    }
    if let Some((_, table)) = parsed(files, WORKSPACE) {
        let named = table.get("workspace").and_then(|workspace| workspace.get("dependencies")).and_then(Value::as_table);
        for name in named.into_iter().flat_map(Table::keys).filter(|name| !used.contains(name)) {
            findings.push(Finding::whole(WORKSPACE, format!("{name} is a dependency of the workspace and of no package: take it out")));
        }
    }
    findings
}

fn parsed<'a>(files: &'a [SourceFile], path: &str) -> Option<(&'a SourceFile, Table)> {
    let file = files.iter().find(|file| file.path == path)?;
    Some((file, file.text.parse().ok()?))
}

/// Sources and the README, whose examples are tests.
fn is_source_of(file: &SourceFile, folder: &str) -> bool {
    let inside = file.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    inside.is_some_and(|rest| rest.ends_with(".rs") || rest == "README.md")
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

/// Names of the dependencies of every kind and target.
fn dependencies(table: &Table) -> Vec<String> {
    let targets = table.get("target").and_then(Value::as_table).into_iter().flat_map(|targets| targets.values());
    let scopes = targets.filter_map(Value::as_table).chain(std::iter::once(table));
    let sections = scopes.flat_map(|scope| ["dependencies", "dev-dependencies", "build-dependencies"].map(|section| scope.get(section)));
    sections.flatten().filter_map(Value::as_table).flat_map(Table::keys).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::repository::SourceFile;

    fn found(manifest: &str, source: &str) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let workspace = "[workspace.dependencies]\na-b = \"1\"\nserde = \"1\"\n";
        let files = [file("Cargo.toml", workspace), file("crates/x/Cargo.toml", manifest), file("crates/x/src/lib.rs", source)];
        check(&files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_named_or_explained_passes() {
        let manifest = "[dependencies]\na-b.workspace = true\n[dev-dependencies]\nserde.workspace = true # its feature rc\n";
        assert_eq!(found(manifest, "use a_b::c;\n"), [""; 0]);
    }

    #[test]
    fn what_nothing_names_is_found() {
        let manifest = "[dependencies]\na-b.workspace = true\n";
        assert_eq!(
            found(manifest, "use a_bc::d;\n"),
            [
                "crates/x/Cargo.toml:2: a-b is named in no source: take it out, or say on its line what it is there for",
                "Cargo.toml: serde is a dependency of the workspace and of no package: take it out"
            ]
        );
    }
}

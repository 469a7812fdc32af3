//! `cargo metadata`, as far as the checks read it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::repository::Repository;

/// The dependency graph of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

/// One package, with the dependencies its manifest names.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    /// Name.
    pub(crate) name: String,
    /// Version.
    pub(crate) version: String,
    /// Dependencies as the manifest names them.
    pub(crate) dependencies: Vec<Dependency>,
    id: String,
}

/// A dependency that a manifest names.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// Name of the package, whatever it was renamed to.
    pub(crate) name: String,
    /// What it is needed for.
    #[serde(default)]
    pub(crate) kind: Kind,
    /// Folder, for a dependency on a package of the workspace.
    pub(crate) path: Option<String>,
}

/// What a dependency is needed for.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(from = "Option<String>")]
pub(crate) enum Kind {
    /// The library or binary itself.
    #[default]
    Normal,
    /// Its build script.
    Build,
    /// Its tests, examples and benchmarks.
    Dev,
}

impl From<Option<String>> for Kind {
    fn from(kind: Option<String>) -> Self {
        match kind.as_deref() {
            Some("dev") => Self::Dev,
            Some("build") => Self::Build,
            _ => Self::Normal,
        }
    }
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
}

impl Metadata {
    /// Asks cargo, which must find the lock file up to date.
    pub(crate) fn load(repository: &Repository) -> Result<Self> {
        let text = repository.output("cargo", ["metadata", "--format-version", "1", "--locked", "--all-features"])?;
        Self::parse(&text)
    }

    /// Reads the JSON that cargo writes.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).context("cargo metadata wrote something unexpected")
    }

    /// The packages of the workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// The versions of `name` that packages of the workspace depend on directly, each with the packages that do.
    pub(crate) fn direct_versions(&self, name: &str) -> BTreeMap<&str, Vec<&str>> {
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for member in self.members() {
            let resolved = self.resolve.nodes.iter().filter(|node| node.id == member.id).flat_map(|node| &node.dependencies);
            for package in resolved.filter_map(|id| self.packages.iter().find(|package| &package.id == id)) {
                if package.name == name {
                    versions.entry(&package.version).or_default().push(&member.name);
                }
            }
        }
        versions
    }

    /// Every version of `name` anywhere in the tree.
    pub(crate) fn versions(&self, name: &str) -> Vec<&str> {
        self.packages.iter().filter(|package| package.name == name).map(|package| package.version.as_str()).collect()
    }
}

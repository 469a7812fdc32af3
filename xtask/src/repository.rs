//! The checkout: its root, its files, and commands run in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The checkout this task belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    root: PathBuf,
}

/// A file that is, or would be, committed.
#[derive(Clone, Debug)]
pub(crate) struct SourceFile {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

impl Repository {
    /// The checkout around this package.
    pub(crate) fn find() -> Result<Self> {
        // The package lies directly below the root, wherever the checkout was moved to since it was built.
        let package = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = package.parent().with_context(|| format!("{} has no parent folder", package.display()))?.to_path_buf();
        ensure!(root.join("Cargo.lock").is_file(), "{} is not the root of the workspace: start this as `cargo xtask`", root.display());
        Ok(Self { root })
    }

    /// Paths of the files that are committed or would be: tracked, or neither tracked nor ignored. Sorted, with `/`.
    pub(crate) fn paths(&self) -> Result<Vec<String>> {
        let listing = self.output("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"])?;
        let mut paths: Vec<String> =
            listing.split('\0').filter(|path| !path.is_empty() && self.root.join(path).is_file()).map(str::to_owned).collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// Reads a file; `None` when it is not text.
    pub(crate) fn read(&self, path: &str) -> Result<Option<SourceFile>> {
        let bytes = std::fs::read(self.root.join(path)).with_context(|| format!("cannot read {path}"))?;
        if bytes.contains(&0) {
            return Ok(None);
        }
        Ok(String::from_utf8(bytes).ok().map(|text| SourceFile { path: path.to_owned(), text }))
    }

    /// The folder that everything lies in.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where cargo builds: `CARGO_TARGET_DIR`, or `target` at the root.
    pub(crate) fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.root.join("target"), |folder| self.root.join(folder))
    }

    /// The cargo that started this task.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        command
    }

    /// Standard output of a command that must succeed.
    pub(crate) fn output<S: AsRef<OsStr>>(&self, program: &str, arguments: impl IntoIterator<Item = S>) -> Result<String> {
        let mut command = if program == "cargo" { self.cargo() } else { Command::new(program) };
        command.current_dir(&self.root).args(arguments);
        let output = command.output().with_context(|| format!("cannot start {program}"))?;
        if !output.status.success() {
            bail!("{} failed ({}): {}", spelled(&command), output.status, String::from_utf8_lossy(&output.stderr).trim());
        }
        String::from_utf8(output.stdout).with_context(|| format!("{} wrote something that is not text", spelled(&command)))
    }
}

/// Runs a command whose output the reader sees; it must succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", spelled(command));
    let status = command.status().with_context(|| format!("cannot start {}", spelled(command)))?;
    ensure!(status.success(), "{} failed ({status})", spelled(command));
    Ok(())
}

/// A command as one would type it.
pub(crate) fn spelled(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_else(|| command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

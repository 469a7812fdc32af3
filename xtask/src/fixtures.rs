//! `cargo xtask fixtures`: how the files of `bench-data` are made, by filecoin-proofs and bellperson; and virtual sectors of any size.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::repository::{Repository, run as run_command, spelled};

/// What to make.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Makes the files in a temporary folder and compares them with those of the repository, instead of replacing those.
    #[arg(long)]
    check: bool,
    /// Also what takes long: bellperson's parameters of the 2 KiB circuit (20 CPU minutes, 5 GB) and what needs them, the 8 MiB sector, the
    /// shapes of the large circuits.
    #[arg(long)]
    all: bool,
    /// Makes the wrapped C1 file of a virtual sector instead: 2kib, 8mib, 512mib, 32gib or 64gib.
    #[arg(long, value_name = "SIZE", requires = "out", conflicts_with_all = ["check", "all"])]
    virtual_sector: Option<String>,
    /// Where the virtual sector's file goes.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Stand for folders in the words of a command.
const FOLDER: &str = "FOLDER";
const PARAMETERS: &str = "PARAMETERS";

/// Makes bellperson's parameters of the 2 KiB circuit.
const GENERATE: &[&str] = &[
    "peers-run",
    "generate-parameters",
    "--seal-proof",
    "StackedDrg2KiBV1_1",
    "--label",
    "filref params porep-2k",
    "--output",
    PARAMETERS,
];

/// How a file is made. Each holds a command: program, arguments.
enum Recipe {
    /// Leaves this file in FOLDER.
    Sealed { command: &'static [&'static str], file: &'static str },
    /// Prints it.
    Printed(&'static [&'static str]),
    /// Prints it, from the parameters.
    PrintedFromParameters(&'static [&'static str]),
    /// The verifying key of the parameters.
    VerifyingKey,
}

struct Fixture {
    /// Path below `bench-data`.
    path: &'static str,
    recipe: Recipe,
    slow: bool,
}

const SEAL_2KIB: &[&str] = &["sectors", "fixture", "2kib", "--out", FOLDER];
const SEAL_2KIB_SYNTHETIC: &[&str] = &["sectors", "fixture", "2kib-synthetic", "--out", FOLDER];
const SEAL_8MIB: &[&str] = &["sectors", "fixture", "8mib", "--out", FOLDER];

const FIXTURES: &[Fixture] = &[
    sealed("porep-2kib/c1.json", SEAL_2KIB, "c1.json", false),
    sealed("porep-2kib/c1.raw.json", SEAL_2KIB, "c1.raw.json", false),
    sealed("porep-2kib/meta.json", SEAL_2KIB, "meta.json", false),
    sealed("porep-2kib/c1-synthetic.json", SEAL_2KIB_SYNTHETIC, "c1.json", false),
    sealed("porep-2kib/meta-synthetic.json", SEAL_2KIB_SYNTHETIC, "meta.json", false),
    sealed("porep-8mib/c1.json", SEAL_8MIB, "c1.json", true),
    sealed("porep-8mib/meta.json", SEAL_8MIB, "meta.json", true),
    printed(
        "porep-8mib/reference.json",
        &["peers-run", "statistics", "--c1", "bench-data/porep-8mib/c1.json", "--name", "porep-8m"],
        false,
    ),
    printed("shapes/porep-2048.json", &["peers-run", "shape", "--seal-proof", "StackedDrg2KiBV1_1"], false),
    printed("shapes/porep-8388608.json", &["peers-run", "shape", "--seal-proof", "StackedDrg8MiBV1_1"], false),
    printed("shapes/porep-536870912.json", &["peers-run", "shape", "--seal-proof", "StackedDrg512MiBV1_1"], true),
    printed("shapes/porep-34359738368.json", &["peers-run", "shape", "--seal-proof", "StackedDrg32GiBV1_1"], true),
    Fixture { path: "porep-2kib/reference.vk", recipe: Recipe::VerifyingKey, slow: true },
    Fixture {
        path: "porep-2kib/reference.json",
        recipe: Recipe::PrintedFromParameters(&[
            "peers-run",
            "reference",
            "--c1",
            "bench-data/porep-2kib/c1.json",
            "--name",
            "porep-2k",
            "--parameters",
            PARAMETERS,
        ]),
        slow: true,
    },
];

const fn sealed(path: &'static str, command: &'static [&'static str], file: &'static str, slow: bool) -> Fixture {
    Fixture { path, recipe: Recipe::Sealed { command, file }, slow }
}

const fn printed(path: &'static str, command: &'static [&'static str], slow: bool) -> Fixture {
    Fixture { path, recipe: Recipe::Printed(command), slow }
}

/// Makes or compares.
pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    run_command(repository.cargo().args(["build", "--release", "--package", "virtual-sector", "--package", "peers"]))?;
    let kitchen = Kitchen::open(repository)?;
    if let (Some(size), Some(out)) = (&arguments.virtual_sector, &arguments.out) {
        return run_command(kitchen.program("sectors").args(["fabricate", size, "--out"]).arg(std::path::absolute(out)?));
    }
    let mut different = Vec::new();
    for fixture in FIXTURES.iter().filter(|fixture| arguments.all || !fixture.slow) {
        let made = kitchen.make(fixture).with_context(|| format!("making {}", fixture.path))?;
        let kept = kitchen.bench_data.join(fixture.path);
        if !arguments.check {
            std::fs::write(&kept, &made).with_context(|| format!("cannot write {}", kept.display()))?;
            println!("made       {}", fixture.path);
        } else if same(fixture.path, &made, &std::fs::read(&kept).with_context(|| format!("cannot read {}", kept.display()))?)? {
            println!("equal      {}", fixture.path);
        } else {
            println!("DIFFERENT  {}", fixture.path);
            different.push(fixture.path);
        }
    }
    ensure!(different.is_empty(), "made anew, these differ: {}", different.join(", "));
    Ok(())
}

/// C1 files and keys are compared byte for byte, reference values and particulars as JSON.
fn same(path: &str, made: &[u8], kept: &[u8]) -> Result<bool> {
    if path.contains("/c1") || !path.ends_with(".json") {
        return Ok(made == kept);
    }
    let parse = |bytes| serde_json::from_slice::<Value>(bytes).with_context(|| format!("{path} is no JSON"));
    Ok(parse(made)? == parse(kept)?)
}

/// Where files are made.
struct Kitchen {
    programs: PathBuf,
    root: PathBuf,
    bench_data: PathBuf,
    folder: tempfile::TempDir,
    /// Kept from one call to the next: making them takes long.
    parameters: PathBuf,
}

impl Kitchen {
    fn open(repository: &Repository) -> Result<Self> {
        let target = repository.target();
        std::fs::create_dir_all(&target)?;
        Ok(Self {
            programs: target.join("release"),
            root: repository.root().to_owned(),
            bench_data: repository.root().join("bench-data"),
            folder: tempfile::tempdir_in(&target)?,
            parameters: target.join("fixtures/parameters"),
        })
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        // The library wants its folder with a slash at the end.
        command.current_dir(&self.root).env("FIL_PROOFS_CACHE_DIR", format!("{}/", self.folder.path().display()));
        command
    }

    /// A command of a recipe, with the folders that its words stand for.
    fn command(&self, words: &[&str], folder: &Path) -> Result<Command> {
        let (program, arguments) = words.split_first().context("a recipe names a program")?;
        let mut command = self.program(program);
        for word in arguments {
            match *word {
                FOLDER => command.arg(folder),
                PARAMETERS => command.arg(&self.parameters),
                word => command.arg(word),
            };
        }
        Ok(command)
    }

    fn make(&self, fixture: &Fixture) -> Result<Vec<u8>> {
        let scratch = self.folder.path();
        match &fixture.recipe {
            Recipe::Sealed { command, file } => {
                // One command leaves several files.
                let folder = scratch.join(command.join("-"));
                if !folder.join(file).is_file() {
                    quietly(&mut self.command(command, &folder)?)?;
                }
                read(&folder.join(file))
            }
            Recipe::Printed(command) => quietly(&mut self.command(command, scratch)?),
            Recipe::PrintedFromParameters(command) => {
                self.parameter_file("params")?;
                quietly(&mut self.command(command, scratch)?)
            }
            Recipe::VerifyingKey => read(&self.parameter_file("vk")?),
        }
    }

    /// A file of bellperson's 2 KiB parameters, which are made when there are none.
    fn parameter_file(&self, extension: &str) -> Result<PathBuf> {
        let find = || -> Option<PathBuf> {
            let mut files = std::fs::read_dir(&self.parameters).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
            files.find(|path| path.extension().is_some_and(|found| found == extension))
        };
        if find().is_none() {
            println!("bellperson makes the parameters of the 2 KiB circuit: about 20 CPU minutes");
            quietly(&mut self.command(GENERATE, self.folder.path())?)?;
        }
        find().with_context(|| format!("no .{extension} in {}", self.parameters.display()))
    }
}

/// Standard output of a command that must succeed.
fn quietly(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot start {}", spelled(command)))?;
    if !output.status.success() {
        bail!("{} failed ({}): {}", spelled(command), output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{FIXTURES, GENERATE, Recipe, same};

    /// A command as one would type it.
    fn typed(words: &[&str]) -> String {
        let quoted = |word: &&str| if word.contains(' ') { format!("'{word}'") } else { (*word).to_owned() };
        words.iter().map(quoted).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_readme_tells_the_command_of_every_file() {
        let readme = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench-data/README.md")).unwrap();
        for fixture in FIXTURES {
            let command = match &fixture.recipe {
                Recipe::Sealed { command, .. } | Recipe::Printed(command) | Recipe::PrintedFromParameters(command) => typed(command),
                Recipe::VerifyingKey => typed(GENERATE),
            };
            let line = readme.lines().find(|line| line.starts_with(&format!("| `{}` |", fixture.path)));
            let line = line.unwrap_or_else(|| panic!("{} is not in the README", fixture.path));
            assert!(line.ends_with(&format!("| `{command}` |")), "of {}: expected `{command}`, found {line}", fixture.path);
        }
    }

    #[test]
    fn every_file_of_bench_data_has_a_recipe() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench-data");
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap().path();
            // Baselines are measured, not made.
            if entry.is_dir() && !entry.ends_with("baselines") {
                let files = std::fs::read_dir(&entry).unwrap().map(|file| file.unwrap().path());
                found.extend(files.map(|file| file.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned()));
            }
        }
        found.sort();
        let mut made: Vec<_> = FIXTURES.iter().map(|fixture| fixture.path.to_owned()).collect();
        made.sort();
        assert_eq!(found, made);
    }

    #[test]
    fn c1_files_are_compared_as_bytes_and_values_as_json() {
        assert!(same("x/meta.json", b"{\"a\":1,\"b\":2}", b"{ \"b\": 2, \"a\": 1 }").unwrap());
        assert!(!same("x/c1.json", b"{}", b"{ }").unwrap());
        assert!(same("x/meta.json", b"no", b"{}").is_err());
    }
}

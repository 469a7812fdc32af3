//! `cargo xtask slow`: tests that take too long for every change, by hand and in the scheduled workflow.

use anyhow::{Result, bail, ensure};

use crate::repository::{Repository, run as run_command};

/// What to run.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Suites to run; all when none is named.
    suites: Vec<String>,
    /// Names the suites and runs none.
    #[arg(long)]
    list: bool,
}

/// Ignored tests of some packages.
struct Suite {
    name: &'static str,
    purpose: &'static str,
    packages: &'static [&'static str],
    /// What the names of its tests contain.
    filter: &'static str,
}

const SUITES: &[Suite] = &[
    Suite {
        name: "reference",
        purpose: "parameters, sums and proofs of test sectors equal the reference bit for bit",
        packages: &["groth16-srs", "filecoin-circuits", "runner"],
        filter: "reference",
    },
    Suite {
        name: "production-size",
        purpose: "a virtual 32 GiB sector: parse, compile, synthesise, check every constraint",
        packages: &["virtual-sector", "filecoin-circuits", "runner"],
        filter: "production_size",
    },
];

/// Runs the chosen suites.
pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    for name in &arguments.suites {
        if !SUITES.iter().any(|suite| suite.name == name) {
            let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
            bail!("there is no suite {name:?}: expected one of {}", known.join(", "));
        }
    }
    let chosen = SUITES.iter().filter(|suite| arguments.suites.is_empty() || arguments.suites.iter().any(|name| name == suite.name));
    for suite in chosen {
        if arguments.list {
            println!("{:<16} {}", suite.name, suite.purpose);
            continue;
        }
        let arguments = suite.arguments();
        let listed = repository.output("cargo", arguments.iter().chain(&["--list"]))?;
        ensure!(
            count(&listed) > 0,
            "the suite {} has no test: its packages or its filter in xtask/src/slow.rs are out of date",
            suite.name
        );
        run_command(repository.cargo().args(arguments))?;
    }
    Ok(())
}

impl Suite {
    /// Arguments of cargo that run it.
    fn arguments(&self) -> Vec<&'static str> {
        let packages = self.packages.iter().flat_map(|package| ["-p", *package]);
        ["test", "--release"].into_iter().chain(packages).chain(["--", "--ignored", self.filter]).collect()
    }
}

/// Tests in what the test harness lists.
fn count(listing: &str) -> usize {
    listing.lines().filter(|line| line.ends_with(": test")).count()
}

#[cfg(test)]
mod tests {
    use super::{SUITES, count};
    use crate::levels::level_of;

    #[test]
    fn a_suite_names_packages_of_the_workspace() {
        for suite in SUITES {
            assert!(suite.packages.iter().all(|package| level_of(package).is_some()), "{}", suite.name);
            assert_eq!(suite.arguments()[..3], ["test", "--release", "-p"]);
        }
    }

    #[test]
    fn only_tests_are_counted() {
        assert_eq!(count("a::b: test\n\n1 test, 0 benchmarks\nc: benchmark\nd: test\n"), 2);
        assert_eq!(count("0 tests, 0 benchmarks\n"), 0);
    }
}

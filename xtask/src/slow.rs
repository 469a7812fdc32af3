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

/// A share of the workspace's ignored tests. Together the suites run each ignored test once.
struct Suite {
    name: &'static str,
    purpose: &'static str,
    /// Arguments of the test harness that choose the tests by their names.
    chosen_by: &'static [&'static str],
}

const SUITES: &[Suite] = &[
    Suite {
        name: "reference",
        purpose: "test sectors: bit for bit as the reference, every truncation, sealing",
        chosen_by: &["--skip", "production_size", "--skip", "32_gib"],
    },
    Suite {
        name: "production-size",
        purpose: "a virtual 32 GiB sector (tests named production_size or 32_gib)",
        chosen_by: &["production_size", "32_gib"],
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
        ensure!(count(&listed) > 0, "the suite {} has no test: the names it looks for in xtask/src/slow.rs are out of date", suite.name);
        run_command(repository.cargo().args(arguments))?;
    }
    Ok(())
}

impl Suite {
    /// Arguments of cargo that run it.
    fn arguments(&self) -> Vec<&'static str> {
        // One test at a time: they measure, and each may take much of the machine.
        let harness = ["--ignored", "--test-threads", "1"];
        ["test", "--workspace", "--release", "--"].iter().chain(&harness).chain(self.chosen_by).copied().collect()
    }
}

/// Tests in what the test harness lists.
fn count(listing: &str) -> usize {
    listing.lines().filter(|line| line.ends_with(": test")).count()
}

#[cfg(test)]
mod tests {
    use super::{SUITES, count};

    #[test]
    fn each_ignored_test_is_in_exactly_one_suite() {
        let [reference, production] = SUITES else { panic!("two suites") };
        let skipped: Vec<_> = reference.chosen_by.iter().filter(|word| **word != "--skip").collect();
        assert_eq!(skipped, production.chosen_by.iter().collect::<Vec<_>>());
    }

    #[test]
    fn only_tests_are_counted() {
        assert_eq!(count("a::b: test\n\n1 test, 0 benchmarks\nc: benchmark\nd: test\n"), 2);
        assert_eq!(count("0 tests, 0 benchmarks\n"), 0);
    }
}

//! `cargo xtask ci`: the steps of continuous integration, in order, each runnable alone.

mod metrics;
mod smoke;

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::repository::{Repository, run as run_command};
use crate::{boundaries, loom, tidy};

/// What to run.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Steps to run; all when none is named.
    steps: Vec<String>,
    /// Names the steps in order and runs none.
    #[arg(long)]
    list: bool,
    /// Leaves a step out; may be given more than once.
    #[arg(long, value_name = "STEP")]
    skip: Vec<String>,
    /// Goes on after a step that failed.
    #[arg(long)]
    keep_going: bool,
}

/// One step.
struct Step {
    name: &'static str,
    purpose: &'static str,
    run: fn(&Repository) -> Result<()>,
}

/// The steps, in order: the test command of the README first, then what takes seconds, then what builds again.
const STEPS: &[Step] = &[
    Step { name: "test", purpose: "cargo test --workspace", run: |at| cargo(at, &["test", "--workspace"]) },
    Step { name: "format", purpose: "cargo fmt --check", run: |at| cargo(at, &["fmt", "--all", "--check"]) },
    Step { name: "tidy", purpose: "what must not be in sources and documents", run: tidy::run },
    Step { name: "boundaries", purpose: "which crate may depend on which", run: boundaries::run },
    Step { name: "deny", purpose: "licences, banned crates and sources of the dependencies", run: deny },
    Step { name: "lint", purpose: "clippy, warnings are errors", run: lint },
    Step { name: "loom", purpose: "ledger and links under a model checker", run: loom::run },
    Step { name: "doc", purpose: "rustdoc, warnings are errors", run: doc },
    Step { name: "smoke", purpose: "the main job: prove twice, verify, refuse a broken proof", run: smoke::run },
    Step { name: "metrics", purpose: "promtool on a served page, the alert rules and the dashboard", run: metrics::run },
];

/// Runs the chosen steps in their order.
pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    let chosen = choose(&arguments.steps, &arguments.skip)?;
    if arguments.list {
        for step in chosen {
            println!("{:<11} {}", step.name, step.purpose);
        }
        return Ok(());
    }
    let mut outcomes = Vec::new();
    for step in chosen {
        println!("== {}: {}", step.name, step.purpose);
        let started = Instant::now();
        let result = (step.run)(repository);
        outcomes.push((step.name, started.elapsed(), result.is_ok()));
        match result {
            Ok(()) => {}
            Err(error) if arguments.keep_going => eprintln!("error: {}: {error:#}", step.name),
            Err(error) => return Err(error.context(format!("step {}", step.name))),
        }
    }
    for (name, elapsed, passed) in &outcomes {
        println!("{:<11} {:>7.1} s  {}", name, elapsed.as_secs_f64(), if *passed { "ok" } else { "FAILED" });
    }
    let failed: Vec<&str> = outcomes.iter().filter(|(_, _, passed)| !passed).map(|(name, _, _)| *name).collect();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// The named steps, or all, less the skipped ones.
fn choose(named: &[String], skipped: &[String]) -> Result<Vec<&'static Step>> {
    for name in named.iter().chain(skipped) {
        if !STEPS.iter().any(|step| step.name == name) {
            let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
            bail!("there is no step {name:?}: expected one of {}", known.join(", "));
        }
    }
    let wanted =
        |step: &&Step| (named.is_empty() || named.iter().any(|name| name == step.name)) && !skipped.iter().any(|name| name == step.name);
    Ok(STEPS.iter().filter(wanted).collect())
}

fn cargo(repository: &Repository, arguments: &[&str]) -> Result<()> {
    run_command(repository.cargo().args(arguments))
}

fn lint(repository: &Repository) -> Result<()> {
    cargo(repository, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

fn doc(repository: &Repository) -> Result<()> {
    run_command(repository.cargo().args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn deny(repository: &Repository) -> Result<()> {
    let version = repository.output("cargo", ["deny", "--version"]);
    version.context("cargo-deny is not installed: `cargo install --locked cargo-deny`, or see .ci/run for a prebuilt one")?;
    cargo(repository, &["deny", "--all-features", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"])
}

#[cfg(test)]
mod tests {
    use super::{STEPS, choose};

    fn names(named: &[&str], skipped: &[&str]) -> Result<Vec<&'static str>, String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        choose(&owned(named), &owned(skipped)).map(|steps| steps.iter().map(|step| step.name).collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn all_run_in_order_unless_some_are_named_or_skipped() {
        assert_eq!(names(&[], &[]).unwrap().len(), STEPS.len());
        assert_eq!(names(&["tidy", "test"], &[]).unwrap(), ["test", "tidy"]);
        assert!(!names(&[], &["test"]).unwrap().contains(&"test"));
        assert_eq!(names(&["tidy"], &["tidy"]).unwrap(), [""; 0]);
    }

    #[test]
    fn an_unknown_step_is_refused_with_the_known_ones() {
        let error = names(&["tests"], &[]).unwrap_err();
        assert!(error.contains("\"tests\"") && error.contains("boundaries"), "{error}");
        assert!(names(&[], &["nothing"]).is_err());
    }
}

//! `completions`: a script for a shell.

use clap::CommandFactory;
use serde_json::json;

use crate::cli::Cli;
use crate::output::Report;

/// The script.
pub(crate) fn script(shell: clap_complete::Shell) -> Report {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "proofmill", &mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let fields = json!({ "shell": shell.to_string(), "script": text });
    Report::new(text, fields)
}

//! The commands.

mod completions;
mod config;
mod doctor;

use pipeline_stage::Cancel;

use crate::cli::Command;
use crate::config::Config;
use crate::exit::Failure;
use crate::output::Report;

/// Carries a command out.
pub(crate) fn run(command: Command, config: &Config, cancel: &Cancel) -> Result<Report, Failure> {
    let _ = cancel;
    match command {
        Command::Doctor => Ok(doctor::examine(config)),
        Command::Config => Ok(config::report(config)),
        Command::Completions { shell } => Ok(completions::script(shell)),
    }
}

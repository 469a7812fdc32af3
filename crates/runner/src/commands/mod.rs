//! The commands.

mod circuit;
mod completions;
mod config;
mod doctor;
mod params;
mod plan;
mod prove;
mod verify;

use pipeline_stage::Cancel;

use crate::cli::{Command, ParamsCommand};
use crate::config::Config;
use crate::exit::Failure;
use crate::output::{Bars, Report};
use crate::session::Session;

/// Carries a command out.
pub(crate) fn run(command: Command, config: &Config, bars: &Bars, cancel: &Cancel) -> Result<Report, Failure> {
    match command {
        Command::Prove(arguments) => prove::prove(arguments, &Session::open(config, bars, cancel)?),
        Command::Verify(arguments) => verify::verify(&arguments, &Session::open(config, bars, cancel)?),
        Command::Params(ParamsCommand::List) => params::list(config),
        Command::Params(command) => params::run(command, &Session::open(config, bars, cancel)?),
        Command::Circuit(command) => circuit::run(command, &Session::open(config, bars, cancel)?),
        Command::Plan(arguments) => plan::plan(&arguments, config),
        Command::Doctor => Ok(doctor::examine(config)),
        Command::Config => Ok(config::report(config)),
        Command::Completions { shell } => Ok(completions::script(shell)),
    }
}

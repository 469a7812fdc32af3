//! The grammar of the command line.

mod params;
mod plan;
mod prove;
mod settings;

use clap::{Parser, Subcommand};

pub(crate) use params::{CircuitCommand, ParamsCommand};
pub(crate) use plan::PlanArgs;
pub(crate) use prove::{ProveArgs, VerifyArgs};
pub(crate) use settings::SettingFlags;

use crate::config::KEYS;
use crate::exit::Exit;

/// Filecoin C2 proofs from C1 files.
///
/// Proves the output of the first commit phase (C1 JSON, bare or as Lotus and Curio wrap it) and prints the proof that goes on chain, 192
/// bytes a partition. No proof is printed that was not verified.
#[derive(Debug, Parser)]
#[command(name = "proofmill", version, propagate_version = true, after_long_help = after_help(), max_term_width = 110)]
pub(crate) struct Cli {
    /// The settings that flags may override.
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prove C1 files and print the proofs
    ///
    /// On first use for a sector size, compiles its circuit and, for sizes that are only for tests, makes development parameters; both are kept.
    /// Prints one line of hex a C1 file, in order, and tables of time and memory on standard error. Several files are proved as one pipeline;
    /// a line then ends in the file's name.
    Prove(ProveArgs),
    /// Verify a proof against a C1 file or public inputs
    Verify(VerifyArgs),
    /// Make, check, import, export and list proving parameters
    #[command(subcommand)]
    Params(ParamsCommand),
    /// Compile circuits, check C1 files against them, tell about them
    #[command(subcommand)]
    Circuit(CircuitCommand),
    /// Say what memory proving takes at most, stage by stage, and what fits into the budget
    ///
    /// Sizes are known without compiling a circuit, so that a machine can be planned for before it is there: give its --memory and --threads.
    Plan(PlanArgs),
    /// Say what this machine has: cores, vector units, memory and its limit, GPU, disk space, parameters, circuits
    Doctor,
    /// Print the effective configuration and where each value comes from
    Config,
    /// Print a completion script for a shell
    ///
    /// For bash: proofmill completions bash > ~/.local/share/bash-completion/completions/proofmill
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// The name for reports.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Prove(_) => "prove",
            Self::Verify(_) => "verify",
            Self::Params(command) => match command {
                ParamsCommand::Setup { .. } => "params setup",
                ParamsCommand::Check { .. } => "params check",
                ParamsCommand::Import { .. } => "params import",
                ParamsCommand::Export { .. } => "params export",
                ParamsCommand::List => "params list",
            },
            Self::Circuit(command) => match command {
                CircuitCommand::Compile { .. } => "circuit compile",
                CircuitCommand::Check { .. } => "circuit check",
                CircuitCommand::Inputs { .. } => "circuit inputs",
                CircuitCommand::Info { .. } => "circuit info",
            },
            Self::Plan(_) => "plan",
            Self::Doctor => "doctor",
            Self::Config => "config",
            Self::Completions { .. } => "completions",
        }
    }
}

/// Settings and exit codes, from the tables that the program itself uses.
fn after_help() -> String {
    let mut text = String::from(
        "Configuration: defaults, then a TOML file (--config, PROOFMILL_CONFIG, or ~/.config/proofmill/config.toml if it is there), then\n\
         environment variables, then flags. Unknown keys and bad values are refused.\n",
    );
    for key in KEYS {
        text.push_str(&format!("  {} / {}\n      {}\n", key.name, key.variable, key.forms));
    }
    text.push('\n');
    text.push_str(&Exit::help());
    text
}

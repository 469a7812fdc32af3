//! The grammar of the command line.

mod settings;

use clap::{Parser, Subcommand};

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

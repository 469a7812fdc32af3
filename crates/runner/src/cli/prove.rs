//! `prove` and `verify`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::input::SectorArgs;

/// Prove one or more C1 files as one pipeline.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProveArgs {
    /// C1 files, bare or wrapped JSON; - is standard input
    #[arg(required = true, value_name = "C1.json")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Also write the raw proof, 192 bytes a partition, to this file; an older one is replaced
    #[arg(long, value_name = "FILE", conflicts_with = "out_dir")]
    pub(crate) out: Option<PathBuf>,
    /// Also write each raw proof to NAME.proof, NAME being that of the C1 file, in this folder, which is made when needed
    #[arg(long, value_name = "DIR")]
    pub(crate) out_dir: Option<PathBuf>,
    /// Show the large buffers in flight, by class and stage, while proving: a table on a terminal, otherwise a log line every 10s or
    /// --buffers-interval
    #[arg(long)]
    pub(crate) buffers: bool,
    /// Which sector is expected.
    #[command(flatten)]
    pub(crate) sector: SectorArgs,
}

/// Verify a proof against a C1 file or public inputs.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("statement").required(true).args(["c1", "public_inputs"]))]
pub(crate) struct VerifyArgs {
    /// The proof: raw bytes, or hex as prove prints it
    #[arg(value_name = "PROOF")]
    pub(crate) proof: PathBuf,
    /// The C1 file that was proved; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) c1: Option<PathBuf>,
    /// The public inputs, as `circuit inputs` prints them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["miner_id", "sector_number", "sector_size"])]
    pub(crate) public_inputs: Option<PathBuf>,
    /// Verify with this official .vk file instead of the key kept with the proving parameters
    #[arg(long, value_name = "FILE")]
    pub(crate) verifying_key: Option<PathBuf>,
    /// Which sector is expected.
    #[command(flatten)]
    pub(crate) sector: SectorArgs,
}

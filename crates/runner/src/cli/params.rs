//! `params` and `circuit`.

use std::path::PathBuf;

use c1_parse::SectorSize;
use clap::{ArgGroup, Args, Subcommand};

use crate::input::{SectorArgs, parse_sector_size, parse_seed};

/// The circuit that a command is about.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OfSectorSize {
    /// The circuit of this sector size: 2KiB, 8MiB, 512MiB, 32GiB or 64GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_sector_size)]
    pub(crate) sector_size: SectorSize,
}

/// Proving parameters.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ParamsCommand {
    /// Make development parameters for a circuit: for testing only, whoever makes them can forge proofs
    Setup {
        /// Which circuit.
        #[command(flatten)]
        circuit: OfSectorSize,
        /// Draw the secrets from this seed, 64 digits of hex, instead of the system's generator
        #[arg(long, value_name = "HEX", value_parser = parse_seed)]
        seed: Option<[u8; 32]>,
        /// Replace parameters that are there already
        #[arg(long)]
        force: bool,
    },
    /// Read parameters whole and compare every section with its checksum
    #[command(group = ArgGroup::new("which").args(["file", "sector_size"]))]
    Check {
        /// A native key file; without it and without --sector-size, every key in the parameter folder
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// The parameters of this sector size
        #[arg(long, value_name = "SIZE", value_parser = parse_sector_size)]
        sector_size: Option<SectorSize>,
        /// Check every point too: on its curve and in its subgroup
        #[arg(long)]
        points: bool,
    },
    /// Check an official .params file and convert it, once, to the native form
    Import {
        /// The official file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Which circuit.
        #[command(flatten)]
        circuit: OfSectorSize,
        /// Expect this digest (first 16 bytes of BLAKE2b-512, hex) instead of the published one
        #[arg(long, value_name = "HEX", value_parser = crate::input::parse_digest)]
        digest: Option<groth16_srs::Digest>,
        /// Import a file that nobody vouches for: no digest is compared, every point is checked
        #[arg(long, conflicts_with = "digest")]
        without_digest: bool,
        /// Check the subgroup of every point even though the digest is known
        #[arg(long)]
        points: bool,
        /// Replace parameters that are there already
        #[arg(long)]
        force: bool,
    },
    /// Write parameters in the official .params format, or only their verifying key as .vk
    Export {
        /// The file to write; an older one is replaced
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Which circuit.
        #[command(flatten)]
        circuit: OfSectorSize,
        /// Write only the verifying key
        #[arg(long)]
        verifying_key: bool,
    },
    /// List the parameters in the parameter folder
    List,
}

/// Compiled circuits.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CircuitCommand {
    /// Compile a circuit and keep it, unless it is there already
    Compile {
        /// Which circuit.
        #[command(flatten)]
        circuit: OfSectorSize,
        /// Compile it even if it is there already
        #[arg(long)]
        force: bool,
    },
    /// Evaluate every constraint for a C1 file; the first that does not hold is named
    Check {
        /// The C1 file; - is standard input
        #[arg(value_name = "C1.json")]
        c1: PathBuf,
        /// Only this partition, counted from 0
        #[arg(long, value_name = "INDEX")]
        partition: Option<usize>,
        /// Which sector is expected.
        #[command(flatten)]
        sector: SectorArgs,
    },
    /// Print the public inputs of a C1 file, for `verify --public-inputs`
    Inputs {
        /// The C1 file; - is standard input
        #[arg(value_name = "C1.json")]
        c1: PathBuf,
        /// Which sector is expected.
        #[command(flatten)]
        sector: SectorArgs,
    },
    /// Tell what is known of a circuit: official names, digests, and sizes once it is compiled
    Info {
        /// Which circuit; without it, every circuit
        #[arg(long, value_name = "SIZE", value_parser = parse_sector_size)]
        sector_size: Option<SectorSize>,
    },
}

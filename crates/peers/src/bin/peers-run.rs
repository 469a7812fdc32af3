//! Runs another prover and prints one JSON object about it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use peers::{
    C1File, Figures, PARAMETER_FOLDER_VARIABLE, PeerRun, Secrets, generate_porep_parameters, measured, parameter_folder, parse_seal_proof,
    prove_seal, reference, shape, statistics, verify_seal,
};

const PEER: &str = "bellperson 0.27.0 (filecoin-proofs 19.1.0)";

/// Runs another prover and prints one JSON object about it.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Proves a C1 file and verifies the proof.
    SealCommitPhase2 {
        #[command(flatten)]
        sector: Sector,
        /// Proofs to make; the figures are of the last one.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
        repeat: u32,
    },
    /// Verifies a proof of a C1 file's sector; the exit status is 1 when it does not hold.
    VerifySeal {
        #[command(flatten)]
        sector: Sector,
        /// File with the raw bytes of the proof.
        #[arg(long)]
        proof: PathBuf,
    },
    /// The numbers of a PoRep circuit, without values.
    Shape {
        /// The library's name of the seal proof, for instance `StackedDrg2KiBV1_1`.
        #[arg(long)]
        seal_proof: String,
    },
    /// Counts, sizes and digests of the partitions of a test sector.
    Statistics(TestSector),
    /// The same of its first partition, with every sum, h, and proofs with recorded blinding.
    Reference {
        #[command(flatten)]
        sector: TestSector,
        /// Folder with the library's parameter files.
        #[arg(long)]
        parameters: PathBuf,
    },
    /// Generates the parameters of a PoRep circuit with secrets drawn from a label. For tests alone: whoever knows the label can forge proofs.
    GenerateParameters {
        /// The library's name of the seal proof, for instance `StackedDrg2KiBV1_1`.
        #[arg(long)]
        seal_proof: String,
        /// Seed of the secrets, at most 32 bytes.
        #[arg(long)]
        label: String,
        /// Folder for the three files.
        #[arg(long)]
        output: PathBuf,
    },
}

/// Which values of a test sector are wanted.
#[derive(clap::Args)]
struct TestSector {
    /// The C1 file, bare or wrapped, of a sector of 2 KiB or 8 MiB.
    #[arg(long)]
    c1: PathBuf,
    /// The name that the values carry.
    #[arg(long)]
    name: String,
}

#[derive(clap::Args)]
struct Sector {
    /// The C1 file, bare or wrapped.
    #[arg(long)]
    c1: PathBuf,
    /// Folder with the library's parameter files.
    #[arg(long)]
    parameters: PathBuf,
    /// The miner's id.
    #[arg(long)]
    miner: u64,
    /// The sector's number, when the file does not say.
    #[arg(long)]
    sector: Option<u64>,
}

impl Sector {
    fn read(&self) -> Result<(C1File, u64)> {
        use_parameters(&self.parameters)?;
        let c1 = C1File::read(&self.c1)?;
        let sector = c1.sector(self.sector)?;
        Ok((c1, sector))
    }
}

/// The library reads its folder from the environment: when that names another one, this program starts again with the right one.
fn use_parameters(folder: &Path) -> Result<()> {
    let folder = std::path::absolute(folder)?;
    if std::env::var_os(PARAMETER_FOLDER_VARIABLE).is_some_and(|named| Path::new(&named) == folder) {
        // Nothing in this process has asked before, so this is also the check that the library understood.
        if parameter_folder() != folder {
            bail!("the library reads parameters from {}, not from {}", parameter_folder().display(), folder.display());
        }
        return Ok(());
    }
    let program = std::env::current_exe()?;
    let error = Command::new(program).args(std::env::args_os().skip(1)).env(PARAMETER_FOLDER_VARIABLE, &folder).exec();
    Err(error).context("starting again with the parameter folder in the environment")
}

fn print(task: &str, figures: Figures, proof: Option<&[u8]>, verified: Option<bool>, files: &[&Path]) -> Result<()> {
    let run = PeerRun {
        peer: PEER.to_owned(),
        task: task.to_owned(),
        figures,
        proof: proof.map(hex::encode),
        verified,
        files: files.iter().map(|path| path.display().to_string()).collect(),
    };
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, &run)?;
    writeln!(out)?;
    Ok(())
}

/// Prints reference values as `bench-data` keeps them.
fn print_value(value: &serde_json::Value) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    Ok(true)
}

fn run(task: &Task) -> Result<bool> {
    match task {
        Task::SealCommitPhase2 { sector, repeat } => {
            let (c1, number) = sector.read()?;
            let mut last = None;
            for _ in 0..*repeat {
                let (proof, figures) = measured(|| prove_seal(&c1, sector.miner, number))?;
                last = Some((proof?, figures));
            }
            let (proof, figures) = last.context("no proof was asked for")?;
            let verified = verify_seal(&c1, sector.miner, number, &proof)?;
            print("seal-commit-phase2", figures, Some(&proof), Some(verified), &[])?;
            Ok(verified)
        }
        Task::VerifySeal { sector, proof } => {
            let (c1, number) = sector.read()?;
            let bytes = std::fs::read(proof).with_context(|| format!("reading {}", proof.display()))?;
            let (verified, figures) = measured(|| verify_seal(&c1, sector.miner, number, &bytes))?;
            let verified = verified?;
            print("verify-seal", figures, Some(&bytes), Some(verified), &[])?;
            Ok(verified)
        }
        Task::Shape { seal_proof } => print_value(&shape(parse_seal_proof(seal_proof)?)?),
        Task::Statistics(sector) => print_value(&statistics(&C1File::read(&sector.c1)?, &sector.name)?),
        Task::Reference { sector, parameters } => print_value(&reference(&C1File::read(&sector.c1)?, &sector.name, parameters)?),
        Task::GenerateParameters { seal_proof, label, output } => {
            let seal_proof = parse_seal_proof(seal_proof)?;
            let secrets = Secrets::from_label(label)?;
            let (files, figures) = measured(|| generate_porep_parameters(seal_proof, &secrets, output))?;
            print("generate-parameters", figures, None, None, &files?.paths())?;
            Ok(true)
        }
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse().task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // A closed stderr leaves the exit status to speak.
            let _ = writeln!(std::io::stderr(), "peers-run: {error:#}");
            ExitCode::from(2)
        }
    }
}

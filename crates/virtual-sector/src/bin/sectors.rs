//! Writes C1 files for tests: of virtual sectors, and of the sealed sectors that `bench-data` keeps.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};
use virtual_sector::{C1File, Fixture, SectorSize, Spec, fabricate, seal_fixture};

/// Writes C1 files for tests.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Fabricates a valid C1 file of any sector size without sealing.
    Fabricate {
        /// 2kib, 8mib, 512mib, 32gib or 64gib.
        size: SectorSize,
        /// The wrapped C1 file to write; its particulars go beside it, with the extension `meta.json`.
        #[arg(long)]
        out: PathBuf,
        /// From what the sector is drawn.
        #[arg(long)]
        seed: Option<String>,
        /// The miner's id.
        #[arg(long)]
        miner: Option<u64>,
        /// The sector's number.
        #[arg(long)]
        sector: Option<u64>,
    },
    /// Seals a test sector, the same one each time, and writes its `c1.json`, `c1.raw.json` and `meta.json`.
    Fixture {
        /// Which one.
        fixture: Name,
        /// The folder to write to.
        #[arg(long)]
        out: PathBuf,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    #[value(name = "2kib")]
    KiB2,
    #[value(name = "2kib-synthetic")]
    KiB2Synthetic,
    #[value(name = "2kib-non-interactive")]
    KiB2NonInteractive,
    #[value(name = "8mib")]
    MiB8,
}

impl From<Name> for Fixture {
    fn from(name: Name) -> Self {
        match name {
            Name::KiB2 => Self::KiB2,
            Name::KiB2Synthetic => Self::KiB2Synthetic,
            Name::KiB2NonInteractive => Self::KiB2NonInteractive,
            Name::MiB8 => Self::MiB8,
        }
    }
}

fn write(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::new(File::create(path).with_context(|| format!("creating {}", path.display()))?);
    fill(&mut out)?;
    out.flush().with_context(|| format!("writing {}", path.display()))
}

fn write_pair(file: &C1File, wrapped: &Path, meta: &Path) -> Result<()> {
    write(wrapped, |out| Ok(file.write_wrapped(out).map(drop)?))?;
    write(meta, |out| Ok(out.write_all(&file.meta_json()?)?))
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Fabricate { size, out, seed, miner, sector } => {
            let mut spec = Spec::new(size);
            if let Some(seed) = seed {
                spec.seed = seed;
            }
            spec.miner = miner.unwrap_or(spec.miner);
            spec.sector = sector.unwrap_or(spec.sector);
            write_pair(&fabricate(&spec)?.file, &out, &out.with_extension("meta.json"))
        }
        Task::Fixture { fixture, out } => {
            std::fs::create_dir_all(&out).with_context(|| format!("making {}", out.display()))?;
            let file = seal_fixture(fixture.into(), &out)?;
            write_pair(&file, &out.join("c1.json"), &out.join("meta.json"))?;
            write(&out.join("c1.raw.json"), |raw| Ok(raw.write_all(&file.raw)?))
        }
    }
}

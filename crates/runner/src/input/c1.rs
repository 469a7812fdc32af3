//! C1 files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use c1_parse::{C1, C1Error, Expected, Limits, SealProof, parse_reader};
use pipeline_stage::StageContext;

use super::SectorArgs;
use crate::exit::{Exit, Failure};

/// Reads and checks a C1 file; `-` is standard input. One that was read before is expected to be of the same registered proof.
///
/// # Errors
/// What opening it may give; [`Exit::Data`] with the JSON path for what is wrong in it, or with it.
pub(crate) fn read_c1(path: &Path, sector: &SectorArgs, before: Option<SealProof>, context: &StageContext) -> Result<C1, Failure> {
    let name = path.display().to_string();
    let limits = Limits::default();
    let refused = |error| Failure::from_part(&name, &error, Exit::Data);
    let reader: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        let file = open(path)?;
        let found = file.metadata().map_err(|error| Failure::reading(path, &error))?.len();
        if found > limits.max_input_bytes {
            return Err(refused(C1Error::TooLarge { limit: limits.max_input_bytes, found, at_least: false }));
        }
        Box::new(file)
    };
    let c1 = parse_reader(reader, &limits, &Expected { seal_proof: before, ..sector.expected() }, context).map_err(refused)?;
    sector.check(&name, &c1)?;
    Ok(c1)
}

/// Opens a file for reading; a folder opens without an error on some systems, and is refused here.
pub(super) fn open(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| Failure::reading(path, &error))?;
    let metadata = file.metadata().map_err(|error| Failure::reading(path, &error))?;
    if metadata.is_dir() { Err(Failure::reading(path, &io::ErrorKind::IsADirectory.into())) } else { Ok(file) }
}

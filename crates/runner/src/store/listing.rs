//! What is in the folders.

use std::io;
use std::path::{Path, PathBuf};

use groth16_srs::{KeyInfo, ProvingKey};

use crate::exit::{Failure, sentence};

/// A file and what it says of itself, or why it cannot be used.
#[derive(Debug)]
pub(crate) struct Listed<T> {
    pub(crate) path: PathBuf,
    pub(crate) found: Result<T, String>,
}

/// The native keys of a folder, by name. A folder that does not exist has none.
///
/// # Errors
/// [`Failure::reading`].
pub(crate) fn list_keys(folder: &Path) -> Result<Vec<Listed<KeyInfo>>, Failure> {
    let paths = files(folder, "pmkey")?;
    Ok(paths.into_iter().map(|path| Listed { found: ProvingKey::inspect(&path).map_err(|error| sentence(&error)), path }).collect())
}

/// The compiled circuits of a folder, by name, with their sizes. A folder that does not exist has none.
///
/// # Errors
/// [`Failure::reading`].
pub(crate) fn list_circuits(folder: &Path) -> Result<Vec<Listed<u64>>, Failure> {
    let paths = files(folder, super::circuits::EXTENSION)?;
    let size = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.len()).map_err(|error| error.to_string());
    Ok(paths.into_iter().map(|path| Listed { found: size(&path), path }).collect())
}

fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Failure> {
    let read = |error: &io::Error| Failure::reading(folder, error);
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(read(&error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| read(&error))?.path();
        // Unfinished files have hidden names.
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

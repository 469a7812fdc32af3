//! A read-only memory map of a compiled circuit: the one place of this crate with `unsafe`.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapOptions};
use pipeline_stage::{AcquireError, Class, Permit, Space, StageContext};

use crate::error::SynthError;

/// A mapped file, its shared lock, and the permit for its bytes when the ledger has a budget for mapped memory.
#[derive(Debug)]
pub(crate) struct Map {
    // Fields drop in this order: unmapped first, then unlocked, then returned to the ledger.
    map: Mmap,
    _locked: File,
    _permit: Option<Permit>,
    path: PathBuf,
}

impl Map {
    /// Maps a file of at least `least` bytes under a shared lock.
    pub(crate) fn open(path: &Path, least: u64, context: &StageContext) -> Result<Self, SynthError> {
        let file = File::open(path).map_err(|e| SynthError::io("open", path, e))?;
        match file.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let busy = std::io::Error::new(std::io::ErrorKind::WouldBlock, "another process holds an exclusive lock on it");
                return Err(SynthError::io("lock", path, busy));
            }
            Err(TryLockError::Error(e)) => return Err(SynthError::io("lock", path, e)),
        }
        let metadata = file.metadata().map_err(|e| SynthError::io("ask for the size of", path, e))?;
        if !metadata.is_file() {
            return Err(SynthError::io("map", path, std::io::Error::from(std::io::ErrorKind::IsADirectory)));
        }
        let bytes = metadata.len();
        let length = usize::try_from(bytes).ok().filter(|_| bytes >= least);
        let Some(length) = length else {
            return Err(SynthError::Size { path: path.to_owned(), expected: least, found: bytes });
        };
        let permit = match context.acquire_in(Space::Mapped, Class::CompiledCircuit, bytes) {
            Ok(permit) => Some(permit),
            Err(AcquireError::UnknownSpace { .. }) => None,
            Err(e) => return Err(e.into()),
        };
        let mut options = MmapOptions::new();
        options.len(length);
        // SAFETY: the map is read-only, its length is that of the file, and a shared lock is held for its whole life. This crate never
        // changes a compiled circuit: it writes another file and renames it over the name, so the mapped file stays as it is. (A foreign
        // program that ignores locks and truncates the file would end this process with a bus error; no check can prevent that.)
        let map = unsafe { options.map(&file) }.map_err(|e| SynthError::io("map", path, e))?;
        Ok(Self { map, _locked: file, _permit: permit, path: path.to_owned() })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

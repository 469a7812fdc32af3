//! A read-only memory map of a key file: the one place of this crate with `unsafe`.

use std::fs::{File, TryLockError};
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapOptions};
use pipeline_stage::{AcquireError, Class, Permit, Space, StageContext};

use crate::SrsError;

/// How far around an address a page fault maps pages that are in memory already: at most a large folio of the page cache.
const FAULT_AROUND: usize = 2 << 20;

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
    pub(crate) fn open(path: &Path, least: u64, context: &StageContext) -> Result<Self, SrsError> {
        let file = File::open(path).map_err(|e| SrsError::io("open it", path, e))?;
        match file.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SrsError::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(e)) => return Err(SrsError::io("lock it", path, e)),
        }
        let metadata = file.metadata().map_err(|e| SrsError::io("ask for its size", path, e))?;
        let bytes = metadata.len();
        if bytes < least || !metadata.is_file() {
            return Err(SrsError::Size { path: path.to_owned(), what: "at least, for its header", expected: least, found: bytes });
        }
        let permit = match context.acquire_in(Space::Mapped, Class::SrsSection, bytes) {
            Ok(permit) => Some(permit),
            Err(AcquireError::UnknownSpace { .. }) => None,
            Err(e) => return Err(e.into()),
        };
        let Ok(length) = usize::try_from(bytes) else {
            return Err(SrsError::Size { path: path.to_owned(), what: "at most, to be mapped", expected: usize::MAX as u64, found: bytes });
        };
        let mut options = MmapOptions::new();
        options.len(length);
        // SAFETY: the map is read-only, its length is that of the file, and a shared lock is held for its whole life. Every writer of this
        // crate writes another file and renames it over this name, so the mapped file itself never changes.
        let map = unsafe { options.map(&file) }.map_err(|e| SrsError::io("map it", path, e))?;
        Ok(Self { map, _locked: file, _permit: permit, path: path.to_owned() })
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Asks for the pages of a byte range ahead of use.
    pub(crate) fn will_need(&self, range: Range<usize>) {
        let range = self.clamp(range);
        #[cfg(unix)]
        if !range.is_empty() {
            // A hint: when the system refuses it, the pages come on first use.
            let _ = self.map.advise_range(memmap2::Advice::WillNeed, range.start, range.len());
        }
    }

    /// Lets the pages of a byte range go, and those shortly before it: the first read of a range maps them again after an earlier call
    /// had let them go. They come back from the file when they are used again.
    pub(crate) fn done_with(&self, range: Range<usize>) {
        let range = self.clamp(range);
        #[cfg(unix)]
        if !range.is_empty() {
            let start = range.start.saturating_sub(FAULT_AROUND);
            // SAFETY: the map is shared, read-only and backed by a file that does not change: a dropped page is read again with the same
            // contents, so no value that a reference sees changes.
            let _ = unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, range.end - start) };
        }
    }

    /// The part of a range that lies in the file.
    fn clamp(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.min(self.map.len());
        range.start.min(end)..end
    }
}

//! Streams blocks of rows to a new file that appears whole or not at all.

use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bls12_381_layout::as_bytes;
use bls12_381_layout::canonical_limbs;
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::block::{BLOCK_ROWS, RowWriter};
use crate::dictionary::Dictionary;
use crate::error::SynthError;
use crate::format::{Entry, HEADER_BYTES, Header};
use crate::hash::CircuitHash;
use crate::shape::CircuitShape;

/// Bytes gathered before a write.
const WRITE_BYTES: usize = 1 << 20;

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

const UNFINISHED: &str = ".compiling-";
/// An unfinished file this old whose lock nobody holds was left by a process that was killed.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// Removes what killed processes left. Another process's unfinished file is locked, or too young to have been locked yet.
fn remove_abandoned(folder: &Path) {
    // Whatever cannot be read or removed stays: this is tidying, and no part of the work.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let old = entry.metadata().and_then(|m| m.modified()).is_ok_and(|t| t.elapsed().is_ok_and(|age| age > ABANDONED_AFTER));
        if old
            && entry.file_name().to_string_lossy().starts_with(UNFINISHED)
            && std::fs::File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The file being written: under a name of its own in the same folder until [`finish`](CircuitWriter::finish) renames it.
pub(crate) struct CircuitWriter {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
    offset: u64,
    hash: CircuitHash,
    rows: [RowWriter; 3],
    rows_in_block: usize,
    directory: Vec<Entry>,
}

impl CircuitWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, SynthError> {
        let folder = folder_of(path);
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            // As any new file, for the process's umask to narrow: a folder of compiled circuits may serve several users.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        remove_abandoned(folder);
        let file = builder.prefix(UNFINISHED).tempfile_in(folder).map_err(|e| SynthError::io("create a file in", folder, e))?;
        // Tells others that it is being written. Where there are no locks, they go by its age.
        let _ = file.as_file().try_lock();
        let mut writer = Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(WRITE_BYTES, file),
            offset: 0,
            hash: CircuitHash::new(),
            rows: Default::default(),
            rows_in_block: 0,
            directory: Vec::new(),
        };
        // Room for the header, which is known last.
        writer.write(&[0; HEADER_BYTES])?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), SynthError> {
        self.file.write_all(bytes).map_err(|e| SynthError::io("write a compiled circuit for", &self.path, e))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// The writers of the current row of A, B and C.
    pub(crate) fn row(&mut self) -> &mut [RowWriter; 3] {
        &mut self.rows
    }

    /// Ends a row of all three matrices.
    pub(crate) fn end_row(&mut self) -> Result<(), SynthError> {
        self.rows_in_block += 1;
        if self.rows_in_block == BLOCK_ROWS { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), SynthError> {
        let mut entry = Entry { offset: self.offset, ..Entry::default() };
        let mut rows = std::mem::take(&mut self.rows);
        for (k, matrix) in rows.iter_mut().enumerate() {
            let bytes = matrix.bytes();
            entry.lengths[k] = u32::try_from(bytes.len()).map_err(|_| SynthError::TooLarge {
                what: "bytes of a block of rows",
                limit: u64::from(u32::MAX),
                found: bytes.len() as u64,
            })?;
            entry.checksums[k] = xxh3_64(bytes);
            self.hash.update(bytes);
            self.write(bytes)?;
            matrix.clear();
        }
        self.rows = rows;
        self.directory.push(entry);
        self.rows_in_block = 0;
        Ok(())
    }

    /// Writes the rest and gives the file its name. `densities` are the words of A's and B's density.
    pub(crate) fn finish(
        mut self,
        name: &str,
        shape: CircuitShape,
        dictionary: &Dictionary,
        densities: [&[u64]; 2],
    ) -> Result<(), SynthError> {
        if self.rows_in_block > 0 {
            self.end_block()?;
        }
        let padding = self.offset.next_multiple_of(8) - self.offset;
        self.write(&[0; 8][..padding as usize])?;
        let mut tail = Xxh3::new();
        let dictionary_offset = self.offset;
        for value in dictionary.values() {
            let limbs = canonical_limbs(value);
            self.hash.update(as_bytes(&limbs));
            tail.update(as_bytes(&limbs));
            self.write(as_bytes(&limbs))?;
        }
        let density_offset = self.offset;
        for words in densities {
            tail.update(as_bytes(words));
            self.write(as_bytes(words))?;
        }
        let directory_offset = self.offset;
        for entry in std::mem::take(&mut self.directory) {
            tail.update(&entry.encode());
            self.write(&entry.encode())?;
        }
        let header = Header {
            name: name.to_owned(),
            hash: self.hash.clone().finish(&shape),
            shape,
            dictionary_offset,
            density_offset,
            directory_offset,
            tail_checksum: tail.digest(),
            file_bytes: self.offset,
        };
        let path = self.path;
        let failed = |action| {
            let path = &path;
            move |e| SynthError::io(action, path, e)
        };
        let mut file = self.file.into_inner().map_err(|e| SynthError::io("write a compiled circuit for", &path, e.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(failed("write the header of"))?;
        file.write_all(&header.encode()).map_err(failed("write the header of"))?;
        file.as_file().sync_all().map_err(failed("sync"))?;
        // Readers take a shared lock: none of them must meet this one under the final name.
        let _ = file.as_file().unlock();
        file.persist(&path).map_err(|e| SynthError::io("put a compiled circuit in place as", &path, e.error))?;
        // The new name lasts once the folder is on disk too.
        #[cfg(unix)]
        {
            let folder = folder_of(&path);
            std::fs::File::open(folder).and_then(|f| f.sync_all()).map_err(|e| SynthError::io("sync", folder, e))?;
        }
        Ok(())
    }
}

//! A file that is there whole or not at all.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::SrsError;

const UNFINISHED: &str = ".partial";
/// An unfinished file this old whose lock nobody holds was left by a process that was killed.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// Removes what killed processes left. Another process's unfinished file is locked, or too young to have been locked yet.
fn remove_abandoned(folder: &Path) {
    // Whatever cannot be read or removed stays: this is tidying, and no part of the work.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let old = entry.metadata().and_then(|m| m.modified()).is_ok_and(|t| t.elapsed().is_ok_and(|age| age > ABANDONED_AFTER));
        if old && name.starts_with('.') && name.ends_with(UNFINISHED) && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A file under a temporary name beside its target; dropped before [`commit`](AtomicFile::commit) it is removed.
pub(crate) struct AtomicFile {
    file: NamedTempFile,
    target: PathBuf,
    folder: PathBuf,
}

impl AtomicFile {
    /// A new temporary file in the target's folder.
    pub(crate) fn create(target: &Path) -> Result<Self, SrsError> {
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(UNFINISHED);
        // Keys are public: the process's umask decides who reads them, not the temporary file's default.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        remove_abandoned(&folder);
        let file = builder.tempfile_in(&folder).map_err(|e| SrsError::io("create a file in this folder", &folder, e))?;
        // Tells others that it is being written. Where there are no locks, they go by its age.
        let _ = file.as_file().try_lock();
        Ok(Self { file, target: target.to_owned(), folder })
    }

    /// Fails when the folder's file system has less than `needed` bytes free.
    pub(crate) fn require_space(&self, needed: u64) -> Result<(), SrsError> {
        let available = fs4::available_space(&self.folder).map_err(|e| SrsError::io("ask for free space", &self.folder, e))?;
        if available < needed { Err(SrsError::NoSpace { folder: self.folder.clone(), needed, available }) } else { Ok(()) }
    }

    /// Appends.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), SrsError> {
        self.file.as_file_mut().write_all(bytes).map_err(|e| SrsError::io("write it", &self.target, e))
    }

    /// Goes to a byte from the start.
    pub(crate) fn seek(&mut self, offset: u64) -> Result<(), SrsError> {
        let moved = self.file.as_file_mut().seek(SeekFrom::Start(offset));
        moved.map(|_| ()).map_err(|e| SrsError::io("write it", &self.target, e))
    }

    /// Where it will be.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Makes the bytes durable and gives the file its name, in place of any file that had it.
    pub(crate) fn commit(self) -> Result<(), SrsError> {
        let Self { file, target, folder } = self;
        file.as_file().sync_all().map_err(|e| SrsError::io("write it to disk", &target, e))?;
        // Readers take a shared lock: none of them must meet this one under the final name.
        let _ = file.as_file().unlock();
        file.persist(&target).map_err(|e| SrsError::io("give the finished file its name", &target, e.error))?;
        // The name is durable only when the folder is. The file itself is whole either way.
        #[cfg(unix)]
        File::open(&folder).and_then(|f| f.sync_all()).map_err(|e| SrsError::io("write the folder to disk", &folder, e))?;
        #[cfg(not(unix))]
        let _ = folder;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_an_abandoned_file() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("key");
        let mut file = AtomicFile::create(&target).unwrap();
        file.write(b"half").unwrap();
        drop(file);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut file = AtomicFile::create(&target).unwrap();
        file.write(b"whole").unwrap();
        file.commit().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"whole");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn missing_folders_and_full_disks_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("nowhere").join("key");
        assert!(matches!(AtomicFile::create(&target), Err(SrsError::Io { .. })));
        let file = AtomicFile::create(&folder.path().join("key")).unwrap();
        assert!(file.require_space(0).is_ok());
        assert!(matches!(file.require_space(u64::MAX), Err(SrsError::NoSpace { needed: u64::MAX, .. })));
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_being_written_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let old = std::time::SystemTime::now() - Duration::from_secs(3600);
        let file = |name: &str| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(old).unwrap();
            file
        };
        drop(file(".left.partial"));
        drop(file("key.partial"));
        let busy = file(".busy.partial");
        busy.lock().unwrap();
        AtomicFile::create(&folder.path().join("key")).unwrap().commit().unwrap();
        let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, [".busy.partial", "key", "key.partial"]);
        // No lock of the writer stays on the finished file.
        File::open(folder.path().join("key")).unwrap().try_lock_shared().unwrap();
    }
}

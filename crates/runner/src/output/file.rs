//! Files that appear whole or not at all.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::exit::Failure;

/// A file to be written. Made early, so that a folder that cannot be written to is found before the work and not after it.
#[derive(Debug)]
pub(crate) struct OutFile {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A new name beside the target, renamed over it in the end.
    Temporary(NamedTempFile),
    /// A device or a pipe, which cannot be replaced.
    Direct(fs::File),
}

impl OutFile {
    /// Prepares to write `path`. A file of that name stays as it is until [`commit`](OutFile::commit) replaces it.
    ///
    /// # Errors
    /// [`Failure::creating`].
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let kind = prepare(path).map_err(|error| Failure::creating(path, &error))?;
        Ok(Self { path: path.to_owned(), kind })
    }

    /// Writes the content and puts the file in place.
    ///
    /// # Errors
    /// [`Failure::writing`]; what was there before is then still there.
    pub(crate) fn commit(self, content: &[u8]) -> Result<(), Failure> {
        let written = match self.kind {
            Kind::Temporary(mut file) => file
                .write_all(content)
                // The name must never stand for bytes that a power cut may still take.
                .and_then(|()| file.as_file().sync_all())
                .and_then(|()| file.persist(&self.path).map(drop).map_err(|error| error.error))
                // And lasts once its folder is on disk too.
                .and_then(|()| fs::File::open(folder_of(&self.path))?.sync_all()),
            Kind::Direct(mut file) => file.write_all(content),
        };
        written.map_err(|error| Failure::writing(&self.path, &error))
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn prepare(path: &Path) -> io::Result<Kind> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => return OpenOptions::new().write(true).open(path).map(Kind::Direct),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let Some(name) = path.file_name() else { return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file")) };
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    // The permissions of any new file; the process's mask takes its part away.
    tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".tmp")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder_of(path))
        .map(Kind::Temporary)
}

/// Makes a folder and those above it.
///
/// # Errors
/// [`Failure::creating`].
pub(crate) fn create_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| Failure::creating(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_old_file_stays_until_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("proof");
        fs::write(&path, "old").unwrap();
        let file = OutFile::create(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(file);
        assert_eq!(names(folder.path()), ["proof"]);
        OutFile::create(&path).unwrap().commit(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["proof"]);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o600, 0o600);
        assert_eq!(mode & 0o111, 0);
    }

    #[test]
    fn impossible_places_are_told_before_the_work() {
        let folder = tempfile::Builder::new().prefix("place").tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for (path, exit, reason) in [
            (folder.path().to_owned(), Exit::CannotCreate, "directory"),
            (file.join("below"), Exit::CannotCreate, "Not a directory"),
            (folder.path().join("absent/proof"), Exit::CannotCreate, "No such file"),
            (PathBuf::from("/proc/proof"), Exit::CannotCreate, "cannot be created"),
        ] {
            let failure = OutFile::create(&path).unwrap_err();
            assert_eq!(failure.exit, exit, "{failure}");
            assert!(failure.message.contains(reason) && !failure.message.contains(".tmp"), "{failure}");
        }
    }

    #[test]
    fn a_full_disk_is_told() {
        let failure = OutFile::create(Path::new("/dev/full")).unwrap().commit(b"x").unwrap_err();
        assert_eq!((failure.exit, failure.message.as_str()), (Exit::Io, "/dev/full: cannot be written: No space left on device"));
    }
}

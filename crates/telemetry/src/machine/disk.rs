//! Space of a file system.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::TelemetryError;

/// Space of the file system that a folder is on, or will be on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiskSpace {
    /// The nearest folder that exists.
    pub folder: PathBuf,
    /// Size of the file system in bytes.
    pub total_bytes: u64,
    /// What an unprivileged process can still write, in bytes.
    pub available_bytes: u64,
}

impl DiskSpace {
    /// Asks the file system of `folder`; one that does not exist yet is asked for by its nearest existing ancestor.
    ///
    /// # Errors
    /// [`TelemetryError::Call`], for instance for a folder that may not be looked at.
    pub fn of(folder: &Path) -> Result<Self, TelemetryError> {
        // A relative path ends in an empty ancestor, which stands for the current folder.
        let existing = folder.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("."));
        let space = nix::sys::statvfs::statvfs(existing).map_err(|error| TelemetryError::Call { call: "statvfs", source: error.into() })?;
        let unit = space.fragment_size();
        Ok(Self {
            folder: existing.to_owned(),
            total_bytes: space.blocks().saturating_mul(unit),
            available_bytes: space.blocks_available().saturating_mul(unit),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_still_to_be_made() {
        let folder = tempfile::tempdir().unwrap();
        let now = DiskSpace::of(folder.path()).unwrap();
        assert!(now.total_bytes >= now.available_bytes && now.total_bytes > 0);
        let later = DiskSpace::of(&folder.path().join("a/b/c")).unwrap();
        assert_eq!((later.folder.as_path(), later.total_bytes), (folder.path(), now.total_bytes));
        assert_eq!(DiskSpace::of(Path::new("no-such-folder/x")).unwrap().folder, Path::new("."));
    }
}

//! The machine's memory.

use std::path::Path;

use serde::Serialize;

use crate::TelemetryError;
use crate::proc_file::{kib_field, read};

/// The machine's memory in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SystemMemory {
    /// All of it.
    pub total_bytes: u64,
    /// What can be had without swapping, dropped file pages included.
    pub available_bytes: u64,
    /// Size of all swap areas.
    pub swap_total_bytes: u64,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
}

impl SystemMemory {
    pub(crate) fn read_under(root: &Path) -> Result<Self, TelemetryError> {
        let path = root.join("proc/meminfo");
        let text = read(&path)?;
        let field = |name, expected| kib_field(&text, name).ok_or_else(|| TelemetryError::format(&path, expected, "none"));
        let huge_pages = read(&root.join("sys/kernel/mm/transparent_hugepage/enabled")).ok().and_then(|text| chosen(&text));
        Ok(Self {
            total_bytes: field("MemTotal", "a line MemTotal in kB")?,
            available_bytes: field("MemAvailable", "a line MemAvailable in kB")?,
            swap_total_bytes: kib_field(&text, "SwapTotal").unwrap_or(0),
            huge_pages,
        })
    }
}

/// The word in brackets of `always [madvise] never`.
fn chosen(choices: &str) -> Option<String> {
    let (_, rest) = choices.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_machine() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc")).unwrap();
        let meminfo = root.path().join("proc/meminfo");
        std::fs::write(&meminfo, "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 600 kB\nSwapTotal: 5 kB\n").unwrap();
        let expected = SystemMemory { total_bytes: 1_024_000, available_bytes: 614_400, swap_total_bytes: 5120, huge_pages: None };
        assert_eq!(SystemMemory::read_under(root.path()).unwrap(), expected);
        std::fs::write(&meminfo, "MemTotal: 1000 kB\n").unwrap();
        assert!(SystemMemory::read_under(root.path()).unwrap_err().to_string().contains("MemAvailable"));
    }

    #[test]
    fn the_chosen_word() {
        assert_eq!(chosen("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(chosen("always madvise"), None);
    }
}

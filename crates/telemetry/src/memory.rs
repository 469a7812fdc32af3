//! Resident memory of this process.

use std::path::Path;

use serde::Serialize;

use crate::TelemetryError;
use crate::proc_file::{kib_field, read};

const STATUS: &str = "/proc/self/status";

/// Resident memory of this process at one moment, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProcessMemory {
    /// Heap, stacks, private mappings: what only swap or the end of the process gives back (`RssAnon`).
    pub anonymous_bytes: u64,
    /// Mapped files, which the kernel may drop and read again (`RssFile`).
    pub file_backed_bytes: u64,
    /// Shared memory (`RssShmem`).
    pub shared_bytes: u64,
    /// Pages in swap (`VmSwap`).
    pub swapped_bytes: u64,
    /// The kernel's high-water mark of anonymous, file-backed and shared together (`VmHWM`), off by some hundred
    /// kilobytes at most. There is none of the parts.
    pub high_water_bytes: u64,
}

impl ProcessMemory {
    /// Reads `/proc/self/status`.
    ///
    /// # Errors
    /// [`TelemetryError::Read`], [`TelemetryError::Format`] on a kernel that does not split resident memory (before 4.5).
    pub fn read() -> Result<Self, TelemetryError> {
        Self::parse(&read(Path::new(STATUS))?)
    }

    fn parse(status: &str) -> Result<Self, TelemetryError> {
        let needed = |name, expected| kib_field(status, name).ok_or_else(|| TelemetryError::format(STATUS, expected, "none"));
        Ok(Self {
            anonymous_bytes: needed("RssAnon", "a line RssAnon in kB")?,
            file_backed_bytes: needed("RssFile", "a line RssFile in kB")?,
            shared_bytes: kib_field(status, "RssShmem").unwrap_or(0),
            swapped_bytes: kib_field(status, "VmSwap").unwrap_or(0),
            high_water_bytes: needed("VmHWM", "a line VmHWM in kB")?,
        })
    }

    /// Everything resident.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        self.anonymous_bytes + self.file_backed_bytes + self.shared_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_split() {
        let status =
            "Name:\tx\nVmHWM:\t 300 kB\nVmRSS:\t 250 kB\nRssAnon:\t 100 kB\nRssFile:\t 140 kB\nRssShmem:\t 10 kB\nVmSwap:\t 7 kB\n";
        let memory = ProcessMemory::parse(status).unwrap();
        assert_eq!(memory.resident_bytes(), 250 * 1024);
        assert_eq!((memory.anonymous_bytes, memory.file_backed_bytes), (100 * 1024, 140 * 1024));
        assert_eq!((memory.high_water_bytes, memory.swapped_bytes), (300 * 1024, 7 * 1024));
    }

    #[test]
    fn an_old_kernel_is_told() {
        let error = ProcessMemory::parse("VmHWM:\t 300 kB\nVmRSS:\t 250 kB\n").unwrap_err().to_string();
        assert!(error.contains("RssAnon") && error.contains(STATUS), "{error}");
    }
}

//! Small text files of the kernel.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::TelemetryError;

/// More than any file read here needs; `/proc/cpuinfo` of many cores is longer, but its first core says it all.
const BYTES_MAX: u64 = 64 << 10;

/// The start of a text file, at most 64 KiB of it.
pub(crate) fn read(path: &Path) -> Result<String, TelemetryError> {
    read_io(path).map_err(|source| TelemetryError::Read { path: path.to_owned(), source })
}

fn read_io(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The value of a `Name:   123 kB` line, in bytes.
pub(crate) fn kib_field(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Number of CPUs (or nodes) in a list like `0-3,8,10-11`.
pub(crate) fn list_count(list: &str) -> Option<u64> {
    list.trim().split(',').filter(|part| !part.is_empty()).try_fold(0u64, |sum, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_in_kib() {
        let text = "VmHWM:\t    1736 kB\nVmRSS:\t12 kB\nVmRSSX:\t1 kB\nOdd: kB\nHuge: 99999999999999999999 kB\n";
        assert_eq!(kib_field(text, "VmHWM"), Some(1736 * 1024));
        assert_eq!(kib_field(text, "VmRSS"), Some(12 * 1024));
        for absent in ["RssAnon", "Odd", "Huge", "Vm"] {
            assert_eq!(kib_field(text, absent), None);
        }
    }

    #[test]
    fn lists_are_counted() {
        for (list, count) in [("0", 1), ("0-1\n", 2), ("0-3,8,10-11", 7), ("", 0)] {
            assert_eq!(list_count(list), Some(count), "{list:?}");
        }
        for bad in ["x", "3-1", "0-", "0-18446744073709551615"] {
            assert_eq!(list_count(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn no_more_than_the_limit_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'x'; 100_000]).unwrap();
        assert_eq!(read(file.path()).unwrap().len(), 64 << 10);
        assert!(read(Path::new("/nonexistent/file")).unwrap_err().to_string().contains("/nonexistent/file"));
    }
}

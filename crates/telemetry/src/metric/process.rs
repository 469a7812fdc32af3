//! What the kernel knows of this process, as metrics.

use std::path::Path;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{SysconfVar, sysconf};

use super::name::Metric;
use crate::proc_file::{kib_field, read};
use crate::{CpuTime, ProcessMemory, TelemetryError};

/// Sets every metric of the process. A fact that cannot be read keeps its last value, or stays absent.
pub(super) fn collect() {
    if let Ok(cpu) = CpuTime::of_process() {
        Metric::ProcessCpu.advance_plain_to(Duration::try_from_secs_f64(cpu.total_s()).unwrap_or_default());
    }
    if let Ok(memory) = ProcessMemory::read() {
        Metric::ProcessResident.set_plain(memory.resident_bytes());
        Metric::ResidentBytes.set_kind("anonymous", memory.anonymous_bytes);
        Metric::ResidentBytes.set_kind("file", memory.file_backed_bytes);
        Metric::ResidentBytes.set_kind("shared", memory.shared_bytes);
    }
    if let Ok(status) = read(Path::new("/proc/self/status")) {
        if let Some(bytes) = kib_field(&status, "VmSize") {
            Metric::ProcessVirtual.set_plain(bytes);
        }
        if let Some(threads) = status.lines().find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok()) {
            Metric::ProcessThreads.set_plain(threads);
        }
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        // The folder itself is one of them while it is read.
        Metric::ProcessOpenFds.set_plain((open.count() as u64).saturating_sub(1));
    }
    if let Ok((soft, _)) = getrlimit(Resource::RLIMIT_NOFILE) {
        Metric::ProcessMaxFds.set_plain(soft);
    }
    if let Ok(start_s) = start_time() {
        Metric::ProcessStart.set_seconds(start_s);
    }
}

/// Seconds from 1970 to the start of this process.
fn start_time() -> Result<f64, TelemetryError> {
    let boot_s = boot_time(&read(Path::new("/proc/stat"))?).ok_or_else(|| TelemetryError::format("/proc/stat", "a line btime", "none"))?;
    let stat = read(Path::new("/proc/self/stat"))?;
    let ticks = start_ticks(&stat).ok_or_else(|| TelemetryError::format("/proc/self/stat", "a start time as the 22nd field", &stat))?;
    let per_second = match sysconf(SysconfVar::CLK_TCK) {
        Ok(Some(per_second)) if per_second > 0 => per_second as f64,
        _ => 100.0,
    };
    Ok(boot_s as f64 + ticks as f64 / per_second)
}

fn boot_time(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
}

/// The 22nd field of `/proc/self/stat`; the second one, the name, may have blanks and brackets of its own.
fn start_ticks(stat: &str) -> Option<u64> {
    stat.rsplit_once(") ")?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn fields_are_found_behind_odd_names() {
        let fields: Vec<String> = (3..=52).map(|n| n.to_string()).collect();
        assert_eq!(start_ticks(&format!("17 (a ) b) {}", fields.join(" "))), Some(22));
        assert_eq!(start_ticks("17 (a) R 1"), None);
        assert_eq!(boot_time("cpu 1 2\nbtime 1700000000\n"), Some(1_700_000_000));
    }

    #[test]
    fn this_process_started_before_now_and_after_the_machine() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let start = start_time().unwrap();
        assert!(start <= now + 1.0 && start > now - 24.0 * 3600.0, "{start} {now}");
    }
}

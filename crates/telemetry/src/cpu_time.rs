//! Wall and CPU seconds.

use std::path::Path;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::{SysconfVar, sysconf};
use serde::Serialize;

use crate::TelemetryError;
use crate::proc_file::read;

/// CPU seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CpuTime {
    /// In the program.
    pub user_s: f64,
    /// In the kernel on the program's behalf, page faults for instance.
    pub system_s: f64,
}

impl CpuTime {
    /// All threads of this process, ended ones included.
    ///
    /// # Errors
    /// [`TelemetryError::Call`].
    pub fn of_process() -> Result<Self, TelemetryError> {
        Self::of(UsageWho::RUSAGE_SELF)
    }

    /// The calling thread.
    ///
    /// # Errors
    /// [`TelemetryError::Call`].
    pub fn of_thread() -> Result<Self, TelemetryError> {
        Self::of(UsageWho::RUSAGE_THREAD)
    }

    /// Child processes that ended and were waited for.
    ///
    /// # Errors
    /// [`TelemetryError::Call`].
    pub fn of_children() -> Result<Self, TelemetryError> {
        Self::of(UsageWho::RUSAGE_CHILDREN)
    }

    fn of(who: UsageWho) -> Result<Self, TelemetryError> {
        let usage = getrusage(who).map_err(|error| TelemetryError::Call { call: "getrusage", source: error.into() })?;
        let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
        Ok(Self { user_s: seconds(usage.user_time()), system_s: seconds(usage.system_time()) })
    }

    /// User and system together.
    #[must_use]
    pub fn total_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// What passed since a [`Stopwatch`] was started.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Elapsed {
    /// Wall-clock seconds.
    pub wall_s: f64,
    /// CPU seconds of all threads of the process.
    pub cpu: CpuTime,
}

/// Measures wall and CPU seconds of the process.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    wall: Instant,
    cpu: CpuTime,
}

impl Stopwatch {
    /// Starts.
    ///
    /// # Errors
    /// [`TelemetryError::Call`].
    pub fn start() -> Result<Self, TelemetryError> {
        Ok(Self { cpu: CpuTime::of_process()?, wall: Instant::now() })
    }

    /// What passed since the start.
    ///
    /// # Errors
    /// [`TelemetryError::Call`].
    pub fn elapsed(&self) -> Result<Elapsed, TelemetryError> {
        let wall_s = self.wall.elapsed().as_secs_f64();
        let now = CpuTime::of_process()?;
        Ok(Elapsed { wall_s, cpu: CpuTime { user_s: now.user_s - self.cpu.user_s, system_s: now.system_s - self.cpu.system_s } })
    }
}

/// CPU seconds of one living thread, in steps of the kernel's clock tick (10 ms).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadTime {
    /// The kernel's number of the thread.
    pub id: u64,
    /// Its name, cut to 15 bytes by the kernel.
    pub name: String,
    /// What it used.
    pub cpu: CpuTime,
}

/// CPU seconds of every living thread of this process, in order of their numbers.
///
/// # Errors
/// [`TelemetryError`] when the list of threads cannot be read. A thread that ends meanwhile is left out.
pub fn thread_times() -> Result<Vec<ThreadTime>, TelemetryError> {
    let folder = Path::new("/proc/self/task");
    let ticks_per_s = match sysconf(SysconfVar::CLK_TCK) {
        Ok(Some(ticks)) if ticks > 0 => ticks as f64,
        Ok(_) => 100.0,
        Err(error) => return Err(TelemetryError::Call { call: "sysconf", source: error.into() }),
    };
    let tasks = std::fs::read_dir(folder).map_err(|source| TelemetryError::Read { path: folder.to_owned(), source })?;
    let mut threads: Vec<ThreadTime> = tasks
        .flatten()
        .filter_map(|task| {
            let id = task.file_name().to_str()?.parse().ok()?;
            let (name, user, system) = parse_stat(&read(&task.path().join("stat")).ok()?)?;
            Some(ThreadTime { id, name, cpu: CpuTime { user_s: user as f64 / ticks_per_s, system_s: system as f64 / ticks_per_s } })
        })
        .collect();
    threads.sort_by_key(|thread| thread.id);
    Ok(threads)
}

/// Name, user and system ticks. The name is in parentheses and may itself contain any character, parentheses included.
fn parse_stat(stat: &str) -> Option<(String, u64, u64)> {
    let (start, end) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat.get(start + 1..end)?.to_owned();
    // After the name come field 3 (state) and on; user and system time are fields 14 and 15.
    let mut rest = stat.get(end + 1..)?.split_ascii_whitespace().skip(11);
    Some((name, rest.next()?.parse().ok()?, rest.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn burn(cpu: Duration) -> u64 {
        let start = Instant::now();
        let mut x = 1u64;
        while start.elapsed() < cpu {
            for _ in 0..10_000 {
                x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
        }
        x
    }

    #[test]
    fn names_with_parentheses_and_spaces() {
        let stat = "42 (a b) (c) S 1 2 3 4 5 6 7 8 9 10 123 45 0 0 20";
        assert_eq!(parse_stat(stat), Some(("a b) (c".to_owned(), 123, 45)));
        for bad in ["", "42", "42 (x", "42 (x) S 1 2", ") 42 ( S", "42 (x) S 1 2 3 4 5 6 7 8 9 10 a b"] {
            assert_eq!(parse_stat(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn work_is_counted_where_it_is_done() {
        let stopwatch = Stopwatch::start().unwrap();
        let (result, own) = std::thread::Builder::new()
            .name("burner".into())
            .spawn(|| {
                let result = burn(Duration::from_millis(300));
                let listed = thread_times().unwrap().into_iter().find(|thread| thread.name == "burner").unwrap();
                (result, (CpuTime::of_thread().unwrap(), listed))
            })
            .unwrap()
            .join()
            .unwrap();
        assert_ne!(result, 0);
        let elapsed = stopwatch.elapsed().unwrap();
        let (thread, listed) = own;
        // The machine may be busy: a wall-clock third of a second is at least a little CPU time and at most itself.
        assert!(thread.total_s() > 0.01 && thread.total_s() < elapsed.wall_s + 0.05, "{thread:?} {elapsed:?}");
        assert!(elapsed.cpu.total_s() >= thread.total_s() * 0.99 && elapsed.wall_s >= 0.3, "{thread:?} {elapsed:?}");
        assert!((listed.cpu.total_s() - thread.total_s()).abs() < 0.1, "{listed:?} {thread:?}");
    }

    #[test]
    fn children_are_counted_once_they_were_waited_for() {
        let before = CpuTime::of_children().unwrap();
        let status = std::process::Command::new("sh").args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]).status().unwrap();
        assert!(status.success());
        assert!(CpuTime::of_children().unwrap().total_s() > before.total_s());
    }
}

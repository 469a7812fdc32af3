//! Processors.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use super::noted;
use crate::TelemetryError;
use crate::proc_file::{list_count, read};

/// A set of instructions and whether this processor and kernel offer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct VectorUnit {
    /// Its name as compilers write it.
    pub name: &'static str,
    /// Whether it can be used here.
    pub present: bool,
}

/// A cache of the first processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// 1, 2, 3.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Hardware threads that share it.
    pub shared_by: u64,
}

/// Processors, as far as this process may use them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cpu {
    /// Name of the model.
    pub model: Option<String>,
    /// Hardware threads that are switched on.
    pub online: Option<u64>,
    /// Cores behind them.
    pub physical_cores: Option<u64>,
    /// Memory nodes.
    pub numa_nodes: Option<u64>,
    /// Hardware threads this process may run on (its affinity mask).
    pub affinity: Option<u64>,
    /// Threads worth starting: affinity and processor quota of the control group together.
    pub usable: u64,
    /// Caches of the first processor, smallest level first.
    pub caches: Vec<Cache>,
    /// Instructions that the arithmetic can use.
    pub vector_units: Vec<VectorUnit>,
}

impl Cpu {
    pub(crate) fn look_under(root: &Path, problems: &mut Vec<String>) -> Self {
        let cpus = root.join("sys/devices/system/cpu");
        Self {
            model: noted(read(&root.join("proc/cpuinfo")), problems).and_then(|text| model_name(&text)),
            online: read(&cpus.join("online")).ok().and_then(|list| list_count(&list)),
            physical_cores: physical_cores(&cpus),
            numa_nodes: read(&root.join("sys/devices/system/node/online")).ok().and_then(|list| list_count(&list)),
            affinity: noted(affinity(), problems),
            usable: std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64),
            caches: caches(&cpus),
            vector_units: vector_units(),
        }
    }

    /// True when the processor offers the unit of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.vector_units.iter().any(|unit| unit.name == name && unit.present)
    }

    /// Size of the unified (or data) cache of a level, in bytes.
    #[must_use]
    pub fn cache_bytes(&self, level: u32) -> Option<u64> {
        self.caches.iter().find(|cache| cache.level == level && cache.kind != "Instruction").map(|cache| cache.size_bytes)
    }
}

fn model_name(cpuinfo: &str) -> Option<String> {
    let value = |line: &str| line.split_once(':').map(|(_, value)| value.trim().to_owned());
    // x86 and ARM name the model differently.
    let line = cpuinfo.lines().find(|line| line.starts_with("model name") || line.starts_with("CPU implementer"))?;
    value(line)
}

fn affinity() -> Result<u64, TelemetryError> {
    let mask = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0))
        .map_err(|error| TelemetryError::Call { call: "sched_getaffinity", source: error.into() })?;
    Ok((0..nix::sched::CpuSet::count()).filter(|cpu| mask.is_set(*cpu).unwrap_or(false)).count() as u64)
}

/// Distinct pairs of package and core among the processors `cpu0`, `cpu1`, ...
fn physical_cores(cpus: &Path) -> Option<u64> {
    let number = |path: &Path| read(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let cores: BTreeSet<(u64, u64)> = std::fs::read_dir(cpus)
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().to_str().and_then(|name| name.strip_prefix("cpu")?.parse::<u64>().ok()).is_some())
        .filter_map(|entry| {
            let topology = entry.path().join("topology");
            Some((number(&topology.join("physical_package_id"))?, number(&topology.join("core_id"))?))
        })
        .collect();
    (!cores.is_empty()).then_some(cores.len() as u64)
}

fn caches(cpus: &Path) -> Vec<Cache> {
    let Ok(entries) = std::fs::read_dir(cpus.join("cpu0/cache")) else { return Vec::new() };
    let mut caches: Vec<Cache> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with("index")))
        .filter_map(|entry| {
            let file = |name: &str| read(&entry.path().join(name)).ok().map(|text| text.trim().to_owned());
            Some(Cache {
                level: file("level")?.parse().ok()?,
                kind: file("type")?,
                size_bytes: size(&file("size")?)?,
                shared_by: file("shared_cpu_list").and_then(|list| list_count(&list)).unwrap_or(1),
            })
        })
        .collect();
    caches.sort_by(|x, y| (x.level, &x.kind).cmp(&(y.level, &y.kind)));
    caches
}

/// `2048K` or `32M` in bytes.
fn size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.strip_suffix('K') {
        Some(digits) => (digits, 10),
        None => text.strip_suffix('M').map_or((text, 0), |digits| (digits, 20)),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(target_arch = "x86_64")]
fn vector_units() -> Vec<VectorUnit> {
    macro_rules! units {
        ($($name:tt),*) => { vec![$(VectorUnit { name: $name, present: std::arch::is_x86_feature_detected!($name) }),*] };
    }
    units!(
        "avx",
        "avx2",
        "bmi1",
        "bmi2",
        "adx",
        "avx512f",
        "avx512dq",
        "avx512bw",
        "avx512vl",
        "avx512ifma",
        "avx512vbmi",
        "sha",
        "vaes",
        "gfni"
    )
}

#[cfg(target_arch = "aarch64")]
fn vector_units() -> Vec<VectorUnit> {
    macro_rules! units {
        ($($name:tt),*) => { vec![$(VectorUnit { name: $name, present: std::arch::is_aarch64_feature_detected!($name) }),*] };
    }
    units!("neon", "sve", "sve2", "sha2", "aes")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn vector_units() -> Vec<VectorUnit> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn a_made_up_processor() {
        let root = tempfile::tempdir().unwrap();
        let cpus = "sys/devices/system/cpu";
        write(root.path(), "proc/cpuinfo", "processor : 0\nmodel name\t: Made Up 9000 : X\n");
        write(root.path(), &format!("{cpus}/online"), "0-3\n");
        write(root.path(), "sys/devices/system/node/online", "0-1\n");
        for (cpu, package, core) in [(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 0)] {
            write(root.path(), &format!("{cpus}/cpu{cpu}/topology/physical_package_id"), &format!("{package}\n"));
            write(root.path(), &format!("{cpus}/cpu{cpu}/topology/core_id"), &format!("{core}\n"));
        }
        write(root.path(), &format!("{cpus}/cpufreq/topology/core_id"), "7\n");
        for (index, level, kind, size, shared) in [
            (0, 1, "Data", "32K", "0-1"),
            (1, 1, "Instruction", "64K", "0-1"),
            (2, 2, "Unified", "1M", "0-1"),
            (3, 3, "Unified", "32768K", "0-3"),
        ] {
            let cache = format!("{cpus}/cpu0/cache/index{index}");
            write(root.path(), &format!("{cache}/level"), &format!("{level}\n"));
            write(root.path(), &format!("{cache}/type"), &format!("{kind}\n"));
            write(root.path(), &format!("{cache}/size"), &format!("{size}\n"));
            write(root.path(), &format!("{cache}/shared_cpu_list"), &format!("{shared}\n"));
        }
        let mut problems = Vec::new();
        let cpu = Cpu::look_under(root.path(), &mut problems);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(cpu.model.as_deref(), Some("Made Up 9000 : X"));
        assert_eq!((cpu.online, cpu.physical_cores, cpu.numa_nodes), (Some(4), Some(2), Some(2)));
        assert_eq!((cpu.cache_bytes(1), cpu.cache_bytes(2), cpu.cache_bytes(3)), (Some(32 << 10), Some(1 << 20), Some(32 << 20)));
        assert_eq!((cpu.caches[3].shared_by, cpu.cache_bytes(4)), (4, None));
    }

    #[test]
    fn what_the_kernel_lists_is_detected() {
        // The kernel's own list of flags is the independent witness; two of its names differ.
        let Ok(cpuinfo) = std::fs::read_to_string("/proc/cpuinfo") else { return };
        let Some(flags) = cpuinfo.lines().find(|line| line.starts_with("flags")) else { return };
        for unit in vector_units() {
            let name = match unit.name {
                "sha" => "sha_ni",
                name => name,
            };
            assert_eq!(flags.split_whitespace().any(|flag| flag == name), unit.present, "{name}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!((size("2048K"), size("32M"), size("512")), (Some(2 << 20), Some(32 << 20), Some(512)));
        assert_eq!((size("K"), size("x"), size("99999999999999999999M"), size("18446744073709551615K")), (None, None, None, None));
    }

    #[test]
    fn affinity_bounds_the_usable() {
        let affinity = affinity().unwrap();
        assert!(affinity >= std::thread::available_parallelism().unwrap().get() as u64);
    }
}

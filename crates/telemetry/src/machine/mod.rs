//! What this machine is.

mod cgroup;
mod cpu;
mod disk;
mod gpu;
mod system_memory;

use std::path::Path;

pub use cgroup::{CgroupMemory, CgroupVersion};
pub use cpu::{Cache, Cpu, VectorUnit};
pub use disk::DiskSpace;
pub use gpu::GpuPresence;
use serde::Serialize;
pub use system_memory::SystemMemory;

use crate::TelemetryError;
use crate::proc_file::read;

/// Facts about the machine. What could not be read is absent, and `problems` says why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Name of the distribution.
    pub distribution: Option<String>,
    /// Processors, as far as this process may use them.
    pub cpu: Cpu,
    /// The machine's memory.
    pub memory: Option<SystemMemory>,
    /// The memory limit of the process' control group.
    pub cgroup: Option<CgroupMemory>,
    /// Traces of a GPU and its driver.
    pub gpu: GpuPresence,
    /// Facts that could not be read, in words.
    pub problems: Vec<String>,
}

impl Machine {
    /// Looks at this machine. Reads files and asks the kernel; loads nothing and starts nothing.
    #[must_use]
    pub fn look() -> Self {
        Self::look_under(Path::new("/"))
    }

    fn look_under(root: &Path) -> Self {
        let mut problems = Vec::new();
        let kernel = noted(read(&root.join("proc/sys/kernel/osrelease")), &mut problems).map(|text| text.trim().to_owned());
        let distribution = read(&root.join("etc/os-release")).ok().and_then(|text| distribution_name(&text));
        let cpu = Cpu::look_under(root, &mut problems);
        let memory = noted(SystemMemory::read_under(root), &mut problems);
        let cgroup = noted(CgroupMemory::read_under(root), &mut problems).flatten();
        let gpu = GpuPresence::look_under(root, std::env::var_os("LD_LIBRARY_PATH").as_deref());
        Self { kernel, distribution, cpu, memory, cgroup, gpu, problems }
    }
}

fn noted<T>(result: Result<T, TelemetryError>, problems: &mut Vec<String>) -> Option<T> {
    result.map_err(|error| problems.push(error.to_string())).ok()
}

fn distribution_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told() {
        let machine = Machine::look();
        assert_eq!(machine.problems, Vec::<String>::new());
        assert!(machine.kernel.is_some_and(|kernel| kernel.starts_with(|c: char| c.is_ascii_digit())));
        let memory = machine.memory.unwrap();
        assert!(memory.available_bytes > 0 && memory.available_bytes <= memory.total_bytes);
        assert!(machine.cpu.usable >= 1);
    }

    #[test]
    fn it_is_one_json_object() {
        let value = serde_json::to_value(Machine::look()).unwrap();
        assert!(value["memory"]["total_bytes"].as_u64().unwrap() > 0);
        assert!(value["cpu"]["vector_units"].is_array() && value["gpu"]["device_nodes"].is_array());
    }

    #[test]
    fn an_empty_tree_leaves_problems_not_panics() {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::look_under(root.path());
        assert!(machine.kernel.is_none() && machine.memory.is_none() && machine.cgroup.is_none());
        assert!(machine.problems.iter().any(|p| p.contains("meminfo")) && machine.problems.iter().any(|p| p.contains("osrelease")));
    }

    #[test]
    fn a_distribution_has_a_pretty_name() {
        assert_eq!(distribution_name("NAME=\"X\"\nPRETTY_NAME=\"X Y 12\"\n").as_deref(), Some("X Y 12"));
        assert_eq!(distribution_name("NAME=\"X\"\n"), None);
    }
}

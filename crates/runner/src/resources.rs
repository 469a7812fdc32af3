//! How much memory and how many threads the work may take.

use pipeline_stage::{Ledger, Space};
use telemetry::{Budget, BudgetFacts, Machine, auto_budget};

use crate::config::{Bytes, Config, MemoryBudget, Threads};
use crate::exit::{Exit, Failure};

/// The memory budget in bytes.
///
/// # Errors
/// [`Exit::Unavailable`] when the configured budget is more than there is, or nothing is left for an automatic one.
pub(crate) fn memory_budget(config: &Config, machine: &Machine) -> Result<u64, Failure> {
    let wanted = match config.memory.value {
        MemoryBudget::Bytes(wanted) => wanted,
        MemoryBudget::Auto => return automatic(machine),
    };
    // The hard ends: beyond them the kernel kills the process. What is free at the moment is the user's to judge.
    let total = machine.memory.as_ref().map(|memory| (memory.total_bytes, "the machine's memory"));
    let limit = machine.cgroup.as_ref().and_then(|group| group.limit_bytes).map(|bytes| (bytes, "the control group's limit"));
    match [total, limit].into_iter().flatten().min_by_key(|(bytes, _)| *bytes) {
        Some((available, what)) if wanted > available => Err(Failure::new(
            Exit::Unavailable,
            format!(
                "a memory budget of {wanted} bytes ({}, from {}) is more than {what}, {available} bytes: give at most that, or \"auto\"",
                Bytes(wanted),
                config.memory.source
            ),
        )),
        _ => Ok(wanted),
    }
}

/// What the machine and the control group leave, less a margin.
///
/// # Errors
/// As for [`memory_budget`].
pub(crate) fn automatic(machine: &Machine) -> Result<u64, Failure> {
    let Some(facts) = BudgetFacts::of(machine, None) else {
        let why = machine.problems.join("; ");
        return Err(Failure::new(
            Exit::Unavailable,
            format!("the free memory of this machine is unknown ({why}): give a budget, for instance --memory 24GiB"),
        ));
    };
    let Budget { bytes, margin_bytes, .. } = auto_budget(facts);
    if bytes == 0 {
        return Err(Failure::new(
            Exit::Unavailable,
            format!(
                "no memory is left for large buffers: all that is free, {}, is kept for the rest of the process; free some memory",
                Bytes(margin_bytes)
            ),
        ));
    }
    Ok(bytes)
}

/// A ledger with this budget of host memory. Mapped files are counted but not bounded: the kernel may drop their pages at any time.
pub(crate) fn ledger(budget_bytes: u64) -> Ledger {
    Ledger::new(&[(Space::Host, budget_bytes), (Space::Mapped, u64::MAX)])
}

/// The number of threads to work with.
pub(crate) fn threads(config: &Config, machine: &Machine) -> usize {
    match config.threads.value {
        Threads::Count(count) => count,
        Threads::Auto => usize::try_from(machine.cpu.usable).unwrap_or(1).max(1),
    }
}

/// The number of partitions to synthesise at a time. Each takes one thread and a witness; one of them keeps up with transforms and sums on
/// the CPU.
pub(crate) fn synth_threads(config: &Config) -> usize {
    match config.synth_threads.value {
        Threads::Count(count) => count,
        Threads::Auto => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, FlagValues};

    fn config(memory: &str) -> Config {
        let flags = FlagValues { config: None, values: vec![("memory", memory.into())] };
        Config::load(&flags, &Environment { variables: std::collections::BTreeMap::default() }).unwrap()
    }

    fn machine(total: u64, available: u64, limit: Option<u64>) -> Machine {
        let mut machine = Machine::look();
        let mut memory = machine.memory.unwrap();
        memory.total_bytes = total;
        memory.available_bytes = available;
        machine.memory = Some(memory);
        machine.cgroup = limit.map(|limit| telemetry::CgroupMemory {
            version: telemetry::CgroupVersion::V2,
            group: "/x".into(),
            limit_bytes: Some(limit),
            used_bytes: Some(0),
        });
        machine
    }

    const GIB: u64 = 1 << 30;

    #[test]
    fn a_budget_beyond_the_machine_is_refused_with_the_numbers() {
        assert_eq!(memory_budget(&config("20GiB"), &machine(32 * GIB, GIB, None)).unwrap(), 20 * GIB);
        let failure = memory_budget(&config("20GiB"), &machine(16 * GIB, 16 * GIB, None)).unwrap_err();
        assert_eq!(failure.exit, Exit::Unavailable);
        assert!(failure.message.contains("21474836480") && failure.message.contains("17179869184"), "{failure}");
        let failure = memory_budget(&config("20GiB"), &machine(32 * GIB, 16 * GIB, Some(8 * GIB))).unwrap_err();
        assert!(failure.message.contains("control group"), "{failure}");
    }

    #[test]
    fn automatic_is_what_is_free_less_a_margin() {
        assert_eq!(memory_budget(&config("auto"), &machine(32 * GIB, 20 * GIB, None)).unwrap(), 18 * GIB);
        assert_eq!(memory_budget(&config("auto"), &machine(32 * GIB, 1, None)).unwrap_err().exit, Exit::Unavailable);
        let mut unknown = machine(1, 1, None);
        unknown.memory = None;
        assert_eq!(memory_budget(&config("auto"), &unknown).unwrap_err().exit, Exit::Unavailable);
    }
}

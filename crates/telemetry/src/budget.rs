//! How much memory may be used when nobody said.

use serde::Serialize;

use crate::Machine;

/// Least bytes left to the rest: program text, stacks, the allocator's overhead, other processes' growth.
const MARGIN_MIN: u64 = 256 << 20;
/// Most bytes left to the rest.
const MARGIN_MAX: u64 = 16 << 30;
/// The margin between these bounds, as a share of the limit.
const MARGIN_DIVISOR: u64 = 10;

/// What bounds memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BudgetFacts {
    /// What the process' control group may still take; `None` without a limit.
    pub cgroup_room_bytes: Option<u64>,
    /// What the machine can give without swapping (`MemAvailable`).
    pub available_bytes: u64,
    /// The most the user wants the process to take.
    pub cap_bytes: Option<u64>,
}

impl BudgetFacts {
    /// The facts of a machine and the user's cap; `None` when the machine's memory is not known.
    #[must_use]
    pub fn of(machine: &Machine, cap_bytes: Option<u64>) -> Option<Self> {
        let available_bytes = machine.memory.as_ref()?.available_bytes;
        let cgroup_room_bytes = machine.cgroup.as_ref().and_then(|cgroup| cgroup.room_bytes());
        Some(Self { cgroup_room_bytes, available_bytes, cap_bytes })
    }
}

/// Which fact was the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetLimit {
    /// The control group.
    Cgroup,
    /// The machine.
    Available,
    /// The user.
    Cap,
}

/// A budget and how it came about: `bytes + margin_bytes` is the smallest fact, unless that is below the least margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// Bytes that large buffers may take together.
    pub bytes: u64,
    /// Bytes left to the rest.
    pub margin_bytes: u64,
    /// What bounds the budget.
    pub limited_by: BudgetLimit,
}

/// The smallest fact, less a margin of a tenth (at least 256 MiB, at most 16 GiB). Zero when the margin takes it all.
#[must_use]
pub fn auto_budget(facts: BudgetFacts) -> Budget {
    let candidates = [(facts.cgroup_room_bytes, BudgetLimit::Cgroup), (facts.cap_bytes, BudgetLimit::Cap)];
    let (smallest, limited_by) = candidates
        .into_iter()
        .filter_map(|(bytes, limit)| Some((bytes?, limit)))
        .fold((facts.available_bytes, BudgetLimit::Available), |least, next| if next.0 < least.0 { next } else { least });
    let margin_bytes = (smallest / MARGIN_DIVISOR).clamp(MARGIN_MIN, MARGIN_MAX).min(smallest);
    Budget { bytes: smallest - margin_bytes, margin_bytes, limited_by }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GIB: u64 = 1 << 30;

    fn budget(cgroup: Option<u64>, available: u64, cap: Option<u64>) -> Budget {
        auto_budget(BudgetFacts { cgroup_room_bytes: cgroup, available_bytes: available, cap_bytes: cap })
    }

    #[test]
    fn the_smallest_decides() {
        let cases = [
            (None, 20 * GIB, None, 18 * GIB, BudgetLimit::Available),
            (Some(10 * GIB), 20 * GIB, None, 9 * GIB, BudgetLimit::Cgroup),
            (Some(10 * GIB), 20 * GIB, Some(5 * GIB), 5 * GIB - GIB / 2, BudgetLimit::Cap),
            (Some(30 * GIB), 20 * GIB, Some(40 * GIB), 18 * GIB, BudgetLimit::Available),
            // Margins at their bounds.
            (None, GIB, None, GIB - (256 << 20), BudgetLimit::Available),
            (None, 755 * GIB, None, 739 * GIB, BudgetLimit::Available),
            // Less than the least margin.
            (Some(100 << 20), GIB, None, 0, BudgetLimit::Cgroup),
            (None, 0, None, 0, BudgetLimit::Available),
        ];
        for (cgroup, available, cap, bytes, limited_by) in cases {
            let budget = budget(cgroup, available, cap);
            assert_eq!((budget.bytes, budget.limited_by), (bytes, limited_by), "{cgroup:?} {available} {cap:?}");
        }
    }

    proptest! {
        #[test]
        fn no_budget_exceeds_a_fact(cgroup: Option<u64>, available: u64, cap: Option<u64>) {
            let budget = budget(cgroup, available, cap);
            let smallest = [cgroup, cap].into_iter().flatten().fold(available, u64::min);
            prop_assert_eq!(budget.bytes + budget.margin_bytes, smallest);
            prop_assert!(budget.margin_bytes >= smallest.min(MARGIN_MIN) && budget.margin_bytes <= MARGIN_MAX);
        }
    }
}

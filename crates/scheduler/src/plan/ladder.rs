//! Plans to choose from, and what a budget allows.

use buffer_accounting::{Label, Space};
use serde::Serialize;

use super::Plan;

struct Step<C, S> {
    adds: String,
    plan: Plan<C, S>,
}

/// Plans for the same work, from the least that makes progress to the most that is of use.
pub struct Ladder<C, S> {
    space: Space,
    minimum: Plan<C, S>,
    steps: Vec<Step<C, S>>,
}

/// Something that more memory would be used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wish {
    /// What it is.
    pub adds: String,
    /// Bytes the plan has with it.
    pub bytes: u64,
    /// Bytes that are missing for it.
    pub missing: u64,
}

/// A ladder beside a number of bytes: what fits, and what would with more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit<'a, C, S> {
    /// The largest plan that fits. `None` when not even the least one does.
    pub plan: Option<&'a Plan<C, S>>,
    /// Bytes there are.
    pub free: u64,
    /// Bytes of the least plan.
    pub minimum: u64,
    /// Bytes of the largest plan: more are of no use.
    pub recommended: u64,
    /// Bytes that are missing for the least plan; zero when it fits.
    pub missing: u64,
    /// What the next plan has more than the one that fits.
    pub next: Option<Wish>,
}

impl<C: Label, S: Label> Ladder<C, S> {
    /// A ladder of one plan; it is compared by its bytes in `space`.
    #[must_use]
    pub fn new(space: Space, minimum: Plan<C, S>) -> Self {
        Self { space, minimum, steps: Vec::new() }
    }

    /// Adds a plan with something more. One that takes no more bytes than the last one replaces it.
    #[must_use]
    pub fn then(mut self, adds: impl Into<String>, plan: Plan<C, S>) -> Self {
        let more = plan.total(self.space) > self.recommended().total(self.space);
        match self.steps.last_mut() {
            _ if more => self.steps.push(Step { adds: adds.into(), plan }),
            Some(last) => last.plan = plan,
            None => self.minimum = plan,
        }
        self
    }

    /// The space whose bytes decide.
    #[must_use]
    pub fn space(&self) -> Space {
        self.space
    }

    /// The least plan.
    #[must_use]
    pub fn minimum(&self) -> &Plan<C, S> {
        &self.minimum
    }

    /// The largest plan: more memory than it takes is of no use.
    #[must_use]
    pub fn recommended(&self) -> &Plan<C, S> {
        self.steps.last().map_or(&self.minimum, |step| &step.plan)
    }

    /// What fits into so many bytes.
    #[must_use]
    pub fn fit(&self, free: u64) -> Fit<'_, C, S> {
        let bytes = |plan: &Plan<C, S>| plan.total(self.space);
        let minimum = bytes(&self.minimum);
        let fitting = self.steps.iter().take_while(|step| minimum <= free && bytes(&step.plan) <= free).count();
        let plan = match fitting.checked_sub(1).and_then(|last| self.steps.get(last)) {
            Some(step) => Some(&step.plan),
            None => (minimum <= free).then_some(&self.minimum),
        };
        let next = self.steps.get(fitting).filter(|_| plan.is_some()).map(|step| {
            let needed = bytes(&step.plan);
            Wish { adds: step.adds.clone(), bytes: needed, missing: needed.saturating_sub(free) }
        });
        Fit { plan, free, minimum, recommended: bytes(self.recommended()), missing: minimum.saturating_sub(free), next }
    }
}

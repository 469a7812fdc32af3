//! The run itself: virtual time jumps from event to event, and after each everything that can happen does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use buffer_accounting::Label;

use super::jitter::draw;
use super::model::{Admission, Estimates, JobModel, KindModel, Model, ModelError, Phase};
use super::report::Run;
use super::state::{Item, State};
use crate::policy::{BudgetView, NewJob, Rank, Roster};

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A job comes.
    Arrival(usize),
    /// An item is done with its phase.
    PhaseEnd(usize),
}

/// Runs a model from its first arrival to the end of its last partition.
///
/// # Errors
/// [`ModelError`] when the model makes no sense, cannot fit its budget, or deadlocks.
pub fn simulate<C: Label, S: Label>(model: &Model<C, S>) -> Result<Run<C, S>, ModelError> {
    model.check()?;
    let mut engine = Engine {
        model,
        needs: model.kinds.iter().map(KindModel::needs).collect(),
        events: model.jobs.iter().enumerate().map(|(job, at)| Reverse((at.arrives, Event::Arrival(job)))).collect(),
        roster: roster(model),
        state: State::new(model),
    };
    engine.run()?;
    Ok(engine.state.report(model))
}

/// What the policy is asked with; `None` where everything is let in.
fn roster<C: Label, S: Label>(model: &Model<C, S>) -> Option<Roster> {
    let Admission::Policy { control, estimates } = &model.admission else { return None };
    let mut roster = Roster::new((0..model.stages.len()).map(|stage| model.at_once(stage)).collect(), *control);
    if let Estimates::Given(kinds) = estimates {
        for (kind, service) in (0u64..).zip(kinds) {
            roster.expect(kind, service);
        }
    }
    Some(roster)
}

struct Engine<'a, C, S> {
    model: &'a Model<C, S>,
    /// Of each kind and each step of its way: the most bytes from there to the end.
    needs: Vec<Vec<u64>>,
    events: BinaryHeap<Reverse<(Duration, Event)>>,
    roster: Option<Roster>,
    state: State<C, S>,
}

impl<C: Label, S: Label> Engine<'_, C, S> {
    fn run(&mut self) -> Result<(), ModelError> {
        self.state.sample();
        while let Some(&Reverse((time, _))) = self.events.peek() {
            self.state.advance(time);
            // All that ends at one moment, before anything that starts then: what is given back is there for those who wait.
            while let Some(&Reverse((_, event))) = self.events.peek().filter(|Reverse((at, _))| *at == time) {
                self.events.pop();
                match event {
                    Event::Arrival(job) => self.arrive(job),
                    Event::PhaseEnd(item) => self.end_phase(item),
                }
            }
            self.settle();
            self.state.sample();
        }
        let unfinished = self.state.jobs.iter().map(|job| u64::from(job.left)).sum();
        if unfinished > 0 {
            let (time, in_use) = (self.state.now, self.state.books.in_use);
            return Err(ModelError::Stuck { time, unfinished, in_use, budget: self.model.budget });
        }
        Ok(())
    }

    fn arrive(&mut self, job: usize) {
        let JobModel { priority, partitions, kind, .. } = self.model.jobs[job];
        match &mut self.roster {
            Some(roster) => {
                let (id, bytes_each) = (job as u64, self.needs[kind][0]);
                roster.arrive(NewJob { id, priority, kind: kind as u64, partitions, bytes_each });
            }
            None => (0..partitions).for_each(|_| self.enter(job)),
        }
    }

    /// Puts the next partition of a job in front of the first stage.
    fn enter(&mut self, job: usize) {
        let state = &mut self.state;
        let number = state.items.len();
        let partition = self.model.jobs[job].partitions - state.jobs[job].outside;
        state.jobs[job].outside -= 1;
        let mut item = Item::new(job, partition);
        if self.roster.is_some() {
            state.enter_flight();
            let needs = self.needs[self.model.jobs[job].kind][0];
            item.reserve = Some(state.books.take(state.now, self.model.set_aside, self.model.stages[0].queue, needs));
        }
        state.items.push(item);
        let rank = self.rank(number);
        self.state.stations[0].queue.insert(rank, number);
    }

    fn settle(&mut self) {
        loop {
            let mut changed = self.admit();
            for stage in (0..self.model.stages.len()).rev() {
                changed |= self.deliver(stage);
                changed |= self.pick(stage);
            }
            changed |= self.start();
            if !changed {
                return;
            }
        }
    }

    /// Lets in what the policy says.
    fn admit(&mut self) -> bool {
        let Some(roster) = &mut self.roster else { return false };
        let (admitted, _) = roster.admit(BudgetView { total: self.model.budget, used: self.state.books.in_use });
        for &job in &admitted {
            self.enter(usize::try_from(job).unwrap_or(usize::MAX));
        }
        !admitted.is_empty()
    }

    fn kind(&self, item: usize) -> usize {
        self.model.jobs[self.state.items[item].job].kind
    }

    /// The phase that an item is in or in front of.
    fn phase(&self, item: usize) -> &Phase<C> {
        let Item { stage, phase, .. } = self.state.items[item];
        &self.model.kinds[self.kind(item)].work[stage][phase]
    }

    /// Its place in the order of the item's whole way.
    fn step(&self, item: usize) -> usize {
        let Item { stage, phase, .. } = self.state.items[item];
        self.model.kinds[self.kind(item)].step(stage, phase)
    }

    fn rank(&self, item: usize) -> Rank {
        let item = &self.state.items[item];
        let job = &self.model.jobs[item.job];
        Rank {
            priority: job.priority,
            stage: Reverse(item.stage),
            arrived: nanoseconds(job.arrives),
            job: item.job as u64,
            partition: item.partition,
        }
    }

    /// Moves results into the next queue while it has room, in the order in which they were ready.
    fn deliver(&mut self, stage: usize) -> bool {
        let Some(next) = self.model.stages.get(stage + 1) else { return false };
        let mut changed = false;
        while self.state.stations[stage + 1].queue.len() < next.queue_depth.max(1) {
            let Some(item) = self.state.stations[stage].unsent.pop_front() else { break };
            self.state.items[item].stage = stage + 1;
            self.state.items[item].phase = 0;
            self.state.attribute(item, next.queue);
            let rank = self.rank(item);
            self.state.stations[stage + 1].queue.insert(rank, item);
            changed = true;
        }
        changed
    }

    /// Gives free workers what goes first.
    fn pick(&mut self, stage: usize) -> bool {
        let mut changed = false;
        while self.state.stations[stage].has_free_worker() {
            let Some((_, item)) = self.state.stations[stage].queue.pop_first() else { break };
            self.state.attribute(item, self.model.stages[stage].name);
            self.state.stations[stage].starting.push(item);
            if stage == 0 {
                let job = &mut self.state.jobs[self.state.items[item].job];
                job.started.get_or_insert(self.state.now);
                if self.roster.is_none() {
                    self.state.enter_flight();
                }
            }
            changed = true;
        }
        changed
    }

    /// Starts the phases that have what they need, in order; what waits for units or bytes is not overtaken by what asks for the same.
    fn start(&mut self) -> bool {
        let mut asking: Vec<usize> = self.state.stations.iter().flat_map(|station| station.starting.iter().copied()).collect();
        asking.sort_unstable_by_key(|item| self.rank(*item));
        let mut claimed = vec![false; self.model.resources.len()];
        let (mut bytes_claimed, mut changed) = (false, false);
        for item in asking {
            let phase = self.phase(item);
            let short = phase.borrows.iter().any(|want| claimed[want.resource] || want.units > self.state.pools[want.resource].free());
            let asks =
                if self.roster.is_some() { 0 } else { phase.takes.iter().fold(0u64, |sum, buffer| sum.saturating_add(buffer.bytes)) };
            let too_large = asks > 0 && (bytes_claimed || asks > self.model.budget - self.state.books.in_use);
            if short || too_large {
                for want in &phase.borrows {
                    claimed[want.resource] = true;
                }
                bytes_claimed |= asks > 0;
                continue;
            }
            self.begin(item);
            changed = true;
        }
        changed
    }

    fn begin(&mut self, item: usize) {
        let stage = self.state.items[item].stage;
        let name = self.model.stages[stage].name;
        let phase = self.phase(item).clone();
        self.state.stations[stage].starting.retain(|other| *other != item);
        self.state.stations[stage].working += 1;
        for want in phase.borrows {
            self.state.borrow(self.model, item, want, name);
        }
        for buffer in phase.takes {
            self.state.take(item, buffer, name);
        }
        let (job, partition) = (self.state.items[item].job as u64, u64::from(self.state.items[item].partition));
        let time = draw(phase.times, self.model.seed, job, partition, self.step(item) as u64);
        self.state.items[item].spent += time;
        self.events.push(Reverse((self.state.now + time, Event::PhaseEnd(item))));
    }

    fn end_phase(&mut self, item: usize) {
        let stage = self.state.items[item].stage;
        let phase = self.phase(item).clone();
        self.state.stations[stage].working -= 1;
        for back in phase.returns {
            self.state.give_back(item, back);
        }
        self.state.give(item, &phase.gives);
        let still_needs = self.needs[self.kind(item)][self.step(item) + 1];
        self.state.shrink_reserve(item, still_needs);
        let phases = self.model.kinds[self.kind(item)].work[stage].len();
        if self.state.items[item].phase + 1 < phases {
            self.state.items[item].phase += 1;
            self.state.stations[stage].starting.push(item);
            return;
        }
        let spent = std::mem::take(&mut self.state.items[item].spent);
        if let Some(roster) = &mut self.roster {
            roster.passed(self.state.items[item].job as u64, stage, Some(spent));
        }
        if stage + 1 < self.model.stages.len() {
            self.state.stations[stage].unsent.push_back(item);
        } else {
            self.state.finish(item);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

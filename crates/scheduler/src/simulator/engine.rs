//! The run itself: virtual time jumps from event to event, and after each everything that can happen does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::jitter::draw;
use super::model::{Admission, Estimates, Model, ModelError};
use super::report::Run;
use super::state::{Item, State};
use pipeline_stage::Class;

use crate::policy::{BudgetView, Estimate, JobView, Rank, Snapshot, admit_all, first};

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
pub fn simulate(model: &Model) -> Result<Run, ModelError> {
    model.check()?;
    let mut engine = Engine {
        model,
        needs: model.needs(),
        events: model.jobs.iter().enumerate().map(|(job, at)| Reverse((at.arrives, Event::Arrival(job)))).collect(),
        estimates: vec![Estimate::default(); model.stages.len()],
        state: State::new(model),
    };
    engine.run()?;
    Ok(engine.state.report(model))
}

struct Engine<'a> {
    model: &'a Model,
    /// Of each step of the way: the most bytes from there to the end.
    needs: Vec<u64>,
    events: BinaryHeap<Reverse<(Duration, Event)>>,
    estimates: Vec<Estimate>,
    state: State,
}

impl Engine<'_> {
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

    fn managed(&self) -> bool {
        matches!(self.model.admission, Admission::Policy { .. })
    }

    fn arrive(&mut self, job: usize) {
        self.state.jobs[job].waiting = self.model.jobs[job].partitions;
        if !self.managed() {
            for _ in 0..self.model.jobs[job].partitions {
                self.enter(job);
            }
        }
    }

    /// Puts the next partition of a job in front of the first stage.
    fn enter(&mut self, job: usize) {
        let state = &mut self.state;
        let number = state.items.len();
        let views = &mut state.jobs[job];
        let partition = self.model.jobs[job].partitions - views.waiting;
        views.waiting -= 1;
        views.in_stage[0] += 1;
        let mut item = Item::new(job, partition);
        if matches!(self.model.admission, Admission::Policy { .. }) {
            state.enter_flight();
            item.reserve = Some(state.books.take(state.now, Class::Reserved, self.model.stages[0].queue, self.needs[0]));
        }
        state.items.push(item);
        state.stations[0].queue.push(number);
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
        let Admission::Policy { control, estimates } = &self.model.admission else { return false };
        let service = match estimates {
            Estimates::Given(times) => times.clone(),
            Estimates::Measured => self.estimates.iter().map(Estimate::value).collect::<Option<Vec<_>>>().unwrap_or_default(),
        };
        let jobs = self.state.jobs.iter().enumerate().filter(|(_, job)| job.waiting > 0 || job.in_stage.iter().any(|n| *n > 0));
        let views = jobs.map(|(number, job)| JobView {
            id: number as u64,
            priority: self.model.jobs[number].priority,
            arrived: nanoseconds(self.model.jobs[number].arrives),
            waiting: job.waiting,
            in_stage: job.in_stage.clone(),
            bytes_each: self.needs[0],
            service: service.clone(),
        });
        let mut snapshot = Snapshot {
            workers: self.model.stages.iter().map(|stage| self.model.at_once(stage)).collect(),
            jobs: views.collect(),
            budget: BudgetView { total: self.model.budget, used: self.state.books.in_use },
        };
        let (admitted, _) = admit_all(&mut snapshot, control);
        for &job in &admitted {
            self.enter(usize::try_from(job).unwrap_or(usize::MAX));
        }
        !admitted.is_empty()
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
            self.state.stations[stage + 1].queue.push(item);
            changed = true;
        }
        changed
    }

    /// Gives free workers what goes first.
    fn pick(&mut self, stage: usize) -> bool {
        let mut changed = false;
        while self.state.stations[stage].has_free_worker() {
            let queue = &self.state.stations[stage].queue;
            let Some(position) = first(queue.iter().map(|item| self.rank(*item))) else { break };
            let item = self.state.stations[stage].queue.swap_remove(position);
            self.state.attribute(item, self.model.stages[stage].name);
            self.state.stations[stage].starting.push(item);
            if stage == 0 {
                let job = &mut self.state.jobs[self.state.items[item].job];
                job.started.get_or_insert(self.state.now);
                if !self.managed() {
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
            let phase = &self.model.stages[self.state.items[item].stage].phases[self.state.items[item].phase];
            let short = phase.borrows.iter().any(|want| claimed[want.resource] || want.units > self.state.pools[want.resource].free());
            let asks = if self.managed() { 0 } else { phase.takes.iter().fold(0u64, |sum, buffer| sum.saturating_add(buffer.bytes)) };
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

    fn step(&self, item: &Item) -> usize {
        self.model.stages[..item.stage].iter().map(|stage| stage.phases.len()).sum::<usize>() + item.phase
    }

    fn begin(&mut self, item: usize) {
        let (stage, phase) = (self.state.items[item].stage, self.state.items[item].phase);
        let stage_model = &self.model.stages[stage];
        let phase_model = &stage_model.phases[phase];
        self.state.stations[stage].starting.retain(|other| *other != item);
        self.state.stations[stage].working += 1;
        for want in &phase_model.borrows {
            self.state.borrow(self.model, item, *want, stage_model.name);
        }
        for buffer in &phase_model.takes {
            self.state.take(item, *buffer, stage_model.name);
        }
        let (job, partition) = (self.state.items[item].job as u64, u64::from(self.state.items[item].partition));
        let step = self.step(&self.state.items[item]) as u64;
        let time = draw(phase_model.times, self.model.seed, job, partition, step);
        self.state.items[item].spent += time;
        self.events.push(Reverse((self.state.now + time, Event::PhaseEnd(item))));
    }

    fn end_phase(&mut self, item: usize) {
        let (stage, phase) = (self.state.items[item].stage, self.state.items[item].phase);
        let stage_model = &self.model.stages[stage];
        self.state.stations[stage].working -= 1;
        for back in &stage_model.phases[phase].returns {
            self.state.give_back(item, *back);
        }
        self.state.give(item, &stage_model.phases[phase].gives);
        let still_needs = self.needs[self.step(&self.state.items[item]) + 1];
        self.state.shrink_reserve(item, still_needs);
        if phase + 1 < stage_model.phases.len() {
            self.state.items[item].phase = phase + 1;
            self.state.stations[stage].starting.push(item);
            return;
        }
        let spent = std::mem::take(&mut self.state.items[item].spent);
        self.estimates[stage] = self.estimates[stage].observe(spent);
        let job = self.state.items[item].job;
        self.state.jobs[job].in_stage[stage] -= 1;
        if stage + 1 < self.model.stages.len() {
            self.state.jobs[job].in_stage[stage + 1] += 1;
            self.state.stations[stage].unsent.push_back(item);
        } else {
            self.state.finish(item);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

//! What a proving run took: time per stage, peak bytes per class beside the plan, peak resident memory.

use std::time::{Duration, Instant};

use buffer_accounting::{Label, Snapshot};
use groth16_pipeline::{CircuitKeys, MemoryPlan, StageTimes};
use pipeline_stage::{Class, Ledger, Space, StageName};
use serde_json::{Value as Json, json};
use telemetry::{Elapsed, MemoryPeak};

use super::Table;
use crate::config::Bytes;

/// Steps outside the pipeline, in order, with their wall time.
#[derive(Debug, Default)]
pub(crate) struct Steps(Vec<(String, Duration)>);

impl Steps {
    /// Runs a step and notes its time, even when it fails.
    pub(crate) fn time<T>(&mut self, name: impl Into<String>, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.0.push((name.into(), start.elapsed()));
        result
    }
}

/// The parameters of a circuit, and who vouches for them.
#[derive(Debug)]
pub(crate) struct Parameters {
    circuit: String,
    path: String,
    origin: String,
}

impl Parameters {
    /// Those of a pair.
    pub(crate) fn of(keys: &CircuitKeys) -> Self {
        let key = keys.proving_key();
        Self { circuit: keys.circuit().name().to_owned(), path: key.path().display().to_string(), origin: key.origin().to_string() }
    }
}

/// Everything the tables are made of.
pub(crate) struct Summary<'a> {
    pub(crate) steps: &'a Steps,
    pub(crate) parameters: Vec<Parameters>,
    pub(crate) stages: &'a StageTimes,
    pub(crate) ledger: &'a Ledger,
    /// What the pipeline would hold at most.
    pub(crate) plan: &'a MemoryPlan,
    /// The books just before the pipeline started: set-ups have peaks of their own.
    pub(crate) before: &'a Snapshot<Class, StageName>,
    pub(crate) peak: MemoryPeak,
    pub(crate) elapsed: Option<Elapsed>,
}

/// A class of buffers in one space: what the plan says, and what there was.
struct ClassPeak {
    class: Class,
    space: Space,
    plan: u64,
    peak: u64,
    before: u64,
}

impl ClassPeak {
    /// Above the plan because of what came before the pipeline.
    fn is_earlier(&self) -> bool {
        self.peak > self.plan && self.peak == self.before
    }
}

/// The stages of the pipeline, in order.
const STAGES: [StageName; 5] = [StageName::Parse, StageName::Synth, StageName::Ntt, StageName::Msm, StageName::Finalize];

impl Summary<'_> {
    /// Time a stage worked: its workers' busy time without what they waited for room downstream.
    fn work(&self, stage: StageName) -> (u64, Duration, Duration) {
        let time = self.stages.stage(stage);
        (time.items, time.busy.saturating_sub(time.blocked), time.waiting + time.blocked)
    }

    /// Plan and peak of each class that was ever in use or planned, by space.
    fn classes(&self) -> Vec<ClassPeak> {
        let snapshot = self.ledger.snapshot();
        let spaces: Vec<_> = snapshot.spaces().iter().map(|usage| usage.space).collect();
        let mut rows = Vec::new();
        for &class in Class::ALL {
            for &space in &spaces {
                let peak = snapshot.class(space, class).peak_bytes;
                let plan = self.plan.class(space, class);
                if peak > 0 || plan > 0 {
                    rows.push(ClassPeak { class, space, plan, peak, before: self.before.class(space, class).peak_bytes });
                }
            }
        }
        rows
    }

    /// The tables.
    pub(crate) fn text(&self) -> String {
        let seconds = |time: Duration| format!("{:.3} s", time.as_secs_f64());
        let mut stages = Table::new(["stage", "items", "work", "waiting"]);
        for (name, time) in &self.steps.0 {
            stages.row([name.clone(), "1".to_owned(), seconds(*time), String::new()]);
        }
        for stage in STAGES {
            let (items, work, waiting) = self.work(stage);
            stages.row([stage.name().to_owned(), items.to_string(), seconds(work), seconds(waiting)]);
        }
        let mut buffers = Table::new(["buffer class", "memory", "plan", "peak"]);
        let classes = self.classes();
        for ClassPeak { class, space, plan, peak, .. } in &classes {
            buffers.row([class.name().to_owned(), space.to_string(), Bytes(*plan).to_string(), Bytes(*peak).to_string()]);
        }
        let mut text = format!("{stages}\n{buffers}\n");
        let earlier: Vec<_> = classes.iter().filter(|row| row.is_earlier()).map(|row| row.class.name()).collect();
        if !earlier.is_empty() {
            text.push_str(&format!("not of the pipeline but of what was set up before it: the peak of {}\n", earlier.join(", ")));
        }
        for parameters in &self.parameters {
            text.push_str(&format!("parameters of {}: {} ({})\n", parameters.circuit, parameters.origin, parameters.path));
        }
        for stage in STAGES {
            let retries = self.stages.stage(stage).retries;
            if retries > 0 {
                text.push_str(&format!(
                    "{}: errors that may pass were met {retries} times and the work tried again; the log has them\n",
                    stage.name()
                ));
            }
        }
        let peak = &self.peak;
        text.push_str(&format!(
            "peak resident memory: {} anonymous, {} file-backed, {} together at most\n",
            Bytes(peak.anonymous_bytes),
            Bytes(peak.file_backed_bytes),
            Bytes(peak.high_water_bytes)
        ));
        for usage in self.ledger.snapshot().spaces().iter().filter(|usage| usage.budget < u64::MAX) {
            text.push_str(&format!(
                "budget of {} memory: {}, plan {}, at most {} in use\n",
                usage.space,
                Bytes(usage.budget),
                Bytes(self.plan.total(usage.space)),
                Bytes(usage.peak)
            ));
        }
        if let Some(elapsed) = self.elapsed {
            text.push_str(&format!("in all: {:.3} s, {:.3} CPU s\n", elapsed.wall_s, elapsed.cpu.total_s()));
        }
        text
    }

    /// The same as JSON.
    pub(crate) fn json(&self) -> Json {
        let steps: Vec<_> = self.steps.0.iter().map(|(name, time)| json!({ "step": name, "wall_s": time.as_secs_f64() })).collect();
        let stages: Vec<_> = STAGES
            .iter()
            .map(|&stage| {
                let (items, work, waiting) = self.work(stage);
                json!({ "stage": stage.name(), "items": items, "work_s": work.as_secs_f64(), "waiting_s": waiting.as_secs_f64(),
                    "retries": self.stages.stage(stage).retries })
            })
            .collect();
        let classes: Vec<_> = self
            .classes()
            .into_iter()
            .map(|ClassPeak { class, space, plan, peak, before }| {
                json!({
                    "class": class.name(),
                    "space": space.to_string(),
                    "plan_bytes": plan,
                    "peak_bytes": peak,
                    "peak_before_pipeline_bytes": before,
                })
            })
            .collect();
        let budgets: Vec<_> = self
            .ledger
            .snapshot()
            .spaces()
            .iter()
            .filter(|usage| usage.budget < u64::MAX)
            .map(|usage| {
                let (space, before) = (usage.space, self.before.peak(usage.space));
                json!({
                    "space": space.to_string(),
                    "budget_bytes": usage.budget,
                    "plan_bytes": self.plan.total(space),
                    "peak_bytes": usage.peak,
                    "peak_before_pipeline_bytes": before,
                })
            })
            .collect();
        let parameters: Vec<_> =
            self.parameters.iter().map(|p| json!({ "circuit": p.circuit, "file": p.path, "origin": p.origin })).collect();
        json!({
            "parameters": parameters,
            "steps": steps,
            "stages": stages,
            "buffers": classes,
            "budgets": budgets,
            "resident": self.peak,
            "elapsed": self.elapsed,
        })
    }
}

#[cfg(test)]
mod tests {
    use pipeline_stage::Request;
    use scheduler::plan::{Plan, Row, Sum};

    use super::*;

    #[test]
    fn tables_tell_peaks_after_the_buffers_are_gone() {
        let ledger = Ledger::new(&[(Space::Host, 1 << 20), (Space::Mapped, u64::MAX)]);
        let request = Request { space: Space::Host, class: Class::Witness, stage: StageName::Synth, bytes: 2048 };
        let staging = Request { class: Class::Staging, bytes: 1 << 10, ..request };
        drop(ledger.try_acquire(staging).unwrap());
        let before = ledger.snapshot();
        drop(ledger.try_acquire(request).unwrap());
        let (what, why) = ("witness".to_owned(), "one worker".to_owned());
        let mut plan = Plan::new(Class::Reserved);
        let witness = Row { class: Class::Witness, stage: StageName::Synth, what, count: 1, bytes_each: 4096, why };
        plan.add(Space::Host, Sum::new("synthesis", "all of it").row(witness));
        let mut steps = Steps::default();
        assert_eq!(steps.time("compile", || 7), 7);
        let stages = StageTimes::default();
        let peak = MemoryPeak { anonymous_bytes: 3 << 20, file_backed_bytes: 1 << 30, ..MemoryPeak::default() };
        let summary = Summary {
            steps: &steps,
            parameters: Vec::new(),
            stages: &stages,
            ledger: &ledger,
            plan: &plan,
            before: &before,
            peak,
            elapsed: None,
        };
        let text = summary.text();
        for word in [
            "compile",
            "witness",
            "2.00 KiB",
            "3.00 MiB anonymous",
            "1.00 GiB file-backed",
            "budget of host memory: 1.00 MiB, plan 4.00 KiB",
            "the peak of staging",
        ] {
            assert!(text.contains(word), "{word:?} is not in {text}");
        }
        assert!(!text.contains("h_poly"), "{text}");
        let json = summary.json();
        let witness = json!(
            { "class": "witness", "space": "host", "plan_bytes": 4096, "peak_bytes": 2048, "peak_before_pipeline_bytes": 0 }
        );
        assert_eq!(json["buffers"][0], witness);
        assert_eq!(json["buffers"][1]["peak_before_pipeline_bytes"], 1024);
        assert_eq!(json["budgets"][0]["plan_bytes"], 4096);
        assert_eq!(json["resident"]["anonymous_bytes"], 3 << 20);
    }
}

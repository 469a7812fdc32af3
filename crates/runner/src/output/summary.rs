//! What a proving run took: time per stage, peak bytes per class, peak resident memory.

use std::time::{Duration, Instant};

use buffer_accounting::Label;
use groth16_pipeline::{CircuitKeys, StageTimes};
use pipeline_stage::{Class, Ledger, StageName};
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
    pub(crate) peak: MemoryPeak,
    pub(crate) elapsed: Option<Elapsed>,
}

/// The stages of the pipeline, in order.
const STAGES: [StageName; 5] = [StageName::Parse, StageName::Synth, StageName::Ntt, StageName::Msm, StageName::Finalize];

impl Summary<'_> {
    /// Time a stage worked: its workers' busy time without what they waited for room downstream.
    fn work(&self, stage: StageName) -> (u64, Duration, Duration) {
        let time = self.stages.stage(stage);
        (time.items, time.busy.saturating_sub(time.blocked), time.waiting + time.blocked)
    }

    /// Peak bytes of each class that was ever in use, by space. What is merely set aside is not yet a buffer.
    fn classes(&self) -> Vec<(&'static str, String, u64)> {
        let snapshot = self.ledger.snapshot();
        let spaces: Vec<_> = snapshot.spaces().iter().map(|usage| usage.space).collect();
        let mut rows = Vec::new();
        for &class in Class::ALL {
            for &space in &spaces {
                let peak = snapshot.class(space, class).peak_bytes;
                if peak > 0 {
                    rows.push((class.name(), space.to_string(), peak));
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
        let mut buffers = Table::new(["buffer class", "memory", "peak"]);
        for (class, space, peak) in self.classes() {
            buffers.row([class.to_owned(), space, Bytes(peak).to_string()]);
        }
        let mut text = format!("{stages}\n{buffers}\n");
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
            text.push_str(&format!("budget of {} memory: {}, at most {} in use\n", usage.space, Bytes(usage.budget), Bytes(usage.peak)));
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
        let classes: Vec<_> =
            self.classes().into_iter().map(|(class, space, peak)| json!({ "class": class, "space": space, "peak_bytes": peak })).collect();
        let budgets: Vec<_> = self
            .ledger
            .snapshot()
            .spaces()
            .iter()
            .filter(|usage| usage.budget < u64::MAX)
            .map(|usage| json!({ "space": usage.space.to_string(), "budget_bytes": usage.budget, "peak_bytes": usage.peak }))
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
    use pipeline_stage::{Request, Space};

    use super::*;

    #[test]
    fn tables_tell_peaks_after_the_buffers_are_gone() {
        let ledger = Ledger::new(&[(Space::Host, 1 << 20), (Space::Mapped, u64::MAX)]);
        let request = Request { space: Space::Host, class: Class::Witness, stage: StageName::Synth, bytes: 2048 };
        drop(ledger.try_acquire(request).unwrap());
        let mut steps = Steps::default();
        assert_eq!(steps.time("compile", || 7), 7);
        let stages = StageTimes::default();
        let peak = MemoryPeak { anonymous_bytes: 3 << 20, file_backed_bytes: 1 << 30, ..MemoryPeak::default() };
        let summary = Summary { steps: &steps, parameters: Vec::new(), stages: &stages, ledger: &ledger, peak, elapsed: None };
        let text = summary.text();
        for word in ["compile", "witness", "2.00 KiB", "3.00 MiB anonymous", "1.00 GiB file-backed", "budget of host memory: 1.00 MiB"] {
            assert!(text.contains(word), "{word:?} is not in {text}");
        }
        assert!(!text.contains("staging"), "{text}");
        let json = summary.json();
        assert_eq!(json["buffers"], json!([{ "class": "witness", "space": "host", "peak_bytes": 2048 }]));
        assert_eq!(json["resident"]["anonymous_bytes"], 3 << 20);
    }
}

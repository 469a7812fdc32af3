//! A scheme and what came of it.

use buffer_accounting::Label;
use pipeline_stage::{Class, StageName};
use scheduler::simulator::{ModelError, Run, Sample, simulate};

use super::history::{DEVICE, Scheme};
use super::inputs::theirs;

/// A scheme with its run.
pub(super) struct Outcome<'a> {
    pub(super) scheme: &'a Scheme,
    pub(super) run: Run,
}

/// Bytes as GiB.
pub(super) fn in_gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

/// A scheme that cannot run, and why.
pub(super) struct Refused<'a> {
    pub(super) scheme: &'a Scheme,
    pub(super) reason: ModelError,
}

impl<'a> Outcome<'a> {
    /// Runs every scheme; those that the budget has no room for are told apart.
    pub(super) fn all(schemes: &'a [Scheme]) -> (Vec<Self>, Vec<Refused<'a>>) {
        let (mut outcomes, mut refused) = (Vec::new(), Vec::new());
        for scheme in schemes {
            match simulate(&scheme.model) {
                Ok(run) => outcomes.push(Self { scheme, run }),
                Err(reason) => refused.push(Refused { scheme, reason }),
            }
        }
        (outcomes, refused)
    }

    pub(super) fn pace(&self) -> f64 {
        self.run.time_per_job().as_secs_f64()
    }

    pub(super) fn peak(&self) -> f64 {
        in_gib(self.run.peak.bytes)
    }

    /// The peak without what is held from start to end.
    pub(super) fn peak_in_flight(&self) -> f64 {
        let fixed: u64 = self.scheme.model.fixed.iter().map(|buffer| buffer.bytes).sum();
        in_gib(self.run.peak.bytes - fixed)
    }

    /// The most bytes of buffers that exist, without what is held from start to end and without what is only set aside.
    pub(super) fn peak_made(&self) -> f64 {
        let fixed: u64 = self.scheme.model.fixed.iter().map(|buffer| buffer.bytes).sum();
        let made = |sample: &Sample| sample.in_use() - sample.bytes[Class::Reserved.index()];
        in_gib(self.run.samples.iter().map(made).max().unwrap_or(0).saturating_sub(fixed))
    }

    pub(super) fn device_idle(&self) -> f64 {
        self.run.resources[DEVICE].idle_share()
    }

    /// The most synthesised partitions that the device had not read.
    pub(super) fn piled_up_most(&self) -> u32 {
        self.run.samples.iter().map(|sample| self.piled_up(sample)).max().unwrap_or(0)
    }

    /// Synthesised partitions that the device has not read: without a place in a queue, in one, or with a worker in front of the sums.
    pub(super) fn piled_up(&self, sample: &Sample) -> u32 {
        let stages = sample.stages.iter().zip(&self.scheme.model.stages);
        let count = stages.map(|(gauge, stage)| match stage.name {
            StageName::Synth => gauge.unsent,
            StageName::Ntt => gauge.queued + gauge.working + gauge.waiting + gauge.unsent,
            StageName::Msm => gauge.queued + gauge.working + gauge.waiting,
            _ => 0,
        });
        count.sum()
    }

    /// Seconds and GiB when as many partitions had piled up as were counted in the history.
    pub(super) fn at_published_pile(&self) -> Option<(f64, f64)> {
        let sample = self.run.first(|sample| self.piled_up(sample) >= theirs::PILED_UP)?;
        Some((sample.time.as_secs_f64(), in_gib(sample.in_use())))
    }

    /// Seconds when the machine's memory was passed.
    pub(super) fn passes_machine(&self) -> Option<f64> {
        let machine = theirs::MACHINE_GIB << 30;
        self.run.first(|sample| sample.in_use() > machine).map(|sample| sample.time.as_secs_f64())
    }
}

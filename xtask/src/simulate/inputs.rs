//! The figures that go in. Each is a row of the tables in `docs/SIMULATOR.md`, with its source.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, ensure};
use scheduler::simulator::Times;

/// Bytes of a number of GiB with two decimals, as they are published.
const fn gib(hundredths: u64) -> u64 {
    (hundredths << 30) / 100
}

/// Published figures of the prover whose history this is.
pub(super) mod theirs {
    use std::time::Duration;

    use super::gib;

    /// a, b and c of a partition.
    pub(in super::super) const EVALUATIONS: u64 = gib(1165);
    /// Its witness and density bits: what is left when the device has read a, b and c.
    pub(in super::super) const WITNESS: u64 = gib(391);
    /// The proving key, pinned.
    pub(in super::super) const KEY: u64 = gib(4400);
    /// The compiled constraints.
    pub(in super::super) const CONSTRAINTS: u64 = gib(2570);
    /// Mean of the published synthesis times, of which [`WITNESS_TIME`] makes the witness and the rest a, b and c.
    pub(in super::super) const SYNTHESIS_MEAN: Duration = Duration::from_millis(32_500);
    /// Of a synthesis, the part that makes the witness.
    pub(in super::super) const WITNESS_TIME: Duration = Duration::from_millis(26_500);
    /// Evaluation of a, b and c of one partition by the whole machine: ten side by side take 8.8 s.
    pub(in super::super) const EVALUATION_ALONE: Duration = Duration::from_millis(880);
    /// The sum in G2 and the rest on the CPU, after the device.
    pub(in super::super) const FINISH: Duration = Duration::from_millis(1_700);
    /// The device's time for a partition when nothing else loads the machine.
    pub(in super::super) const DEVICE_ALONE: Duration = Duration::from_millis(1_800);
    /// The machine's memory.
    pub(in super::super) const MACHINE_GIB: u64 = 755;
    /// Synthesised partitions that counters showed before the kill.
    pub(in super::super) const PILED_UP: u32 = 28;
    /// Memory at the kill, with 12 workers.
    pub(in super::super) const KILLED_GIB: f64 = 668.0;
    /// Workers, and the peak in GiB before the permit was held longer.
    pub(in super::super) const BEFORE: &[(u32, f64)] = &[(10, 367.0), (12, KILLED_GIB)];
    /// Peak with the permit held through a send into one slot, with 12 workers.
    pub(in super::super) const HELD_GIB: f64 = 294.7;
    /// Workers, workers of the device, jobs, seconds a proof and peak in GiB with a channel as deep as the workers.
    pub(in super::super) const SWEEP: &[(u32, u32, u32, f64, f64)] = &[
        (2, 1, 5, 152.0, 110.0),
        (7, 1, 5, 53.0, 208.0),
        (10, 2, 20, 38.5, 321.0),
        (12, 2, 20, 37.7, 400.0),
        (14, 2, 20, 37.8, 457.0),
        (16, 2, 20, 38.4, 510.0),
    ];
}

/// Our own measured figures, for one partition of a 32 GiB sector.
pub(super) mod ours {
    use std::time::Duration;

    use super::{Range, gib};

    /// A compact witness.
    pub(in super::super) const WITNESS: u64 = 86_913_738;
    /// The permit while a witness is being made: as if every variable were full-size.
    pub(in super::super) const WITNESS_AT_MOST: u64 = gib(388);
    /// A buffer of domain size: 2^27 scalars of 32 bytes.
    pub(in super::super) const BUFFER: u64 = 1 << 32;
    /// The proving key, mapped; the device needs it resident to be as fast as theirs.
    pub(in super::super) const KEY: u64 = gib(4400);
    /// The compiled circuit, mapped.
    pub(in super::super) const CIRCUIT: u64 = gib(205);
    /// Synthesis of the compact witness on one thread.
    pub(in super::super) const SYNTHESIS: Range = Range { least: Duration::from_secs(32), most: Duration::from_secs(34) };
    /// Evaluation of every constraint, CPU time.
    pub(in super::super) const EVALUATION_CPU: Range = Range { least: Duration::from_secs(37), most: Duration::from_secs(41) };
    /// Threads that share an evaluation. Not measured on more than two; a row of the table of assumptions.
    pub(in super::super) const EVALUATION_THREADS: u32 = 16;
}

/// What can be chosen on the command line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) workers: u32,
    pub(super) device_workers: u32,
    pub(super) jobs: u32,
    pub(super) synthesis: Range,
    pub(super) device: Range,
    /// In bytes.
    pub(super) budget: u64,
    pub(super) margin_percent: u32,
    pub(super) seed: u64,
}

/// A time or an interval of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) least: Duration,
    pub(super) most: Duration,
}

impl Range {
    pub(super) fn times(self) -> Times {
        Times { least: self.least, most: self.most }
    }

    pub(super) fn mean(self) -> Duration {
        self.times().mean()
    }

    pub(super) fn exactly(time: Duration) -> Self {
        Self { least: time, most: time }
    }

    /// What is left of each bound after a first part.
    pub(super) fn after(self, part: Duration) -> Self {
        Self { least: self.least.saturating_sub(part), most: self.most.saturating_sub(part) }
    }
}

impl std::ops::Div<u32> for Range {
    type Output = Self;

    fn div(self, parts: u32) -> Self {
        Self { least: self.least / parts, most: self.most / parts }
    }
}

impl FromStr for Range {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seconds = |part: &str| -> Result<Duration, Self::Err> {
            let expected = || format!("expected seconds, as 3.7 or 29..36, found {text:?}");
            let seconds: f64 = part.trim().parse().with_context(expected)?;
            // A day is longer than any stage, and keeps sums of times far from overflow.
            ensure!((0.0..=86_400.0).contains(&seconds), "{}, which is not between 0 and 86400", expected());
            Ok(Duration::from_secs_f64(seconds))
        };
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let range = Self { least: seconds(least)?, most: seconds(most)? };
        ensure!(range.least <= range.most, "expected the shorter time first, found {text:?}");
        Ok(range)
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.least.as_secs_f64())?;
        if self.most == self.least { Ok(()) } else { write!(f, "..{}", self.most.as_secs_f64()) }
    }
}

#[cfg(test)]
mod tests {
    use super::Range;

    #[test]
    fn times_are_read_and_anything_else_refused() {
        for text in ["3.7", "29..36", "0"] {
            assert_eq!(text.parse::<Range>().unwrap().to_string(), text);
        }
        for text in ["", "x", "36..29", "-1", "1..", "NaN", "inf", "90000"] {
            let refused = text.parse::<Range>().unwrap_err();
            assert!(format!("{refused:#}").contains("expected"), "{refused:#}");
        }
    }
}

//! Rounds in which each contender works once on the same data.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use telemetry::Stopwatch;

/// How large the data are and how often they are worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Points or values: 2 to this power.
    pub log2_len: u32,
    /// Rounds that count, after one that does not.
    pub rounds: u32,
}

impl Size {
    /// Points or values.
    #[must_use]
    pub fn count(self) -> usize {
        1 << self.log2_len
    }
}

/// CPU seconds of all threads that one contender took, round by round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Whose code it is.
    pub name: String,
    /// One entry a round.
    pub cpu_s: Vec<f64>,
}

/// One kernel on one size. Every contender's result was equal in every round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What was computed, on what data.
    pub kernel: String,
    /// 2 to this power points or values.
    pub log2_len: u32,
    /// What the work is counted in: `point` or `butterfly`.
    pub unit: String,
    /// So many of them.
    pub units: u64,
    /// Ours first.
    pub contenders: Vec<Times>,
}

impl Comparison {
    /// Nanoseconds a unit in a contender's best round, the one least disturbed.
    #[must_use]
    pub fn best_ns(&self, times: &Times) -> f64 {
        times.cpu_s.iter().copied().fold(f64::INFINITY, f64::min) * 1e9 / self.units as f64
    }

    /// Minimum, median and maximum of ours over theirs, round by round; with an even number of rounds the median is the mean of the middle two.
    /// `None` without rounds.
    #[must_use]
    pub fn ratios(&self, theirs: &Times) -> Option<[f64; 3]> {
        let ours = &self.contenders.first()?.cpu_s;
        let mut ratios: Vec<f64> = ours.iter().zip(&theirs.cpu_s).map(|(ours, theirs)| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        let (&min, &max) = (ratios.first()?, ratios.last()?);
        let middle = ratios.len() / 2;
        let median = if ratios.len() % 2 == 1 { ratios[middle] } else { f64::midpoint(ratios[middle - 1], ratios[middle]) };
        Some([min, median, max])
    }
}

/// Whoever computes an `R`: prepares its input, then gives its result and the CPU seconds that this alone took.
pub(super) struct Contender<'a, R> {
    pub(super) name: &'static str,
    pub(super) run: Box<dyn FnMut() -> Result<(f64, R)> + 'a>,
}

impl<'a, R> Contender<'a, R> {
    pub(super) fn new(name: &'static str, run: impl FnMut() -> Result<(f64, R)> + 'a) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// CPU seconds of all threads while `work` ran.
pub(super) fn timed<R>(work: impl FnOnce() -> R) -> Result<(f64, R)> {
    let watch = Stopwatch::start()?;
    let result = work();
    Ok((watch.elapsed()?.cpu.total_s(), result))
}

/// Lets the contenders work in turn. Who begins changes from round to round, so that a machine that slows down slows all alike; the first
/// round, which pays for thread pools and tables, does not count. Results are compared in every round.
///
/// # Errors
/// A contender's own, results that differ.
pub(super) fn alternate<R: PartialEq>(rounds: u32, mut contenders: Vec<Contender<'_, R>>) -> Result<Vec<Times>> {
    let mut all: Vec<Times> = contenders.iter().map(|c| Times { name: c.name.to_owned(), cpu_s: Vec::new() }).collect();
    for round in 0..=rounds as usize {
        let mut expected: Option<(R, &str)> = None;
        for turn in 0..contenders.len() {
            let who = (round + turn) % contenders.len();
            let Contender { name, run } = &mut contenders[who];
            let (cpu_s, result) = run().with_context(|| (*name).to_owned())?;
            match &expected {
                Some((expected, other)) => ensure!(result == *expected, "the results of {name} and {other} differ"),
                None => expected = Some((result, name)),
            }
            if round > 0 {
                all[who].cpu_s.push(cpu_s);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_works_in_every_round_and_the_first_does_not_count() {
        let order = std::cell::RefCell::new(Vec::new());
        let contender = |name: &'static str, cpu_s: f64| {
            let order = &order;
            Contender::new(name, move || {
                order.borrow_mut().push(name);
                Ok((cpu_s + order.borrow().len() as f64, 7))
            })
        };
        let times = alternate(2, vec![contender("a", 0.0), contender("b", 100.0)]).unwrap();
        assert_eq!(*order.borrow(), ["a", "b", "b", "a", "a", "b"]);
        assert_eq!(times[0], Times { name: "a".to_owned(), cpu_s: vec![4.0, 5.0] });
        assert_eq!(times[1], Times { name: "b".to_owned(), cpu_s: vec![103.0, 106.0] });
    }

    #[test]
    fn different_results_give_no_time() {
        let mut calls = 0;
        let late = Contender::new("late", || {
            calls += 1;
            Ok((1.0, if calls < 3 { 7 } else { 8 }))
        });
        let error = alternate(2, vec![Contender::new("steady", || Ok((1.0, 7))), late]).unwrap_err();
        assert!(error.to_string().contains("late") && error.to_string().contains("steady"), "{error}");
        let failing = Contender::new("failing", || -> Result<(f64, u8)> { anyhow::bail!("no") });
        assert!(alternate(1, vec![failing]).is_err_and(|error| format!("{error:#}") == "failing: no"));
    }

    #[test]
    fn figures_of_a_comparison() {
        let times = |name: &str, cpu_s: &[f64]| Times { name: name.to_owned(), cpu_s: cpu_s.to_vec() };
        let comparison = Comparison {
            kernel: "sum".to_owned(),
            log2_len: 1,
            unit: "point".to_owned(),
            units: 2,
            contenders: vec![times("ours", &[3e-9, 1e-9]), times("theirs", &[4e-9, 4e-9])],
        };
        assert!((comparison.best_ns(&comparison.contenders[0]) - 0.5).abs() < 1e-9);
        let near =
            |found: [f64; 3], expected: [f64; 3]| found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9);
        assert!(near(comparison.ratios(&comparison.contenders[1]).unwrap(), [0.25, 0.5, 0.75]));
        assert!(near(comparison.ratios(&times("theirs", &[1e-9])).unwrap(), [3.0; 3]));
        assert_eq!(comparison.ratios(&times("theirs", &[])), None);
    }
}

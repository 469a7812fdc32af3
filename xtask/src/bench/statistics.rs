//! Minimum, median and maximum of a few runs.

use serde_json::{Value, json};

/// A figure over some runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) max: f64,
    pub(super) runs: usize,
}

impl Spread {
    /// `None` for no run. With an even number of runs the median is the mean of the middle two.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) };
        Some(Self { min, median, max, runs: sorted.len() })
    }

    pub(super) fn json(&self) -> Value {
        json!({ "min": self.min, "median": self.median, "max": self.max, "runs": self.runs })
    }

    /// The three numbers with so many decimals.
    pub(super) fn columns(&self, decimals: usize) -> [String; 3] {
        [self.min, self.median, self.max].map(|value| format!("{value:.decimals$}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn spreads_of_odd_even_and_no_runs() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(Spread { min: 1.0, median: 2.0, max: 3.0, runs: 3 }));
        assert_eq!(spread(&[4.0, 1.0]), Some(Spread { min: 1.0, median: 2.5, max: 4.0, runs: 2 }));
        assert_eq!(spread(&[]), None);
        assert_eq!(Spread::of([0.125]).unwrap().columns(2), ["0.12", "0.12", "0.12"]);
    }
}

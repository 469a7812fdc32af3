//! A service time from samples.

use std::time::Duration;

/// Part of a new sample in the mean: one eighth, as in the smoothed round-trip time of RFC 6298, section 2.
const WEIGHT: u32 = 8;
/// The published value moves when the mean is further from it than one part in this many.
const BAND: u32 = 10;

/// An estimate of a service time: an exponentially weighted mean, published in steps.
///
/// The mean forgets (a circuit that runs on another device is known after some tens of samples); the published value stays where it is
/// while the mean is within a tenth of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    mean: Option<Duration>,
    published: Option<Duration>,
}

impl Estimate {
    /// The estimate after one more sample. The first sample is the estimate.
    #[must_use]
    pub fn observe(self, sample: Duration) -> Self {
        let mean = match self.mean {
            None => sample,
            Some(mean) if sample >= mean => mean.saturating_add((sample - mean) / WEIGHT),
            Some(mean) => mean - (mean - sample) / WEIGHT,
        };
        let published = self.published.filter(|published| mean.abs_diff(*published) <= *published / BAND);
        Self { mean: Some(mean), published: Some(published.unwrap_or(mean)) }
    }

    /// The published estimate; `None` before the first sample.
    #[must_use]
    pub fn value(&self) -> Option<Duration> {
        self.published
    }
}

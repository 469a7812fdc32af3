//! Times between bounds, from a seed.

use std::time::Duration;

use super::model::Times;

/// The finaliser of SplitMix64 (Steele, Lea, Flood, *Fast splittable pseudorandom number generators*, 2014).
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The time of one phase of one partition: the same for the same seed and place, whatever else happens.
pub(super) fn draw(times: Times, seed: u64, job: u64, partition: u64, step: u64) -> Duration {
    let width = times.most.saturating_sub(times.least).as_nanos();
    let hash = [job, partition, step].into_iter().fold(mix(seed), |hash, part| mix(hash.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ part));
    // The high half of a product maps the hash onto 0..=width evenly.
    let part = (u128::from(hash) * (width + 1)) >> 64;
    times.least + Duration::from_nanos(u64::try_from(part).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Times, draw};

    #[test]
    fn times_fill_their_interval_evenly_and_repeat() {
        let times = Times { least: Duration::from_secs(10), most: Duration::from_secs(20) };
        let all: Vec<Duration> = (0..10_000).map(|partition| draw(times, 7, 1, partition, 2)).collect();
        assert!(all.iter().all(|time| (times.least..=times.most).contains(time)));
        let mean = all.iter().sum::<Duration>() / 10_000;
        assert!(mean.abs_diff(times.mean()) < Duration::from_millis(100), "{mean:?}");
        assert!(all.iter().filter(|time| **time < Duration::from_secs(11)).count().abs_diff(1000) < 120);
        assert_eq!(draw(times, 7, 1, 5, 2), all[5]);
        assert!(draw(times, 8, 1, 5, 2) != all[5] && draw(times, 7, 2, 5, 2) != all[5] && draw(times, 7, 1, 5, 3) != all[5]);
        assert_eq!(draw(Times::exactly(times.most), 7, 1, 5, 2), times.most);
    }
}

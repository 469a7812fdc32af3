//! The recorder, and the page that a scrape gets.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use super::name::{Kind, Metric, Unit};
use super::process;
use crate::TelemetryError;

/// Digits of a second that the facade's whole counters hold.
const SECOND_DIGITS: usize = 6;

type Collector = Box<dyn Fn() + Send + Sync>;

/// What is read at a scrape: gauges that sources set for it, then everything recorded, in the Prometheus text format 0.0.4.
pub struct Exposition {
    handle: PrometheusHandle,
    /// Each sets the gauges of one source; under the lock, so that a page has the figures of one moment of each source.
    collectors: Mutex<Vec<Collector>>,
}

impl std::fmt::Debug for Exposition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exposition").finish_non_exhaustive()
    }
}

impl Exposition {
    /// Makes this process record its metrics; once in a process, before the first one is recorded.
    ///
    /// # Errors
    /// [`TelemetryError::AlreadyRecording`].
    pub fn install() -> Result<Self, TelemetryError> {
        let recorder = recorder()?;
        let exposition = Self::of(&recorder);
        metrics::set_global_recorder(recorder).map_err(|_| TelemetryError::AlreadyRecording)?;
        Metric::describe_all();
        Ok(exposition)
    }

    fn of(recorder: &PrometheusRecorder) -> Self {
        Self { handle: recorder.handle(), collectors: Mutex::new(vec![Box::new(process::collect)]) }
    }

    /// Calls `collect` before each page, to set the gauges of a source from one snapshot of it.
    pub fn collect_with(&self, collect: impl Fn() + Send + Sync + 'static) {
        self.collectors.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(collect));
    }

    /// The page: metrics in the order of the enumeration, series in the order of their labels.
    #[must_use]
    pub fn page(&self) -> String {
        let collectors = self.collectors.lock().unwrap_or_else(PoisonError::into_inner);
        for collect in collectors.iter() {
            collect();
        }
        let rendered = self.handle.render();
        drop(collectors);
        arranged(&rendered)
    }

    /// Puts recorded observations into their buckets. Without it a histogram that nobody scrapes grows with each of them.
    pub(super) fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}

/// A recorder with the buckets of every histogram.
fn recorder() -> Result<PrometheusRecorder, TelemetryError> {
    let mut builder = PrometheusBuilder::new();
    for metric in Metric::ALL {
        if let Kind::Histogram(buckets) = metric.details().kind {
            builder = builder
                .set_buckets_for_metric(Matcher::Full(metric.name().to_owned()), buckets)
                .map_err(|error| TelemetryError::Buckets { metric: metric.name(), reason: error.to_string() })?;
        }
    }
    Ok(builder.build_recorder())
}

/// Sorts the families, which come in the order of a hash table, and puts the point into counters of seconds.
fn arranged(rendered: &str) -> String {
    let mut families = BTreeMap::new();
    for family in rendered.split("\n\n").filter(|family| !family.trim().is_empty()) {
        let name = family.lines().find_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).unwrap_or_default();
        let metric = Metric::from_name(name);
        families.insert((metric.is_none(), metric, name.to_owned()), arranged_family(metric, family));
    }
    families.into_values().collect()
}

fn arranged_family(metric: Option<Metric>, family: &str) -> String {
    let (comments, mut samples): (Vec<&str>, Vec<&str>) = family.lines().partition(|line| line.starts_with('#'));
    let details = metric.map(Metric::details);
    // The buckets of a histogram come in order, and order is part of their meaning.
    if details.is_none_or(|details| !matches!(details.kind, Kind::Histogram(_))) {
        samples.sort_unstable();
    }
    let in_seconds = details.is_some_and(|details| details.kind == Kind::Counter && details.unit == Unit::Seconds);
    let mut text = String::with_capacity(family.len() + samples.len() * 2);
    for line in comments {
        text.push_str(line);
        text.push('\n');
    }
    for line in samples {
        match line.rsplit_once(' ') {
            Some((series, micros)) if in_seconds => {
                let digits = format!("{micros:0>width$}", width = SECOND_DIGITS + 1);
                let (whole, fraction) = digits.split_at(digits.len() - SECOND_DIGITS);
                text.push_str(&format!("{series} {whole}.{fraction}\n"));
            }
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_parse::{Scrape, Value};

    use super::super::name::Details;
    use super::super::record::*;
    use super::*;

    /// A page of a recorder of this thread alone.
    fn page_of(record: impl Fn() + Send + Sync + Clone + 'static) -> String {
        let recorder = recorder().unwrap();
        let exposition = Exposition::of(&recorder);
        metrics::with_local_recorder(&recorder, || {
            Metric::describe_all();
            exposition.collect_with(record);
            exposition.page()
        })
    }

    fn parsed(page: &str) -> Scrape {
        Scrape::parse(page.lines().map(|line| Ok(line.to_owned()))).unwrap()
    }

    fn everything() {
        set_buffer("witness", "queued_ntt", "host", 4096, 2);
        set_buffer("staging", "setup", String::from("device3"), 0, 0);
        set_budget("host", &BudgetFigures { budget_bytes: Some(1 << 40), used_bytes: 4096, peak_bytes: 8192, waiters: 1 });
        set_budget("mapped", &BudgetFigures { budget_bytes: None, used_bytes: 0, peak_bytes: 0, waiters: 0 });
        set_unaccounted(-5);
        set_allocator(&AllocatorFigures { allocated: 1, active: 2, resident: 3, mapped: 4, retained: 5, metadata: 6 });
        set_build_info(&BuildInfo { version: "1.2.3", allocator: "jemalloc" });
        zero_stage("ntt");
        zero_proofs(&["fatal", "cancelled"]);
    }

    #[test]
    fn every_metric_has_help_type_and_labels_of_the_enumeration() {
        let page = page_of(everything);
        let scrape = parsed(&page);
        for metric in Metric::ALL {
            let Details { name, kind, labels, help, .. } = metric.details();
            assert!(page.contains(&format!("# HELP {name} {help}\n# TYPE {name} {}\n", kind.name())), "{name}: {page}");
            let samples: Vec<_> = scrape.samples.iter().filter(|sample| sample.metric == name).collect();
            assert!(!samples.is_empty(), "{name} has no sample: {page}");
            for sample in samples {
                let mut found: Vec<&str> = sample.labels.keys().map(String::as_str).collect();
                let mut expected = labels.to_vec();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected, "{name}");
            }
        }
        assert!(page.contains("proofmill_unaccounted_bytes -5\n"), "{page}");
        assert!(
            page.contains("proofmill_budget_bytes{space=\"host\"} 1099511627776\n")
                && !page.contains("proofmill_budget_bytes{space=\"mapped\"}")
        );
        let order: Vec<_> = page.lines().filter_map(|line| Metric::from_name(line.strip_prefix("# TYPE ")?.split(' ').next()?)).collect();
        assert_eq!(order, Metric::ALL);
    }

    #[test]
    fn counters_and_histograms_begin_at_zero() {
        let page = page_of(everything);
        for line in [
            "proofmill_proofs_completed_total 0",
            "proofmill_proofs_failed_total{reason=\"fatal\"} 0",
            "proofmill_stage_wait_seconds_total{stage=\"ntt\",on=\"output\"} 0.000000",
            "proofmill_stage_duration_seconds_bucket{stage=\"ntt\",le=\"+Inf\"} 0",
            "proofmill_stage_duration_seconds_count{stage=\"ntt\"} 0",
            "proofmill_permit_wait_seconds_count{stage=\"ntt\"} 0",
        ] {
            assert!(page.lines().any(|found| found == line), "{line:?} is not in {page}");
        }
    }

    #[test]
    fn counters_of_seconds_have_their_point_and_never_fall() {
        let page = page_of(|| {
            for millis in [1500, 12_034_567, 3] {
                let waited_for_input = Duration::from_millis(millis);
                let figures = StageFigures { waited_for_input, waited_for_output: Duration::from_micros(42), ..StageFigures::default() };
                advance_stage("msm", &figures);
            }
        });
        assert!(page.contains("proofmill_stage_wait_seconds_total{stage=\"msm\",on=\"input\"} 12034.567000\n"), "{page}");
        assert!(page.contains("proofmill_stage_wait_seconds_total{stage=\"msm\",on=\"output\"} 0.000042\n"), "{page}");
    }

    #[test]
    fn observations_land_in_their_buckets() {
        let page = page_of(|| {
            for seconds in [0.0005, 0.3, 0.3, 7000.0] {
                stage_finished("synth", Duration::from_secs_f64(seconds));
            }
        });
        let scrape = parsed(&page);
        let sample = scrape.samples.iter().find(|sample| sample.metric == "proofmill_stage_duration_seconds").unwrap();
        let Value::Histogram(buckets) = &sample.value else { panic!("{sample:?}") };
        let below = |bound: f64| buckets.iter().find(|bucket| bucket.less_than == bound).unwrap().count;
        assert_eq!((below(0.001), below(0.25), below(0.5), below(1800.0), below(f64::INFINITY)), (1.0, 1.0, 3.0, 3.0, 4.0));
    }

    #[test]
    fn a_second_recorder_is_refused() {
        let first = Exposition::install().unwrap();
        assert!(matches!(Exposition::install(), Err(TelemetryError::AlreadyRecording)));
        proof_completed();
        first.upkeep();
        assert!(first.page().contains("proofmill_proofs_completed_total 1\n"));
    }
}

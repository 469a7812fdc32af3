//! Scrapes a running command, as Prometheus would, and holds every page to what the documentation promises.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it unwraps")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use prometheus_parse::{Sample, Scrape, Value};
use telemetry::{Kind, Metric};

use crate::support::Run;

/// One page, parsed.
pub(crate) struct Page(Vec<Sample>);

/// Runs a command that serves metrics, and scrapes it until it ends.
pub(crate) fn run_scraped(command: &mut Command) -> (Run, Vec<Page>) {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    stderr.read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("proofmill: metrics are at http://").and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{said}")).to_owned();
    let rest = std::thread::spawn(move || {
        stderr.read_to_string(&mut said).unwrap();
        said
    });
    let mut pages = Vec::new();
    // The server goes with the command.
    while let Some(text) = scrape(&address) {
        pages.push(Page(Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).unwrap().samples));
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = child.wait_with_output().unwrap();
    let run = Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: rest.join().unwrap(),
        took: start.elapsed(),
    };
    (run, pages)
}

/// A page, or nothing when nobody serves one any more.
fn scrape(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: proofmill\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, page) = answer.split_once("\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    // A page that the end of the command cut short is none.
    head.contains(&format!("Content-Length: {}", page.len())).then(|| page.to_owned())
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Counter(number) | Value::Gauge(number) | Value::Untyped(number) => *number,
        other => panic!("{other:?} is not one number"),
    }
}

impl Page {
    fn samples(&self, metric: Metric) -> impl Iterator<Item = &Sample> {
        self.0.iter().filter(move |sample| sample.metric == metric.name())
    }

    /// The sum of the series that have this label, or of all.
    pub(crate) fn sum(&self, metric: Metric, label: Option<(&str, &str)>) -> f64 {
        let wanted = |sample: &&Sample| label.is_none_or(|(name, value)| sample.labels.get(name) == Some(value));
        self.samples(metric).filter(wanted).map(|sample| number(&sample.value)).sum()
    }

    /// Observations of a histogram that have this label.
    pub(crate) fn observations(&self, metric: Metric, label: (&str, &str)) -> f64 {
        let count = format!("{}_count", metric.name());
        let wanted = |sample: &&Sample| sample.metric == count && sample.labels.get(label.0) == Some(label.1);
        self.0.iter().filter(wanted).map(|sample| number(&sample.value)).sum()
    }

    fn has(&self, metric: Metric) -> bool {
        self.samples(metric).next().is_some()
    }
}

/// What holds for every page and from one page to the next.
pub(crate) fn check_pages(pages: &[Page]) {
    let mut seen = BTreeSet::new();
    let mut counters: BTreeMap<String, f64> = BTreeMap::new();
    for page in pages {
        for sample in &page.0 {
            let metric = metric_of(&sample.metric);
            seen.insert(metric);
            let labels: BTreeSet<&str> = sample.labels.keys().map(String::as_str).collect();
            assert_eq!(labels, metric.details().labels.iter().copied().collect(), "{sample:?}");
            if let Value::Counter(now) = sample.value {
                let before = counters.insert(format!("{} {:?}", sample.metric, sample.labels), now).unwrap_or(0.0);
                assert!(now >= before, "{sample:?} fell from {before}");
            }
        }
        for space in ["host", "mapped"] {
            let of = |metric| page.sum(metric, Some(("space", space)));
            let (used, peak) = (of(Metric::BudgetUsedBytes), of(Metric::BudgetPeakBytes));
            assert_eq!(of(Metric::BufferBytes), used, "the cells of {space} do not sum to what is used");
            assert!(used <= peak, "{space}: {used} used, {peak} at most");
        }
        let budget = page.sum(Metric::BudgetBytes, Some(("space", "host")));
        assert!(budget > 0.0 && page.sum(Metric::BudgetPeakBytes, Some(("space", "host"))) <= budget);
        let zero_from_the_start =
            [Metric::StageDuration, Metric::PermitWait, Metric::StageWait, Metric::ProofsCompleted, Metric::ProofsFailed];
        for metric in zero_from_the_start {
            assert!(page.has(metric), "{} is missing", metric.name());
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), Metric::ALL, "every metric is served at some time");
}

/// The metric of a sample; a histogram has two more samples.
fn metric_of(name: &str) -> Metric {
    let base = name.strip_suffix("_sum").or_else(|| name.strip_suffix("_count")).and_then(Metric::from_name);
    let histogram = base.filter(|metric| matches!(metric.details().kind, Kind::Histogram(_)));
    Metric::from_name(name).or(histogram).unwrap_or_else(|| panic!("{name} is not in the enumeration"))
}

/// Bytes that are allocated and on no book stay below this, in a process with one pipeline for the 2 KiB sector; what they are is in
/// docs/METRICS.md.
const UNACCOUNTED_BYTES_MAX: f64 = 16.0 * 1024.0 * 1024.0;

/// The books have nearly all of what is allocated.
pub(crate) fn check_unaccounted(pages: &[Page]) {
    let peak = pages.iter().map(|page| page.sum(Metric::BudgetPeakBytes, Some(("space", "host")))).fold(0.0, f64::max);
    assert!(UNACCOUNTED_BYTES_MAX * 32.0 < peak, "the bound is not small against a peak of {peak}");
    let mut agreed = 0;
    for page in pages {
        let unaccounted = page.sum(Metric::UnaccountedBytes, None);
        assert!(unaccounted < UNACCOUNTED_BYTES_MAX, "{unaccounted} bytes are on no book");
        // Memory is freed before its permit is returned, so for that moment the books have more than there is. While large buffers live,
        // neither has much that the other has not.
        let allocated = page.sum(Metric::JemallocAllocated, None);
        if allocated > peak / 4.0 && unaccounted.abs() < UNACCOUNTED_BYTES_MAX {
            agreed += 1;
        }
    }
    assert!(agreed > 0, "no scrape saw large buffers that books and allocator agree on");
}

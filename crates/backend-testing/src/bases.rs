//! A source of points that watches how it is read.

use std::ops::Range;
use std::sync::Mutex;

use prover_backend::{BackendError, BaseSource};

#[derive(Default)]
struct Record {
    asked: Vec<Range<usize>>,
    announced: Vec<Range<usize>>,
    done: Vec<Range<usize>>,
}

/// Hands points out in ranges of a bounded length and records every call. It can also fail at a point, or call back on each read.
pub struct RecordingBases<A> {
    points: Vec<A>,
    range_len_max: usize,
    fails_at: Option<usize>,
    on_read: Option<Box<dyn Fn(Range<usize>) + Send + Sync>>,
    record: Mutex<Record>,
}

impl<A> RecordingBases<A> {
    /// A source of these points that refuses ranges of more than `range_len_max`.
    #[must_use]
    pub fn new(points: Vec<A>, range_len_max: usize) -> Self {
        Self { points, range_len_max, fails_at: None, on_read: None, record: Mutex::default() }
    }

    /// The same source, unreadable where a range holds this point.
    #[must_use]
    pub fn failing_at(self, point: usize) -> Self {
        Self { fails_at: Some(point), ..self }
    }

    /// The same source with a callback before each read.
    #[must_use]
    pub fn on_read(self, callback: impl Fn(Range<usize>) + Send + Sync + 'static) -> Self {
        Self { on_read: Some(Box::new(callback)), ..self }
    }

    /// The ranges that were asked for.
    #[must_use]
    pub fn asked(&self) -> Vec<Range<usize>> {
        self.record.lock().unwrap().asked.clone()
    }

    /// The ranges that were announced by [`BaseSource::will_need`].
    #[must_use]
    pub fn announced(&self) -> Vec<Range<usize>> {
        self.record.lock().unwrap().announced.clone()
    }

    /// The ranges that were released by [`BaseSource::done_with`].
    #[must_use]
    pub fn done(&self) -> Vec<Range<usize>> {
        self.record.lock().unwrap().done.clone()
    }
}

impl<A: Send + Sync> BaseSource<A> for RecordingBases<A> {
    fn len(&self) -> usize {
        self.points.len()
    }

    fn points(&self, range: Range<usize>) -> Result<&[A], BackendError> {
        if let Some(callback) = &self.on_read {
            callback(range.clone());
        }
        self.record.lock().unwrap().asked.push(range.clone());
        let unreadable = |reason: &str| BackendError::Bases { start: range.start, end: range.end, reason: reason.to_owned() };
        if range.len() > self.range_len_max {
            return Err(unreadable("the range is too long"));
        }
        if self.fails_at.is_some_and(|point| range.contains(&point)) {
            return Err(unreadable("told to fail here"));
        }
        self.points.points(range)
    }

    fn will_need(&self, range: Range<usize>) {
        self.record.lock().unwrap().announced.push(range);
    }

    fn done_with(&self, range: Range<usize>) {
        self.record.lock().unwrap().done.push(range);
    }
}

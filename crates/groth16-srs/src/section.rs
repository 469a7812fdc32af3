//! A section of a mapped key as the points of a multi-scalar multiplication.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bls12_381_layout::{Affine, from_bytes};
use prover_backend::{BackendError, BaseSource};

use crate::map::Map;
use crate::native::Entry;

/// The points of one section of a mapped proving key: affine, coordinates in Montgomery form. Cheap to clone; keeps the map alive.
///
/// Pages come when they are read and go with [`done_with`](BaseSource::done_with), so the resident part does not grow with the section.
#[derive(Clone)]
pub struct Section<A> {
    map: Arc<Map>,
    offset: usize,
    points: usize,
    name: &'static str,
    kind: PhantomData<fn() -> A>,
}

impl<A: Affine> Section<A> {
    pub(crate) fn new(map: Arc<Map>, entry: &Entry) -> Self {
        debug_assert_eq!(entry.kind.point_bytes(), size_of::<A>() as u64);
        Self { map, offset: entry.offset as usize, points: entry.points as usize, name: entry.kind.name(), kind: PhantomData }
    }

    /// The section's name: `h`, `l`, `a`, `b_g1` or `b_g2`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    fn byte_range(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.min(self.points);
        let start = range.start.min(end);
        let size = size_of::<A>();
        self.offset + start * size..self.offset + end * size
    }
}

impl<A> std::fmt::Debug for Section<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Section").field("name", &self.name).field("points", &self.points).field("file", &self.map.path()).finish()
    }
}

impl<A: Affine> BaseSource<A> for Section<A> {
    fn len(&self) -> usize {
        self.points
    }

    fn points(&self, range: Range<usize>) -> Result<&[A], BackendError> {
        if range.end > self.points || range.start > range.end {
            return Err(BackendError::Length { what: "points of a section", expected: range.end.max(range.start), found: self.points });
        }
        let failed = |reason: String| BackendError::Bases { start: range.start, end: range.end, reason };
        let bytes = self.map.bytes().get(self.byte_range(range.clone())).ok_or_else(|| failed("past the end of the file".to_owned()))?;
        from_bytes(bytes).map_err(|e| failed(e.to_string()))
    }

    fn will_need(&self, range: Range<usize>) {
        self.map.will_need(self.byte_range(range));
    }

    fn done_with(&self, range: Range<usize>) {
        self.map.done_with(self.byte_range(range));
    }
}

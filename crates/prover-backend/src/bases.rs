//! The points of a multi-scalar multiplication.

use std::ops::Range;

use crate::BackendError;

/// Points that are read in ranges, so that they need not be resident: a mapped section of a proving key, or simply a slice.
pub trait BaseSource<A>: Send + Sync {
    /// Number of points.
    fn len(&self) -> usize;

    /// True when there is no point.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The points of a range, affine, coordinates in Montgomery form.
    ///
    /// # Errors
    /// [`BackendError::Length`] past the end, [`BackendError::Bases`] when they cannot be read.
    fn points(&self, range: Range<usize>) -> Result<&[A], BackendError>;

    /// A hint that this range will be read soon.
    fn will_need(&self, _range: Range<usize>) {}

    /// A hint that this range will not be read again soon, so that its pages may go.
    fn done_with(&self, _range: Range<usize>) {}
}

impl<A: Send + Sync> BaseSource<A> for [A] {
    fn len(&self) -> usize {
        <[A]>::len(self)
    }

    fn points(&self, range: Range<usize>) -> Result<&[A], BackendError> {
        self.get(range.clone()).ok_or(BackendError::Length { what: "points of a section", expected: range.end, found: <[A]>::len(self) })
    }
}

impl<A: Send + Sync> BaseSource<A> for Vec<A> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn points(&self, range: Range<usize>) -> Result<&[A], BackendError> {
        self.as_slice().points(range)
    }
}

//! What a stage says when it did not finish an item.

use std::fmt;

/// The error of a stage and, where the same item can be tried again, the item itself.
///
/// `?` turns a stage's error into one that gives nothing back. A stage whose input is intact when it fails hands it back with
/// [`Failed::with_input`]; whether it is tried again is for the one who runs the stage to say.
pub struct Failed<I, E> {
    error: E,
    input: Option<I>,
}

impl<I, E> Failed<I, E> {
    /// The item comes back as it was taken.
    pub fn with_input(error: impl Into<E>, input: I) -> Self {
        Self { error: error.into(), input: Some(input) }
    }

    /// Why the stage failed.
    pub fn error(&self) -> &E {
        &self.error
    }

    /// The error, and the item where it came back.
    pub fn into_parts(self) -> (E, Option<I>) {
        (self.error, self.input)
    }

    /// The same failure with the item and the error that an outer stage knows.
    pub fn map<J, F>(self, input: impl FnOnce(I) -> J, error: impl FnOnce(E) -> F) -> Failed<J, F> {
        Failed { error: error(self.error), input: self.input.map(input) }
    }
}

impl<I, E> From<E> for Failed<I, E> {
    fn from(error: E) -> Self {
        Self { error, input: None }
    }
}

impl<I, E: fmt::Debug> fmt::Debug for Failed<I, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The item is large, and need not be printable for its error to be.
        f.debug_struct("Failed").field("error", &self.error).field("has_input", &self.input.is_some()).finish()
    }
}

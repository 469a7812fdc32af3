//! The proof library asserts and unwraps here and there; a panic there is an error here.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::CircuitError;

/// Runs `work`, a panic of which becomes [`CircuitError::Panicked`]. The panic hook still prints.
///
/// Nothing that `work` borrows may be used after a panic but for being dropped: the callers drop it all.
pub(crate) fn guarded<T>(step: &'static str, work: impl FnOnce() -> Result<T, CircuitError>) -> Result<T, CircuitError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(CircuitError::Panicked { step, message: message(panic.as_ref()) }))
}

fn message(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}

/// Names the step that an error of the library came from.
pub(crate) fn library<E: std::fmt::Display>(step: &'static str) -> impl FnOnce(E) -> CircuitError {
    move |error| CircuitError::Library { step, message: format!("{error:#}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors() {
        let panicked = |work: fn() -> Result<(), CircuitError>| match guarded("testing", work) {
            Err(CircuitError::Panicked { step: "testing", message }) => message,
            other => panic!("{other:?}"),
        };
        assert_eq!(panicked(|| panic!("a literal")), "a literal");
        assert_eq!(panicked(|| panic!("a number: {}", std::hint::black_box(7))), "a number: 7");
        assert_eq!(panicked(|| std::panic::panic_any(7)), "a panic without a message");
        assert!(guarded("testing", || Ok(())).is_ok());
    }
}

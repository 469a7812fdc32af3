//! Panics that must not reach further.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs what belongs to one item and must not take others with it: a panic is logged and goes no further.
pub(crate) fn contained(what: &str, work: impl FnOnce()) {
    // Callers hand in values that they own and do not look at afterwards.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        tracing::error!(message = panic_message(panic.as_ref()), "{what} panicked when it was given up");
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

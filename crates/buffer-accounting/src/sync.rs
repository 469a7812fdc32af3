//! Locks and atomics, those of the model checker under `cfg(loom)`.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// What the model checker need not see, and can be a trait object.
pub(crate) use std::sync::Arc as StdArc;
use std::sync::PoisonError;

/// Locks what is changed by steps that cannot unwind half-way, so that what a panic leaves behind is still consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! A context whose ledger is looked at after each call.

use pipeline_stage::{Cancel, Ledger, Space, StageContext, StageName};

/// A context over a ledger of its own.
pub struct Books {
    ledger: Ledger,
    context: StageContext,
    cancel: Cancel,
}

impl Books {
    /// Books with a budget in bytes of host memory.
    #[must_use]
    pub fn with_budget(bytes: u64) -> Self {
        let ledger = Ledger::new(&[(Space::Host, bytes)]);
        let cancel = Cancel::new();
        Self { context: StageContext::new(ledger.clone(), StageName::Msm, cancel.clone()), ledger, cancel }
    }

    /// The context to call a backend with.
    #[must_use]
    pub fn context(&self) -> &StageContext {
        &self.context
    }

    /// The flag of the context.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Bytes held now.
    #[must_use]
    pub fn in_use(&self) -> u64 {
        self.ledger.snapshot().in_use(Space::Host)
    }

    /// Most bytes held so far.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.ledger.snapshot().peak(Space::Host)
    }
}

/// Calls with a ledger that holds exactly what the backend says it takes at most, and asserts that all of it came back. A backend that
/// takes more than it says gets an error from the ledger instead of an answer.
pub(crate) fn balanced<R>(scratch_bytes: u64, call: impl FnOnce(&StageContext) -> R) -> R {
    let books = Books::with_budget(scratch_bytes);
    let result = call(books.context());
    assert_eq!(books.in_use(), 0, "bytes still held after the call");
    assert!(books.peak() <= scratch_bytes, "took {} bytes, said {scratch_bytes} at most", books.peak());
    result
}

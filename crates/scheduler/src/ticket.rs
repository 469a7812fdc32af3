//! Jobs that always have an outcome.

use std::sync::{Arc, Mutex, PoisonError};

use buffer_accounting::{Accounted, Cancel, CancelSubscription, Label};
use pipeline_stage::{Classified, ErrorClass};

/// Why a job failed.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// A stage reported an error.
    #[error("{stage}: {error}")]
    Stage {
        /// Name of the stage.
        stage: &'static str,
        /// The stage's error.
        error: Box<dyn Classified>,
    },
    /// A stage panicked; the message is the panic's.
    #[error("{stage} panicked: {message}; this is a defect of the program, please report it")]
    Panicked {
        /// Name of the stage.
        stage: &'static str,
        /// What the panic said.
        message: String,
    },
    /// The last item of the job was dropped before the job was finished, because the pipeline shut down.
    #[error("the pipeline shut down before the job was finished")]
    Abandoned,
    /// The job was cancelled.
    #[error("the job was cancelled")]
    Cancelled,
}

impl JobError {
    /// What may be done about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Stage { error, .. } => error.class(),
            Self::Panicked { .. } => ErrorClass::Fatal,
            Self::Abandoned => ErrorClass::Retryable,
            Self::Cancelled => ErrorClass::Cancelled,
        }
    }
}

/// How a job ended.
pub type Outcome<R> = Result<R, JobError>;

type Report<R> = Box<dyn FnOnce(Outcome<R>) + Send>;

struct Job<R> {
    id: u64,
    cancel: Cancel,
    report: Mutex<Option<Report<R>>>,
    /// Cancels the job when the pipeline stops.
    _stopped: Option<CancelSubscription>,
}

impl<R> Job<R> {
    fn resolve(&self, outcome: Outcome<R>) -> bool {
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner).take();
        match report {
            Some(report) => {
                report(outcome);
                true
            }
            None => false,
        }
    }
}

impl<R> Drop for Job<R> {
    fn drop(&mut self) {
        let outcome = if self.cancel.is_cancelled() { JobError::Cancelled } else { JobError::Abandoned };
        self.resolve(Err(outcome));
    }
}

/// A share in a job. Every item of a job carries one; when the last one drops and the job has no outcome yet, it is abandoned.
pub struct Ticket<R>(Arc<Job<R>>);

impl<R> Clone for Ticket<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Ticket<R> {
    /// A ticket for a new job. `report` is called exactly once, with the job's outcome, in whichever thread decides it.
    pub fn new(id: u64, cancel: Cancel, report: impl FnOnce(Outcome<R>) + Send + 'static) -> Self {
        Self(Arc::new(Job { id, cancel, report: Mutex::new(Some(Box::new(report))), _stopped: None }))
    }

    /// A ticket for a new job that is cancelled, too, when `stop` is raised.
    pub fn under(stop: &Cancel, id: u64, cancel: Cancel, report: impl FnOnce(Outcome<R>) + Send + 'static) -> Self {
        let flag = cancel.clone();
        let stopped = Some(stop.subscribe(move || flag.cancel()));
        Self(Arc::new(Job { id, cancel, report: Mutex::new(Some(Box::new(report))), _stopped: stopped }))
    }

    /// The job's number.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Raised when the job is cancelled or has failed, so that its other items are given up.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        &self.0.cancel
    }

    /// Ends the job well. False when it had an outcome already.
    pub fn succeed(&self, result: R) -> bool {
        self.0.resolve(Ok(result))
    }

    /// Ends the job with an error and gives up its other items. False when it had an outcome already.
    pub fn fail(&self, error: JobError) -> bool {
        let first = self.0.resolve(Err(error));
        self.0.cancel.cancel();
        first
    }
}

/// An item of a job on its way through links.
pub struct Envelope<T, R> {
    /// The item's share in its job.
    pub ticket: Ticket<R>,
    /// The item.
    pub body: T,
}

impl<T: Accounted<S>, S: Label, R> Accounted<S> for Envelope<T, R> {
    fn attribute_to(&mut self, stage: S) {
        self.body.attribute_to(stage);
    }
}

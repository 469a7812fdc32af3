//! The books, the allocator and the stages, as metrics.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use buffer_accounting::{Label, PageSlab, Snapshot};
use groth16_pipeline::{FinalizeError, JobError, JobProof, Outcome, StageTimes};
use pipeline_stage::{Class, ErrorClass, Ledger, Space, StageName};
use telemetry::{BudgetFigures, BuildInfo, Exposition, MetricsServer, StageFigures, TelemetryError};

use crate::config::Source;
use crate::exit::{Exit, Failure};
use crate::output;

/// Every reason that [`failed`] gives.
const REASONS: [&str; 3] = ["retryable", "fatal", "cancelled"];

/// Stages with workers: the ones that wait and take time.
const STAGES: [StageName; 5] = [StageName::Parse, StageName::Synth, StageName::Ntt, StageName::Msm, StageName::Finalize];

/// What is read at each scrape.
#[derive(Debug)]
pub(super) struct Sources {
    ledger: Ledger,
    times: OnceLock<Shown<Arc<StageTimes>>>,
}

/// Something that need not be printed.
struct Shown<T>(T);

impl<T> std::fmt::Debug for Shown<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

impl Sources {
    pub(super) fn of(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone(), times: OnceLock::new() }
    }

    /// There is one pipeline in a command; a second one would not be counted.
    pub(super) fn pipeline(&self, times: Arc<StageTimes>) {
        times.observe_work(|stage, time| telemetry::stage_finished(stage.name(), time));
        drop(self.times.set(Shown(times)));
    }

    fn publish(&self) {
        self.publish_books();
        if let Some(Shown(times)) = self.times.get() {
            for stage in STAGES {
                let time = times.stage(stage);
                let figures = StageFigures {
                    waited_for_input: time.waiting,
                    waited_for_output: time.blocked,
                    retries: time.retries,
                    panics: time.panics,
                    starved: time.starved,
                };
                telemetry::advance_stage(stage.name(), &figures);
            }
        }
    }

    /// All from one copy of the books, so that a scrape adds up.
    fn publish_books(&self) {
        let books = self.ledger.snapshot();
        for (space, class, stage, cell) in books.cells() {
            telemetry::set_buffer(class.name(), stage.name(), space.to_string(), cell.bytes, cell.buffers);
        }
        for usage in books.spaces() {
            let figures = BudgetFigures {
                budget_bytes: (usage.budget < u64::MAX).then_some(usage.budget),
                used_bytes: usage.in_use,
                peak_bytes: usage.peak,
                waiters: usage.waiting as u64,
            };
            telemetry::set_budget(usage.space.to_string(), &figures);
        }
        allocator::publish(|| made(&books).max(made(&self.ledger.snapshot())));
    }
}

/// The pipeline is done with a job: counts the proofs that did not verify.
pub(crate) fn verified(outcome: &Outcome<JobProof>) {
    let (rejected, retried) = rejections(outcome);
    telemetry::proofs_rejected(rejected, retried);
}

/// How many proofs of a job did not verify, and how many partitions were therefore proved again.
fn rejections(outcome: &Outcome<JobProof>) -> (u64, u64) {
    match outcome {
        Ok(proof) => (proof.reproved.len() as u64, proof.reproved.len() as u64),
        Err(JobError::Stage { error, .. }) => {
            let error: &(dyn std::error::Error + 'static) = error.as_ref();
            match error.downcast_ref::<FinalizeError>() {
                Some(FinalizeError::Verify { rejected, .. }) => (u64::from(*rejected), u64::from(rejected.saturating_sub(1))),
                _ => (0, 0),
            }
        }
        Err(_) => (0, 0),
    }
}

/// A job's proof was handed out.
pub(crate) fn completed() {
    telemetry::proof_completed();
}

/// A job ended without a proof.
pub(crate) fn failed(class: ErrorClass) {
    let [retryable, fatal, cancelled] = REASONS;
    telemetry::proof_failed(match class {
        ErrorClass::Retryable => retryable,
        ErrorClass::Fatal => fatal,
        ErrorClass::Cancelled => cancelled,
    });
}

/// Bytes of the buffers in host memory that come from the allocator. What is only set aside is no buffer yet, and slabs of pages come straight
/// from the system.
fn made(books: &Snapshot<Class, StageName>) -> u64 {
    let buffers = books.in_use(Space::Host).saturating_sub(books.class(Space::Host, Class::Reserved).bytes);
    buffers.saturating_sub(PageSlab::alive_bytes())
}

/// Serves metrics from now on, every series at zero.
///
/// # Errors
/// Why the address cannot be had.
pub(super) fn serve(address: SocketAddr, source: &Source, sources: &Arc<Sources>) -> Result<MetricsServer, Failure> {
    let exposition = Exposition::install().map_err(|error| refused(&error, source))?;
    telemetry::set_build_info(&BuildInfo { version: env!("CARGO_PKG_VERSION"), allocator: allocator::NAME });
    for stage in STAGES {
        telemetry::zero_stage(stage.name());
    }
    telemetry::zero_proofs(&REASONS);
    sources.ledger.observe_waits(|waited| telemetry::permit_waited(waited.stage, waited.time));
    let theirs = Arc::clone(sources);
    exposition.collect_with(move || theirs.publish());
    let server = MetricsServer::start(address, exposition).map_err(|error| refused(&error, source))?;
    output::note(&format!("metrics are at http://{}/metrics", server.address()));
    Ok(server)
}

fn refused(error: &TelemetryError, source: &Source) -> Failure {
    use std::io::ErrorKind;
    let (exit, advice) = match error {
        TelemetryError::Listen { source: why, .. } => match why.kind() {
            ErrorKind::AddrInUse => (Exit::Unavailable, ": another program listens there; give another port, or 0 for one that is free"),
            ErrorKind::PermissionDenied => (Exit::Permission, ": ports below 1024 need a privilege; give a higher one"),
            ErrorKind::AddrNotAvailable if matches!(source, Source::Flag(_)) => (Exit::Usage, ": it is not an address of this machine"),
            ErrorKind::AddrNotAvailable => (Exit::Config, ": it is not an address of this machine"),
            _ => (Exit::Io, ""),
        },
        TelemetryError::Thread(_) => (Exit::Temporary, ""),
        _ => (Exit::Internal, ""),
    };
    Failure::new(exit, format!("{source}: {error}{advice}"))
}

#[cfg(feature = "jemalloc")]
mod allocator {
    //! jemalloc, beside the books.

    use std::sync::OnceLock;

    use buffer_accounting::AllocatorSampler;
    use telemetry::AllocatorFigures;

    pub(super) const NAME: &str = "jemalloc";

    /// Its statistics, and what of them is on no book. `made` gives the bytes of the buffers in host memory, before or after the sample,
    /// whichever are more: a buffer that was made or freed meanwhile must not look like one without a permit.
    pub(super) fn publish(made: impl FnOnce() -> u64) {
        static SAMPLER: OnceLock<Option<AllocatorSampler>> = OnceLock::new();
        let sampler = SAMPLER.get_or_init(|| {
            AllocatorSampler::new().inspect_err(|error| tracing::warn!(%error, "there are no metrics of the allocator")).ok()
        });
        let Some(stats) = sampler.as_ref().and_then(|sampler| sampler.sample().ok()) else { return };
        telemetry::set_unaccounted(stats.unaccounted(made()));
        telemetry::set_allocator(&AllocatorFigures {
            allocated: stats.allocated,
            active: stats.active,
            resident: stats.resident,
            mapped: stats.mapped,
            retained: stats.retained,
            metadata: stats.metadata,
        });
    }
}

#[cfg(not(feature = "jemalloc"))]
mod allocator {
    //! The system's allocator tells nothing.

    pub(super) const NAME: &str = "system";

    pub(super) fn publish(_made: impl FnOnce() -> u64) {}
}

#[cfg(test)]
mod tests {
    use groth16_assembly::VerifyError;

    use super::*;

    #[test]
    fn proofs_that_did_not_verify_are_counted_whether_the_next_one_did_or_not() {
        let proved = |reproved| Ok(JobProof { partitions: 10, bytes: Vec::new(), reproved });
        assert_eq!(rejections(&proved(vec![])), (0, 0));
        assert_eq!(rejections(&proved(vec![7, 3])), (2, 2));
        let error = FinalizeError::Verify { partition: 3, rejected: 2, source: VerifyError::Rejected };
        assert_eq!(rejections(&Err(JobError::Stage { stage: "finalize", error: Box::new(error) })), (2, 1));
        let other = pipeline_stage::AcquireError::UnknownSpace { space: Space::Host };
        assert_eq!(rejections(&Err(JobError::Stage { stage: "parse", error: Box::new(other) })), (0, 0));
        assert_eq!(rejections(&Err(JobError::Cancelled)), (0, 0));
    }
}

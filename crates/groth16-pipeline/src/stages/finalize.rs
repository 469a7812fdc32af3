//! Sums to a verified proof, partitions to the job's proof.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use buffer_accounting::Label;
use groth16_assembly::{Blinding, RandomnessError, VerifyError, assemble_and_verify};
use pipeline_stage::{Failed, Outlet, Stage, StageContext, StageName};
use scheduler::{Envelope, JobError, Ticket};

use crate::error::FinalizeError;
use crate::items::{Finished, JobProof, SumsItem, step};

/// Where blinding scalars come from; called for each proof of a partition, with its index.
#[derive(Clone)]
pub struct BlindingSource(Arc<dyn Fn(usize) -> Result<Blinding, RandomnessError> + Send + Sync>);

impl BlindingSource {
    /// Fresh scalars from the operating system's generator.
    #[must_use]
    pub fn os() -> Self {
        Self(Arc::new(|_| Blinding::from_os()))
    }

    /// Scalars of the caller's making, so that proofs can be compared bit for bit. Never for real proofs: known blinding reveals the witness.
    #[cfg(feature = "test-support")]
    #[must_use]
    pub fn fixed(make: impl Fn(usize) -> Blinding + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |partition| Ok(make(partition))))
    }
}

/// How often a partition is proved again whose proof does not verify. Twice the same means that it is not the hardware.
const REPROOFS: u32 = 1;

pub(crate) struct FinalizeStage(pub(crate) BlindingSource);

impl Stage for FinalizeStage {
    type Input = SumsItem;
    type Output = Finished;
    type Error = FinalizeError;

    fn name(&self) -> StageName {
        StageName::Finalize
    }

    fn run(&mut self, item: SumsItem, out: &mut dyn Outlet<Finished>, _: &StageContext) -> Result<(), Failed<SumsItem, FinalizeError>> {
        let start = Instant::now();
        let blinding = match (self.0.0)(item.partition.place.index) {
            Ok(blinding) => blinding,
            Err(error) => return Err(Failed::with_input(error, item)),
        };
        let SumsItem { mut partition, sums } = item;
        let (index, collector) = (partition.place.index, Arc::clone(&partition.place.collector));
        let proof = match assemble_and_verify(partition.place.keys.verifying_key(), &sums, blinding, &partition.public_inputs) {
            Ok(proof) => proof,
            Err(source) => {
                let hopeless = !matches!(source, VerifyError::Rejected) || partition.rejected >= REPROOFS;
                let error = FinalizeError::Verify { partition: index, rejected: partition.rejected + 1, source };
                if hopeless {
                    return Err(error.into());
                }
                partition.rejected += 1;
                out.give(Finished::Again { partition: Box::new(partition), error });
                return Ok(());
            }
        };
        partition.place.passed(step::FINALIZE, start);
        let mut collected = collector.lock().unwrap_or_else(PoisonError::into_inner);
        if partition.rejected > 0 {
            collected.reproved.push(index);
        }
        collected.proofs.insert(index, proof).map_err(FinalizeError::from)?;
        if collected.proofs.is_complete() {
            let bytes = collected.proofs.to_bytes().map_err(FinalizeError::from)?;
            let proof = JobProof { partitions: collected.proofs.partitions(), bytes, reproved: std::mem::take(&mut collected.reproved) };
            drop(collected);
            // Whoever waits for the proof finds the witness returned.
            drop(partition);
            out.give(Finished::Job(proof));
        }
        Ok(())
    }
}

/// Hands out what finalisation gives: a proof ends its job, a partition that is to be proved again goes back in front of the transforms.
///
/// It never waits for room there, or transforms, sums and finalisation could wait for each other in a ring; a job fails for which there is
/// none, since proofs that do not verify one after the other mean that something is broken.
pub(crate) fn hand_out(ticket: &Ticket<JobProof>, finished: Finished) {
    match finished {
        Finished::Job(proof) => {
            ticket.succeed(proof);
        }
        Finished::Again { partition, error } => {
            tracing::warn!(
                job = ticket.id(),
                partition = partition.place.index,
                circuit = partition.place.keys.circuit().name(),
                "a proof did not verify, its partition is proved again: suspect the hardware if that helps, the parameters if it does not"
            );
            let back = partition.back.clone();
            if back.try_send(Envelope { ticket: ticket.clone(), body: *partition }).is_err() {
                ticket.fail(JobError::Stage { stage: StageName::Finalize.name(), error: Box::new(error) });
            }
        }
    }
}

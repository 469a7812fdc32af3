//! Sums to a verified proof, partitions to the job's proof.

use std::sync::{Arc, PoisonError};

use groth16_assembly::{Blinding, RandomnessError, assemble_and_verify};
use pipeline_stage::{Failed, Outlet, Stage, StageContext, StageName};

use crate::error::FinalizeError;
use crate::items::{JobProof, SumsItem};

/// Where blinding scalars come from; called once for each partition, with its index.
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

pub(crate) struct FinalizeStage(pub(crate) BlindingSource);

impl Stage for FinalizeStage {
    type Input = SumsItem;
    type Output = JobProof;
    type Error = FinalizeError;

    fn name(&self) -> StageName {
        StageName::Finalize
    }

    fn run(&mut self, item: SumsItem, out: &mut dyn Outlet<JobProof>, _: &StageContext) -> Result<(), Failed<SumsItem, FinalizeError>> {
        let blinding = match (self.0.0)(item.place.index) {
            Ok(blinding) => blinding,
            Err(error) => return Err(Failed::with_input(error, item)),
        };
        let SumsItem { place, public_inputs, sums } = item;
        let proof = assemble_and_verify(place.keys.verifying_key(), &sums, blinding, &public_inputs)
            .map_err(|source| FinalizeError::Verify { partition: place.index, source })?;
        let mut collector = place.collector.lock().unwrap_or_else(PoisonError::into_inner);
        collector.insert(place.index, proof).map_err(FinalizeError::from)?;
        if collector.is_complete() {
            let proof = JobProof { partitions: collector.partitions(), bytes: collector.to_bytes().map_err(FinalizeError::from)? };
            drop(collector);
            out.give(proof);
        }
        Ok(())
    }
}

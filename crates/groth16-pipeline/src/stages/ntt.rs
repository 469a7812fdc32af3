//! Compact witness to quotient polynomial.

use std::sync::Arc;
use std::time::Instant;

use pipeline_stage::{Failed, Outlet, Stage, StageContext, StageName};
use prover_backend::ProverBackend;

use crate::error::QuotientError;
use crate::items::{QuotientItem, WitnessItem, step};
use crate::quotient::quotient;
use crate::transform_buffers::TransformBuffers;

pub(crate) struct NttStage {
    pub(crate) backend: Arc<dyn ProverBackend>,
    pub(crate) buffers: Arc<TransformBuffers>,
}

impl Stage for NttStage {
    type Input = WitnessItem;
    type Output = QuotientItem;
    type Error = QuotientError;

    fn name(&self) -> StageName {
        StageName::Ntt
    }

    fn run(
        &mut self,
        mut item: WitnessItem,
        out: &mut dyn Outlet<QuotientItem>,
        context: &StageContext,
    ) -> Result<(), Failed<WitnessItem, QuotientError>> {
        let start = Instant::now();
        let made = item
            .witness
            .view()
            .map_err(QuotientError::from)
            .and_then(|view| quotient(item.place.keys.circuit(), view, self.backend.as_ref(), &self.buffers, context));
        let h = match made {
            Ok(h) => h,
            Err(error) => return Err(Failed::with_input(error, item)),
        };
        item.place.passed(step::NTT, start);
        out.give(QuotientItem { partition: item, h });
        Ok(())
    }
}

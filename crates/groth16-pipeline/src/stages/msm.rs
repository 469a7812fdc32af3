//! Quotient polynomial and witness to the five sums.

use std::sync::Arc;
use std::time::Instant;

use pipeline_stage::{Failed, Outlet, Stage, StageContext, StageName};
use prover_backend::{BackendError, ProverBackend};

use crate::items::{QuotientItem, SumsItem, WitnessItem, step};
use crate::sums::sums;

pub(crate) struct MsmStage(pub(crate) Arc<dyn ProverBackend>);

impl Stage for MsmStage {
    type Input = QuotientItem;
    type Output = SumsItem;
    type Error = BackendError;

    fn name(&self) -> StageName {
        StageName::Msm
    }

    fn run(
        &mut self,
        item: QuotientItem,
        out: &mut dyn Outlet<SumsItem>,
        context: &StageContext,
    ) -> Result<(), Failed<QuotientItem, BackendError>> {
        let start = Instant::now();
        let WitnessItem { witness, place, .. } = &item.partition;
        let made = witness.view().and_then(|view| sums(&place.keys, view, &item.h, self.0.as_ref(), context));
        let sums = match made {
            Ok(sums) => sums,
            Err(error) => return Err(Failed::with_input(error, item)),
        };
        let QuotientItem { mut partition, h } = item;
        partition.place.passed(step::MSM, start);
        // The largest buffer goes before the item waits for the next stage.
        drop(h);
        out.give(SumsItem { partition, sums });
        Ok(())
    }
}

//! Partition to compact witness.

use std::sync::Arc;
use std::time::Instant;

use pipeline_stage::{Failed, Outlet, Stage, StageContext, StageName};

use crate::items::{PartitionItem, ReturnLane, WitnessItem, step};
use crate::statement::{Statement, Synthesized};

pub(crate) struct SynthStage<S> {
    pub(crate) statement: Arc<S>,
    /// For the partitions it gives.
    pub(crate) back: ReturnLane,
}

impl<S: Statement> Stage for SynthStage<S> {
    type Input = PartitionItem<S::Partition>;
    type Output = WitnessItem;
    type Error = S::Error;

    fn name(&self) -> StageName {
        StageName::Synth
    }

    fn run(
        &mut self,
        item: Self::Input,
        out: &mut dyn Outlet<WitnessItem>,
        context: &StageContext,
    ) -> Result<(), Failed<Self::Input, S::Error>> {
        let start = Instant::now();
        let PartitionItem { mut place, body } = item;
        match self.statement.synthesize(&place.keys, place.index, body, context) {
            Ok(Synthesized { witness, public_inputs }) => {
                place.passed(step::SYNTH, start);
                out.give(WitnessItem { place, witness, public_inputs, rejected: 0, back: self.back.clone() });
            }
            Err(failed) => return Err(failed.map(|body| PartitionItem { place, body }, |error| error)),
        }
        Ok(())
    }
}

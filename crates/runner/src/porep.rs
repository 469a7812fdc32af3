//! Sectors as jobs of the pipeline.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use buffer_accounting::Accounted;
use c1_parse::{C1, Partition, SealProof, SectorSize};
use filecoin_circuits::CircuitError;
use groth16_pipeline::{CircuitKeys, ParsedPartition, Statement, Synthesized};
use pipeline_stage::{Classified, ErrorClass, Failed, Lease, StageContext, StageName};

use crate::exit::{Exit, Failure};
use crate::input::{SectorArgs, read_c1};

/// One C1 file.
#[derive(Debug)]
pub(crate) struct SectorJob {
    /// The file.
    pub(crate) path: PathBuf,
    /// Its registered proof.
    pub(crate) seal_proof: SealProof,
    /// Its content, when it cannot be read again or need not be.
    pub(crate) c1: Option<C1>,
}

/// A partition on its way to synthesis.
pub(crate) struct PartitionBody {
    statement: filecoin_circuits::Statement,
    partition: Lease<Partition>,
}

impl Accounted<StageName> for PartitionBody {
    fn attribute_to(&mut self, stage: StageName) {
        self.partition.attribute_to(stage);
    }
}

/// Why a sector did not become witnesses.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SectorError {
    /// The file.
    #[error("{0}")]
    Input(#[source] Failure),
    /// The file is of another sector size than when it was first read.
    #[error("the C1 file changed while it was proved: it is of a sector of {found} now")]
    Changed { found: SectorSize },
    /// The circuit.
    #[error("{0}")]
    Circuit(#[from] CircuitError),
}

impl Classified for SectorError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Input(failure) if failure.cancelled => ErrorClass::Cancelled,
            Self::Input(failure) if failure.exit == Exit::Temporary => ErrorClass::Retryable,
            Self::Input(_) | Self::Changed { .. } => ErrorClass::Fatal,
            Self::Circuit(error) => error.class(),
        }
    }
}

/// Proofs of replication.
pub(crate) struct Porep {
    /// What each sector size is proved with.
    pub(crate) keys: BTreeMap<SectorSize, Arc<CircuitKeys>>,
    /// What the caller expects.
    pub(crate) sector: SectorArgs,
}

impl Statement for Porep {
    type Job = SectorJob;
    type Partition = PartitionBody;
    type Error = SectorError;

    fn parse(
        &self,
        job: SectorJob,
        context: &StageContext,
        announce: &mut dyn FnMut(usize),
        give: &mut dyn FnMut(ParsedPartition<PartitionBody>),
    ) -> Result<(), Failed<SectorJob, SectorError>> {
        let SectorJob { path, seal_proof, c1 } = job;
        let c1 = match c1 {
            Some(c1) => c1,
            None => match read_c1(&path, &self.sector, Some(seal_proof), context) {
                Ok(c1) => c1,
                Err(error) => return Err(Failed::with_input(SectorError::Input(error), SectorJob { path, seal_proof, c1: None })),
            },
        };
        let size = c1.seal_proof.sector_size;
        let keys = self.keys.get(&size).ok_or(SectorError::Changed { found: size })?;
        let statement = filecoin_circuits::Statement::from(&c1);
        announce(c1.partitions.len());
        for (index, partition) in c1.partitions.into_iter().enumerate() {
            give(ParsedPartition { index, keys: Arc::clone(keys), body: PartitionBody { statement, partition } });
        }
        Ok(())
    }

    fn synthesize(
        &self,
        keys: &CircuitKeys,
        _: usize,
        body: PartitionBody,
        context: &StageContext,
    ) -> Result<Synthesized, Failed<PartitionBody, SectorError>> {
        match filecoin_circuits::synthesize(&body.statement, &body.partition, keys.circuit(), context) {
            Ok(filecoin_circuits::Synthesized { witness, public_inputs, .. }) => Ok(Synthesized { witness, public_inputs }),
            Err(error) => Err(Failed::with_input(error, body)),
        }
    }
}

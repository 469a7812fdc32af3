//! What a circuit family supplies.

use std::sync::Arc;

use blstrs::Scalar;
use buffer_accounting::Accounted;
use circuit_synth::CompactWitness;
use pipeline_stage::{Classified, Failed, Lease, StageContext, StageName};

use crate::keys::CircuitKeys;

/// One partition of a job, as parsing gives it.
pub struct ParsedPartition<P> {
    /// Its place in the job.
    pub index: usize,
    /// What it is proved with.
    pub keys: Arc<CircuitKeys>,
    /// What synthesis needs.
    pub body: P,
}

/// A partition's witness and statement.
pub struct Synthesized {
    /// All variables, inputs first.
    pub witness: Lease<CompactWitness>,
    /// The public inputs without ONE.
    pub public_inputs: Vec<Scalar>,
}

/// A family of statements: how a job becomes partitions, and a partition a witness.
pub trait Statement: Send + Sync + 'static {
    /// What is submitted: small (a path, a handle), since it waits in the first queue.
    type Job: Send + 'static;
    /// What synthesis needs of one partition; carries its leases.
    type Partition: Accounted<StageName> + Send + 'static;
    /// Why parsing or synthesis failed.
    type Error: Classified;

    /// Reads and checks a job, announces its number of partitions (at least one) and gives them in any order, one by one: what is given may
    /// wait for room, so a job's later partitions need not exist while its earlier ones are proved.
    ///
    /// # Errors
    /// The family's own, with the job when it is whole and nothing was given, so that it can be tried again.
    fn parse(
        &self,
        job: Self::Job,
        context: &StageContext,
        announce: &mut dyn FnMut(usize),
        give: &mut dyn FnMut(ParsedPartition<Self::Partition>),
    ) -> Result<(), Failed<Self::Job, Self::Error>>;

    /// Makes the witness of a partition.
    ///
    /// # Errors
    /// The family's own, with the partition when it is whole, so that it can be tried again.
    fn synthesize(
        &self,
        keys: &CircuitKeys,
        index: usize,
        body: Self::Partition,
        context: &StageContext,
    ) -> Result<Synthesized, Failed<Self::Partition, Self::Error>>;
}

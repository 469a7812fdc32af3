//! What travels through the links.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use blstrs::Scalar;
use buffer_accounting::{Accounted, Priority};
use circuit_synth::CompactWitness;
use groth16_assembly::{PartitionCollector, Sums};
use pipeline_stage::{Lease, StageName};
use scheduler::{Envelope, LinkSender, Pass};

use crate::error::FinalizeError;
use crate::keys::CircuitKeys;
use crate::transform_buffers::ScalarBuffer;

/// The proof of a job: its partitions' proofs, 192 bytes each, in order, every one verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProof {
    /// Number of partitions.
    pub partitions: usize,
    /// The concatenated proofs.
    pub bytes: Vec<u8>,
    /// Partitions whose first proof did not verify and that were proved once more, in the order in which that was done. On sound hardware
    /// it is empty.
    pub reproved: Vec<usize>,
}

/// What a job has so far.
pub(crate) struct Collected {
    pub(crate) proofs: PartitionCollector,
    pub(crate) reproved: Vec<usize>,
}

/// A job's partition proofs as they come in.
pub(crate) type Collector = Arc<Mutex<Collected>>;

/// The way back in front of the transforms for a partition that is proved again. Each partition behind synthesis carries one, so the
/// transforms know that nothing comes any more when the last partition is done.
pub(crate) type ReturnLane = LinkSender<Envelope<WitnessItem, JobProof>, StageName>;

/// What every item knows about its partition.
pub(crate) struct Place {
    pub(crate) index: usize,
    pub(crate) keys: Arc<CircuitKeys>,
    pub(crate) collector: Collector,
    pub(crate) priority: Priority,
    /// Set when the partition is let in, behind parsing.
    pub(crate) pass: Option<Pass>,
}

impl Place {
    /// Tells admission that a stage is done with the partition.
    pub(crate) fn passed(&mut self, stage: usize, since: Instant) {
        if let Some(pass) = &mut self.pass {
            pass.passed(stage, since.elapsed());
        }
    }
}

/// The stages behind admission, as it numbers them.
pub(crate) mod step {
    pub(crate) const SYNTH: usize = 0;
    pub(crate) const NTT: usize = 1;
    pub(crate) const MSM: usize = 2;
    pub(crate) const FINALIZE: usize = 3;
}

pub(crate) struct JobItem<J> {
    pub(crate) job: J,
    pub(crate) priority: Priority,
}

impl<J> Accounted<StageName> for JobItem<J> {
    // A job is small; its buffers are made by the parse stage.
    fn attribute_to(&mut self, _: StageName) {}
}

pub(crate) struct PartitionItem<P> {
    pub(crate) place: Place,
    pub(crate) body: P,
}

impl<P: Accounted<StageName>> Accounted<StageName> for PartitionItem<P> {
    fn attribute_to(&mut self, stage: StageName) {
        self.body.attribute_to(stage);
    }
}

/// A partition that can be proved. It stays whole until its proof is verified, so that it can be proved again: a compact witness is small.
pub(crate) struct WitnessItem {
    pub(crate) place: Place,
    pub(crate) witness: Lease<CompactWitness>,
    pub(crate) public_inputs: Vec<Scalar>,
    /// Proofs of it that did not verify.
    pub(crate) rejected: u32,
    pub(crate) back: ReturnLane,
}

impl Accounted<StageName> for WitnessItem {
    fn attribute_to(&mut self, stage: StageName) {
        self.witness.attribute_to(stage);
    }
}

pub(crate) struct QuotientItem {
    pub(crate) partition: WitnessItem,
    pub(crate) h: ScalarBuffer,
}

impl Accounted<StageName> for QuotientItem {
    fn attribute_to(&mut self, stage: StageName) {
        self.partition.attribute_to(stage);
        self.h.attribute_to(stage);
    }
}

pub(crate) struct SumsItem {
    pub(crate) partition: WitnessItem,
    pub(crate) sums: Sums,
}

impl Accounted<StageName> for SumsItem {
    fn attribute_to(&mut self, stage: StageName) {
        self.partition.attribute_to(stage);
    }
}

/// What finalisation gives.
pub(crate) enum Finished {
    /// The last partition of a job was verified.
    Job(JobProof),
    /// A proof did not verify, and the partition may be proved again.
    Again {
        partition: Box<WitnessItem>,
        /// What its job fails with when there is no room for it.
        error: FinalizeError,
    },
}

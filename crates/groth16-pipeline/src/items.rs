//! What travels through the links.

use std::sync::{Arc, Mutex};

use blstrs::Scalar;
use buffer_accounting::Accounted;
use circuit_synth::CompactWitness;
use groth16_assembly::{PartitionCollector, Sums};
use pipeline_stage::{Lease, StageName};

use crate::keys::CircuitKeys;

/// The proof of a job: its partitions' proofs, 192 bytes each, in order, every one verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProof {
    /// Number of partitions.
    pub partitions: usize,
    /// The concatenated proofs.
    pub bytes: Vec<u8>,
}

/// A job's partition proofs as they come in.
pub(crate) type Collector = Arc<Mutex<PartitionCollector>>;

/// What every item knows about its partition.
pub(crate) struct Place {
    pub(crate) index: usize,
    pub(crate) keys: Arc<CircuitKeys>,
    pub(crate) collector: Collector,
}

pub(crate) struct JobItem<J>(pub(crate) J);

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

pub(crate) struct WitnessItem {
    pub(crate) place: Place,
    pub(crate) witness: Lease<CompactWitness>,
    pub(crate) public_inputs: Vec<Scalar>,
}

impl Accounted<StageName> for WitnessItem {
    fn attribute_to(&mut self, stage: StageName) {
        self.witness.attribute_to(stage);
    }
}

pub(crate) struct QuotientItem {
    pub(crate) place: Place,
    pub(crate) witness: Lease<CompactWitness>,
    pub(crate) public_inputs: Vec<Scalar>,
    pub(crate) h: Lease<Vec<Scalar>>,
}

impl Accounted<StageName> for QuotientItem {
    fn attribute_to(&mut self, stage: StageName) {
        self.witness.attribute_to(stage);
        self.h.attribute_to(stage);
    }
}

pub(crate) struct SumsItem {
    pub(crate) place: Place,
    pub(crate) public_inputs: Vec<Scalar>,
    pub(crate) sums: Sums,
}

impl Accounted<StageName> for SumsItem {
    // Five points and the public inputs: no large buffer.
    fn attribute_to(&mut self, _: StageName) {}
}

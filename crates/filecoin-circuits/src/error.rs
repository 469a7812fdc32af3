//! Why a partition did not become a circuit.

use std::fmt;

use pipeline_stage::{AcquireError, Classified, ErrorClass};

/// Why a partition did not become a circuit, or the circuit not a witness.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CircuitError {
    /// Memory was not granted.
    #[error("{0}")]
    Memory(#[from] AcquireError),
    /// Compiling, opening, synthesising or checking failed.
    #[error("{0}")]
    Synthesis(#[from] circuit_synth::SynthError),
    /// The work was given up on request.
    #[error("cancelled before the partition was through")]
    Cancelled,
    /// There is no such partition.
    #[error("{seal_proof} has {partitions} partitions, numbered from 0; there is no partition {found}")]
    PartitionNumber {
        /// The seal proof.
        seal_proof: c1_parse::SealProof,
        /// How many it has.
        partitions: usize,
        /// The number given.
        found: usize,
    },
    /// A partition has the wrong number of challenges.
    #[error("partition {partition}: expected {expected} challenges, found {found}")]
    ChallengeCount {
        /// Which partition.
        partition: usize,
        /// What the seal proof has.
        expected: usize,
        /// What the partition has.
        found: usize,
    },
    /// A challenge has another form than the official type: other counts, other kinds of proofs.
    #[error("partition {partition}, challenge {challenge} does not have the form of the official proof: {reason}")]
    Form {
        /// Which partition.
        partition: usize,
        /// Which of its challenges.
        challenge: usize,
        /// What the official type refused.
        reason: String,
    },
    /// A field of the statement is no field element.
    #[error("{field} is no canonical field element (little-endian hex {found}); the C1 file was not parsed or was changed since")]
    NotCanonical {
        /// Which field.
        field: &'static str,
        /// Its bytes in hex.
        found: String,
    },
    /// The proofs do not prove the statement.
    #[error("partition {partition}, challenge {challenge}: {flaw}; the vanilla proof does not hold, run commit phase 1 again")]
    Refused {
        /// Which partition.
        partition: usize,
        /// Which of its challenges.
        challenge: usize,
        /// What does not hold.
        flaw: OpeningFlaw,
    },
    /// The C1 file is for another miner or sector than expected.
    #[error(
        "the C1 file has replica id {found}, but miner {miner} and sector {sector} with its ticket and data give {expected}: is this the right miner and sector?"
    )]
    WrongSector {
        /// The miner expected.
        miner: u64,
        /// The sector expected.
        sector: u64,
        /// The replica id that follows from them, little-endian hex.
        expected: String,
        /// The replica id of the file, little-endian hex.
        found: String,
    },
    /// The circuit's inputs are not the official public inputs: no verifier would accept the proof.
    #[error("partition {partition}, public input {index}: the verifier expects {expected}, the circuit has {found} (little-endian hex)")]
    Inputs {
        /// Which partition.
        partition: usize,
        /// Which input; ONE is not counted.
        index: usize,
        /// What the verifier expects, or "nothing".
        expected: String,
        /// What the circuit has, or "nothing".
        found: String,
    },
    /// The compiled circuit is that of another shape.
    #[error("this partition needs the compiled circuit {expected}, found {found}")]
    WrongCircuit {
        /// Name of the circuit needed.
        expected: &'static str,
        /// Name of the circuit given.
        found: String,
    },
    /// The proof library failed.
    #[error("{step} failed in the proof library: {message}")]
    Library {
        /// What it was asked to do.
        step: &'static str,
        /// What it said.
        message: String,
    },
    /// The proof library panicked.
    #[error("{step} panicked in the proof library: {message}")]
    Panicked {
        /// What it was asked to do.
        step: &'static str,
        /// The message of the panic.
        message: String,
    },
}

impl Classified for CircuitError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Memory(error) => error.class(),
            Self::Synthesis(error) => error.class(),
            Self::Cancelled => ErrorClass::Cancelled,
            _ => ErrorClass::Fatal,
        }
    }
}

/// What does not hold in the vanilla proof of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpeningFlaw {
    /// comm_r is not the hash of the two tree roots.
    CommR,
    /// A root differs from that of the first challenge.
    Roots,
    /// The root of the data path is not comm_d.
    DataRoot,
    /// The data path leads to another node than the challenge.
    DataIndex {
        /// The challenge.
        expected: u64,
        /// The node the path leads to.
        found: u64,
    },
    /// The data path does not hash to its root.
    DataPath,
    /// The replica path leads to another node than the challenge.
    ReplicaIndex {
        /// The challenge.
        expected: u64,
        /// The node the path leads to.
        found: u64,
    },
    /// The replica path does not hash to its root.
    ReplicaPath,
    /// The column of the challenged node does not open to the column tree.
    Column,
    /// The column of a base parent does not open to the column tree.
    BaseParent(usize),
    /// The column of an expander parent does not open to the column tree.
    ExpanderParent(usize),
    /// A label is not the hash of the labels of its parents.
    Label {
        /// Layer, from 1.
        layer: usize,
    },
    /// A labelling proof is about another node or layer, or its parent labels are not those of the parents' columns.
    ParentLabels {
        /// Layer, from 1.
        layer: usize,
    },
    /// The replica node is not the data node plus its key.
    Encoding,
    /// The library refuses it and none of the parts above says why.
    Unknown,
}

impl fmt::Display for OpeningFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommR => f.write_str("comm_r is not the hash of the roots of the column tree and the replica tree"),
            Self::Roots => {
                f.write_str("the root of the column tree or the replica tree differs from that of the partition's first challenge")
            }
            Self::DataRoot => f.write_str("the root in comm_d_proofs is not comm_d"),
            Self::DataIndex { expected, found } => write!(f, "comm_d_proofs opens node {found}, the challenge is {expected}"),
            Self::DataPath => f.write_str("the path in comm_d_proofs does not hash to its root"),
            Self::ReplicaIndex { expected, found } => write!(f, "comm_r_last_proof opens node {found}, the challenge is {expected}"),
            Self::ReplicaPath => f.write_str("the path in comm_r_last_proof does not hash to its root"),
            Self::Column => f.write_str("replica_column_proofs.c_x does not open to the column tree"),
            Self::BaseParent(i) => write!(f, "replica_column_proofs.drg_parents[{i}] does not open to the column tree"),
            Self::ExpanderParent(i) => write!(f, "replica_column_proofs.exp_parents[{i}] does not open to the column tree"),
            Self::Label { layer } => write!(f, "labeling_proofs[{}] does not hash to the label of layer {layer}", layer - 1),
            Self::ParentLabels { layer } => {
                write!(f, "the labelling of layer {layer} is not that of the challenged node over the columns of its parents")
            }
            Self::Encoding => f.write_str("the leaf of comm_r_last_proof is not the data leaf plus the key of encoding_proof"),
            Self::Unknown => f.write_str("the proof library's vanilla verification refuses it"),
        }
    }
}

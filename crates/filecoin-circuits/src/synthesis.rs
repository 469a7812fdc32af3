//! Compiled circuits, witnesses and checks, from official circuit instances.

use std::path::Path;

use blstrs::Scalar;
use c1_parse::{Partition, SealProof};
use circuit_synth::{BrokenConstraint, CompactWitness, CompiledCircuit, Opened, Satisfaction, synthesize_witness};
use filecoin_proofs::DefaultPieceHasher;
use pipeline_stage::{Class, Lease, StageContext};
use prover_backend::ConstraintMatrices;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_porep::stacked::{PublicParams, StackedCircuit, StackedCompound, StackedDrg};

use crate::guard::{guarded, library};
use crate::identity::{circuit_name, compiled_name};
use crate::inputs::{compare, official_inputs};
use crate::official::{Converter, challenges, conversion_bytes};
use crate::shape::{PoRepTree, ShapeJob, with_shape};
use crate::statement::OfficialInputs;
use crate::{CircuitError, Statement};

type OfficialCircuit<Tree> = StackedCircuit<Tree, DefaultPieceHasher>;
type OfficialCompound<Tree> = StackedCompound<Tree, DefaultPieceHasher>;
type OfficialScheme<Tree> = StackedDrg<'static, Tree, DefaultPieceHasher>;

/// A partition, ready to be proved.
#[derive(Debug)]
pub struct Synthesized {
    /// Which partition.
    pub partition: usize,
    /// The values of its variables.
    pub witness: Lease<CompactWitness>,
    /// Its public inputs without ONE, equal to what a verifier derives.
    pub public_inputs: Vec<Scalar>,
}

/// What [`check`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// Every constraint holds, and the inputs are the official ones.
    Satisfied {
        /// How many constraints there are.
        constraints: u64,
    },
    /// The first constraint that does not hold.
    Broken(BrokenConstraint),
}

/// Compiles the circuit of a seal proof into its file in `folder`, whatever is there, and maps it.
///
/// 32 GiB: 75 CPU seconds, 80 MiB of memory, 2.2 GB of disk.
///
/// # Errors
/// [`CircuitError::Synthesis`]: the file cannot be written, cancellation. [`CircuitError::Panicked`].
pub fn compile(seal_proof: SealProof, folder: &Path, context: &StageContext) -> Result<CompiledCircuit, CircuitError> {
    with_shape(seal_proof, Compile { seal_proof, folder, context, keep: false }).map(|(circuit, _)| circuit)
}

/// Maps the compiled circuit of a seal proof from its file in `folder`.
///
/// # Errors
/// [`CircuitError::Synthesis`]: there is no file, or it is truncated, damaged, foreign, or of another version or circuit.
pub fn open(seal_proof: SealProof, folder: &Path, context: &StageContext) -> Result<CompiledCircuit, CircuitError> {
    let size = seal_proof.sector_size;
    Ok(CompiledCircuit::open(&folder.join(compiled_name(size)), circuit_name(size), context)?)
}

/// [`open`]s, or [`compile`]s when there is no file or it cannot be trusted, and says which.
///
/// # Errors
/// As for [`compile`]; a file that is there and cannot be read.
pub fn open_or_compile(seal_proof: SealProof, folder: &Path, context: &StageContext) -> Result<(CompiledCircuit, Opened), CircuitError> {
    with_shape(seal_proof, Compile { seal_proof, folder, context, keep: true })
}

struct Compile<'a> {
    seal_proof: SealProof,
    folder: &'a Path,
    context: &'a StageContext,
    /// Whether a good file that is there is kept.
    keep: bool,
}

impl ShapeJob for Compile<'_> {
    type Output = (CompiledCircuit, Opened);

    fn run<Tree: PoRepTree>(self, params: &PublicParams<Tree>) -> Result<Self::Output, CircuitError> {
        let size = self.seal_proof.sector_size;
        let (name, path) = (circuit_name(size), self.folder.join(compiled_name(size)));
        let blank = || <OfficialCompound<Tree> as CompoundProof<'_, OfficialScheme<Tree>, OfficialCircuit<Tree>>>::blank_circuit(params);
        guarded("compiling the circuit", || {
            if self.keep {
                Ok(circuit_synth::open_or_compile(blank, name, &path, self.context)?)
            } else {
                Ok((circuit_synth::compile(blank(), name, &path, self.context)?, Opened::Compiled))
            }
        })
    }
}

/// The witness of a partition and its public inputs.
///
/// Memory: the witness, and [`conversion_bytes`] while the circuit lives. 34 CPU seconds for a partition of a 32 GiB
/// sector. Does not verify:
/// a vanilla proof that does not hold has a witness too, see [`vanilla_check`](crate::vanilla_check) and [`check`].
///
/// # Errors
/// [`CircuitError::WrongCircuit`], [`CircuitError::Inputs`] when the partition opens other nodes than the statement's challenges, form and
/// number errors, memory, cancellation.
pub fn synthesize(
    statement: &Statement,
    partition: &Partition,
    circuit: &CompiledCircuit,
    context: &StageContext,
) -> Result<Synthesized, CircuitError> {
    let official = statement.official()?;
    with_shape(statement.seal_proof, Synthesize(Instance { statement, official: &official, partition, circuit, context }))
}

/// Evaluates every constraint of a partition, and compares its inputs with the official ones. Nothing is kept per constraint; the memory is that
/// of [`synthesize`]. 71 CPU seconds for a partition of a 32 GiB sector.
///
/// # Errors
/// As for [`synthesize`]. That a constraint does not hold is a result, not an error.
pub fn check(
    statement: &Statement,
    partition: &Partition,
    circuit: &CompiledCircuit,
    context: &StageContext,
) -> Result<Checked, CircuitError> {
    let official = statement.official()?;
    with_shape(statement.seal_proof, Check(Instance { statement, official: &official, partition, circuit, context }))
}

/// A partition with all that its circuit is made from.
struct Instance<'a> {
    statement: &'a Statement,
    official: &'a OfficialInputs,
    partition: &'a Partition,
    circuit: &'a CompiledCircuit,
    context: &'a StageContext,
}

impl Instance<'_> {
    /// Refuses a compiled circuit of another size.
    fn check_circuit(&self) -> Result<(), CircuitError> {
        let expected = circuit_name(self.statement.seal_proof.sector_size);
        if self.circuit.name() == expected {
            return Ok(());
        }
        Err(CircuitError::WrongCircuit { expected, found: self.circuit.name().to_owned() })
    }

    /// The official circuit. The official vanilla proofs live only in here.
    fn circuit<Tree: PoRepTree>(&self, params: &PublicParams<Tree>) -> Result<OfficialCircuit<Tree>, CircuitError> {
        let index = self.partition.index;
        let mut converter = Converter::default();
        let proofs = challenges(self.statement, self.partition)?
            .iter()
            .enumerate()
            .map(|(i, challenge)| converter.convert::<Tree>(challenge, (index, i)))
            .collect::<Result<Vec<_>, CircuitError>>()?;
        <OfficialCompound<Tree> as CompoundProof<'_, OfficialScheme<Tree>, OfficialCircuit<Tree>>>::circuit(
            self.official,
            (),
            &proofs,
            params,
            Some(index),
        )
        .map_err(library("building the circuit"))
    }

    /// Compares the inputs of the circuit, without ONE, with the official ones.
    fn check_inputs<Tree: PoRepTree>(&self, params: &PublicParams<Tree>, inputs: &[Scalar]) -> Result<(), CircuitError> {
        compare(self.partition.index, &official_inputs(self.official, params, self.partition.index)?, inputs)
    }
}

struct Synthesize<'a>(Instance<'a>);

impl ShapeJob for Synthesize<'_> {
    type Output = Synthesized;

    fn run<Tree: PoRepTree>(self, params: &PublicParams<Tree>) -> Result<Synthesized, CircuitError> {
        let Self(instance) = self;
        instance.check_circuit()?;
        let conversion = instance.context.acquire(Class::VanillaProof, conversion_bytes(instance.statement.seal_proof))?;
        let witness =
            guarded("synthesising the witness", || Ok(synthesize_witness(instance.circuit(params)?, instance.circuit, instance.context)?))?;
        drop(conversion);
        let view = witness.view().map_err(circuit_synth::SynthError::from)?;
        let public_inputs: Vec<Scalar> = (1..instance.circuit.inputs()).map(|i| view.value(i)).collect();
        instance.check_inputs(params, &public_inputs)?;
        Ok(Synthesized { partition: instance.partition.index, witness, public_inputs })
    }
}

struct Check<'a>(Instance<'a>);

impl ShapeJob for Check<'_> {
    type Output = Checked;

    fn run<Tree: PoRepTree>(self, params: &PublicParams<Tree>) -> Result<Checked, CircuitError> {
        let Self(instance) = self;
        instance.check_circuit()?;
        let _conversion = instance.context.acquire(Class::VanillaProof, conversion_bytes(instance.statement.seal_proof))?;
        let found =
            guarded("checking the constraints", || circuit_synth::check(|| instance.circuit(params), instance.circuit, instance.context))?;
        match found {
            Satisfaction::Broken(broken) => Ok(Checked::Broken(broken)),
            Satisfaction::Satisfied { constraints, public_inputs } => {
                instance.check_inputs(params, &public_inputs)?;
                Ok(Checked::Satisfied { constraints })
            }
        }
    }
}

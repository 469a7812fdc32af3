//! Witness generation: assignments are asked for, constraints, annotations and namespaces are not looked at.

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;
use pipeline_stage::{Lease, StageContext};
use prover_backend::ConstraintMatrices;

use crate::compiled::CompiledCircuit;
use crate::error::SynthError;
use crate::witness::{CompactWitness, WitnessBuilder};

/// Auxiliary variables between two looks at the cancellation flag.
const CANCEL_VARIABLES: usize = 1 << 16;

/// The assignment of an instance as it is made: inputs (ONE first), and the compact auxiliary values.
pub(crate) struct Assignment {
    pub(crate) inputs: Vec<Scalar>,
    pub(crate) auxiliary: WitnessBuilder,
    circuit: String,
    counts: [usize; 2],
    context: StageContext,
    /// What went wrong first, when it is not the circuit's own error.
    fault: Option<SynthError>,
}

impl Assignment {
    pub(crate) fn new(circuit: &CompiledCircuit, context: &StageContext) -> Result<Self, SynthError> {
        let counts = [circuit.inputs(), circuit.auxiliary()];
        Ok(Self {
            inputs: vec![Scalar::ONE],
            auxiliary: WitnessBuilder::new(counts[0], counts[1], context)?,
            circuit: circuit.name().to_owned(),
            counts,
            context: context.clone(),
            fault: None,
        })
    }

    pub(crate) fn add_input(&mut self, value: Scalar) -> Result<Variable, SynthesisError> {
        if self.inputs.len() == self.counts[0] {
            return Err(self.stop(SynthError::Count {
                circuit: self.circuit.clone(),
                what: "inputs",
                expected: self.counts[0] as u64,
                found: self.counts[0] as u64 + 1,
            }));
        }
        self.inputs.push(value);
        Ok(Variable(Index::Input(self.inputs.len() - 1)))
    }

    #[inline]
    pub(crate) fn add_auxiliary(&mut self, value: Scalar) -> Result<Variable, SynthesisError> {
        let j = self.auxiliary.auxiliary();
        if j.is_multiple_of(CANCEL_VARIABLES) && self.context.cancel().is_cancelled() {
            return Err(self.stop(SynthError::Cancelled));
        }
        match self.auxiliary.push(value) {
            Ok(true) => Ok(Variable(Index::Aux(j))),
            Ok(false) => Err(self.stop(SynthError::Count {
                circuit: self.circuit.clone(),
                what: "auxiliary variables",
                expected: self.counts[1] as u64,
                found: self.counts[1] as u64 + 1,
            })),
            Err(fault) => Err(self.stop(fault)),
        }
    }

    /// Keeps the fault and stops the circuit with an error that says little.
    fn stop(&mut self, fault: SynthError) -> SynthesisError {
        self.fault.get_or_insert(fault);
        SynthesisError::Unsatisfiable
    }

    /// The outcome of synthesis: the fault if there is one, the circuit's error, or counts that differ.
    pub(crate) fn conclude(&mut self, outcome: Result<(), SynthesisError>) -> Result<(), SynthError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        outcome.map_err(|source| SynthError::Synthesis { circuit: self.circuit.clone(), source })?;
        let found = [self.inputs.len(), self.auxiliary.auxiliary()];
        for (what, expected, found) in [("inputs", self.counts[0], found[0]), ("auxiliary variables", self.counts[1], found[1])] {
            if expected != found {
                return Err(SynthError::Count { circuit: self.circuit.clone(), what, expected: expected as u64, found: found as u64 });
            }
        }
        Ok(())
    }
}

struct WitnessCs(Assignment);

/// Makes the compact witness of an instance. Values decide what is a bit: the circuit is not trusted with it.
///
/// Memory: the words for the compiled circuit's number of variables, and chunks of 1 MiB for the full-size values.
///
/// # Errors
/// [`SynthError::Count`] when the instance is of another circuit, [`SynthError::Synthesis`] from the circuit (a missing assignment, say),
/// memory, cancellation.
pub fn synthesize_witness<C: Circuit<Scalar>>(
    instance: C,
    circuit: &CompiledCircuit,
    context: &StageContext,
) -> Result<Lease<CompactWitness>, SynthError> {
    let mut cs = WitnessCs(Assignment::new(circuit, context)?);
    let outcome = instance.synthesize(&mut cs);
    cs.0.conclude(outcome)?;
    cs.0.auxiliary.finish(&cs.0.inputs)
}

impl ConstraintSystem<Scalar> for WitnessCs {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.0.add_auxiliary(f()?)
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.0.add_input(f()?)
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, _: LA, _: LB, _: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
    }

    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
    }

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self {
        self
    }
}

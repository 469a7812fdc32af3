//! Toy statements: a chain of squarings and bits, some of them broken on purpose.

use std::path::Path;
use std::sync::Arc;

use bellpepper_core::{Circuit, ConstraintSystem, LinearCombination, SynthesisError};
use blstrs::Scalar;
use circuit_synth::{CompiledCircuit, SynthError, compile, synthesize_witness};
use ff::{Field, PrimeField};
use groth16_pipeline::{CircuitKeys, ParsedPartition, Statement, Synthesized};
use groth16_srs::{CircuitIdentity, OriginPolicy, ProvingKey, SetupSecrets, setup};
use pipeline_stage::{Class, Classified, ErrorClass, Failed, Lease, StageContext, StageName};
use prover_backend::ProverBackend;

/// Knows x with x^(2^rounds) = y, and the low bits of x. Public: y.
#[derive(Clone)]
pub(crate) struct Squarings {
    pub(crate) rounds: usize,
    pub(crate) x: Option<Scalar>,
    /// Claims a wrong value for the k-th square.
    pub(crate) lie_at: Option<usize>,
}

impl Squarings {
    pub(crate) fn blank(rounds: usize) -> Self {
        Self { rounds, x: None, lie_at: None }
    }

    pub(crate) fn public_inputs(&self) -> Vec<Scalar> {
        let x = self.x.expect("only statements with a witness have inputs");
        vec![(0..self.rounds).fold(x, |v, k| if self.lie_at == Some(k) { v.square() + Scalar::ONE } else { v.square() })]
    }
}

impl Circuit<Scalar> for Squarings {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let x = self.x;
        let known = |value: Option<Scalar>| value.ok_or(SynthesisError::AssignmentMissing);
        let mut value = x;
        let mut variable = cs.alloc(|| "x", || known(x))?;
        let bytes = x.map(|x| x.to_repr());
        for i in 0..32 {
            let bit = cs.alloc(
                || format!("bit {i}"),
                || bytes.map(|b| Scalar::from(u64::from(b[i / 8] >> (i % 8) & 1))).ok_or(SynthesisError::AssignmentMissing),
            )?;
            cs.enforce(|| format!("bit {i} is a bit"), |lc| lc + bit, |lc| lc + CS::one() - bit, |lc| lc);
        }
        for k in 0..self.rounds {
            value = value.map(|v| if self.lie_at == Some(k) { v.square() + Scalar::ONE } else { v.square() });
            let square = cs.alloc(|| format!("square {k}"), || known(value))?;
            cs.enforce(|| format!("squaring {k}"), |lc| lc + variable, |lc| lc + variable, |lc| lc + square);
            variable = square;
        }
        let y = cs.alloc_input(|| "y", || known(value))?;
        cs.enforce(|| "y", |lc| lc + variable, |lc| lc + CS::one(), |_| LinearCombination::zero() + y);
        Ok(())
    }
}

/// Compiles, sets up and opens the keys of the circuit with this many rounds.
pub(crate) fn keys(folder: &Path, rounds: usize, backend: &dyn ProverBackend, context: &StageContext) -> Arc<CircuitKeys> {
    let name = format!("squarings-{rounds}");
    let circuit = compile(Squarings::blank(rounds), &name, &folder.join(format!("{name}.circuit")), context).unwrap();
    let identity = CircuitIdentity::new(&name, *circuit.hash()).unwrap();
    let path = folder.join(identity.file_name());
    setup(&identity, &circuit, SetupSecrets::from_seed([rounds as u8; 32]), backend, &path, &mut |_| {}, context).unwrap();
    let expected = groth16_srs::Circuit { identity, counts: groth16_srs::CircuitCounts::of(&circuit).unwrap() };
    let key = ProvingKey::open(&path, &expected, OriginPolicy::Any, context).unwrap();
    Arc::new(CircuitKeys::new(circuit, key).unwrap())
}

#[derive(Debug)]
pub(crate) enum ToyError {
    Refused,
    Synth(SynthError),
}
impl std::fmt::Display for ToyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused => f.write_str("refused by the parser"),
            Self::Synth(error) => error.fmt(f),
        }
    }
}
impl std::error::Error for ToyError {}
impl Classified for ToyError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Refused => ErrorClass::Fatal,
            Self::Synth(error) => error.class(),
        }
    }
}

/// A job: its partitions' statements, given last one first.
pub(crate) struct ToyJob {
    pub(crate) keys: Arc<CircuitKeys>,
    pub(crate) partitions: Vec<Squarings>,
    /// The parser refuses after it gave this many partitions.
    pub(crate) refuse_after: Option<usize>,
    /// Synthesis of this partition panics.
    pub(crate) panic_at: Option<usize>,
}

pub(crate) struct ToyPartition {
    statement: Squarings,
    panics: bool,
    vanilla: Lease<Vec<u8>>,
}

impl buffer_accounting::Accounted<StageName> for ToyPartition {
    fn attribute_to(&mut self, stage: StageName) {
        self.vanilla.attribute_to(stage);
    }
}

pub(crate) struct Toy;

impl Statement for Toy {
    type Job = ToyJob;
    type Partition = ToyPartition;
    type Error = ToyError;

    fn parse(
        &self,
        job: ToyJob,
        context: &StageContext,
        announce: &mut dyn FnMut(usize),
        give: &mut dyn FnMut(ParsedPartition<ToyPartition>),
    ) -> Result<(), Failed<ToyJob, ToyError>> {
        announce(job.partitions.len());
        for (given, (index, statement)) in job.partitions.into_iter().enumerate().rev().enumerate() {
            if job.refuse_after == Some(given) {
                return Err(ToyError::Refused.into());
            }
            let permit = context.acquire(Class::VanillaProof, 1000).map_err(|e| ToyError::Synth(e.into()))?;
            let vanilla = Lease::try_new(permit, || vec![0; 1000]).unwrap();
            let body = ToyPartition { statement, panics: job.panic_at == Some(index), vanilla };
            give(ParsedPartition { index, keys: Arc::clone(&job.keys), body });
        }
        Ok(())
    }

    fn synthesize(
        &self,
        keys: &CircuitKeys,
        _: usize,
        body: ToyPartition,
        context: &StageContext,
    ) -> Result<Synthesized, Failed<ToyPartition, ToyError>> {
        assert!(!body.panics, "synthesis told to panic");
        let public_inputs = body.statement.public_inputs();
        let circuit: &CompiledCircuit = keys.circuit();
        let witness = synthesize_witness(body.statement, circuit, context).map_err(ToyError::Synth)?;
        Ok(Synthesized { witness, public_inputs })
    }
}

/// Every peak of the books is within the plan: of each cell, of each class, and of all. Idle buffers are looked at by class alone: between two
/// users one stands in the name of the last stage for a moment.
#[allow(dead_code, reason = "each test binary uses its part")]
pub(crate) fn assert_within_plan(plan: &groth16_pipeline::MemoryPlan, ledger: &pipeline_stage::Ledger) {
    use buffer_accounting::Label;
    use pipeline_stage::Space;
    let snapshot = ledger.snapshot();
    snapshot.check().unwrap();
    for (space, class, stage, cell) in snapshot.cells().filter(|(space, class, ..)| *space == Space::Host && *class != Class::Idle) {
        let planned = plan.cell(space, class, stage);
        let peak = cell.peak_bytes;
        assert!(peak <= planned, "{} at {}: {peak} bytes, planned {planned}\n{plan}", class.name(), stage.name());
    }
    for &class in Class::ALL {
        let (peak, planned) = (snapshot.class(Space::Host, class).peak_bytes, plan.class(Space::Host, class));
        assert!(peak <= planned, "{}: {peak} bytes, planned {planned}\n{plan}", class.name());
    }
    let (peak, planned) = (snapshot.peak(Space::Host), plan.total(Space::Host));
    assert!(peak <= planned, "{peak} bytes in all, planned {planned}\n{plan}");
}

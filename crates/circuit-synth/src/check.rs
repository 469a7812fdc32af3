//! Is the system satisfied, and if not, which constraint is broken?

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;
use pipeline_stage::StageContext;

use crate::compiled::CompiledCircuit;
use crate::error::SynthError;
use crate::witness_cs::Assignment;

/// What [`check`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Satisfaction {
    /// Every constraint holds.
    Satisfied {
        /// How many there are.
        constraints: u64,
        /// The public inputs, without ONE.
        public_inputs: Vec<Scalar>,
    },
    /// A constraint does not hold; later ones were not looked at.
    Broken(BrokenConstraint),
}

/// The first constraint that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenConstraint {
    /// Its number, from zero, in order of enforcement.
    pub number: u64,
    /// Its namespaces and its annotation, joined with `/`.
    pub path: String,
    /// A·w of the row.
    pub a: Scalar,
    /// B·w of the row.
    pub b: Scalar,
    /// C·w of the row, which is not the product of the others.
    pub c: Scalar,
}

impl std::fmt::Display for BrokenConstraint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "constraint {} ({}): {} times {} is not {}", self.number, self.path, self.a, self.b, self.c)
    }
}

/// Evaluates every constraint of an instance while it is synthesised, over the compact witness; nothing per constraint is kept.
/// `instance` makes the instance; it is called a second time when a constraint is broken, to find out its path, since namespaces are
/// strings that the first pass does not make; the second one makes only those that are part of the path, and ends there.
///
/// # Errors
/// As for [`synthesize_witness`](crate::synthesize_witness); [`SynthError::Count`] too when the number of constraints differs.
pub fn check<C: Circuit<Scalar>, E: From<SynthError>>(
    mut instance: impl FnMut() -> Result<C, E>,
    circuit: &CompiledCircuit,
    context: &StageContext,
) -> Result<Satisfaction, E> {
    let first = Checker::run(instance()?, circuit, context, None)?;
    let Some(broken) = first.broken else {
        let expected = circuit.shape().constraints;
        if first.constraints != expected {
            let found = first.constraints;
            return Err(SynthError::Count { circuit: circuit.name().to_owned(), what: "constraints", expected, found }.into());
        }
        let public_inputs = first.assignment.inputs[1..].to_vec();
        return Ok(Satisfaction::Satisfied { constraints: expected, public_inputs });
    };
    // The first pass's memory goes before the second one's is asked for.
    drop(first.assignment);
    let wanted = Wanted { number: broken.number, namespaces: first.open, names: Vec::new(), path: None };
    let second = Checker::run(instance()?, circuit, context, Some(wanted))?;
    let path = second.wanted.and_then(|wanted| wanted.path).unwrap_or_else(|| "not met again: synthesis is not deterministic".to_owned());
    Ok(Satisfaction::Broken(BrokenConstraint { path, ..broken }))
}

struct Checker {
    assignment: Assignment,
    constraints: u64,
    broken: Option<BrokenConstraint>,
    /// The namespaces that are open, by number in order of opening.
    open: Vec<u64>,
    /// Namespaces opened so far.
    opened: u64,
    /// The constraint whose path is wanted; nothing is evaluated then.
    wanted: Option<Wanted>,
}

/// A constraint whose path the second pass finds out.
struct Wanted {
    number: u64,
    /// The namespaces that are open at it, as the first pass counted them.
    namespaces: Vec<u64>,
    names: Vec<String>,
    path: Option<String>,
}

impl Checker {
    fn run<C: Circuit<Scalar>>(
        instance: C,
        circuit: &CompiledCircuit,
        context: &StageContext,
        wanted: Option<Wanted>,
    ) -> Result<Self, SynthError> {
        let mut checker =
            Self { assignment: Assignment::new(circuit, context)?, constraints: 0, broken: None, open: Vec::new(), opened: 0, wanted };
        let outcome = instance.synthesize(&mut checker);
        if !checker.is_settled() {
            checker.assignment.conclude(outcome)?;
        }
        Ok(checker)
    }

    /// True when the rest of the circuit does not matter any more.
    fn is_settled(&self) -> bool {
        self.broken.is_some() || self.wanted.as_ref().is_some_and(|wanted| wanted.path.is_some())
    }

    fn value(&self, lc: &LinearCombination<Scalar>) -> Scalar {
        let mut sum = Scalar::ZERO;
        for (variable, coefficient) in lc.iter() {
            let value = match variable.0 {
                Index::Input(i) => self.assignment.inputs.get(i).copied(),
                Index::Aux(j) => self.assignment.auxiliary.auxiliary_value(j),
            };
            // A circuit can only name variables it was given.
            let value = value.unwrap_or(Scalar::ZERO);
            if value == Scalar::ONE {
                sum += coefficient;
            } else if !value.is_zero_vartime() {
                sum += *coefficient * value;
            }
        }
        sum
    }
}

impl ConstraintSystem<Scalar> for Checker {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        // An error ends the synthesis: constraints cannot report one.
        if self.is_settled() { Err(SynthesisError::Unsatisfiable) } else { self.assignment.add_auxiliary(f()?) }
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        if self.is_settled() { Err(SynthesisError::Unsatisfiable) } else { self.assignment.add_input(f()?) }
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, annotation: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        let number = self.constraints;
        self.constraints += 1;
        if let Some(wanted) = &mut self.wanted {
            if number == wanted.number {
                wanted.names.push(annotation().into());
                wanted.path = Some(wanted.names.join("/"));
            }
            return;
        }
        if self.broken.is_some() {
            return;
        }
        let [a, b, c] =
            [a(LinearCombination::zero()), b(LinearCombination::zero()), c(LinearCombination::zero())].map(|lc| self.value(&lc));
        if a * b != c {
            self.broken = Some(BrokenConstraint { number, path: String::new(), a, b, c });
        }
    }

    fn push_namespace<NR, N>(&mut self, name: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
        let number = self.opened;
        self.opened += 1;
        match &mut self.wanted {
            Some(wanted) if wanted.path.is_none() && wanted.namespaces.contains(&number) => wanted.names.push(name().into()),
            Some(_) => {}
            None if self.broken.is_none() => self.open.push(number),
            None => {}
        }
    }

    fn pop_namespace(&mut self) {
        // What is open at the broken constraint stays for the second pass.
        if self.broken.is_none() {
            self.open.pop();
        }
    }

    fn get_root(&mut self) -> &mut Self {
        self
    }
}

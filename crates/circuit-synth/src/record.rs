//! The constraint system that streams matrices to a file: no assignment is asked for, nothing is kept but densities and coefficients.

use bellpepper_core::{ConstraintSystem, Index, LinearCombination, SynthesisError, Variable as CircuitVariable};
use blstrs::Scalar;
use ff::Field;
use pipeline_stage::{Class, StageContext};

use crate::bits::{Bits, GrowingPermit};
use crate::block::Variable;
use crate::dictionary::Dictionary;
use crate::error::SynthError;
use crate::shape::CircuitShape;
use crate::writer::CircuitWriter;

/// Constraints between two looks at the cancellation flag.
const CANCEL_ROWS: u64 = 1 << 14;

/// Auxiliary variables between two looks at the cancellation flag.
const CANCEL_VARIABLES: u64 = 1 << 16;

/// Coefficients whose bytes are asked for at once, and bytes of one in the dictionary's vector and, at its emptiest, hash table.
const COEFFICIENTS_STEP: u64 = 1 << 12;
const COEFFICIENT_BYTES: u64 = 192;

pub(crate) struct Recorder {
    writer: CircuitWriter,
    dictionary: Dictionary,
    shape: CircuitShape,
    a_auxiliary: Bits,
    b_inputs: Bits,
    b_auxiliary: Bits,
    context: StageContext,
    /// Coefficients that there are bytes for; the first few thousand are too small to count.
    coefficients_paid: u64,
    dictionary_permit: GrowingPermit,
    /// What went wrong first; a constraint system has no way to report it.
    fault: Option<SynthError>,
}

impl Recorder {
    pub(crate) fn new(writer: CircuitWriter, context: StageContext) -> Self {
        Self {
            writer,
            dictionary: Dictionary::new(),
            // ONE
            shape: CircuitShape { inputs: 1, ..CircuitShape::default() },
            a_auxiliary: Bits::default(),
            b_inputs: Bits::default(),
            b_auxiliary: Bits::default(),
            context,
            coefficients_paid: COEFFICIENTS_STEP,
            dictionary_permit: GrowingPermit::default(),
            fault: None,
        }
    }

    /// The fault that stopped the recording, if one did.
    pub(crate) fn take_fault(&mut self) -> Option<SynthError> {
        self.fault.take()
    }

    /// Writes densities, dictionary and directory.
    pub(crate) fn finish(mut self, name: &str) -> Result<(), SynthError> {
        if let Some(fault) = self.take_fault() {
            return Err(fault);
        }
        self.check_size()?;
        self.shape.coefficients = self.dictionary.values().len() as u64;
        self.shape.a_auxiliary = self.a_auxiliary.ones();
        self.shape.b_inputs = self.b_inputs.ones();
        self.shape.b_auxiliary = self.b_auxiliary.ones();
        let (inputs, variables) = (self.shape.inputs, self.shape.variables());
        let _permit = self.context.acquire(Class::CompiledCircuit, 16 * variables.div_ceil(64))?;
        // Every input has a row of its own in A.
        let a = words(variables, |i| i < inputs || self.a_auxiliary.contains(i - inputs));
        let b = words(variables, |i| if i < inputs { self.b_inputs.contains(i) } else { self.b_auxiliary.contains(i - inputs) });
        self.writer.finish(name, self.shape, &self.dictionary, [&a, &b])
    }

    fn check_size(&self) -> Result<(), SynthError> {
        let limit = 1 << prover_backend::MAX_LOG2_SIZE;
        for (what, found) in [("rows of a circuit", self.shape.rows()), ("auxiliary variables", self.shape.auxiliary)] {
            if found > limit {
                return Err(SynthError::TooLarge { what, limit, found });
            }
        }
        Ok(())
    }

    #[inline]
    fn check_variable(&self, kind: &'static str, found: u64, allocated: u64) -> Result<(), SynthError> {
        if found < allocated {
            return Ok(());
        }
        Err(SynthError::UnknownVariable { constraint: self.shape.constraints, kind, allocated, found })
    }

    /// Stops the synthesis of a recording that failed: constraints cannot report errors, allocations can.
    fn check_fault(&mut self) -> Result<(), SynthesisError> {
        if self.shape.auxiliary.is_multiple_of(CANCEL_VARIABLES) && self.context.cancel().is_cancelled() {
            self.fault.get_or_insert(SynthError::Cancelled);
        }
        // The circuit is told little; the fault is what the caller gets.
        if self.fault.is_some() { Err(SynthesisError::Unsatisfiable) } else { Ok(()) }
    }

    fn record(&mut self, lcs: [LinearCombination<Scalar>; 3]) -> Result<(), SynthError> {
        if self.shape.constraints.is_multiple_of(CANCEL_ROWS) {
            self.check_size()?;
            if self.context.cancel().is_cancelled() {
                return Err(SynthError::Cancelled);
            }
        }
        for (k, lc) in lcs.iter().enumerate() {
            let is_zero = |coefficient: &Scalar| coefficient.is_zero_vartime();
            let terms = lc.iter().filter(|(_, coefficient)| !is_zero(coefficient)).count() as u64;
            self.writer.row()[k].begin_row(terms);
            self.shape.terms[k] += terms;
            self.shape.terms_max[k] = self.shape.terms_max[k].max(terms);
            for (variable, coefficient) in lc.iter().filter(|(_, coefficient)| !is_zero(coefficient)) {
                let variable = match variable.0 {
                    Index::Input(i) => {
                        self.check_variable("input", i as u64, self.shape.inputs)?;
                        if k == 1 {
                            self.b_inputs.set(i as u64, &self.context)?;
                        }
                        Variable::Input(i as u64)
                    }
                    Index::Aux(j) => {
                        self.check_variable("auxiliary variable", j as u64, self.shape.auxiliary)?;
                        match k {
                            0 => self.a_auxiliary.set(j as u64, &self.context)?,
                            1 => self.b_auxiliary.set(j as u64, &self.context)?,
                            _ => {}
                        }
                        Variable::Auxiliary(j as u64)
                    }
                };
                let number = self.dictionary.number(coefficient);
                if number >= self.coefficients_paid {
                    self.dictionary_permit.grow(COEFFICIENTS_STEP * COEFFICIENT_BYTES, &self.context)?;
                    self.coefficients_paid += COEFFICIENTS_STEP;
                }
                self.writer.row()[k].term(variable, number);
            }
        }
        self.shape.constraints += 1;
        self.writer.end_row()
    }
}

fn words(bits: u64, is_set: impl Fn(u64) -> bool) -> Vec<u64> {
    (0..bits.div_ceil(64))
        .map(|word| (0..64.min(bits - 64 * word)).filter(|bit| is_set(64 * word + bit)).fold(0, |w, bit| w | 1 << bit))
        .collect()
}

impl ConstraintSystem<Scalar> for Recorder {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, _: F) -> Result<CircuitVariable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.check_fault()?;
        self.shape.auxiliary += 1;
        Ok(CircuitVariable(Index::Aux(self.shape.auxiliary as usize - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, _: F) -> Result<CircuitVariable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.check_fault()?;
        self.shape.inputs += 1;
        Ok(CircuitVariable(Index::Input(self.shape.inputs as usize - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        if self.fault.is_some() {
            return;
        }
        let zero = LinearCombination::zero;
        if let Err(fault) = self.record([a(zero()), b(zero()), c(zero())]) {
            self.fault = Some(fault);
        }
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

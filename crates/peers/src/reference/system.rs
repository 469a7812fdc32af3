//! A plain constraint system: everything in vectors, evaluated as bellperson's prover evaluates, and counted.

use anyhow::Result;
use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;

/// A synthesised circuit. Without values the vectors of values stay empty.
#[derive(Default)]
pub(super) struct System {
    with_values: bool,
    minus_one: Scalar,
    pub(super) inputs_len: usize,
    pub(super) aux_len: usize,
    pub(super) constraints: usize,
    pub(super) inputs: Vec<Scalar>,
    pub(super) aux: Vec<Scalar>,
    /// Values of the rows of A, B and C.
    pub(super) rows: [Vec<Scalar>; 3],
    pub(super) aux_in_a: Vec<bool>,
    pub(super) aux_in_b: Vec<bool>,
    pub(super) inputs_in_b: Vec<bool>,
    pub(super) terms: [u64; 3],
    pub(super) ones: [u64; 3],
    pub(super) minus_ones: [u64; 3],
    pub(super) zeros: [u64; 3],
    pub(super) longest: [usize; 3],
    /// Rows with 0, 1, 2, 3 to 8, 9 to 64, 65 to 512 and more terms.
    pub(super) lengths: [[u64; 7]; 3],
    /// Rows with at most two terms in each of A, B and C.
    pub(super) small_rows: u64,
}

fn length_class(terms: usize) -> usize {
    match terms {
        0..=2 => terms,
        3..=8 => 3,
        9..=64 => 4,
        65..=512 => 5,
        _ => 6,
    }
}

impl System {
    /// Synthesises a circuit, with the row that the prover adds for each input.
    pub(super) fn of<C: Circuit<Scalar>>(circuit: C, with_values: bool) -> Result<Self> {
        let mut system = Self { with_values, minus_one: -Scalar::ONE, ..Self::default() };
        system.alloc_input(|| "", || Ok(Scalar::ONE))?;
        circuit.synthesize(&mut system)?;
        for input in 0..system.inputs_len {
            system.enforce(|| "", |lc| lc + Variable(Index::Input(input)), |lc| lc, |lc| lc);
        }
        Ok(system)
    }

    pub(super) fn is_satisfied(&self) -> bool {
        let [a, b, c] = &self.rows;
        a.iter().zip(b).zip(c).all(|((a, b), c)| *a * b == *c)
    }

    fn row(&mut self, matrix: usize, lc: &LinearCombination<Scalar>) {
        let (mut value, mut terms) = (Scalar::ZERO, 0);
        for (variable, coefficient) in lc.iter() {
            if coefficient.is_zero_vartime() {
                self.zeros[matrix] += 1;
                continue;
            }
            terms += 1;
            self.ones[matrix] += u64::from(*coefficient == Scalar::ONE);
            self.minus_ones[matrix] += u64::from(*coefficient == self.minus_one);
            match (variable.0, matrix) {
                (Index::Aux(j), 0) => self.aux_in_a[j] = true,
                (Index::Aux(j), 1) => self.aux_in_b[j] = true,
                (Index::Input(i), 1) => self.inputs_in_b[i] = true,
                _ => {}
            }
            if self.with_values {
                value += *coefficient
                    * match variable.0 {
                        Index::Input(i) => self.inputs[i],
                        Index::Aux(j) => self.aux[j],
                    };
            }
        }
        self.terms[matrix] += terms as u64;
        self.longest[matrix] = self.longest[matrix].max(terms);
        self.lengths[matrix][length_class(terms)] += 1;
        if self.with_values {
            self.rows[matrix].push(value);
        }
    }
}

impl ConstraintSystem<Scalar> for System {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        if self.with_values {
            self.aux.push(f()?);
        }
        self.aux_in_a.push(false);
        self.aux_in_b.push(false);
        self.aux_len += 1;
        Ok(Variable(Index::Aux(self.aux_len - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        if self.with_values {
            self.inputs.push(f()?);
        }
        self.inputs_in_b.push(false);
        self.inputs_len += 1;
        Ok(Variable(Index::Input(self.inputs_len - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        let zero = LinearCombination::zero;
        let lcs = [a(zero()), b(zero()), c(zero())];
        self.small_rows += u64::from(lcs.iter().all(|lc| lc.len() <= 2));
        for (matrix, lc) in lcs.iter().enumerate() {
            self.row(matrix, lc);
        }
        self.constraints += 1;
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

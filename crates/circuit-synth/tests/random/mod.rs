//! Random circuits from a seed, and the plain constraint system they are compared with.

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;
use rand_core::{RngCore, SeedableRng};
use rand_xorshift::XorShiftRng;

/// A circuit that follows from its seed: rows with up to a dozen terms over bits, small and full-size values, with coefficients from a small
/// set. The last variable of each row is chosen so that the row holds; inputs are allocated in between.
#[derive(Clone, Debug)]
pub(crate) struct RandomCircuit {
    pub(crate) seed: u64,
    pub(crate) rows: usize,
    /// Share of variables that are full-size, in 256ths.
    pub(crate) full: u32,
    /// Without values.
    pub(crate) blank: bool,
    /// The row whose product is off by one.
    pub(crate) broken_row: Option<usize>,
    /// Allocates one more variable than the seed says.
    pub(crate) extra: bool,
}

impl RandomCircuit {
    pub(crate) fn new(seed: u64, rows: usize, full: u32) -> Self {
        Self { seed, rows, full, blank: false, broken_row: None, extra: false }
    }

    pub(crate) fn blank(&self) -> Self {
        Self { blank: true, broken_row: None, extra: false, ..self.clone() }
    }
}

fn coefficient(rng: &mut XorShiftRng) -> Scalar {
    match rng.next_u32() % 8 {
        0..3 => Scalar::ONE,
        3 => -Scalar::ONE,
        4 => Scalar::from(1 << (rng.next_u32() % 62)),
        5 => -Scalar::from(rng.next_u64() >> 1),
        6 => Scalar::from(u64::from(rng.next_u32() % 5)),
        _ => Scalar::from(u64::from(rng.next_u32() % 40)).invert().unwrap_or(Scalar::ZERO),
    }
}

impl Circuit<Scalar> for RandomCircuit {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut rng = XorShiftRng::seed_from_u64(self.seed);
        let mut variables: Vec<(Variable, Scalar)> = vec![(CS::one(), Scalar::ONE)];
        let given = |value: Scalar| if self.blank { Err(SynthesisError::AssignmentMissing) } else { Ok(value) };
        for row in 0..self.rows {
            let mut cs = cs.namespace(|| format!("row {row}"));
            for _ in 0..rng.next_u32() % 4 {
                let value = match rng.next_u32() % 256 {
                    r if r < self.full => Scalar::random(&mut rng),
                    r if r % 16 == 0 => Scalar::from(u64::from(r)),
                    r => Scalar::from(u64::from(r % 2)),
                };
                let variable = if rng.next_u32().is_multiple_of(9) {
                    cs.alloc_input(|| "input", || given(value))?
                } else {
                    cs.alloc(|| "variable", || given(value))?
                };
                variables.push((variable, value));
            }
            let mut side = || {
                let mut lc = LinearCombination::<Scalar>::zero();
                let mut sum = Scalar::ZERO;
                for _ in 0..rng.next_u32() % 7 {
                    let recent = variables.len().min(40);
                    let (variable, value) = variables[variables.len() - 1 - rng.next_u32() as usize % recent];
                    let c = coefficient(&mut rng);
                    lc = lc + (c, variable);
                    sum += c * value;
                }
                (lc, sum)
            };
            let ((a, a_value), (b, b_value), (c, c_value)) = (side(), side(), side());
            let mut rest = a_value * b_value - c_value;
            if self.broken_row == Some(row) {
                rest += Scalar::ONE;
            }
            let last = cs.alloc(|| "rest", || given(rest))?;
            variables.push((last, rest));
            cs.enforce(|| "product", |_| a, |_| b, |_| c + last);
        }
        if self.extra {
            cs.alloc(|| "extra", || given(Scalar::ONE))?;
        }
        Ok(())
    }
}

/// Keeps everything in plain vectors: assignments and the three values of each row by bellpepper's own evaluation.
#[derive(Default)]
pub(crate) struct Plain {
    pub(crate) inputs: Vec<Scalar>,
    pub(crate) auxiliary: Vec<Scalar>,
    pub(crate) rows: [Vec<Scalar>; 3],
    pub(crate) lcs: Vec<[LinearCombination<Scalar>; 3]>,
}

impl Plain {
    /// Synthesises, and adds the rows of the inputs.
    pub(crate) fn of(circuit: RandomCircuit) -> Self {
        let mut plain = Self { inputs: vec![Scalar::ONE], ..Self::default() };
        circuit.synthesize(&mut plain).unwrap();
        for i in 0..plain.inputs.len() {
            plain.enforce(|| "", |lc| lc + Variable(Index::Input(i)), |lc| lc, |lc| lc);
        }
        plain
    }

    pub(crate) fn variables(&self) -> Vec<Scalar> {
        self.inputs.iter().chain(&self.auxiliary).copied().collect()
    }
}

impl ConstraintSystem<Scalar> for Plain {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.auxiliary.push(f()?);
        Ok(Variable(Index::Aux(self.auxiliary.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.inputs.push(f()?);
        Ok(Variable(Index::Input(self.inputs.len() - 1)))
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
        for (row, lc) in self.rows.iter_mut().zip(&lcs) {
            row.push(lc.eval(&self.inputs, &self.auxiliary));
        }
        self.lcs.push(lcs);
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

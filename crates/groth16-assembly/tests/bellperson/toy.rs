//! A toy circuit, the textbook prover for it in quadratic time, and bellperson's parameters.

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use bellperson::groth16::{Parameters, generate_parameters};
use blstrs::{Bls12, G1Affine, G1Projective, G2Projective, Scalar};
use ff::{Field, PrimeField};
use groth16_assembly::Sums;
use groth16_srs::VerifyingKey;
use group::prime::PrimeCurveAffine;
use group::{Curve, Group};

/// x₀ is secret; xᵢ₊₁ = (xᵢ + i)·(xᵢ + bias); the last x and x₀·bias are public, bias too. One auxiliary variable is in no B, one in no A.
#[derive(Clone)]
pub(crate) struct Chain {
    pub(crate) rounds: u64,
    pub(crate) secret: Scalar,
    pub(crate) bias: Scalar,
}

impl Chain {
    pub(crate) fn public_inputs(&self) -> Vec<Scalar> {
        let last = (0..self.rounds).fold(self.secret, |x, i| (x + Scalar::from(i)) * (x + self.bias));
        vec![self.bias, last, self.secret * self.bias]
    }
}

impl Circuit<Scalar> for Chain {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let inputs = self.public_inputs();
        let bias = cs.alloc_input(|| "bias", || Ok(inputs[0]))?;
        let secret = cs.alloc(|| "x", || Ok(self.secret))?;
        let (mut x, mut value) = (secret, self.secret);
        for i in 0..self.rounds {
            value = (value + Scalar::from(i)) * (value + self.bias);
            let next = cs.alloc(|| format!("x{i}"), || Ok(value))?;
            cs.enforce(|| format!("round {i}"), |lc| lc + x + (Scalar::from(i), CS::one()), |lc| lc + x + bias, |lc| lc + next);
            x = next;
        }
        let last = cs.alloc_input(|| "last", || Ok(inputs[1]))?;
        cs.enforce(|| "last is x", |lc| lc + x, |lc| lc + CS::one(), |lc| lc + last);
        let product = cs.alloc_input(|| "product", || Ok(inputs[2]))?;
        let inner = cs.alloc(|| "inner", || Ok(inputs[2]))?;
        cs.enforce(|| "inner", |lc| lc + bias, |lc| lc + secret, |lc| lc + inner);
        cs.enforce(|| "product", |lc| lc + CS::one(), |lc| lc + inner, |lc| lc + product);
        Ok(())
    }
}

/// Assignment, evaluations of every row, and which variables occur in A and B.
struct Recorder {
    inputs: Vec<Scalar>,
    aux: Vec<Scalar>,
    rows: [Vec<Scalar>; 3],
    in_a: Vec<Index>,
    in_b: Vec<Index>,
}

fn occurrences(lc: &LinearCombination<Scalar>, seen: &mut Vec<Index>) {
    for (variable, coefficient) in lc.iter() {
        if !bool::from(coefficient.is_zero()) && !seen.contains(&variable.get_unchecked()) {
            seen.push(variable.get_unchecked());
        }
    }
}

impl ConstraintSystem<Scalar> for Recorder {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.aux.push(f()?);
        Ok(Variable::new_unchecked(Index::Aux(self.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, f: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.inputs.push(f()?);
        Ok(Variable::new_unchecked(Index::Input(self.inputs.len() - 1)))
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
        occurrences(&lcs[0], &mut self.in_a);
        occurrences(&lcs[1], &mut self.in_b);
        for (row, lc) in self.rows.iter_mut().zip(&lcs) {
            row.push(lc.eval(&self.inputs, &self.aux));
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

/// Coefficients from values at the powers of `root`, by the definition.
fn interpolate(values: &[Scalar], root: Scalar) -> Vec<Scalar> {
    let inverse_root = root.invert().unwrap();
    let inverse_len = Scalar::from(values.len() as u64).invert().unwrap();
    let coefficient = |k: usize| {
        let step = inverse_root.pow([k as u64]);
        values.iter().rev().fold(Scalar::ZERO, |sum, value| sum * step + value) * inverse_len
    };
    (0..values.len()).map(coefficient).collect()
}

/// Coefficients of (a·b - c) / (xⁿ - 1).
fn quotient(rows: &[Vec<Scalar>; 3]) -> Vec<Scalar> {
    let size = rows[0].len().next_power_of_two();
    let log2_size = size.trailing_zeros();
    let root = (log2_size..Scalar::S).fold(Scalar::ROOT_OF_UNITY, |root, _| root.square());
    let [a, b, c] = rows.each_ref().map(|row| {
        let mut row = row.clone();
        row.resize(size, Scalar::ZERO);
        interpolate(&row, root)
    });
    let mut product = vec![Scalar::ZERO; 2 * size];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            product[i + j] += *a * b;
        }
    }
    for (p, c) in product.iter_mut().zip(c) {
        *p -= c;
    }
    let h = product.split_off(size);
    assert!(product.iter().zip(&h).all(|(low, high)| *low + high == Scalar::ZERO), "the witness does not satisfy the circuit");
    h[..size - 1].to_vec()
}

fn sum<P: Group<Scalar = Scalar>, A: PrimeCurveAffine<Curve = P, Scalar = Scalar>>(points: &[A], scalars: &[Scalar]) -> P {
    assert_eq!(points.len(), scalars.len());
    points.iter().zip(scalars).map(|(point, scalar)| point.to_curve() * scalar).sum()
}

/// The five sums of the circuit, each term on its own.
pub(crate) fn sums(circuit: Chain, parameters: &Parameters<Bls12>) -> Sums {
    let mut recorder = Recorder { inputs: vec![Scalar::ONE], aux: vec![], rows: Default::default(), in_a: vec![], in_b: vec![] };
    circuit.synthesize(&mut recorder).unwrap();
    for i in 0..recorder.inputs.len() {
        let input = Variable::new_unchecked(Index::Input(i));
        recorder.enforce(|| "", |lc| lc + input, |lc| lc, |lc| lc);
    }
    let selected = |seen: &[Index]| {
        let inputs = recorder.inputs.iter().enumerate().filter(|(i, _)| seen.contains(&Index::Input(*i)));
        let aux = recorder.aux.iter().enumerate().filter(|(i, _)| seen.contains(&Index::Aux(*i)));
        inputs.chain(aux).map(|(_, value)| *value).collect::<Vec<_>>()
    };
    let (a, b) = (selected(&recorder.in_a), selected(&recorder.in_b));
    Sums {
        h: sum(&parameters.h, &quotient(&recorder.rows)),
        l: sum(&parameters.l, &recorder.aux),
        a: sum(&parameters.a, &a),
        b_g1: sum(&parameters.b_g1, &b),
        b_g2: sum(&parameters.b_g2, &b),
    }
}

/// bellperson's set-up of a chain of `rounds` rounds, with secrets that `salt` decides.
pub(crate) fn parameters(rounds: u64, salt: u64) -> Parameters<Bls12> {
    let secret = |i: u64| Scalar::from(salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i).square() + Scalar::from(i);
    let g1 = G1Projective::generator() * secret(1);
    let g2 = G2Projective::generator() * secret(2);
    let circuit = Chain { rounds, secret: Scalar::ZERO, bias: Scalar::ZERO };
    generate_parameters::<Bls12, _>(circuit, g1, g2, secret(3), secret(4), secret(5), secret(6), secret(7)).unwrap()
}

/// The same key in this project's type.
pub(crate) fn verifying_key(key: &bellperson::groth16::VerifyingKey<Bls12>) -> VerifyingKey {
    VerifyingKey {
        alpha_g1: key.alpha_g1,
        beta_g1: key.beta_g1,
        beta_g2: key.beta_g2,
        gamma_g2: key.gamma_g2,
        delta_g1: key.delta_g1,
        delta_g2: key.delta_g2,
        ic: key.ic.iter().map(|point| G1Projective::from(*point).to_affine()).collect::<Vec<G1Affine>>(),
    }
}

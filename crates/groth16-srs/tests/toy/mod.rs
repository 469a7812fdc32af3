//! A circuit of any size, its matrices as a plain recorder writes them down, and a backend of naive loops.

// Each test file uses a part of this module, and none reaches it from outside.
#![allow(dead_code, unreachable_pub)]

use std::ops::Range;
use std::path::Path;

use bellpepper_core::{Circuit as BellpepperCircuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use bls12_381_layout::Affine;
use blstrs::Scalar;
use ff::Field;
use groth16_srs::{Circuit, CircuitCounts, CircuitIdentity, SetupSecrets};
use group::{Curve, Group};
use pipeline_stage::{StageContext, StageName};
use prover_backend::{
    BackendError, BaseSource, ConstraintMatrices, Coset, Domain, FixedBase, FixedBaseTable, Matrix, Msm, Ntt, ProverBackend, Scalars,
};
use rand_core::{RngCore, SeedableRng};
use rand_xorshift::XorShiftRng;

/// Random bits, then products of random linear combinations, the last of them public.
#[derive(Clone, Debug)]
pub struct Toy {
    pub seed: u64,
    pub bits: usize,
    pub products: usize,
    pub outputs: usize,
    /// Adds a variable that no constraint uses.
    pub unconstrained: bool,
}

impl Toy {
    pub fn new(seed: u64, bits: usize, products: usize, outputs: usize) -> Self {
        Self { seed, bits, products, outputs, unconstrained: false }
    }

    pub fn rng(&self) -> XorShiftRng {
        XorShiftRng::seed_from_u64(self.seed.wrapping_add(1))
    }

    /// The public inputs, without ONE.
    pub fn public_inputs(&self) -> Vec<Scalar> {
        let mut recorder = Recorder::default();
        self.clone().synthesize(&mut recorder).unwrap();
        recorder.input_values
    }
}

impl BellpepperCircuit<Scalar> for Toy {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut rng = self.rng();
        let mut known: Vec<(Variable, Scalar)> = vec![(CS::one(), Scalar::ONE)];
        for i in 0..self.bits {
            let value = Scalar::from(u64::from(rng.next_u32() & 1));
            let bit = cs.alloc(|| format!("bit {i}"), || Ok(value))?;
            cs.enforce(|| format!("bit {i} is 0 or 1"), |lc| lc + bit, |lc| lc + CS::one() - bit, |lc| lc);
            known.push((bit, value));
        }
        let combination = |known: &[(Variable, Scalar)], rng: &mut XorShiftRng| {
            let mut lc = LinearCombination::<Scalar>::zero();
            let mut value = Scalar::ZERO;
            for _ in 0..rng.next_u32() % 4 + 1 {
                let (variable, known_value) = known[rng.next_u32() as usize % known.len()];
                let coefficient = match rng.next_u32() % 4 {
                    0 => Scalar::random(&mut *rng),
                    1 => -Scalar::ONE,
                    _ => Scalar::ONE,
                };
                lc = lc + (coefficient, variable);
                value += coefficient * known_value;
            }
            (lc, value)
        };
        for i in 0..self.products {
            let (a, a_value) = combination(&known, &mut rng);
            let (b, b_value) = combination(&known, &mut rng);
            let value = a_value * b_value;
            let product = if i + self.outputs < self.products {
                cs.alloc(|| format!("product {i}"), || Ok(value))?
            } else {
                cs.alloc_input(|| format!("output {i}"), || Ok(value))?
            };
            cs.enforce(|| format!("product {i} is right"), |_| a, |_| b, |lc| lc + product);
            known.push((product, value));
        }
        if self.unconstrained {
            cs.alloc(|| "free", || Ok(Scalar::ONE))?;
        }
        Ok(())
    }
}

/// Rows of one matrix: (variable, coefficient) terms.
type Rows = Vec<Vec<(Index, Scalar)>>;

/// A constraint system that writes everything down.
#[derive(Default)]
struct Recorder {
    input_values: Vec<Scalar>,
    auxiliary: usize,
    rows: [Rows; 3],
}

impl ConstraintSystem<Scalar> for Recorder {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.auxiliary += 1;
        Ok(Variable::new_unchecked(Index::Aux(self.auxiliary - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.input_values.push(value()?);
        Ok(Variable::new_unchecked(Index::Input(self.input_values.len())))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        let combinations = [a(LinearCombination::zero()), b(LinearCombination::zero()), c(LinearCombination::zero())];
        for (rows, combination) in self.rows.iter_mut().zip(combinations) {
            let terms = combination.iter().filter(|(_, c)| !c.is_zero_vartime());
            rows.push(terms.map(|(v, c)| (v.get_unchecked(), *c)).collect());
        }
    }

    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
    }

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }
}

/// The matrices of a circuit as plain vectors.
pub struct Matrices {
    pub inputs: usize,
    pub auxiliary: usize,
    pub rows: [Vec<Vec<(usize, Scalar)>>; 3],
    pub density: [Vec<u64>; 3],
    constraints: usize,
}

impl Matrices {
    pub fn of(toy: &Toy) -> Self {
        let mut recorder = Recorder::default();
        toy.clone().synthesize(&mut recorder).unwrap();
        let inputs = recorder.input_values.len() + 1;
        let variables = inputs + recorder.auxiliary;
        let constraints = recorder.rows[0].len();
        let mut density: [Vec<u64>; 3] = std::array::from_fn(|_| vec![0; variables.div_ceil(64)]);
        let mut mark = |matrix: usize, j: usize| density[matrix][j / 64] |= 1 << (j % 64);
        let mut matrix = 0;
        let rows = recorder.rows.map(|rows| {
            let mut rows: Vec<Vec<(usize, Scalar)>> = rows
                .into_iter()
                .map(|terms| {
                    terms
                        .into_iter()
                        .map(|(index, coefficient)| match index {
                            Index::Input(i) => (i, coefficient),
                            Index::Aux(i) => (inputs + i, coefficient),
                        })
                        .collect()
                })
                .collect();
            rows.extend((0..inputs).map(|i| if matrix == 0 { vec![(i, Scalar::ONE)] } else { Vec::new() }));
            rows.iter().flatten().for_each(|(j, _)| mark(matrix, *j));
            matrix += 1;
            rows
        });
        Self { inputs, auxiliary: recorder.auxiliary, rows, density, constraints }
    }
}

fn number(matrix: Matrix) -> usize {
    match matrix {
        Matrix::A => 0,
        Matrix::B => 1,
        Matrix::C => 2,
    }
}

impl ConstraintMatrices for Matrices {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn auxiliary(&self) -> usize {
        self.auxiliary
    }

    fn constraints(&self) -> usize {
        self.constraints
    }

    fn density(&self, matrix: Matrix) -> &[u64] {
        &self.density[number(matrix)]
    }

    fn for_each_term(&self, matrix: Matrix, rows: Range<usize>, term: &mut dyn FnMut(usize, usize, &Scalar)) -> Result<(), BackendError> {
        let matrix = &self.rows[number(matrix)];
        if rows.end > matrix.len() {
            return Err(BackendError::Length { what: "rows", expected: matrix.len(), found: rows.end });
        }
        for row in rows {
            for (variable, coefficient) in &matrix[row] {
                term(row, *variable, coefficient);
            }
        }
        Ok(())
    }
}

/// The slow twin of every backend.
pub struct Naive;

struct NaiveTable<A>(A);

impl<A: Affine> FixedBaseTable<A> for NaiveTable<A>
where
    A::Projective: Curve<AffineRepr = A>,
{
    fn multiply(&self, scalars: &[Scalar], out: &mut [A], _: &StageContext) -> Result<(), BackendError> {
        if scalars.len() != out.len() {
            return Err(BackendError::Length { what: "multiples", expected: scalars.len(), found: out.len() });
        }
        for (scalar, out) in scalars.iter().zip(out) {
            *out = (self.0 * scalar).to_affine();
        }
        Ok(())
    }
}

impl<A: Affine> FixedBase<A> for Naive
where
    A::Projective: Curve<AffineRepr = A>,
{
    fn fixed_base_table(&self, base: &A, _: usize, _: &StageContext) -> Result<Box<dyn FixedBaseTable<A>>, BackendError> {
        Ok(Box::new(NaiveTable(*base)))
    }
}

impl<A: Affine> Msm<A> for Naive {
    fn msm(&self, bases: &dyn BaseSource<A>, scalars: Scalars<'_>, _: &StageContext) -> Result<A::Projective, BackendError> {
        let points = bases.points(0..bases.len())?;
        Ok(points.iter().zip(scalars.to_vec()).fold(A::Projective::identity(), |sum, (point, scalar)| sum + *point * scalar))
    }

    fn msm_scratch_bytes(&self, points: usize) -> u64 {
        32 * points as u64
    }
}

impl Ntt for Naive {
    fn forward(&self, values: &mut [Scalar], coset: Coset, _: &StageContext) -> Result<(), BackendError> {
        let domain = Domain::for_rows(values.len())?;
        let coefficients = values.to_vec();
        let mut x = shift(coset);
        for i in 0..coefficients.len() {
            values[domain.bit_reverse(i)] = coefficients.iter().rev().fold(Scalar::ZERO, |sum, c| sum * x + c);
            x *= domain.generator();
        }
        Ok(())
    }

    fn inverse(&self, values: &mut [Scalar], coset: Coset, _: &StageContext) -> Result<(), BackendError> {
        let domain = Domain::for_rows(values.len())?;
        let n = values.len();
        let evaluations: Vec<Scalar> = (0..n).map(|i| values[domain.bit_reverse(i)]).collect();
        let (root, unshift) = (domain.generator().invert().unwrap(), shift(coset).invert().unwrap());
        let mut scale = Scalar::from(n as u64).invert().unwrap();
        let mut x = Scalar::ONE;
        for value in values {
            *value = evaluations.iter().rev().fold(Scalar::ZERO, |sum, v| sum * x + v) * scale;
            x *= root;
            scale *= unshift;
        }
        Ok(())
    }

    fn ntt_scratch_bytes(&self, log2_size: u32) -> u64 {
        32 << log2_size
    }
}

fn shift(coset: Coset) -> Scalar {
    match coset {
        Coset::Subgroup => Scalar::ONE,
        Coset::Shifted(g) => g,
    }
}

impl ProverBackend for Naive {
    fn name(&self) -> &'static str {
        "naive"
    }
}

pub fn context() -> StageContext {
    StageContext::unlimited(StageName::Setup)
}

pub fn identity() -> CircuitIdentity {
    CircuitIdentity::new("toy", [0xc1; 32]).unwrap()
}

pub fn circuit(matrices: &Matrices) -> Circuit {
    Circuit { identity: identity(), counts: CircuitCounts::of(matrices).unwrap() }
}

/// A development key of the toy at `path`.
pub fn make_key(toy: &Toy, seed: u8, path: &Path) -> Circuit {
    let matrices = Matrices::of(toy);
    let secrets = SetupSecrets::from_seed([seed; 32]);
    groth16_srs::setup(&identity(), &matrices, secrets, &Naive, path, &mut |_| {}, &context()).unwrap();
    circuit(&matrices)
}

/// Names in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

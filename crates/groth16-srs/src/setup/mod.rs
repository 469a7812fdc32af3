//! The development set-up: a key for any compiled circuit, from secrets that one machine knows.
//!
//! The formulas are those of Groth, "On the Size of Pairing-based Non-interactive Arguments" (EUROCRYPT 2016), section 3.2, in the layout
//! of bellperson's generator, whose output this equals byte for byte.

mod polynomials;
mod secrets;
mod workspace;

use std::path::Path;

use bls12_381_layout::{Affine, zeroed_vec};
use blstrs::{G1Affine, G2Affine, Scalar};
use ff::Field;
use group::Curve;
use pipeline_stage::{Class, Lease, StageContext};
use prover_backend::{ConstraintMatrices, FixedBase, FixedBaseTable, Matrix, ProverBackend};
use rayon::prelude::*;

pub use secrets::SetupSecrets;
use workspace::{CHUNK, Workspace};

use crate::circuit::{Circuit, CircuitCounts, CircuitIdentity};
use crate::native::SectionKind;
use crate::proving_key::cancelled;
use crate::writer::NativeWriter;
use crate::{Origin, PointFault, Progress, SrsError, VerifyingKey};

/// Makes a development key for a circuit and writes it to `path` as a native key, which appears whole or not at all. The secrets are
/// overwritten before this returns.
///
/// Cost: three passes over the matrices' terms, one multiplication of a generator by a scalar for each point of the key. Memory: 96 bytes a
/// variable and about 24 MiB under permits of class `staging`, and the backend's tables. `progress` hears of each chunk.
///
/// # Errors
/// [`SrsError::Secret`] for secrets that give no key, [`SrsError::Unconstrained`] and [`SrsError::Density`] for circuits that have none,
/// [`SrsError::NoSpace`], [`SrsError::Io`], errors of matrices and backend, memory, cancellation.
pub fn setup(
    identity: &CircuitIdentity,
    matrices: &dyn ConstraintMatrices,
    secrets: SetupSecrets,
    backend: &dyn ProverBackend,
    path: &Path,
    progress: &mut dyn FnMut(Progress),
    context: &StageContext,
) -> Result<(), SrsError> {
    let counts = CircuitCounts::of(matrices)?;
    secrets.check(counts.domain())?;
    let circuit = Circuit { identity: identity.clone(), counts };
    let origin = Origin::Development(secrets.randomness());
    let mut writer = NativeWriter::create(path, circuit, progress)?;

    let mut space = Workspace::lease(&counts, context)?;
    polynomials::evaluate(matrices, counts.domain(), &secrets.tau.0, &mut space, context)?;
    check_density(matrices, &space)?;
    combine(&counts, &secrets, &mut space)?;
    write_sections(&counts, matrices, &secrets, backend, &mut space, &mut writer, context)?;
    drop(space);
    drop(secrets);
    writer.commit(origin)
}

fn inverse(name: &'static str, value: &Scalar) -> Result<Scalar, SrsError> {
    Option::from(value.invert()).ok_or(SrsError::Secret { name, why: "is zero" })
}

fn bit(words: &[u64], index: usize) -> bool {
    words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
}

/// A prover takes the points of a query by the density, a verifier of parameters by what is not infinity: both must be the same points.
fn check_density(matrices: &dyn ConstraintMatrices, space: &Workspace) -> Result<(), SrsError> {
    for (matrix, name, values) in [(Matrix::A, "A", &space.a), (Matrix::B, "B", &space.b)] {
        let density = matrices.density(matrix);
        let wrong = values.par_iter().enumerate().with_min_len(4096).find_map_first(|(variable, value)| {
            let (expected, found) = (bit(density, variable), !value.is_zero_vartime());
            (expected != found).then_some((variable, found))
        });
        if let Some((variable, found)) = wrong {
            let (expected, found) = if found { ("zero", "not zero") } else { ("not zero", "zero") };
            return Err(SrsError::Density { variable, matrix: name, expected, found });
        }
    }
    Ok(())
}

/// Turns c_j into (β·a_j + α·b_j + c_j) / γ for inputs, / δ for auxiliary variables.
fn combine(counts: &CircuitCounts, secrets: &SetupSecrets, space: &mut Workspace) -> Result<(), SrsError> {
    let inputs = counts.inputs() as usize;
    let (by_gamma, by_delta) = (inverse("gamma", &secrets.gamma.0)?, inverse("delta", &secrets.delta.0)?);
    let Workspace { a, b, c, .. } = space;
    let zero = c.par_iter_mut().zip(a.par_iter()).zip(b.par_iter()).enumerate().with_min_len(1024).find_map_first(|(j, ((c, a), b))| {
        let divisor = if j < inputs { &by_gamma } else { &by_delta };
        *c = (secrets.beta.0 * a + secrets.alpha.0 * b + *c) * divisor;
        c.is_zero_vartime().then_some(j)
    });
    match zero {
        None => Ok(()),
        Some(variable) if variable < inputs => Err(SrsError::Unconstrained { variable, kind: "input", index: variable }),
        Some(variable) => Err(SrsError::Unconstrained { variable, kind: "auxiliary variable", index: variable - inputs }),
    }
}

fn write_sections(
    counts: &CircuitCounts,
    matrices: &dyn ConstraintMatrices,
    secrets: &SetupSecrets,
    backend: &dyn ProverBackend,
    space: &mut Workspace,
    writer: &mut NativeWriter<'_>,
    context: &StageContext,
) -> Result<(), SrsError> {
    let inputs = counts.inputs() as usize;
    let Workspace { a, b, c: ext, scalars, .. } = space;
    let b_density = matrices.density(Matrix::B);

    {
        let multiplications = counts.inputs() + counts.h_query() + counts.auxiliary() + counts.a_query() + counts.b_query();
        let mut g1 = Multiples::<G1Affine>::new(backend, &secrets.g1.to_affine(), multiplications, scalars, context)?;
        let mut ic = Vec::with_capacity(inputs);
        g1.each_chunk(ext[..inputs].iter().copied(), &mut |points| {
            ic.extend_from_slice(points);
            Ok(())
        })?;
        writer.verifying_key(&verifying_key(secrets, ic))?;

        let shift = secrets.tau.0.pow_vartime([counts.domain().size() as u64]) - Scalar::ONE;
        let mut next = shift * inverse("delta", &secrets.delta.0)?;
        let powers = (0..counts.h_query()).map(|_| {
            let power = next;
            next *= secrets.tau.0;
            power
        });
        g1.section(SectionKind::H, powers, writer)?;
        g1.section(SectionKind::L, ext[inputs..].iter().copied(), writer)?;
        g1.section(SectionKind::A, dense(a, matrices.density(Matrix::A)), writer)?;
        g1.section(SectionKind::BG1, dense(b, b_density), writer)?;
    }
    if counts.b_query() > 0 {
        let mut g2 = Multiples::<G2Affine>::new(backend, &secrets.g2.to_affine(), counts.b_query(), scalars, context)?;
        g2.section(SectionKind::BG2, dense(b, b_density), writer)?;
    }
    Ok(())
}

/// The values whose density bit is set, in order.
fn dense<'v>(values: &'v [Scalar], density: &'v [u64]) -> impl Iterator<Item = Scalar> + 'v {
    values.iter().enumerate().filter(|(j, _)| bit(density, *j)).map(|(_, value)| *value)
}

fn verifying_key(secrets: &SetupSecrets, ic: Vec<G1Affine>) -> VerifyingKey {
    VerifyingKey {
        alpha_g1: (secrets.g1 * secrets.alpha.0).to_affine(),
        beta_g1: (secrets.g1 * secrets.beta.0).to_affine(),
        beta_g2: (secrets.g2 * secrets.beta.0).to_affine(),
        gamma_g2: (secrets.g2 * secrets.gamma.0).to_affine(),
        delta_g1: (secrets.g1 * secrets.delta.0).to_affine(),
        delta_g2: (secrets.g2 * secrets.delta.0).to_affine(),
        ic,
    }
}

/// Multiplies one generator by many scalars, chunk by chunk.
struct Multiples<'m, A: Affine> {
    table: Box<dyn FixedBaseTable<A>>,
    scalars: &'m mut Vec<Scalar>,
    points: Lease<Vec<A>>,
    context: &'m StageContext,
}

impl<'m, A: Affine> Multiples<'m, A> {
    fn new(
        backend: &(impl FixedBase<A> + ?Sized),
        generator: &A,
        multiplications: u64,
        scalars: &'m mut Vec<Scalar>,
        context: &'m StageContext,
    ) -> Result<Self, SrsError> {
        let chunk = scalars.len().min(multiplications as usize);
        let permit = context.acquire(Class::Staging, (chunk * size_of::<A>()) as u64)?;
        let points = Lease::try_new(permit, || zeroed_vec::<A>(chunk))?;
        let table = backend.fixed_base_table(generator, multiplications as usize, context)?;
        Ok(Self { table, scalars, points, context })
    }

    /// The multiples of all values, in order, at most [`CHUNK`] at a time.
    fn each_chunk(
        &mut self,
        mut values: impl Iterator<Item = Scalar>,
        take: &mut dyn FnMut(&[A]) -> Result<(), SrsError>,
    ) -> Result<(), SrsError> {
        let chunk = self.points.len().min(CHUNK);
        loop {
            cancelled(self.context)?;
            let mut n = 0;
            for (slot, value) in self.scalars[..chunk].iter_mut().zip(&mut values) {
                *slot = value;
                n += 1;
            }
            if n == 0 {
                return Ok(());
            }
            let points = &mut self.points[..n];
            self.table.multiply(&self.scalars[..n], points, self.context)?;
            take(points)?;
        }
    }

    /// The multiples of all values as a section of the key.
    fn section(&mut self, kind: SectionKind, values: impl Iterator<Item = Scalar>, writer: &mut NativeWriter<'_>) -> Result<(), SrsError> {
        let mut index = 0;
        self.each_chunk(values, &mut |points| {
            // No scalar is zero and the order is prime, so infinity would be a backend's error, and would make an unusable key.
            if let Some(i) = points.iter().position(Affine::is_zero_point) {
                return Err(writer.point_fault(kind, index + i as u64, PointFault::Infinity));
            }
            index += points.len() as u64;
            writer.append(kind, points)
        })
    }
}

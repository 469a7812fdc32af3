//! Statements with a known trapdoor: as many valid proofs as a test wants, without a circuit.

use blstrs::{G1Projective, G2Projective, Scalar};
use ff::Field;
use groth16_assembly::Sums;
use groth16_srs::VerifyingKey;
use group::{Curve, Group};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

pub(crate) struct Trapdoor {
    rng: ChaCha20Rng,
    alpha: Scalar,
    beta: Scalar,
    gamma: Scalar,
    delta: Scalar,
    ic: Vec<Scalar>,
}

impl Trapdoor {
    pub(crate) fn new(public_inputs: usize, seed: u8) -> Self {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let mut draw = || Scalar::random(&mut rng);
        let (alpha, beta, gamma, delta) = (draw(), draw(), draw(), draw());
        let ic = (0..=public_inputs).map(|_| draw()).collect();
        Self { rng, alpha, beta, gamma, delta, ic }
    }

    pub(crate) fn key(&self) -> VerifyingKey {
        let g1 = |x: &Scalar| (G1Projective::generator() * x).to_affine();
        let g2 = |x: &Scalar| (G2Projective::generator() * x).to_affine();
        VerifyingKey {
            alpha_g1: g1(&self.alpha),
            beta_g1: g1(&self.beta),
            beta_g2: g2(&self.beta),
            gamma_g2: g2(&self.gamma),
            delta_g1: g1(&self.delta),
            delta_g2: g2(&self.delta),
            ic: self.ic.iter().map(g1).collect(),
        }
    }

    /// Random public inputs and sums that prove them.
    pub(crate) fn statement(&mut self) -> (Vec<Scalar>, Sums) {
        let mut draw = || Scalar::random(&mut self.rng);
        let inputs: Vec<Scalar> = self.ic[1..].iter().map(|_| draw()).collect();
        let (a, b, h) = (draw(), draw(), draw());
        let input_sum = self.ic[1..].iter().zip(&inputs).fold(self.ic[0], |sum, (ic, input)| sum + *ic * input);
        let c = ((self.alpha + a) * (self.beta + b) - self.alpha * self.beta - input_sum * self.gamma) * self.delta.invert().unwrap();
        let g1 = |x: Scalar| G1Projective::generator() * x;
        (inputs, Sums { h: g1(h), l: g1(c - h), a: g1(a), b_g1: g1(b), b_g2: G2Projective::generator() * b })
    }
}

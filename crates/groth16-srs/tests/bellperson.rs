//! Against bellperson's generator, reader, prover and verifier.

// Panics are how tests fail, also outside `#[test]` functions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod toy;

use std::path::Path;

use bellpepper_core::SynthesisError;
use bellperson::groth16::{
    Parameters, create_random_proof, generate_parameters, generate_random_parameters, prepare_verifying_key, verify_proof,
};
use blstrs::{Bls12, G1Projective, G2Projective, Scalar};
use ff::{Field, PrimeField};
use groth16_srs::{
    ImportChecks, Origin, OriginPolicy, ProvingKey, Randomness, SetupSecrets, SrsError, VerifyingKey, export, export_to, import, setup,
};
use group::{Curve, Group};
use proptest::prelude::*;
use prover_backend::{BaseSource, Domain};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use toy::{Matrices, Naive, Toy, circuit, context, identity, make_key, names};

fn exported(key: &ProvingKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    export(key, &mut bytes, &mut |_| {}, &context()).unwrap();
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_set_up_writes_what_bellperson_writes(seed in any::<u64>(), bits in 0usize..40, products in 0usize..80, outputs in 0usize..4) {
        let toy = Toy::new(seed, bits, products, outputs.min(products));
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (g1, g2) = (G1Projective::random(&mut rng), G2Projective::random(&mut rng));
        let [alpha, beta, gamma, delta, tau] = std::array::from_fn(|_| Scalar::random(&mut rng));

        let reference = generate_parameters::<Bls12, _>(toy.clone(), g1, g2, alpha, beta, gamma, delta, tau).unwrap();
        let mut expected = Vec::new();
        reference.write(&mut expected).unwrap();

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let matrices = Matrices::of(&toy);
        let secrets = SetupSecrets::from_parts(g1, g2, alpha, beta, gamma, delta, tau);
        setup(&identity(), &matrices, secrets, &Naive, &path, &mut |_| {}, &context()).unwrap();
        let key = ProvingKey::open(&path, &circuit(&matrices), OriginPolicy::default(), &context()).unwrap();
        assert_eq!(key.origin(), Origin::Development(Randomness::Seeded));
        key.verify_checksums(&mut |_| {}, &context()).unwrap();
        key.verify_points(&mut |_| {}, &context()).unwrap();
        assert!(exported(&key) == expected);
        assert_eq!(circuit(&matrices).counts.official_bytes(), expected.len() as u64);

        let mut vk = Vec::new();
        reference.vk.write(&mut vk).unwrap();
        assert!(key.verifying_key().to_bytes() == vk);
        assert!(&VerifyingKey::read(&vk[..], Path::new("vk")).unwrap() == key.verifying_key());

        // Section by section, as a prover sees them.
        assert!(key.h().points(0..key.h().len()).unwrap() == &reference.h[..]);
        assert!(key.l().points(0..key.l().len()).unwrap() == &reference.l[..]);
        assert!(key.a().points(0..key.a().len()).unwrap() == &reference.a[..]);
        assert!(key.b_g1().points(0..key.b_g1().len()).unwrap() == &reference.b_g1[..]);
        assert!(key.b_g2().points(0..key.b_g2().len()).unwrap() == &reference.b_g2[..]);

        // Official to native and back.
        let official = folder.path().join("official");
        std::fs::write(&official, &expected).unwrap();
        let again = folder.path().join("imported");
        let origin = import(&official, &circuit(&matrices), ImportChecks::Full, &again, &mut |_| {}, &context()).unwrap();
        let imported = ProvingKey::open(&again, &circuit(&matrices), OriginPolicy::default(), &context()).unwrap();
        assert_eq!(imported.origin(), origin);
        assert!(matches!(origin, Origin::Imported { .. }));
        assert!(exported(&imported) == expected);
        let (one, other) = (std::fs::read(&path).unwrap(), std::fs::read(&again).unwrap());
        assert!(one[4096..] == other[4096..], "native sections do not depend on where a key comes from");
    }
}

#[test]
fn a_seed_draws_as_bellperson_draws() {
    let toy = Toy::new(4, 9, 20, 2);
    let reference = generate_random_parameters::<Bls12, _, _>(toy.clone(), &mut ChaCha20Rng::from_seed([0x5e; 32])).unwrap();
    let mut expected = Vec::new();
    reference.write(&mut expected).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let circuit = make_key(&toy, 0x5e, &path);
    let key = ProvingKey::open(&path, &circuit, OriginPolicy::default(), &context()).unwrap();
    let target = folder.path().join("official.params");
    let digest = export_to(&key, &target, &mut |_| {}, &context()).unwrap();
    assert!(std::fs::read(&target).unwrap() == expected);
    assert_eq!(digest, groth16_srs::Digest::of_file(&target, &context()).unwrap());
    assert_eq!(names(folder.path()), ["key", "official.params"]);
}

#[test]
fn bellperson_proves_with_our_parameters() {
    let toy = Toy::new(11, 30, 100, 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let matrices = Matrices::of(&toy);
    let secrets = SetupSecrets::from_os().unwrap();
    assert_eq!(secrets.randomness(), Randomness::OperatingSystem);
    setup(&identity(), &matrices, secrets, &Naive, &path, &mut |_| {}, &context()).unwrap();
    let key = ProvingKey::open(&path, &circuit(&matrices), OriginPolicy::default(), &context()).unwrap();
    assert_eq!(key.origin(), Origin::Development(Randomness::OperatingSystem));

    let parameters = Parameters::<Bls12>::read(&exported(&key)[..], true).unwrap();
    let inputs = toy.public_inputs();
    let proof = create_random_proof(toy, &parameters, &mut ChaCha20Rng::seed_from_u64(1)).unwrap();
    let prepared = prepare_verifying_key(&parameters.vk);
    assert!(verify_proof(&prepared, &proof, &inputs).unwrap());
    let mut others = inputs;
    others[0] += Scalar::ONE;
    assert!(!verify_proof(&prepared, &proof, &others).unwrap());
}

#[test]
fn the_filecoin_reference_key_round_trips() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-data/porep-2kib/reference.vk");
    let bytes = std::fs::read(&path).unwrap();
    let key = VerifyingKey::open(&path).unwrap();
    assert_eq!(key.ic.len(), 40);
    assert!(key.to_bytes() == bytes);
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.vk");
    key.save(&copy).unwrap();
    assert!(std::fs::read(&copy).unwrap() == bytes);
    // Its generators and secrets are known; the fixed points follow from them.
    let mut seed = [0; 32];
    let text = b"filref params porep-2k";
    seed[..text.len()].copy_from_slice(text);
    let mut rng = ChaCha20Rng::from_seed(seed);
    let (g1, g2) = (G1Projective::random(&mut rng), G2Projective::random(&mut rng));
    let [alpha, beta, gamma, delta] = std::array::from_fn(|_| Scalar::random(&mut rng));
    assert_eq!(key.alpha_g1, (g1 * alpha).to_affine());
    assert_eq!((key.beta_g1, key.beta_g2), ((g1 * beta).to_affine(), (g2 * beta).to_affine()));
    assert_eq!(key.gamma_g2, (g2 * gamma).to_affine());
    assert_eq!((key.delta_g1, key.delta_g2), ((g1 * delta).to_affine(), (g2 * delta).to_affine()));
}

#[test]
fn an_unconstrained_variable_is_refused_as_bellperson_refuses_it() {
    let toy = Toy { unconstrained: true, ..Toy::new(2, 5, 6, 1) };
    let reference = generate_random_parameters::<Bls12, _, _>(toy.clone(), &mut ChaCha20Rng::from_seed([1; 32]));
    assert!(matches!(reference, Err(SynthesisError::UnconstrainedVariable)));
    let folder = tempfile::tempdir().unwrap();
    let matrices = Matrices::of(&toy);
    let ours = setup(&identity(), &matrices, SetupSecrets::from_seed([1; 32]), &Naive, &folder.path().join("key"), &mut |_| {}, &context());
    let last = matrices.inputs + matrices.auxiliary - 1;
    assert!(matches!(ours, Err(SrsError::Unconstrained { variable, kind: "auxiliary variable", .. }) if variable == last));
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_density_that_lies_is_refused() {
    let toy = Toy::new(8, 5, 6, 1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    for matrix in 0..2 {
        let mut matrices = Matrices::of(&toy);
        // The last variable of the toy is a product: in C only, unless a later product uses it.
        let variable = matrices.inputs + matrices.auxiliary - 1;
        matrices.density[matrix][variable / 64] ^= 1 << (variable % 64);
        let result = setup(&identity(), &matrices, SetupSecrets::from_seed([1; 32]), &Naive, &path, &mut |_| {}, &context());
        assert!(matches!(result, Err(SrsError::Density { variable: v, .. }) if v == variable), "{result:?}");
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn useless_secrets_are_refused() {
    let toy = Toy::new(8, 5, 6, 1);
    let matrices = Matrices::of(&toy);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let (g1, g2) = (G1Projective::generator(), G2Projective::generator());
    let good = [Scalar::from(3), Scalar::from(4), Scalar::from(5), Scalar::from(6), Scalar::from(7)];
    let mut cases: Vec<([Scalar; 5], &str)> = Vec::new();
    for (i, name) in ["alpha", "beta", "gamma", "delta", "tau"].into_iter().enumerate() {
        let mut broken = good;
        broken[i] = Scalar::ZERO;
        cases.push((broken, name));
    }
    let domain = Domain::for_rows(matrices.rows[0].len()).unwrap();
    cases.push(([good[0], good[1], good[2], good[3], domain.generator().square()], "tau"));
    cases.push(([good[0], good[1], good[2], good[3], Scalar::ONE], "tau"));
    for ([alpha, beta, gamma, delta, tau], expected) in cases {
        let secrets = SetupSecrets::from_parts(g1, g2, alpha, beta, gamma, delta, tau);
        let result = setup(&identity(), &matrices, secrets, &Naive, &path, &mut |_| {}, &context());
        assert!(matches!(result, Err(SrsError::Secret { name, .. }) if name == expected), "{expected}: {result:?}");
    }
    for (g1, g2, expected) in [(G1Projective::identity(), g2, "g1"), (g1, G2Projective::identity(), "g2")] {
        let secrets = SetupSecrets::from_parts(g1, g2, good[0], good[1], good[2], good[3], good[4]);
        let result = setup(&identity(), &matrices, secrets, &Naive, &path, &mut |_| {}, &context());
        assert!(matches!(result, Err(SrsError::Secret { name, .. }) if name == expected));
    }
    assert!(names(folder.path()).is_empty());
    // A root of twice the domain's order is not in the domain.
    assert_eq!(Scalar::ROOT_OF_UNITY.pow_vartime([1u64 << 32]), Scalar::ONE);
    let outside = domain.odd_shift();
    let secrets = SetupSecrets::from_parts(g1, g2, good[0], good[1], good[2], good[3], outside);
    setup(&identity(), &matrices, secrets, &Naive, &path, &mut |_| {}, &context()).unwrap();
}

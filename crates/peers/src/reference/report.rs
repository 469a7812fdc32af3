//! The JSON that `bench-data` keeps.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use bellperson::groth16::{self, Parameters};
use blstrs::{Bls12, G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::{Field, PrimeField};
use filecoin_proofs::parameters::{public_params, setup_params};
use filecoin_proofs::{DefaultPieceDomain, DefaultPieceHasher, PoRepConfig, SectorShapeBase, as_safe_commitment, with_shape};
use filecoin_proofs_api::RegisteredSealProof;
use filecoin_proofs_api::seal::{SealCommitPhase1Output, VanillaSealProof};
use group::{Curve, GroupEncoding};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use storage_proofs_core::compound_proof::{self, CompoundProof};
use storage_proofs_core::merkle::MerkleTreeTrait;
use storage_proofs_porep::stacked::{PublicInputs, StackedCircuit, StackedCompound, StackedDrg, Tau};

use super::classes::Classes;
use super::system::System;
use crate::{BellpersonSum, C1File, ParameterFiles, bellperson_quotient};

/// Label of the generator that r and s of the recorded proof are drawn from.
const BLINDING_LABEL: &[u8] = b"filref rs";

type Compound<Tree> = StackedCompound<Tree, DefaultPieceHasher>;
type Official<Tree> = StackedCircuit<Tree, DefaultPieceHasher>;
type Scheme<'a, Tree> = StackedDrg<'a, Tree, DefaultPieceHasher>;

fn counts(name: &str, system: &System) -> Map<String, Value> {
    let count = |bits: &[bool]| bits.iter().filter(|bit| **bit).count();
    let (a_aux, b_aux, b_inputs) = (count(&system.aux_in_a), count(&system.aux_in_b), count(&system.inputs_in_b));
    let (inputs, aux, rows) = (system.inputs_len, system.aux_len, system.constraints);
    let domain = rows.next_power_of_two();
    let (len_a, len_b, len_h) = (inputs + a_aux, b_inputs + b_aux, domain - 1);
    let vk_bytes = 3 * 96 + 3 * 192 + 4 + 96 * inputs;
    let params_bytes = vk_bytes + 5 * 4 + 96 * (len_h + aux + len_a + len_b) + 192 * len_b;
    let share = |part: usize, whole: usize| part as f64 / whole as f64;
    let value = json!({
        "name": name,
        "constraints_total_incl_input_rows": rows,
        "constraints_circuit": rows - inputs,
        "inputs_incl_one": inputs,
        "aux": aux,
        "fft_domain_log2": domain.trailing_zeros(),
        "fft_domain": domain,
        "domain_fill": share(rows, domain),
        "a_aux_density": a_aux,
        "b_input_density": b_inputs,
        "b_aux_density": b_aux,
        "len_h": len_h,
        "len_l": aux,
        "len_a": len_a,
        "len_b": len_b,
        "a_aux_density_frac": share(a_aux, aux),
        "b_aux_density_frac": share(b_aux, aux),
        "params_bytes_expected": params_bytes,
        "vk_bytes_expected": vk_bytes,
    });
    object(value)
}

fn term_counts(system: &System) -> Map<String, Value> {
    object(json!({
        "nnz_abc": system.terms,
        "coef_one_abc": system.ones,
        "coef_minus_one_abc": system.minus_ones,
        "coef_zero_abc(skipped)": system.zeros,
        "max_row_len_abc": system.longest,
        "row_len_hist_abc[0,1,2,3-8,9-64,65-512,>512]": system.lengths,
        "rows_with_all_lcs_le_2_terms": system.small_rows,
    }))
}

fn value_counts(system: &System) -> Map<String, Value> {
    let selected = |bits: &[bool]| Classes::of(system.aux.iter().zip(bits).filter(|(_, bit)| **bit).map(|(value, _)| value));
    let [a, b, c] = &system.rows;
    object(json!({
        "aux_classes": Classes::of(&system.aux),
        "input_classes": Classes::of(&system.inputs),
        "aux_in_A_classes": selected(&system.aux_in_a),
        "aux_in_B_classes": selected(&system.aux_in_b),
        "eval_a_classes": Classes::of(a),
        "eval_b_classes": Classes::of(b),
        "eval_c_classes": Classes::of(c),
        "satisfied": system.is_satisfied(),
        "sha256_inputs_le32": digest(&system.inputs),
        "sha256_aux_le32": digest(&system.aux),
        "sha256_a_le32": digest(a),
        "sha256_b_le32": digest(b),
        "sha256_c_le32": digest(c),
    }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}

/// SHA-256 of canonical little-endian bytes.
fn digest(values: &[Scalar]) -> String {
    let mut hash = Sha256::new();
    for value in values {
        hash.update(value.to_repr());
    }
    hex::encode(hash.finalize())
}

/// The numbers of a circuit without values: `shapes/porep-*.json`.
///
/// # Errors
/// The library's.
pub fn shape(seal_proof: RegisteredSealProof) -> Result<Value> {
    let config = seal_proof.as_v1_config();
    let bytes = u64::from(config.sector_size);
    with_shape!(bytes, blank, &config)
}

fn blank<Tree: 'static + MerkleTreeTrait>(config: &PoRepConfig) -> Result<Value> {
    let public = public_params::<Tree>(config)?;
    let circuit = <Compound<Tree> as CompoundProof<Scheme<'_, Tree>, Official<Tree>>>::blank_circuit(&public);
    let system = System::of(circuit, false)?;
    let mut map = counts(&format!("porep-{}", u64::from(config.sector_size)), &system);
    map.extend(term_counts(&system));
    map.insert("cache_identifier".to_owned(), config.get_cache_identifier::<Tree>()?.into());
    Ok(map.into())
}

/// A partition of a test sector as the official circuit, and its public inputs.
fn instances(c1: &SealCommitPhase1Output) -> Result<Vec<(Official<SectorShapeBase>, Vec<Scalar>)>> {
    type Base = SectorShapeBase;
    let config = c1.registered_proof.as_v1_config();
    let (VanillaSealProof::StackedDrg2KiBV1(partitions) | VanillaSealProof::StackedDrg8MiBV1(partitions)) = &c1.vanilla_proofs else {
        bail!("reference values are of sectors of 2 KiB and 8 MiB");
    };
    let setup = compound_proof::SetupParams {
        vanilla_params: setup_params(&config)?,
        partitions: Some(usize::from(config.partitions)),
        priority: false,
    };
    let public = <Compound<Base> as CompoundProof<Scheme<'_, Base>, Official<Base>>>::setup(&setup)?;
    let inputs = PublicInputs {
        replica_id: c1.replica_id,
        tau: Some(Tau {
            comm_d: as_safe_commitment::<DefaultPieceDomain, _>(&c1.comm_d, "comm_d")?,
            comm_r: as_safe_commitment(&c1.comm_r, "comm_r")?,
        }),
        k: None,
        seed: Some(c1.seed),
    };
    let vanilla = &public.vanilla_params;
    let instance = |(k, proofs): (usize, &Vec<_>)| {
        Ok((
            <Compound<Base> as CompoundProof<Scheme<'_, Base>, Official<Base>>>::circuit(&inputs, (), proofs, vanilla, Some(k))?,
            <Compound<Base> as CompoundProof<Scheme<'_, Base>, Official<Base>>>::generate_public_inputs(&inputs, vanilla, Some(k))?,
        ))
    };
    partitions.iter().enumerate().map(instance).collect()
}

/// Counts, sizes and digests of every partition of a test sector: `porep-8mib/reference.json`.
///
/// # Errors
/// The library's, or a partition that does not hold.
pub fn statistics(c1: &C1File, name: &str) -> Result<Value> {
    let instances = instances(&c1.output)?;
    let partitions = instances.len();
    let one = |(k, (circuit, public)): (usize, (Official<SectorShapeBase>, Vec<Scalar>))| {
        let system = System::of(circuit, true)?;
        ensure!(system.is_satisfied() && system.inputs[1..] == public[..], "partition {k} does not hold");
        let mut map = counts(&format!("{name} partition {k}/{partitions}"), &system);
        map.extend(term_counts(&system));
        map.extend(value_counts(&system));
        Ok(Value::from(map))
    };
    Ok(instances.into_iter().enumerate().map(one).collect::<Result<Vec<_>>>()?.into())
}

fn drawn_blinding() -> [Scalar; 2] {
    let mut seed = [0; 32];
    seed[..BLINDING_LABEL.len()].copy_from_slice(BLINDING_LABEL);
    let mut rng = ChaCha20Rng::from_seed(seed);
    [(); 2].map(|()| Scalar::random(&mut rng))
}

fn proof_hex(proof: &groth16::Proof<Bls12>) -> Result<String> {
    let mut bytes = Vec::new();
    proof.write(&mut bytes)?;
    Ok(hex::encode(bytes))
}

/// The first partition of a test sector proved with bellperson's own steps and parameters: `porep-2kib/reference.json`.
///
/// # Errors
/// Parameters that cannot be read, or bellperson's.
pub fn reference(c1: &C1File, name: &str, parameters: &Path) -> Result<Value> {
    let files = ParameterFiles::of(c1.output.registered_proof, parameters)?;
    let file = std::fs::File::open(&files.params).with_context(|| format!("opening {}", files.params.display()))?;
    let params = Parameters::<Bls12>::read(std::io::BufReader::with_capacity(1 << 20, file), false)?;
    let mut all = instances(&c1.output)?;
    let partitions = all.len();
    let (circuit, public) = all.swap_remove(0);
    let system = System::of(circuit, true)?;
    let mut map = counts(&format!("{name} partition 0/{partitions}"), &system);
    map.extend(value_counts(&system));

    let domain = system.constraints.next_power_of_two();
    let [a, b, c] = system.rows.clone().map(|mut rows| {
        rows.resize(domain, Scalar::ZERO);
        rows
    });
    let mut h = bellperson_quotient(a, b, c)?;
    h.truncate(domain - 1);

    let chosen = |values: &[Scalar], bits: &[bool]| -> Vec<Scalar> {
        values.iter().zip(bits).filter(|(_, bit)| **bit).map(|(value, _)| *value).collect()
    };
    let (a_aux, b_inputs, b_aux) =
        (chosen(&system.aux, &system.aux_in_a), chosen(&system.inputs, &system.inputs_in_b), chosen(&system.aux, &system.aux_in_b));
    let g1 = |points: &[G1Affine], scalars: &[Scalar]| -> Result<G1Projective> { BellpersonSum::new(points, scalars)?.run() };
    let g2 = |points: &[G2Affine], scalars: &[Scalar]| -> Result<G2Projective> { BellpersonSum::new(points, scalars)?.run() };
    let (a_in, a_ax) = params.a.split_at(system.inputs_len);
    let (b1_in, b1_ax) = params.b_g1.split_at(b_inputs.len());
    let (b2_in, b2_ax) = params.b_g2.split_at(b_inputs.len());
    let sums = [g1(&params.h, &h)?, g1(&params.l, &system.aux)?, g1(a_in, &system.inputs)?, g1(a_ax, &a_aux)?];
    let b1 = [g1(b1_in, &b_inputs)?, g1(b1_ax, &b_aux)?];
    let b2 = [g2(b2_in, &b_inputs)?, g2(b2_ax, &b_aux)?];
    let [mh, ml, mai, maa] = sums;

    let vk = &params.vk;
    let assemble = |r: Scalar, s: Scalar| {
        let (a_sum, b1_sum, b2_sum) = (mai + maa, b1[0] + b1[1], b2[0] + b2[1]);
        let c = a_sum * s + b1_sum * r + vk.delta_g1 * (r * s) + vk.alpha_g1 * s + vk.beta_g1 * r + mh + ml;
        groth16::Proof::<Bls12> {
            a: (vk.delta_g1 * r + vk.alpha_g1 + a_sum).to_affine(),
            b: (vk.delta_g2 * s + vk.beta_g2 + b2_sum).to_affine(),
            c: c.to_affine(),
        }
    };
    let [r, s] = drawn_blinding();
    let whole = groth16::create_proof::<Bls12, _, _>(instances(&c1.output)?.swap_remove(0).0, &params, r, s)?;
    ensure!(assemble(r, s) == whole, "the proof from single steps differs from bellperson's own");
    ensure!(groth16::verify_proof(&groth16::prepare_verifying_key(vk), &whole, &public)?, "the proof does not verify");

    let p1 = |sum: &G1Projective| hex::encode(sum.to_affine().to_bytes());
    let p2 = |sum: &G2Projective| hex::encode(sum.to_affine().to_bytes());
    let more = json!({
        "params_file": files.params.file_name().map(|name| name.to_string_lossy()),
        "r_le": hex::encode(r.to_repr()),
        "s_le": hex::encode(s.to_repr()),
        "proof_fixed_rs": proof_hex(&whole)?,
        "proof_r0_s0": proof_hex(&assemble(Scalar::ZERO, Scalar::ZERO))?,
        "msm": {
            "h": p1(&mh), "l": p1(&ml), "a_inputs": p1(&mai), "a_aux": p1(&maa),
            "b_g1_inputs": p1(&b1[0]), "b_g1_aux": p1(&b1[1]), "b_g2_inputs": p2(&b2[0]), "b_g2_aux": p2(&b2[1]),
        },
        "sha256_h_coeffs_le32": digest(&h),
        "h_classes": Classes::of(&h),
        "public_inputs_le_hex": public.iter().map(|input| hex::encode(input.to_repr())).collect::<Vec<_>>(),
    });
    map.extend(object(more));
    Ok(map.into())
}

//! Pages of a section go when they are done with.

// Panics are how tests fail, also outside `#[test]` functions.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use blstrs::{G1Affine, G2Affine};
use groth16_srs::{Circuit, CircuitCounts, CircuitIdentity, Digest, ImportChecks, OriginPolicy, ProvingKey, VerifyingKey, import};
use group::prime::PrimeCurveAffine;
use pipeline_stage::{StageContext, StageName};
use prover_backend::BaseSource;

/// Resident bytes of the maps of a file, from the kernel.
fn resident_bytes(path: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let name = path.to_str().unwrap();
    let mut inside = false;
    let mut sum = 0;
    for line in maps.lines() {
        if line.split_whitespace().next().is_some_and(|w| w.contains('-') && !w.ends_with(':')) {
            inside = line.ends_with(name);
        } else if inside && let Some(rest) = line.strip_prefix("Rss:") {
            sum += rest.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10;
        }
    }
    sum
}

/// An official file whose points are all generators: no key, but a large h.
fn write_official(path: &Path, counts: &CircuitCounts) {
    let (g1, g2) = (G1Affine::generator(), G2Affine::generator());
    let vk = VerifyingKey { alpha_g1: g1, beta_g1: g1, beta_g2: g2, gamma_g2: g2, delta_g1: g1, delta_g2: g2, ic: vec![g1] };
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    vk.write(&mut file).unwrap();
    for points in [counts.h_query(), counts.auxiliary(), counts.a_query(), counts.b_query()] {
        file.write_all(&(points as u32).to_be_bytes()).unwrap();
        for _ in 0..points {
            file.write_all(&g1.to_uncompressed()).unwrap();
        }
    }
    file.write_all(&(counts.b_query() as u32).to_be_bytes()).unwrap();
    for _ in 0..counts.b_query() {
        file.write_all(&g2.to_uncompressed()).unwrap();
    }
    file.flush().unwrap();
}

#[test]
fn the_resident_part_does_not_grow_with_the_section() {
    let context = StageContext::unlimited(StageName::Setup);
    let folder = tempfile::tempdir().unwrap();
    let (official, path) = (folder.path().join("official"), folder.path().join("key"));
    // 2^18 - 1 points of h: 24 MiB.
    let counts = CircuitCounts::new(1, 1, (1 << 18) - 1, 2, 1).unwrap();
    let circuit = Circuit { identity: CircuitIdentity::new("wide", [2; 32]).unwrap(), counts };
    write_official(&official, &counts);
    let digest = Digest::of_file(&official, &context).unwrap();
    let checks = ImportChecks::DigestInsteadOfSubgroup(digest);
    import(&official, &circuit, checks, &path, &mut |_| {}, &context).unwrap();

    let key = ProvingKey::open(&path, &circuit, OriginPolicy::default(), &context).unwrap();
    let h = key.h();
    let bytes = h.len() * 96;
    let generator = G1Affine::generator();
    let read = |range: Range<usize>| h.points(range).unwrap().iter().filter(|p| **p == generator).count();
    assert_eq!(read(0..h.len()), h.len());
    assert!(resident_bytes(&path) >= bytes, "all of h was read");
    h.done_with(0..h.len());
    // A fault maps up to a large folio (2 MiB) around an address; such neighbours of h may stay.
    let slack = 4 << 20;
    assert!(resident_bytes(&path) <= slack, "{}", resident_bytes(&path));
    let chunk = 5000;
    let mut peak = 0;
    for start in (0..h.len()).step_by(chunk) {
        let range = start..h.len().min(start + chunk);
        h.will_need(range.clone());
        assert_eq!(read(range.clone()), range.len());
        peak = peak.max(resident_bytes(&path));
        h.done_with(range);
    }
    assert!(peak <= 96 * chunk + slack, "{peak} of {bytes}");
    key.verify_checksums(&mut |_| {}, &context).unwrap();
    assert!(resident_bytes(&path) <= slack, "a check leaves nothing behind");
}

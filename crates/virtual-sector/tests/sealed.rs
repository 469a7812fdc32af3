//! Sectors sealed by the library, against the fabricated ones and the kept test data.
//!
//! The library finds its cache through the environment, which a test must not change under the others: each test here runs itself again in a
//! process of its own.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::path::Path;
use std::process::Command;

use virtual_sector::{C1File, Data, Error, Fixture, Labels, SectorSize, Spec, fabricate, seal, seal_fixture};

const SCRATCH: &str = "VIRTUAL_SECTOR_TEST_SCRATCH";

/// Runs `body` with a scratch folder, in a process whose library cache is in that folder too.
fn in_own_process(test: &str, body: impl FnOnce(&Path)) {
    if let Some(scratch) = std::env::var_os(SCRATCH) {
        return body(Path::new(&scratch));
    }
    let scratch = tempfile::tempdir().unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--include-ignored", "--nocapture"])
        .env(SCRATCH, scratch.path())
        .env("FIL_PROOFS_CACHE_DIR", format!("{}/", scratch.path().display()))
        .current_dir(scratch.path())
        .status()
        .unwrap();
    assert!(status.success());
}

fn same_as_sealed(spec: &Spec, scratch: &Path) {
    let sealed = seal(spec, scratch).unwrap();
    let fabricated = fabricate(spec).unwrap();
    assert!(!fabricated.construction.is_virtual);
    assert_eq!(sealed.meta, fabricated.file.meta);
    assert!(sealed.raw == fabricated.file.raw);
}

fn same_as_kept(file: &C1File, folder: &str, c1: &str, meta: &str) {
    let kept = |name: &str| std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-data").join(folder).join(name)).unwrap();
    let mut wrapped = Vec::new();
    file.write_wrapped(&mut wrapped).unwrap();
    assert!(wrapped == kept(c1), "{folder}/{c1}");
    assert_eq!(String::from_utf8(file.meta_json().unwrap()).unwrap(), String::from_utf8(kept(meta)).unwrap(), "{folder}/{meta}");
}

#[test]
fn sealed_2_kib_equals_fabricated() {
    in_own_process("sealed_2_kib_equals_fabricated", |scratch| {
        let spec = Spec { labels: Labels::All, ..Spec::new(SectorSize::KiB2) };
        same_as_sealed(&spec, scratch);
        same_as_sealed(&Spec { seed: "another".to_owned(), miner: 77, sector: 1 << 40, data: Data::Zero, ..spec }, scratch);
    });
}

#[test]
#[ignore = "most of a minute: seals 8 MiB"]
fn sealed_8_mib_equals_fabricated() {
    in_own_process("sealed_8_mib_equals_fabricated", |scratch| {
        same_as_sealed(&Spec { labels: Labels::All, ..Spec::new(SectorSize::MiB8) }, scratch);
    });
}

#[test]
fn the_2_kib_fixtures_are_the_kept_ones() {
    in_own_process("the_2_kib_fixtures_are_the_kept_ones", |scratch| {
        let plain = seal_fixture(Fixture::KiB2, scratch).unwrap();
        same_as_kept(&plain, "porep-2kib", "c1.json", "meta.json");
        let bare = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-data/porep-2kib/c1.raw.json")).unwrap();
        assert!(plain.raw == bare);
        let synthetic = seal_fixture(Fixture::KiB2Synthetic, scratch).unwrap();
        same_as_kept(&synthetic, "porep-2kib", "c1-synthetic.json", "meta-synthetic.json");
    });
}

#[test]
fn the_non_interactive_fixture_seals() {
    in_own_process("the_non_interactive_fixture_seals", |scratch| {
        let file = seal_fixture(Fixture::KiB2NonInteractive, scratch).unwrap();
        assert_eq!(file.meta.registered_seal_proof, "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep");
        let value: serde_json::Value = serde_json::from_slice(&file.raw).unwrap();
        assert_eq!(value["vanilla_proofs"]["StackedDrg2KiBV1"].as_array().unwrap().len(), 13);
    });
}

#[test]
#[ignore = "most of a minute: seals 8 MiB"]
fn the_8_mib_fixture_is_the_kept_one() {
    in_own_process("the_8_mib_fixture_is_the_kept_one", |scratch| {
        same_as_kept(&seal_fixture(Fixture::MiB8, scratch).unwrap(), "porep-8mib", "c1.json", "meta.json");
    });
}

#[test]
fn large_sectors_are_not_sealed() {
    let spec = Spec::new(SectorSize::GiB32);
    assert!(matches!(seal(&spec, Path::new(".")), Err(Error::TooLarge { size: SectorSize::GiB32 })));
}

//! Bad input of every kind: the exit code, one line that says where, in under a second, and nothing left behind.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod support;

use std::path::Path;

use serde_json::{Value, json};
use support::{Place, Run, bench_data};

/// The inner JSON of the 2 KiB file.
fn raw() -> Value {
    serde_json::from_slice(&std::fs::read(bench_data("porep-2kib/c1.raw.json")).unwrap()).unwrap()
}

fn prove(place: &Place, content: &[u8], more: &[&str]) -> Run {
    std::fs::write(place.path("c1.json"), content).unwrap();
    let mut arguments = vec!["prove", "c1.json", "--out", "proof.bin"];
    arguments.extend_from_slice(more);
    let run = place.run(&arguments);
    assert!(run.took.as_secs_f64() < 1.0, "{:?}", run.took);
    assert_eq!(place.files(), [Path::new("c1.json")], "something was left behind");
    run
}

fn changed(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = raw();
    change(&mut value);
    value.to_string().into_bytes()
}

const PROOFS: &str = "StackedDrg2KiBV1";

#[test]
fn broken_documents_name_the_place() {
    let wrapped = std::fs::read(bench_data("porep-2kib/c1.json")).unwrap();
    let wrapper: Value = serde_json::from_slice(&wrapped).unwrap();
    let rewrapped = |change: &dyn Fn(&mut Value)| {
        let mut value = wrapper.clone();
        change(&mut value);
        value.to_string().into_bytes()
    };
    let broken_base64 = rewrapped(&|w| {
        let text = w["Phase1Out"].as_str().unwrap();
        w["Phase1Out"] = format!("{}!{}", &text[..1000], &text[1001..]).into();
    });
    let wrong_size = rewrapped(&|w| w["SectorSize"] = 8_388_608.into());
    let negative = rewrapped(&|w| w["SectorNum"] = (-1).into());
    let cases: [(&[u8], &[&str]); 8] = [
        (b"", &["empty"]),
        (b" \n ", &["empty"]),
        (b"not json", &["byte 0", "expected"]),
        (b"[1, 2]", &["byte 0", "expected"]),
        (&broken_base64, &["$.Phase1Out", "base64", "byte "]),
        (&wrong_size, &["$.SectorSize", "2048", "8388608"]),
        (&negative, &["$.SectorNum"]),
        (b"{\"SectorNum\":1}", &["Phase1Out"]),
    ];
    let place = Place::new();
    for (content, words) in cases {
        prove(&place, content, &[]).refused(65, &[&["c1.json"], words].concat());
    }
}

#[test]
fn truncated_at_any_byte() {
    let wrapped = std::fs::read(bench_data("porep-2kib/c1.json")).unwrap();
    let raw = std::fs::read(bench_data("porep-2kib/c1.raw.json")).unwrap();
    let place = Place::new();
    for content in [&wrapped, &raw] {
        for cut in [1, 10, 40, 1000, content.len() / 2, content.len() - 30, content.len() - 1] {
            prove(&place, &content[..cut], &[]).refused(65, &["c1.json", "byte "]);
        }
    }
}

#[test]
fn contents_that_cannot_be_name_their_path() {
    let cases: Vec<(Vec<u8>, Vec<&str>)> = vec![
        (changed(|c| c["vanilla_proofs"][PROOFS] = json!([])), vec!["$.vanilla_proofs", "expected 1"]),
        (changed(|c| c["vanilla_proofs"][PROOFS].as_array_mut().unwrap()[0] = json!([])), vec!["[0]", "expected 2"]),
        (changed(|c| drop(c["vanilla_proofs"][PROOFS][0].as_array_mut().unwrap().pop())), vec!["[0]", "expected 2", "found 1"]),
        (changed(|c| c["registered_proof"] = "StackedDrg8MiBV1_1".into()), vec!["StackedDrg8MiBV1", "StackedDrg2KiBV1"]),
        (changed(|c| c["registered_proof"] = "StackedDrg3KiBV1".into()), vec!["$.registered_proof", "StackedDrg3KiBV1"]),
        (changed(|c| c["comm_r"] = vec![255; 32].into()), vec!["$.comm_r", "modulus"]),
        (changed(|c| c["comm_d"] = json!([1, 2, 3])), vec!["$.comm_d", "32"]),
        (changed(|c| c["ticket"][3] = 256.into()), vec!["$.ticket[3]", "256"]),
        (
            changed(|c| c["vanilla_proofs"][PROOFS][0][1]["comm_d_proofs"]["data"]["Single"]["root"] = vec![255; 32].into()),
            vec!["[0][1].comm_d_proofs", "root", "modulus"],
        ),
        (
            changed(|c| {
                let levels = &mut c["vanilla_proofs"][PROOFS][0][0]["comm_r_last_proof"]["data"]["Single"]["path"]["path"];
                levels.as_array_mut().unwrap().pop();
            }),
            vec!["[0][0].comm_r_last_proof"],
        ),
        (changed(|c| drop(c.as_object_mut().unwrap().remove("seed"))), vec!["seed"]),
    ];
    let place = Place::new();
    for (content, words) in cases {
        prove(&place, &content, &[]).refused(65, &words);
    }
}

#[test]
fn proofs_that_do_not_hold_are_found_before_the_proof_is_made() {
    let place = Place::new();
    let flipped = changed(|c| {
        let leaf = &mut c["vanilla_proofs"][PROOFS][0][1]["comm_r_last_proof"]["data"]["Single"]["leaf"][0];
        *leaf = (leaf.as_u64().unwrap() ^ 1).into();
    });
    prove(&place, &flipped, &[]).refused(65, &["partition 0, challenge 1", "commit phase 1"]);
    let seed = changed(|c| c["seed"][0] = (c["seed"][0].as_u64().unwrap() ^ 1).into());
    prove(&place, &seed, &[]).refused(65, &["partition 0", "commit phase 1"]);
}

#[test]
fn another_sector_than_expected() {
    let wrapped = std::fs::read(bench_data("porep-2kib/c1.json")).unwrap();
    let raw = std::fs::read(bench_data("porep-2kib/c1.raw.json")).unwrap();
    let place = Place::new();
    prove(&place, &wrapped, &["--sector-number", "2"]).refused(65, &["$.SectorNum", "expects sector 2, found sector 1"]);
    prove(&place, &wrapped, &["--sector-size", "8MiB"]).refused(65, &["8388608", "2048"]);
    prove(&place, &wrapped, &["--miner-id", "f01001"]).refused(65, &["miner 1001", "sector 1"]);
    prove(&place, &raw, &["--miner-id", "1000", "--sector-number", "2"]).refused(65, &["sector 2"]);
    prove(&place, &raw, &["--sector-number", "1"]).refused(64, &["--miner-id"]);
    prove(&place, &raw, &["--miner-id", "1000"]).refused(64, &["--sector-number"]);
}

#[test]
fn files_that_cannot_be_read() {
    let place = Place::new();
    std::fs::write(place.path("file"), "x").unwrap();
    place.run(&["prove", "absent.json"]).refused(66, &["absent.json", "No such file"]);
    place.run(&["prove", "file/below.json"]).refused(66, &["file/below.json", "Not a directory"]);
    place.run(&["prove", "."]).refused(66, &["directory"]);
    std::fs::File::create(place.path("large.json")).unwrap().set_len(129 << 20).unwrap();
    let run = place.run(&["prove", "large.json"]).refused(65, &["135266304", "134217728"]);
    assert!(run.took.as_secs_f64() < 1.0);
    place.run(&["verify", "absent.proof", "--c1", bench_data("porep-2kib/c1.json").to_str().unwrap()]).refused(66, &["absent.proof"]);
}

#[test]
fn places_that_cannot_be_written_to_are_found_before_the_work() {
    let place = Place::new();
    std::fs::write(place.path("file"), "x").unwrap();
    let c1 = bench_data("porep-2kib/c1.json");
    let c1 = c1.to_str().unwrap();
    let refused = |arguments: &[&str], code: i32, words: &[&str]| {
        let run = place.run(&[&["prove", c1], arguments].concat()).refused(code, words);
        assert!(run.took.as_secs_f64() < 1.0, "{:?}", run.took);
        assert_eq!(place.files(), [Path::new("file")]);
    };
    refused(&["--out", "file/proof"], 73, &["file/proof", "Not a directory"]);
    refused(&["--out", "absent/proof"], 73, &["absent/proof", "No such file"]);
    refused(&["--out", "."], 73, &["directory"]);
    refused(&["--out-dir", "file"], 73, &["file"]);
    refused(&["--out-dir", "/proc/proofs"], 73, &["/proc/proofs"]);
    refused(&["--cache-dir", "file/cache"], 73, &["file/cache", "Not a directory"]);
    refused(&["--cache-dir", "/proc/cache"], 73, &["/proc/cache"]);
}

#[test]
fn contradictions_are_usage() {
    let place = Place::new();
    let c1 = bench_data("porep-2kib/c1.json");
    let c1 = c1.to_str().unwrap();
    place.run(&["prove", c1, c1, "--out", "proof"]).refused(64, &["--out-dir"]);
    place.run(&["prove", c1, c1, "--out-dir", "proofs"]).refused(64, &["both be written"]);
    place.run(&["prove", "-", "-"]).refused(64, &["standard input"]);
    place.run(&["prove", c1, c1, "--sector-number", "1"]).refused(64, &["--sector-number"]);
    let run = place.run(&["verify", "proof"]);
    assert_eq!(run.code, 64);
    assert_eq!(place.files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn every_command_says_when_its_budget_is_too_small_and_ends() {
    let place = Place::new();
    let c1 = bench_data("porep-2kib/c1.json");
    let c1 = c1.to_str().unwrap();
    // Sizes at which each of them has some of what it needs and asks for more.
    for budget in ["1KiB", "40KiB", "64KiB", "112KiB", "300KiB"] {
        for command in [&["prove", c1][..], &["circuit", "compile", "--sector-size", "2KiB"], &["params", "setup", "--sector-size", "2KiB"]]
        {
            place.run(&[command, &["--memory", budget]].concat()).refused(69, &["bytes", "raise the budget"]);
        }
    }
    // Enough for the circuit; the set-up needs its workspace, and with that its tables.
    for budget in ["10MiB", "270MiB"] {
        // Two lines: the warning of the set-up comes first.
        let run = place.run(&["prove", c1, "--memory", budget]);
        assert_eq!(run.code, 69, "{budget}: {}", run.stderr);
        assert!(run.stderr.contains("raise the budget"), "{budget}: {}", run.stderr);
    }
    for budget in ["1KiB", "112KiB", "300KiB"] {
        place.run(&["circuit", "check", c1, "--memory", budget]).refused(69, &["bytes", "raise the budget"]);
    }
}

#[test]
fn budgets_that_cannot_be() {
    let place = Place::new();
    let c1 = bench_data("porep-2kib/c1.json");
    place.run(&["prove", c1.to_str().unwrap(), "--memory", "1024TiB"]).refused(69, &["1125899906842624", "the machine's memory"]);
}

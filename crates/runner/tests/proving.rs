//! The main job on the 2 KiB sector: one set-up, then proofs that verify and proofs that must not.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod scraping;
mod support;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use scraping::{check_pages, check_unaccounted, run_scraped};
use support::{Place, assert_within_plan, bench_data, finish};
use telemetry::Metric;

fn c1(name: &str) -> String {
    bench_data(name).to_str().unwrap().to_owned()
}

/// One test, so that parameters and circuit are made once.
#[test]
fn prove_verify_refuse() {
    let place = Place::new();
    first_proof(&place);
    refused_proofs(&place);
    several_at_once(&place);
    parameters(&place);
    damaged_files(&place);
    a_signal_stops_cleanly(&place);
    a_disk_that_takes_no_more(&place);
}

fn first_proof(place: &Place) {
    let run =
        place.run(&["prove", &c1("porep-2kib/c1.json"), "--out", "proof.bin", "--miner-id", "1000", "--sector-number", "1"]).succeeded();
    assert!(run.stderr.contains("FOR TESTING ONLY"), "{}", run.stderr);
    for word in ["parse", "synth", "ntt", "msm", "finalize", "witness", "anonymous", "file-backed"] {
        assert!(run.stderr.contains(word), "{word:?} is not in {}", run.stderr);
    }
    let raw = std::fs::read(place.path("proof.bin")).unwrap();
    assert_eq!(raw.len(), 192);
    let hex: String = raw.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(run.stdout, format!("{hex}\n"));
    std::fs::write(place.path("proof.hex"), &run.stdout).unwrap();
    // Nothing but the proof, the key and the circuit.
    let files = place.files();
    let ends = |end: &str| files.iter().filter(|file| file.to_string_lossy().ends_with(end)).count();
    assert_eq!((files.len(), ends(".pmkey"), ends("proof.bin"), ends("proof.hex")), (4, 1, 1, 1), "{files:?}");

    for proof in ["proof.bin", "proof.hex"] {
        let run = place.run(&["verify", proof, "--c1", &c1("porep-2kib/c1.raw.json")]).succeeded();
        assert!(run.stdout.contains("verified"), "{}", run.stdout);
    }
    let inputs = place.run(&["circuit", "inputs", &c1("porep-2kib/c1.json")]).succeeded();
    assert_eq!(inputs.object()["partitions"][0].as_array().unwrap().len(), 39);
    std::fs::write(place.path("inputs.json"), &inputs.stdout).unwrap();
    let run = place.run(&["verify", "proof.bin", "--public-inputs", "inputs.json", "--output", "json"]).succeeded();
    assert_eq!(run.object()["verified"], true);
}

fn refused_proofs(place: &Place) {
    let sector = c1("porep-2kib/c1.json");
    let raw = std::fs::read(place.path("proof.bin")).unwrap();
    let mut wrong = Vec::new();
    // A bit in each element, and in a flag.
    for (byte, bit) in [(0, 0x20), (20, 1), (47, 1), (60, 4), (143, 1), (150, 8), (191, 1)] {
        let mut proof = raw.clone();
        proof[byte] ^= bit;
        wrong.push(proof);
    }
    wrong.extend([raw[..191].to_vec(), [&raw[..], &raw[..]].concat(), vec![0; 192], Vec::new()]);
    for proof in wrong {
        std::fs::write(place.path("wrong.bin"), &proof).unwrap();
        place.run(&["verify", "wrong.bin", "--c1", &sector]).refused(65, &["wrong.bin"]);
    }
    place.run(&["verify", "proof.bin", "--c1", &c1("porep-2kib/c1-synthetic.json")]).refused(65, &["proof.bin", "verify"]);
    let mut inputs: serde_json::Value = serde_json::from_slice(&std::fs::read(place.path("inputs.json")).unwrap()).unwrap();
    inputs["partitions"][0].as_array_mut().unwrap().swap(1, 2);
    std::fs::write(place.path("swapped.json"), inputs.to_string()).unwrap();
    place.run(&["verify", "proof.bin", "--public-inputs", "swapped.json"]).refused(65, &["proof.bin"]);
}

fn several_at_once(place: &Place) {
    // One from standard input, with the other one's bare form beside a file of another sector.
    let inputs = ["-".to_owned(), c1("porep-2kib/c1-synthetic.json")];
    let stdin = std::fs::File::open(bench_data("porep-2kib/c1.raw.json")).unwrap();
    let mut command = place.command();
    command.args(["prove", "--out-dir", "proofs", "--output", "json", "--metrics-addr", "127.0.0.1:0"]).args(&inputs).stdin(stdin);
    let (run, pages) = run_scraped(&mut command);
    let run = run.succeeded();
    assert_eq!(run.stderr.lines().count(), 1, "nothing is set up twice, and JSON has no tables beside it: {}", run.stderr);
    check_pages(&pages);
    check_unaccounted(&pages);
    let last = pages.last().unwrap();
    assert_eq!(last.observations(Metric::StageDuration, ("stage", "synth")), 2.0);
    assert_eq!(last.sum(Metric::ProofsFailed, None), 0.0);
    let object = run.object();
    let proofs = object["proofs"].as_array().unwrap();
    assert_eq!(proofs.len(), 2);
    let summary = &object["summary"];
    assert_within_plan(summary);
    assert!(summary["resident"]["anonymous_bytes"].as_u64().unwrap() > 0);
    assert!(summary["stages"].as_array().unwrap().iter().all(|stage| stage["items"] == 2), "{summary}");
    place.run(&["verify", "proofs/stdin.proof", "--c1", &c1("porep-2kib/c1.json")]).succeeded();
    place.run(&["verify", "proofs/c1-synthetic.proof", "--c1", &inputs[1]]).succeeded();
    place.run(&["verify", "proofs/c1-synthetic.proof", "--c1", &c1("porep-2kib/c1.json")]).refused(65, &["verify"]);
    assert_eq!(proofs[1]["seal_proof"], "StackedDrg2KiBV1_1_Feat_SyntheticPoRep");
    assert_eq!(proofs[1]["verified"], true);
    // Blinding is fresh: two proofs of one sector differ.
    let first: String = std::fs::read(place.path("proof.bin")).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_ne!(proofs[0]["proof"], first);
}

fn parameters(place: &Place) {
    let object = place.run(&["params", "list", "--output", "json"]).succeeded().object();
    let entry = &object["parameters"][0];
    assert_eq!((entry["circuit"].as_str(), entry["official"].as_bool()), (Some("porep-2kib"), Some(false)));
    let key = entry["file"].as_str().unwrap().to_owned();
    assert!(place.run(&["params", "check"]).succeeded().stdout.contains("sound"));
    place.run(&["params", "setup", "--sector-size", "2KiB"]).refused(73, &["--force", &key]);

    place.run(&["params", "export", "key.vk", "--sector-size", "2KiB", "--verifying-key"]).succeeded();
    place.run(&["verify", "proof.bin", "--c1", &c1("porep-2kib/c1.json"), "--verifying-key", "key.vk"]).succeeded();
    let other = c1("porep-2kib/reference.vk");
    place.run(&["verify", "proof.bin", "--c1", &c1("porep-2kib/c1.json"), "--verifying-key", &other]).refused(65, &["proof.bin"]);

    // A key that does not have the published digest is not imported.
    place.run(&["params", "import", "key.vk", "--sector-size", "2KiB", "--force"]).refused(65, &["key.vk", "1114707768"]);
    place.run(&["params", "import", "absent", "--sector-size", "2KiB"]).refused(66, &["absent"]);

    let text = place.run(&["doctor"]).succeeded().stdout;
    assert!(text.contains(&key) && text.contains("development"), "{text}");
    let checked = place.run(&["circuit", "check", &c1("porep-2kib/c1.json")]).succeeded().stdout;
    assert!(checked.contains("all 2687921 constraints hold"), "{checked}");
    place.run(&["circuit", "check", &c1("porep-2kib/c1.json"), "--partition", "1"]).refused(64, &["no partition 1"]);
    let info = place.run(&["circuit", "info", "--sector-size", "2KiB"]).succeeded().stdout;
    assert!(info.contains("2687921 constraints") && info.contains("032d3138d22506ec"), "{info}");
}

/// The only file below the place with this extension.
fn only(place: &Place, extension: &str) -> std::path::PathBuf {
    let mut found = place.files().into_iter().filter(|file| file.extension().is_some_and(|e| e == extension));
    let file = found.next().unwrap();
    assert_eq!(found.next(), None);
    place.path(file.to_str().unwrap())
}

fn change_byte(path: &Path, offset: u64) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
}

fn damaged_files(place: &Place) {
    let sector = c1("porep-2kib/c1.json");
    let key = only(place, "pmkey");
    // In the header: refused when opened. In a section: found by the check.
    change_byte(&key, 40);
    place.run(&["prove", &sector]).refused(65, &["pmkey"]);
    change_byte(&key, 40);
    let middle = std::fs::metadata(&key).unwrap().len() / 2;
    change_byte(&key, middle);
    place.run(&["params", "check"]).refused(65, &["pmkey", "checksum"]);
    place.run(&["prove", &sector, "--out", "never.bin"]).refused(65, &["pmkey", "checksum"]);
    assert!(!place.path("never.bin").exists());
    change_byte(&key, middle);
    place.run(&["params", "check"]).succeeded();
    // A damaged circuit is compiled again, to the same file.
    let circuit = only(place, "circuit");
    let whole = std::fs::read(&circuit).unwrap();
    std::fs::File::options().write(true).open(&circuit).unwrap().set_len(whole.len() as u64 / 2).unwrap();
    place.run(&["circuit", "check", &sector]).succeeded();
    assert!(std::fs::read(&circuit).unwrap() == whole);
    change_byte(&circuit, 100_000);
    let run = place.run(&["circuit", "check", &sector]).succeeded();
    assert!(run.stderr.contains("compiled again"), "{}", run.stderr);
    assert!(std::fs::read(&circuit).unwrap() == whole);
}

fn a_signal_stops_cleanly(place: &Place) {
    let before = place.files();
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut child = place
            .command()
            .args(["params", "setup", "--sector-size", "2KiB", "--force"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The key's unfinished file tells that the set-up is under way.
        let deadline = Instant::now() + Duration::from_secs(60);
        while place.files() == before {
            assert!(Instant::now() < deadline, "no set-up within a minute");
            std::thread::sleep(Duration::from_millis(20));
        }
        let id = child.id().to_string();
        let sent = finish(std::process::Command::new("kill").args(["-s", signal, &id]));
        assert_eq!(sent.code, 0);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(place.files(), before, "an unfinished file was left behind");
    }
    place.run(&["verify", "proof.bin", "--c1", &c1("porep-2kib/c1.json")]).succeeded();
}

/// A limit on the size of files stands for a full disk: the system refuses a write in the same way.
fn a_disk_that_takes_no_more(place: &Place) {
    let before = place.files();
    // The signal that comes with the limit is ignored, so that the write fails instead.
    let limited = |arguments: &[&str]| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 2000; exec \"$0\" \"$@\""]);
        let command = place.command();
        shell.arg(command.get_program()).args(arguments).current_dir(command.get_current_dir().unwrap());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        finish(&mut shell)
    };
    limited(&["circuit", "compile", "--sector-size", "2KiB", "--force"]).refused(74, &["File too large"]);
    // Its warning that the parameters are for tests stands above.
    let run = limited(&["params", "setup", "--sector-size", "2KiB", "--force"]);
    assert_eq!(run.code, 74, "{}", run.stderr);
    assert!(run.stderr.lines().last().unwrap().ends_with("File too large (os error 27)"), "{}", run.stderr);
    assert_eq!(place.files(), before, "an unfinished file was left behind");
    place.run(&["verify", "proof.bin", "--c1", &c1("porep-2kib/c1.json")]).succeeded();
}

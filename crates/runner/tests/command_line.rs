//! The command line, the configuration and the output, without any proving.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod support;

use std::fs::OpenOptions;
use std::io::Read;
use std::process::Stdio;

use support::{Place, finish};

#[test]
fn help_names_every_setting_and_exit_code() {
    let place = Place::new();
    let help = place.run(&["--help"]).succeeded().stdout;
    for word in ["PROOFMILL_MEMORY", "stop_grace", "\"24GiB\"", "  65  ", "  78  ", "143"] {
        assert!(help.contains(word), "{word:?} is not in {help}");
    }
    let version = place.run(&["--version"]).succeeded().stdout;
    assert_eq!(version, format!("proofmill {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(place.files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn completions_for_every_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.run(&["completions", shell]).succeeded().stdout;
        assert!(script.contains("doctor") && script.contains("params-dir"), "{shell}");
    }
}

#[test]
fn wrong_command_lines_are_usage() {
    let place = Place::new();
    for arguments in [&[][..], &["frobnicate"], &["config", "--frobnicate"], &["completions", "tcsh"]] {
        let run = place.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (64, ""), "{arguments:?}");
        assert!(run.stderr.contains("Usage") || run.stderr.contains("--help"), "{}", run.stderr);
    }
    place.run(&["config", "--threads", "0"]).refused(64, &["flag --threads", "\"0\"", "1 to 4096"]);
}

/// Found before the C1 file is even opened.
#[test]
fn an_address_that_cannot_be_had_is_an_error() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    place.run(&["prove", "absent.json", "--metrics-addr", &address]).refused(69, &["--metrics-addr", &address, "in use", "another port"]);
    drop(taken);
    // An address for documentation, which no machine has.
    let foreign = "192.0.2.1:9464";
    place
        .run(&["prove", "absent.json", "--metrics-addr", foreign])
        .refused(64, &["--metrics-addr", foreign, "not an address of this machine"]);
    finish(place.command().args(["prove", "absent.json"]).env("PROOFMILL_METRICS_ADDR", foreign)).refused(78, &["PROOFMILL_METRICS_ADDR"]);
    place.run(&["prove", "absent.json", "--metrics-addr", "localhost"]).refused(64, &["--metrics-addr", "\"127.0.0.1:9464\""]);
}

#[test]
fn mistakes_in_the_configuration_are_refused_with_file_line_and_forms() {
    let place = Place::new();
    let file = place.path("proofmill.toml");
    for (text, words) in [
        ("# budget\nmemory = \"50GB \"\n", ["proofmill.toml:2", "\"50GB \"", "\"24GiB\""]),
        ("total_budget = \"50GiB\"\n", ["proofmill.toml:1", "unknown key \"total_budget\"", "params_dir, cache_dir, memory"]),
        ("stop_grace = \"30\"\n", ["proofmill.toml:1", "unit is missing", "ms, s, min or h"]),
    ] {
        std::fs::write(&file, text).unwrap();
        let run = place.run(&["doctor", "--config", file.to_str().unwrap()]).refused(78, &words);
        assert!(run.took.as_secs_f64() < 1.0);
    }
    finish(place.command().env("PROOFMILL_MEMORY", "lots").arg("config")).refused(78, &["PROOFMILL_MEMORY", "\"lots\""]);
    place.run(&["config", "--config", "absent.toml"]).refused(66, &["absent.toml", "No such file"]);
}

#[test]
fn config_tells_each_value_and_its_source() {
    let place = Place::new();
    std::fs::create_dir_all(place.path(".config/proofmill")).unwrap();
    std::fs::write(place.path(".config/proofmill/config.toml"), "memory = \"2GiB\"\nthreads = 3\n").unwrap();
    let run = finish(place.command().env("PROOFMILL_THREADS", "2").args(["config", "--output", "json"])).succeeded();
    let object = run.object();
    let setting = |key: &str| object["settings"].as_array().unwrap().iter().find(|s| s["key"] == key).unwrap().clone();
    assert_eq!(setting("memory")["value"], "2GiB");
    assert!(setting("memory")["source"].as_str().unwrap().ends_with("config.toml:1"));
    assert_eq!(setting("threads")["value"], "2");
    assert_eq!(setting("threads")["source"], "environment variable PROOFMILL_THREADS");
    assert_eq!(setting("output")["source"], "flag --output");
    assert!(run.stdout.starts_with("{\"version\":1,"));
}

#[test]
fn an_error_is_an_object_too() {
    let run = Place::new().run(&["config", "--output", "json", "--threads", "none"]);
    assert_eq!(run.code, 64);
    let object = run.object();
    assert_eq!(object["error"]["exit_code"], 64);
    assert!(object["error"]["message"].as_str().unwrap().contains("--threads"));
}

#[test]
fn doctor_tells_the_machine() {
    let place = Place::new();
    let text = place.run(&["doctor"]).succeeded().stdout;
    for label in ["processor", "cores", "instructions", "memory limit", "GPU", "budget", "parameters", "circuits"] {
        assert!(text.contains(label), "{label:?} is not in {text}");
    }
    let object = place.run(&["doctor", "--output", "json"]).succeeded().object();
    assert!(object["machine"]["memory"]["total_bytes"].as_u64().unwrap() > 0);
    let budget = object["memory_budget"]["bytes"].as_u64().unwrap();
    assert!(budget > 0 && budget < object["machine"]["memory"]["total_bytes"].as_u64().unwrap());
    assert_eq!(place.files(), Vec::<std::path::PathBuf>::new(), "doctor only looks");
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let place = Place::new();
    let mut child = place.command().args(["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_full_disk_behind_standard_output_is_an_error() {
    let place = Place::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    finish(place.command().arg("doctor").stdout(full)).refused(74, &["standard output", "No space left"]);
}

#[test]
fn a_plan_tells_what_fits_and_what_would() {
    let place = Place::new();
    for size in ["2KiB", "8MiB", "512MiB", "32GiB", "64GiB"] {
        let run = place.run(&["plan", "--sector-size", size, "--jobs", "6", "--memory", "1TiB", "--threads", "64", "--output", "json"]);
        let object = run.succeeded().object();
        let bytes = |key: &str| object[key].as_u64().unwrap();
        assert!(bytes("minimum_bytes") < bytes("planned_bytes") && bytes("planned_bytes") == bytes("recommended_bytes"), "{object}");
        assert_eq!((object["fits"].as_bool(), object["compiled"].as_bool(), object["next"].is_null()), (Some(true), Some(false), true));
        assert_eq!(object["plan"]["spaces"][0]["bytes"], bytes("planned_bytes"));
    }
    let text = place.run(&["plan", "--sector-size", "2KiB", "--jobs", "6", "--memory", "600MiB", "--threads", "2"]).succeeded().stdout;
    for word in ["transform buffers", "h_poly", "by class: ", "by stage: ", "--memory ", "one more synthesis thread needs"] {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
    // Two threads fit where four do not; the least plan is shown with the refusal.
    let small = ["plan", "--sector-size", "2KiB", "--jobs", "6", "--memory", "600MiB", "--threads", "2", "--synth-threads", "4"];
    let run = place.run(&small);
    assert_eq!(run.code, 69, "{}", run.stderr);
    assert!(run.stderr.contains("--synth-threads 2") && run.stderr.contains("--memory"), "{}", run.stderr);
    assert!(run.stdout.contains("transform buffers"), "{}", run.stdout);
    let run = place.run(&["plan", "--sector-size", "32GiB", "--memory", "8GiB", "--output", "json"]);
    assert_eq!((run.code, run.object()["fits"].as_bool()), (69, Some(false)));
    assert_eq!(place.run(&["plan", "--sector-size", "2KiB", "--jobs", "0"]).code, 64);
}

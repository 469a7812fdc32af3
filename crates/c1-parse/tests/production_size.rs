//! Time and memory of a 32 GiB file, measured. By hand: `cargo test --release -p c1-parse --test production_size -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that reports figures")]

mod fabricate;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Instant;

use c1_parse::{C1, Expected, Limits, PoRepKind, SealProof, SectorSize, parse, parse_reader};
use fabricate::Digests;
use pipeline_stage::{Lease, StageContext, StageName};

/// Highest resident memory since the last reset, in KiB.
fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Runs `read` and says how long it took, and how high memory rose.
fn measured(what: &str, read: impl FnOnce() -> C1) -> (f64, u64) {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let start = Instant::now();
    let c1 = read();
    let seconds = start.elapsed().as_secs_f64();
    let peak = peak_rss_kib();
    assert_eq!(c1.partitions.len(), 10);
    let decoded: u64 = c1.partitions.iter().map(Lease::bytes).sum();
    println!("{what}: {seconds:.3} s, peak RSS {:.1} MiB, decoded proofs {decoded} bytes", peak as f64 / 1024.0);
    (seconds, peak)
}

#[test]
#[ignore = "writes 90 MB and means something only with --release on a quiet machine"]
fn a_32_gib_file_takes_120_mib_and_a_time_that_is_printed() {
    let folder = std::env::temp_dir().join(format!("c1-parse-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let proof = SealProof { sector_size: SectorSize::GiB32, kind: PoRepKind::V1_1 };
    let (wrapped, bare) = (folder.join("wrapped.json"), folder.join("bare.json"));
    for path in [&wrapped, &bare] {
        let mut out = BufWriter::new(File::create(path).unwrap());
        if path == &wrapped {
            fabricate::wrapped(&mut out, proof, 1, 99);
        } else {
            fabricate::c1(&mut out, proof, Digests::Random, 99);
        }
        out.flush().unwrap();
        println!("{}: {} bytes", path.display(), std::fs::metadata(path).unwrap().len());
    }
    let context = StageContext::unlimited(StageName::Parse);
    let (limits, expected) = (Limits::default(), Expected { sector_size: Some(32 << 30), ..Expected::default() });
    let mut worst = (0f64, 0u64);
    for _ in 0..3 {
        for (form, path) in [("wrapped", &wrapped), ("bare", &bare)] {
            let streamed = measured(&format!("{form}, from a reader"), || {
                parse_reader(File::open(path).unwrap(), &limits, &expected, &context).unwrap()
            });
            let loaded = measured(&format!("{form}, read into memory and parsed"), || {
                parse(&std::fs::read(path).unwrap(), &limits, &expected, &context).unwrap()
            });
            for (seconds, peak) in [streamed, loaded] {
                worst = (worst.0.max(seconds), worst.1.max(peak));
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    println!("at worst {:.3} s", worst.0);
    assert!(worst.1 < 120 << 10, "{} KiB", worst.1);
}

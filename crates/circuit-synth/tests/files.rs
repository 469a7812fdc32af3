//! Files that are not what they should be, and folders that are not writable.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "shared with the tests against plain vectors")]
mod random;

use std::fs;

use bellpepper_core::{Circuit, ConstraintSystem, Index, SynthesisError, Variable};
use blstrs::Scalar;
use circuit_synth::{CompiledCircuit, Opened, SynthError, compile, open_or_compile};
use ff::Field;
use pipeline_stage::{Cancel, Ledger, Space, StageContext, StageName};
use random::RandomCircuit;

fn context() -> StageContext {
    StageContext::unlimited(StageName::Setup)
}

#[test]
fn every_flipped_byte_and_every_truncation_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let context = context();
    compile(RandomCircuit::new(3, 400, 10).blank(), "random", &path, &context).unwrap();
    let good = fs::read(&path).unwrap();
    let verdict = |bytes: &[u8]| {
        // A new name for each file: the map of the last one may still be open.
        let bad = folder.path().join("bad");
        let _ = fs::remove_file(&bad);
        fs::write(&bad, bytes).unwrap();
        CompiledCircuit::open(&bad, "random", &context).and_then(|circuit| circuit.verify_checksums(&context))
    };
    verdict(&good).unwrap();
    let header_end = 4096;
    let places = (0..header_end).step_by(61).chain(header_end..good.len());
    for at in places.step_by(if good.len() > 20_000 { 5 } else { 1 }) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        match verdict(&bytes) {
            Err(error) => assert!(error.is_mended_by_compiling() || matches!(error, SynthError::Name { .. }), "{error}"),
            // The one place no checksum covers: the zeros between the blocks and the dictionary.
            Ok(()) => assert!(good[at] == 0, "byte {at} of {} is not noticed", good.len()),
        }
    }
    for length in (0..good.len()).step_by(173).chain([good.len() - 1]) {
        assert!(matches!(verdict(&good[..length]), Err(SynthError::Size { .. })), "{length} bytes");
    }
    assert!(matches!(verdict(&[good.clone(), vec![0]].concat()), Err(SynthError::Size { .. })));
    assert_eq!(context.ledger().snapshot().in_use(Space::Mapped), 0);
}

/// Checksums that are right say nothing about the hash that keys are bound to.
#[test]
fn another_circuits_hash_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("c"), folder.path().join("other"));
    let context = context();
    compile(RandomCircuit::new(3, 40, 10).blank(), "random", &path, &context).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[16] ^= 1;
    let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..4088]);
    bytes[4088..4096].copy_from_slice(&checksum.to_le_bytes());
    fs::write(&other, &bytes).unwrap();
    let error = CompiledCircuit::open(&other, "random", &context).unwrap().verify_checksums(&context).unwrap_err();
    assert!(matches!(&error, SynthError::Damaged { part, .. } if part == "the circuit's hash"), "{error}");
}

#[test]
fn what_cannot_be_trusted_is_rebuilt_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let context = context();
    let circuit = RandomCircuit::new(4, 100, 10);
    let open = || open_or_compile(|| circuit.blank(), "random", &path, &context).unwrap();
    let (first, opened) = open();
    assert!(matches!(opened, Opened::Compiled));
    let hash = *first.hash();
    assert!(matches!(open().1, Opened::Found));

    fs::write(folder.path().join("other"), b"not a circuit, but longer than nothing".repeat(200)).unwrap();
    fs::rename(folder.path().join("other"), &path).unwrap();
    let (again, opened) = open();
    assert!(matches!(opened, Opened::Rebuilt(SynthError::Foreign { .. })), "{opened:?}");
    assert_eq!(*again.hash(), hash, "compiling is deterministic");

    compile(RandomCircuit::new(5, 100, 10).blank(), "another", &path, &context).unwrap();
    let (again, opened) = open();
    assert!(matches!(opened, Opened::Rebuilt(SynthError::OtherCircuit { .. })), "{opened:?}");
    assert_eq!(*again.hash(), hash);

    let mut old = fs::read(&path).unwrap();
    old[8] = 0;
    fs::write(folder.path().join("old"), &old).unwrap();
    fs::rename(folder.path().join("old"), &path).unwrap();
    assert!(matches!(open().1, Opened::Rebuilt(SynthError::Version { expected: 1, found: 0, .. })));
}

#[test]
fn two_builders_at_once_leave_one_good_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let circuit = RandomCircuit::new(6, 3000, 10);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| open_or_compile(|| circuit.blank(), "random", &path, &context()).unwrap());
        }
    });
    CompiledCircuit::open(&path, "random", &context()).unwrap().verify_checksums(&context()).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no half-written file is left");
}

#[test]
fn unwritable_places_are_typed_errors_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"x").unwrap();
    let context = context();
    let blank = || RandomCircuit::new(7, 10, 10).blank();
    for path in [file.join("c"), folder.path().join("missing").join("c")] {
        let error = compile(blank(), "random", &path, &context).unwrap_err();
        assert!(
            matches!(error, SynthError::Io { .. }) && error.to_string().contains(&*path.parent().unwrap().to_string_lossy()),
            "{error}"
        );
    }
    assert!(matches!(compile(blank(), "../evil", &folder.path().join("c"), &context), Err(SynthError::Name { .. })));
    assert!(matches!(CompiledCircuit::open(folder.path(), "random", &context), Err(SynthError::Io { .. } | SynthError::Size { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Names a variable that nobody allocated.
struct Unknown(Index);
impl Circuit<Scalar> for Unknown {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let x = cs.alloc(|| "x", || Ok(Scalar::ZERO))?;
        cs.enforce(|| "known", |lc| lc + x, |lc| lc, |lc| lc);
        cs.enforce(|| "unknown", |lc| lc + x, |lc| lc + Variable::new_unchecked(self.0), |lc| lc);
        Ok(())
    }
}

#[test]
fn a_constraint_on_an_unknown_variable_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for index in [Index::Aux(1), Index::Input(1), Index::Aux(usize::MAX), Index::Input(usize::MAX)] {
        let error = compile(Unknown(index), "unknown", &folder.path().join("c"), &context()).unwrap_err();
        assert!(matches!(error, SynthError::UnknownVariable { constraint: 1, allocated: 1, .. }), "{error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Never ends unless it is stopped; raises the flag after a while.
struct Endless(Cancel);
impl Circuit<Scalar> for Endless {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        for i in 0u64.. {
            if i == 100_000 {
                self.0.cancel();
            }
            let x = cs.alloc(|| "x", || Ok(Scalar::ZERO))?;
            cs.enforce(|| "bit", |lc| lc + x, |lc| lc + x, |lc| lc + x);
        }
        Ok(())
    }
}

#[test]
fn a_cancelled_compilation_ends_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    let ledger = Ledger::new(&[(Space::Host, 1 << 30)]);
    let context = StageContext::new(ledger.clone(), StageName::Setup, cancel.clone());
    let error = compile(Endless(cancel), "endless", &folder.path().join("c"), &context).unwrap_err();
    assert!(matches!(error, SynthError::Cancelled), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
    assert!(ledger.snapshot().peak(Space::Host) > 0, "densities are accounted for");

    let tight = StageContext::new(Ledger::new(&[(Space::Host, 1000)]), StageName::Setup, Cancel::never());
    let error = compile(RandomCircuit::new(8, 100, 10).blank(), "random", &folder.path().join("c"), &tight).unwrap_err();
    assert!(matches!(error, SynthError::Memory(_)), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Runs itself again where files may have at most 8 KiB, since a test cannot fill a disk: the system refuses a write in the same way.
#[cfg(unix)]
#[test]
fn a_disk_that_takes_no_more_is_an_error_that_names_the_file_and_leaves_nothing() {
    const FOLDER: &str = "CIRCUIT_SYNTH_LIMITED_FOLDER";
    if let Some(folder) = std::env::var_os(FOLDER) {
        let path = std::path::Path::new(&folder).join("c");
        let error = compile(RandomCircuit::new(3, 20_000, 10).blank(), "random", &path, &context()).unwrap_err();
        assert!(
            matches!(&error, SynthError::Io { path: named, source, .. } if *named == path && source.kind() == std::io::ErrorKind::FileTooLarge),
            "{error}"
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let test = "a_disk_that_takes_no_more_is_an_error_that_names_the_file_and_leaves_nothing";
    let output = std::process::Command::new("sh")
        // The signal that comes with the limit is ignored, so that the write fails instead.
        .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact \"$1\" --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_a_killed_process_left_is_removed_and_what_is_being_written_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let context = context();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let file = |name: &str| {
        let file = fs::File::create(folder.path().join(name)).unwrap();
        file.set_modified(old).unwrap();
        file
    };
    drop(file(".compiling-left"));
    drop(file("something-else"));
    let busy = file(".compiling-busy");
    busy.lock().unwrap();
    fs::write(folder.path().join(".compiling-young"), b"x").unwrap();
    compile(RandomCircuit::new(8, 10, 10).blank(), "random", &folder.path().join("c"), &context).unwrap();
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [".compiling-busy", ".compiling-young", "c", "something-else"]);
}

//! Files that are not what they should be, and folders that are not writable.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "shared with the tests against plain vectors")]
mod random;

use std::fs;

use circuit_synth::{CompiledCircuit, Opened, SynthError, compile, open_or_compile};
use pipeline_stage::{Space, StageContext, StageName};
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

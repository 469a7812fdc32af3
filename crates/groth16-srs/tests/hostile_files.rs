//! Truncated, corrupt, foreign and swapped files, and places that cannot be written.

// Panics are how tests fail, also outside `#[test]` functions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod toy;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use groth16_srs::{
    Circuit, CircuitCounts, CircuitIdentity, Digest, ImportChecks, Origin, OriginPolicy, PointFault, ProvingKey, SetupSecrets, SrsError,
    VerifyingKey, export, export_to, import, setup,
};
use pipeline_stage::{Cancel, Class, Classified, ErrorClass, Ledger, Space, StageContext, StageName};
use proptest::prelude::*;
use prover_backend::BaseSource;
use toy::{Matrices, Naive, Toy, circuit, context, identity, make_key, names};

struct Good {
    circuit: Circuit,
    native: Vec<u8>,
    official: Vec<u8>,
    digest: Digest,
}

/// One good key in both forms.
fn good() -> &'static Good {
    static GOOD: OnceLock<Good> = OnceLock::new();
    GOOD.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let circuit = make_key(&Toy::new(21, 12, 30, 2), 9, &path);
        let key = ProvingKey::open(&path, &circuit, OriginPolicy::default(), &context()).unwrap();
        let mut official = Vec::new();
        let digest = export(&key, &mut official, &mut |_| {}, &context()).unwrap();
        Good { circuit, native: std::fs::read(&path).unwrap(), official, digest }
    })
}

fn file(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("given");
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Opens and checks everything.
fn open_fully(path: &Path) -> Result<(), SrsError> {
    let key = ProvingKey::open(path, &good().circuit, OriginPolicy::default(), &context())?;
    key.verify_checksums(&mut |_| {}, &context())
}

fn import_given(bytes: &[u8], checks: ImportChecks) -> Result<Origin, SrsError> {
    let folder = tempfile::tempdir().unwrap();
    let given = file(folder.path(), bytes);
    let result = import(&given, &good().circuit, checks, &folder.path().join("key"), &mut |_| {}, &context());
    let expected: &[&str] = if result.is_ok() { &["given", "key"] } else { &["given"] };
    assert_eq!(names(folder.path()), expected);
    result
}

/// Where the padding between sections lies, and which bytes the open of a key reads.
fn is_header_or_verifying_key(offset: usize) -> bool {
    let g1 = 4096..4096 + 96 * (3 + good().circuit.counts.inputs() as usize);
    let g2 = 8192..8192 + 3 * 192;
    offset < 4096 || g1.contains(&offset) || g2.contains(&offset)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_flipped_byte_of_a_native_key_is_refused(at in any::<prop::sample::Index>(), flip in 1u8..=255) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = good().native.clone();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let path = file(folder.path(), &bytes);
        let opened = ProvingKey::open(&path, &good().circuit, OriginPolicy::default(), &context());
        if is_header_or_verifying_key(at) {
            assert!(opened.is_err());
        } else {
            let key = opened.unwrap();
            let checked = key.verify_checksums(&mut |_| {}, &context());
            assert!(matches!(checked, Err(SrsError::SectionChecksum { .. } | SrsError::Padding { .. })), "{:?}", checked);
            let exported = export(&key, &mut Vec::new(), &mut |_| {}, &context());
            assert!(matches!((checked, exported), (Err(SrsError::Padding { .. }), _) | (_, Err(SrsError::SectionChecksum { .. }))));
        }
    }

    #[test]
    fn a_flipped_byte_of_the_header_is_refused(at in 0usize..4096, flip in 1u8..=255) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = good().native.clone();
        bytes[at] ^= flip;
        let path = file(folder.path(), &bytes);
        assert!(ProvingKey::open(&path, &good().circuit, OriginPolicy::default(), &context()).is_err());
        assert!(ProvingKey::inspect(&path).is_err());
    }

    #[test]
    fn a_native_key_of_another_length_is_refused(cut in any::<prop::sample::Index>(), more in 1usize..10_000) {
        let folder = tempfile::tempdir().unwrap();
        let good = &good().native;
        let path = file(folder.path(), &good[..cut.index(good.len())]);
        assert!(matches!(open_fully(&path), Err(SrsError::Size { .. })));
        assert!(matches!(ProvingKey::inspect(&path), Err(SrsError::Size { .. })));
        let mut longer = good.clone();
        longer.resize(good.len() + more, 0);
        let path = file(folder.path(), &longer);
        assert!(matches!(open_fully(&path), Err(SrsError::Size { .. })));
    }

    #[test]
    fn a_flipped_byte_of_an_official_file_is_refused(at in any::<prop::sample::Index>(), flip in 1u8..=255) {
        let mut bytes = good().official.clone();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        // Every byte but the lengths belongs to a coordinate of a point, and another coordinate is not on the curve or not in the subgroup.
        let refused = import_given(&bytes, ImportChecks::Full);
        assert!(matches!(refused, Err(SrsError::Point { .. } | SrsError::Count { .. } | SrsError::Truncated { .. } | SrsError::Header { .. })));
        assert!(import_given(&bytes, ImportChecks::DigestInsteadOfSubgroup(good().digest)).is_err());
    }

    #[test]
    fn an_official_file_of_another_length_is_refused(cut in any::<prop::sample::Index>(), more in 1usize..1000) {
        let official = &good().official;
        assert!(matches!(import_given(&official[..cut.index(official.len())], ImportChecks::Full), Err(SrsError::Size { .. })));
        let mut longer = official.clone();
        longer.resize(official.len() + more, 7);
        assert!(matches!(import_given(&longer, ImportChecks::Full), Err(SrsError::Size { .. })));
    }

    #[test]
    fn a_broken_verifying_key_is_refused(at in any::<prop::sample::Index>(), flip in 1u8..=255, cut in any::<prop::sample::Index>()) {
        let folder = tempfile::tempdir().unwrap();
        let key = VerifyingKey::read(&good().official[..], Path::new("given")).unwrap();
        let bytes = key.to_bytes();
        let mut broken = bytes.clone();
        broken[at.index(bytes.len())] ^= flip;
        assert!(VerifyingKey::open(&file(folder.path(), &broken)).is_err());
        let cut = cut.index(bytes.len());
        assert!(matches!(VerifyingKey::open(&file(folder.path(), &bytes[..cut])), Err(SrsError::Truncated { .. })));
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(matches!(VerifyingKey::open(&file(folder.path(), &longer)), Err(SrsError::Size { .. })));
        assert_eq!(VerifyingKey::open(&file(folder.path(), &bytes)).unwrap(), key);
    }

    #[test]
    fn noise_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), &bytes);
        assert!(open_fully(&path).is_err());
        assert!(VerifyingKey::open(&path).is_err());
        assert!(import_given(&bytes, ImportChecks::Full).is_err());
    }
}

#[test]
fn every_fault_of_a_point_is_told_with_its_place() {
    let Good { circuit, official, .. } = good();
    // The second point of h: after the verifying key, one length and one point.
    let h = 864 + 4 + 96 * circuit.counts.inputs() as usize + 4;
    let mut infinity = official.clone();
    infinity[h + 96..h + 192].fill(0);
    infinity[h + 96] = 0x40;
    let mut compressed = official.clone();
    compressed[h + 96] |= 0x80;
    let mut high = official.clone();
    high[h + 96 + 48..h + 192].fill(0xff);
    for (bytes, expected) in [(infinity, PointFault::Infinity), (compressed, PointFault::Flags), (high, PointFault::NotCanonical)] {
        let result = import_given(&bytes, ImportChecks::Full);
        let Err(SrsError::Point { section: "h", index: 1, offset, fault, .. }) = result else { panic!("{result:?}") };
        assert_eq!((offset, fault), (h as u64 + 96, expected));
    }
    // Lengths that do not fit the circuit are told before any point is read.
    let mut count = official.clone();
    count[h - 1] ^= 1;
    assert!(matches!(import_given(&count, ImportChecks::Full), Err(SrsError::Count { what: "h", .. })));
}

#[test]
fn digests_decide_what_is_official() {
    let Good { official, digest, .. } = good();
    let wrong = Digest([0; 16]);
    for checks in [ImportChecks::FullAndDigest(wrong), ImportChecks::DigestInsteadOfSubgroup(wrong)] {
        let result = import_given(official, checks);
        assert!(matches!(&result, Err(SrsError::Digest { expected, found, .. }) if *expected == wrong && found == digest), "{result:?}");
    }
    for checks in [ImportChecks::FullAndDigest(*digest), ImportChecks::DigestInsteadOfSubgroup(*digest)] {
        assert_eq!(import_given(official, checks).unwrap(), Origin::Official { digest: *digest });
    }
    assert_eq!(import_given(official, ImportChecks::Full).unwrap(), Origin::Imported { digest: *digest });
}

#[test]
fn a_key_of_another_circuit_is_refused() {
    let Good { circuit, native, official, .. } = good();
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), native);
    let open = |expected: &Circuit| ProvingKey::open(&path, expected, OriginPolicy::default(), &context()).map(drop);
    open(circuit).unwrap();
    let name = Circuit { identity: CircuitIdentity::new("other", *circuit.identity.hash()).unwrap(), ..circuit.clone() };
    assert!(matches!(open(&name), Err(SrsError::Circuit { .. })));
    let hash = Circuit { identity: CircuitIdentity::new(circuit.identity.name(), [1; 32]).unwrap(), ..circuit.clone() };
    assert!(matches!(open(&hash), Err(SrsError::Circuit { .. })));
    let c = &circuit.counts;
    let counts = CircuitCounts::new(c.inputs(), c.auxiliary(), c.constraints() - 1, c.a_query(), c.b_query()).unwrap();
    assert!(matches!(open(&Circuit { counts, ..circuit.clone() }), Err(SrsError::Count { what: "constraints", .. })));
    // The official format names no circuit: only its lengths can tell.
    let smaller = CircuitCounts::new(c.inputs(), c.auxiliary(), c.constraints(), c.a_query() - 1, c.b_query()).unwrap();
    let given = file(folder.path(), official);
    let target = folder.path().join("key");
    let result = import(&given, &Circuit { counts: smaller, ..circuit.clone() }, ImportChecks::Full, &target, &mut |_| {}, &context());
    assert!(matches!(result, Err(SrsError::Size { .. })));
}

#[test]
fn what_is_no_native_key_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &good().official);
    assert!(matches!(open_fully(&path), Err(SrsError::Foreign { .. })));
    let mut older = good().native.clone();
    older[8] = 0;
    assert!(matches!(open_fully(&file(folder.path(), &older)), Err(SrsError::Version { expected: 1, found: 0, .. })));
    let nowhere = open_fully(&folder.path().join("nowhere"));
    assert!(matches!(&nowhere, Err(SrsError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound));
    assert_eq!(nowhere.unwrap_err().class(), ErrorClass::Fatal);
    assert!(open_fully(folder.path()).is_err(), "a folder is no key");
    assert!(VerifyingKey::open(folder.path()).is_err());
    let result = import(folder.path(), &good().circuit, ImportChecks::Full, &folder.path().join("key"), &mut |_| {}, &context());
    assert!(result.is_err());
}

#[test]
fn places_that_cannot_be_written_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let given = file(folder.path(), &good().official);
    let matrices = Matrices::of(&Toy::new(1, 3, 4, 1));
    let native = folder.path().join("native");
    std::fs::write(&native, &good().native).unwrap();
    let key = ProvingKey::open(&native, &good().circuit, OriginPolicy::default(), &context()).unwrap();
    // A folder that is not there, a file in a folder's place, and a folder in the file's place.
    let taken = folder.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    std::fs::write(taken.join("full"), b"").unwrap();
    for target in [folder.path().join("nowhere").join("key"), given.join("key"), taken] {
        let before = names(folder.path());
        assert!(matches!(import(&given, &good().circuit, ImportChecks::Full, &target, &mut |_| {}, &context()), Err(SrsError::Io { .. })));
        let secrets = SetupSecrets::from_seed([1; 32]);
        assert!(matches!(setup(&identity(), &matrices, secrets, &Naive, &target, &mut |_| {}, &context()), Err(SrsError::Io { .. })));
        assert!(matches!(export_to(&key, &target, &mut |_| {}, &context()), Err(SrsError::Io { .. })));
        assert_eq!(names(folder.path()), before);
    }
    #[cfg(target_os = "linux")]
    {
        let mut full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let result = export(&key, &mut full, &mut |_| {}, &context());
        assert!(matches!(&result, Err(SrsError::Destination(e)) if e.kind() == std::io::ErrorKind::StorageFull), "{result:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    // A privileged user may write anywhere; the refusal can only be seen by others.
    let privileged = std::fs::write(folder.path().join("probe"), b"").is_ok();
    let matrices = Matrices::of(&Toy::new(1, 3, 4, 1));
    let path = folder.path().join("key");
    let result = setup(&identity(), &matrices, SetupSecrets::from_seed([1; 32]), &Naive, &path, &mut |_| {}, &context());
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    if privileged {
        result.unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o400, 0o400);
    } else {
        assert!(matches!(result, Err(SrsError::Io { source, .. }) if source.kind() == std::io::ErrorKind::PermissionDenied));
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn a_locked_file_is_busy() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &good().native);
    let other = std::fs::File::open(&path).unwrap();
    other.lock().unwrap();
    let result = open_fully(&path);
    assert!(matches!(result, Err(SrsError::Busy { .. })));
    assert_eq!(result.unwrap_err().class(), ErrorClass::Retryable);
    other.unlock().unwrap();
    open_fully(&path).unwrap();
}

#[test]
fn cancelled_work_leaves_nothing_at_every_step() {
    let folder = tempfile::tempdir().unwrap();
    let given = file(folder.path(), &good().official);
    let matrices = Matrices::of(&Toy::new(1, 30, 40, 1));
    let mut seen = BTreeSet::new();
    for stop_after in 0..8 {
        let ledger = Ledger::new(&[(Space::Host, u64::MAX)]);
        for work in 0..2 {
            let cancel = Cancel::new();
            let context = StageContext::new(ledger.clone(), StageName::Setup, cancel.clone());
            let mut steps = 0;
            let mut progress = |p: groth16_srs::Progress| {
                assert!(p.done <= p.total);
                seen.insert(p.step);
                steps += 1;
                if steps > stop_after {
                    cancel.cancel();
                }
            };
            if stop_after == 0 {
                context.cancel().cancel();
            }
            let target = folder.path().join("key");
            let result = if work == 0 {
                import(&given, &good().circuit, ImportChecks::Full, &target, &mut progress, &context).map(drop)
            } else {
                setup(&identity(), &matrices, SetupSecrets::from_seed([1; 32]), &Naive, &target, &mut progress, &context)
            };
            match result {
                Ok(()) => std::fs::remove_file(&target).unwrap(),
                Err(error) => assert_eq!(error.class(), ErrorClass::Cancelled, "{error}"),
            }
            assert_eq!(names(folder.path()), ["given"]);
        }
        assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
    }
    assert!(seen.len() >= 6, "{seen:?}");
}

#[test]
fn memory_is_accounted_and_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let given = file(folder.path(), &good().official);
    let target = folder.path().join("key");
    let bytes = good().native.len() as u64;
    let ledger = Ledger::new(&[(Space::Host, 1 << 30), (Space::Mapped, bytes)]);
    let context = StageContext::new(ledger.clone(), StageName::Setup, Cancel::never());
    import(&given, &good().circuit, ImportChecks::Full, &target, &mut |_| {}, &context).unwrap();
    let peak = ledger.snapshot().peak(Space::Host);
    assert!(peak > 0 && peak <= 6 << 20, "{peak}");
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);

    let key = ProvingKey::open(&target, &good().circuit, OriginPolicy::default(), &context).unwrap();
    let section = key.h();
    drop(key);
    let snapshot = ledger.snapshot();
    assert_eq!(snapshot.in_use(Space::Mapped), bytes, "a section keeps the map");
    assert_eq!(snapshot.cell(Space::Mapped, Class::SrsSection, StageName::Setup).bytes, bytes);
    assert!(section.points(0..section.len()).is_ok());
    drop(section);
    assert_eq!(ledger.snapshot().in_use(Space::Mapped), 0);

    // A map larger than the budget is an error with the numbers; a ledger without such a budget does not count maps.
    let small = Ledger::new(&[(Space::Mapped, bytes - 1)]);
    let context = StageContext::new(small, StageName::Setup, Cancel::never());
    let refused = ProvingKey::open(&target, &good().circuit, OriginPolicy::default(), &context);
    assert!(matches!(refused, Err(SrsError::Memory(_))));
    let tiny = Ledger::new(&[(Space::Host, 100)]);
    let context = StageContext::new(tiny, StageName::Setup, Cancel::never());
    let refused = import(&given, &good().circuit, ImportChecks::Full, &folder.path().join("no"), &mut |_| {}, &context);
    assert!(matches!(refused, Err(SrsError::Memory(_))));
    let matrices = Matrices::of(&Toy::new(1, 3, 4, 1));
    let refused = setup(&identity(), &matrices, SetupSecrets::from_seed([1; 32]), &Naive, &folder.path().join("no"), &mut |_| {}, &context);
    assert!(matches!(refused, Err(SrsError::Memory(_))));
    ProvingKey::open(&target, &good().circuit, OriginPolicy::default(), &context).unwrap();
    assert_eq!(names(folder.path()), ["given", "key"]);
}

#[test]
fn a_section_refuses_ranges_past_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), &good().native);
    let key = ProvingKey::open(&path, &good().circuit, OriginPolicy::default(), &context()).unwrap();
    let a = key.a();
    assert!(a.points(0..a.len() + 1).is_err());
    assert!(a.points(usize::MAX - 1..usize::MAX).is_err());
    let backwards = std::ops::Range { start: 2, end: 1 };
    assert!(a.points(backwards).is_err());
    assert!(a.points(a.len()..a.len()).unwrap().is_empty());
    a.will_need(0..usize::MAX);
    a.done_with(usize::MAX - 1..usize::MAX);
    a.done_with(0..a.len());
    assert_eq!(circuit(&Matrices::of(&Toy::new(21, 12, 30, 2))).counts.a_query(), a.len() as u64);
}

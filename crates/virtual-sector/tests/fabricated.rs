//! Virtual sectors of every size.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use filecoin_proofs_api::seal::SealCommitPhase1Output;
use serde_json::Value;
use sha2::{Digest, Sha256};
use virtual_sector::{C1File, Data, Error, Labels, SectorSize, Spec, fabricate};

fn wrapped(file: &C1File) -> Vec<u8> {
    let mut out = Vec::new();
    file.write_wrapped(&mut out).unwrap();
    assert_eq!(out.len() as u64, file.meta.c1_wrapped_json_bytes);
    out
}

/// The library reads it back and writes the same bytes.
fn round_trip(file: &C1File) {
    let read: SealCommitPhase1Output = serde_json::from_slice(&file.raw).unwrap();
    assert!(serde_json::to_vec(&read).unwrap() == file.raw);
}

#[test]
fn everything_follows_from_the_spec() {
    let spec = Spec::new(SectorSize::KiB2);
    let made = fabricate(&spec).unwrap();
    assert_eq!(made.file, fabricate(&spec).unwrap().file);
    round_trip(&made.file);
    let others = [
        Spec { seed: "1".to_owned(), ..spec.clone() },
        Spec { miner: 1001, ..spec.clone() },
        Spec { sector: 2, ..spec.clone() },
        Spec { data: Data::Zero, ..spec.clone() },
        Spec { labels: Labels::All, ..spec },
    ];
    for other in others {
        assert_ne!(made.file.raw, fabricate(&other).unwrap().file.raw, "{other:?}");
    }
}

#[test]
fn the_wrapper_holds_the_bare_file() {
    use base64::Engine as _;
    let made = fabricate(&Spec { sector: 77, ..Spec::new(SectorSize::MiB8) }).unwrap();
    let value: Value = serde_json::from_slice(&wrapped(&made.file)).unwrap();
    assert_eq!(value["SectorNum"], 77);
    assert_eq!(value["SectorSize"], 8 << 20);
    let bare = base64::engine::general_purpose::STANDARD.decode(value["Phase1Out"].as_str().unwrap()).unwrap();
    assert!(bare == made.file.raw);
    assert!(made.construction.is_virtual);
    assert_eq!(made.construction.challenges.len(), 1);
}

#[test]
fn the_usual_32_gib_sector_is_the_known_one() {
    let made = fabricate(&Spec::new(SectorSize::GiB32)).unwrap();
    assert_eq!(made.construction.challenges.iter().map(Vec::len).collect::<Vec<_>>(), [18; 10]);
    assert_eq!(made.construction.materialised_leaves, 19_360);
    let digest = hex::encode(Sha256::digest(wrapped(&made.file)));
    assert_eq!(digest, "d8f25606166e9f022fb98616878abfd8359634e35467b1771854a04333643528");
    round_trip(&made.file);
}

#[test]
fn the_other_sizes_are_accepted() {
    for (size, partitions) in [(SectorSize::MiB512, 1), (SectorSize::GiB64, 10)] {
        let made = fabricate(&Spec { data: Data::Zero, ..Spec::new(size) }).unwrap();
        assert_eq!(made.construction.challenges.len(), partitions);
        assert_eq!(made.file.meta.sector_size, size.bytes());
        round_trip(&made.file);
    }
}

#[test]
fn all_labels_are_for_small_sectors() {
    let spec = Spec { labels: Labels::All, ..Spec::new(SectorSize::MiB512) };
    assert!(matches!(fabricate(&spec), Err(Error::TooLarge { size: SectorSize::MiB512 })));
}

//! Files that the official commit phase 1 wrote.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write;
use std::io::Read;

use buffer_accounting::OwnedBytes;
use c1_parse::{C1, C1Error, Expected, Limits, SealProof, SectorSize, WrappedSector, parse, parse_reader};
use pipeline_stage::{Cancel, Class, Ledger, Space, StageContext, StageName};

const BARE_2K: &[u8] = include_bytes!("../../../bench-data/porep-2kib/c1.raw.json");
const WRAPPED_2K: &[u8] = include_bytes!("../../../bench-data/porep-2kib/c1.json");
const META_2K: &str = include_str!("../../../bench-data/porep-2kib/meta.json");
const SYNTHETIC_2K: &[u8] = include_bytes!("../../../bench-data/porep-2kib/c1-synthetic.json");
const META_SYNTHETIC_2K: &str = include_str!("../../../bench-data/porep-2kib/meta-synthetic.json");
const WRAPPED_8M: &[u8] = include_bytes!("../../../bench-data/porep-8mib/c1.json");
const META_8M: &str = include_str!("../../../bench-data/porep-8mib/meta.json");

fn read(bytes: &[u8]) -> Result<C1, C1Error> {
    parse(bytes, &Limits::default(), &Expected::default(), &StageContext::unlimited(StageName::Parse))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Compares with the record that was written beside the file when it was made.
fn check(c1: &C1, meta: &str) {
    let meta: serde_json::Value = serde_json::from_str(meta).unwrap();
    assert_eq!(c1.seal_proof.name(), meta["registered_seal_proof"]);
    assert_eq!(hex(&c1.comm_r), meta["comm_r"]);
    assert_eq!(hex(&c1.comm_d), meta["comm_d"]);
    assert_eq!(hex(&c1.replica_id), meta["replica_id"]);
    assert_eq!(hex(&c1.seed), meta["seed"]);
    assert_eq!(hex(&c1.ticket), meta["ticket"]);
    assert_eq!(c1.seal_proof.sector_size.bytes(), meta["sector_size"]);
    if let Some(sector) = c1.sector {
        assert_eq!(sector.number, meta["sector_id"]);
        assert_eq!(sector.size_bytes, meta["sector_size"]);
    }
    assert_eq!(bincode::serialize(c1).unwrap().len() as u64, meta["c1_bincode_bytes"]);
    assert_eq!(serde_json::to_vec(c1).unwrap().len() as u64, meta["c1_raw_json_bytes"]);
    for proof in c1.partitions.iter().flat_map(|partition| &partition.challenges) {
        assert_eq!(proof.comm_d_proofs.root(), &c1.comm_d);
    }
}

/// The bare document inside a wrapper, by independent libraries.
fn unwrapped(wrapped: &[u8]) -> Vec<u8> {
    use base64::Engine;
    let wrapper: serde_json::Value = serde_json::from_slice(wrapped).unwrap();
    base64::engine::general_purpose::STANDARD.decode(wrapper["Phase1Out"].as_str().unwrap()).unwrap()
}

#[test]
fn values_equal_the_records_and_json_round_trips_byte_for_byte() {
    for (bytes, meta, bare) in [
        (BARE_2K, META_2K, BARE_2K.to_vec()),
        (WRAPPED_2K, META_2K, BARE_2K.to_vec()),
        (SYNTHETIC_2K, META_SYNTHETIC_2K, unwrapped(SYNTHETIC_2K)),
        (WRAPPED_8M, META_8M, unwrapped(WRAPPED_8M)),
    ] {
        let c1 = read(bytes).unwrap();
        check(&c1, meta);
        assert!(serde_json::to_vec(&c1).unwrap() == bare, "the JSON written differs from the JSON read: {meta}");
        assert_eq!(c1.sector.is_some(), bytes != BARE_2K);
        let mut streamed =
            parse_reader(bytes, &Limits::default(), &Expected::default(), &StageContext::unlimited(StageName::Parse)).unwrap();
        assert!(serde_json::to_vec(&streamed).unwrap() == bare);
        assert_eq!(streamed.partitions.remove(0).challenges, c1.partitions[0].challenges);
    }
}

#[test]
fn what_the_caller_expects_is_compared() {
    let expected = Expected { sector_size: Some(8 << 20), sector_number: Some(1), seal_proof: SealProof::from_name("StackedDrg8MiBV1_1") };
    let context = StageContext::unlimited(StageName::Parse);
    let c1 = parse(WRAPPED_8M, &Limits::default(), &expected, &context).unwrap();
    assert_eq!(c1.sector, Some(WrappedSector { number: 1, size_bytes: 8 << 20 }));
    assert_eq!(c1.seal_proof.sector_size, SectorSize::MiB8);
    assert!(parse(WRAPPED_2K, &Limits::default(), &expected, &context).is_err());
}

/// A reader that gives a few bytes at a time, so that every token crosses the end of a read somewhere.
struct Dribble<'a>(&'a [u8], usize);

impl Read for Dribble<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 % 7 + 1;
        let count = self.1.min(out.len()).min(self.0.len());
        out[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

#[test]
fn a_reader_may_give_few_bytes_at_a_time() {
    for bytes in [BARE_2K, WRAPPED_2K] {
        let context = StageContext::unlimited(StageName::Parse);
        let c1 = parse_reader(Dribble(bytes, 0), &Limits::default(), &Expected::default(), &context).unwrap();
        assert!(serde_json::to_vec(&c1).unwrap() == BARE_2K);
    }
}

#[test]
fn the_ledger_holds_exactly_the_decoded_proofs_and_each_partition_travels_alone() {
    let ledger = Ledger::new(&[(Space::Host, 1 << 30)]);
    let context = StageContext::new(ledger.clone(), StageName::Parse, Cancel::never());
    let mut c1 = parse(WRAPPED_8M, &Limits::default(), &Expected::default(), &context).unwrap();
    let owned: u64 = c1.partitions.iter().map(|partition| partition.owned_bytes()).sum();
    let cell = ledger.snapshot().cell(Space::Host, Class::VanillaProof, StageName::Parse);
    assert_eq!((cell.bytes, cell.peak_bytes, cell.buffers), (owned, owned, 1));
    assert!(ledger.snapshot().peak(Space::Host) < WRAPPED_8M.len() as u64);

    let mut partition = c1.partitions.remove(0);
    drop(c1);
    partition.attribute_to(StageName::QueuedSynth);
    assert_eq!(ledger.snapshot().bytes(Space::Host, Class::VanillaProof, StageName::QueuedSynth), owned);
    drop(partition);
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
    ledger.snapshot().check().unwrap();
}

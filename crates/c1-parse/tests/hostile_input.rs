//! No input panics, keeps memory, or allocates more than its limits.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use c1_parse::{C1Error, Expected, Limits, parse, parse_reader};
use pipeline_stage::{Cancel, Ledger, Space, StageContext, StageName};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const BARE: &[u8] = include_bytes!("../../../bench-data/porep-2kib/c1.raw.json");
const WRAPPED: &[u8] = include_bytes!("../../../bench-data/porep-2kib/c1.json");
const SYNTHETIC: &[u8] = include_bytes!("../../../bench-data/porep-2kib/c1-synthetic.json");
const LARGER: &[u8] = include_bytes!("../../../bench-data/porep-8mib/c1.json");

/// Two windows of 64 KiB; messages, paths, names and the list of partitions.
const OVERHEAD: u64 = (128 + 32) << 10;

/// Parses and checks what must hold for any input. All bytes that were ever allocated are counted, so this bounds the peak from above.
fn survive(bytes: &[u8]) -> Result<(), C1Error> {
    let allocated = tikv_jemalloc_ctl::thread::allocatedp::read().unwrap();
    let ledger = Ledger::new(&[(Space::Host, 1 << 30)]);
    let context = StageContext::new(ledger.clone(), StageName::Parse, Cancel::never());
    let before = allocated.get();
    let result = parse(bytes, &Limits::default(), &Expected::default(), &context);
    let total = allocated.get() - before;
    let reserved = ledger.snapshot().peak(Space::Host);
    assert!(reserved <= bytes.len() as u64, "{reserved} bytes reserved for an input of {}", bytes.len());
    assert!(total <= reserved + OVERHEAD, "{total} bytes allocated, {reserved} reserved");
    let streamed = parse_reader(bytes, &Limits::default(), &Expected::default(), &context);
    match (&result, &streamed) {
        (Ok(_), Ok(_)) => {}
        // The size of the input is only known beforehand when it is in memory.
        (Err(C1Error::UnexpectedEnd { .. }), Err(_)) => {}
        (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
        _ => panic!("{result:?} from memory, {streamed:?} from a reader"),
    }
    let result = result.map(drop);
    drop(streamed);
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
    ledger.snapshot().check().unwrap();
    result
}

#[test]
fn a_good_file_allocates_its_decoded_size_and_two_windows() {
    for bytes in [BARE, WRAPPED, SYNTHETIC, LARGER] {
        survive(bytes).unwrap();
    }
}

fn truncated(bytes: &[u8], step: usize) {
    for length in (0..bytes.len()).step_by(step) {
        match survive(&bytes[..length]) {
            Err(C1Error::Empty) => assert_eq!(length, 0),
            Err(C1Error::UnexpectedEnd { .. }) => {}
            other => panic!("cut at byte {length}: {other:?}"),
        }
    }
}

#[test]
fn truncated_at_many_bytes() {
    truncated(BARE, 97);
    truncated(WRAPPED, 131);
}

#[test]
#[ignore = "every byte of two files; about a minute with --release"]
fn truncated_at_every_byte() {
    truncated(BARE, 1);
    truncated(WRAPPED, 1);
}

#[test]
fn a_short_file_cannot_reserve_a_large_sector() {
    for name in ["StackedDrg32GiBV1_1", "StackedDrg64GiBV1_2_Feat_NonInteractivePoRep"] {
        let key = format!("{}V1", name.split("V1").next().unwrap());
        for rest in ["[", "[[", "[[{", "[[{\"comm_d_proofs\":{"] {
            let text = format!("{{\"registered_proof\":\"{name}\",\"vanilla_proofs\":{{\"{key}\":{rest}");
            assert!(matches!(survive(text.as_bytes()), Err(C1Error::UnexpectedEnd { .. })));
        }
    }
}

#[derive(Clone, Debug)]
enum Mutation {
    Flip { at: prop::sample::Index, bit: u8 },
    Replace { at: prop::sample::Index, byte: u8 },
    Remove { at: prop::sample::Index, count: usize },
    Copy { from: prop::sample::Index, to: prop::sample::Index, count: usize, other: usize },
    Truncate { at: prop::sample::Index },
    Number { at: prop::sample::Index, text: &'static str },
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), 0u8..8).prop_map(|(at, bit)| Mutation::Flip { at, bit }),
        (index(), prop::sample::select(&b"{}[],:\"0123456789-.eE \\tfn"[..])).prop_map(|(at, byte)| Mutation::Replace { at, byte }),
        (index(), 1usize..2000).prop_map(|(at, count)| Mutation::Remove { at, count }),
        (index(), index(), 1usize..5000, 0usize..3).prop_map(|(from, to, count, other)| Mutation::Copy { from, to, count, other }),
        index().prop_map(|at| Mutation::Truncate { at }),
        (index(), prop::sample::select(&["99999999999999999999", "256", "-0", "1e9", "0", "4294967296", "null", "[[[[", "{\"x\":"][..]))
            .prop_map(|(at, text)| Mutation::Number { at, text }),
    ]
}

fn apply(bytes: &mut Vec<u8>, mutation: &Mutation, others: &[Vec<u8>; 3]) {
    if bytes.is_empty() {
        return;
    }
    match mutation {
        Mutation::Flip { at, bit } => {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        Mutation::Replace { at, byte } => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Mutation::Remove { at, count } => {
            let at = at.index(bytes.len());
            bytes.drain(at..(at + count).min(bytes.len()));
        }
        Mutation::Copy { from, to, count, other } => {
            let source = &others[*other];
            let from = from.index(source.len());
            let to = to.index(bytes.len());
            bytes.splice(to..to, source[from..(from + count).min(source.len())].iter().copied());
        }
        Mutation::Truncate { at } => bytes.truncate(at.index(bytes.len())),
        Mutation::Number { at, text } => {
            // In place of the next number, if there is one.
            let at = at.index(bytes.len());
            let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|skip| at + skip) else { return };
            let end = bytes[start..].iter().position(|byte| !byte.is_ascii_digit()).map_or(bytes.len(), |length| start + length);
            bytes.splice(start..end, text.bytes());
        }
    }
}

fn inner(wrapped: &[u8]) -> Vec<u8> {
    let wrapper: serde_json::Value = serde_json::from_slice(wrapped).unwrap();
    STANDARD.decode(wrapper["Phase1Out"].as_str().unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mutation_of_a_real_file_panics_or_outgrows_its_limits(
        file in 0usize..4, rewrap in any::<bool>(), mutations in prop::collection::vec(mutation(), 1..4),
    ) {
        let others = [BARE.to_vec(), inner(LARGER), inner(SYNTHETIC)];
        let mut bytes = match file {
            0 => WRAPPED.to_vec(),
            kind => others[kind - 1].clone(),
        };
        for mutation in &mutations {
            apply(&mut bytes, mutation, &others);
        }
        if rewrap && file != 0 {
            bytes = format!("{{\"SectorNum\":1,\"Phase1Out\":\"{}\",\"SectorSize\":2048}}", STANDARD.encode(&bytes)).into_bytes();
        }
        // Both outcomes are fine: a flipped bit of a digest may leave a valid file. What must hold is checked inside.
        let _ = survive(&bytes);
    }

    /// The grammar of what is ignored, against another parser: the file passes if and only if it is JSON.
    #[test]
    fn ignored_values_follow_the_grammar(parts in prop::collection::vec(prop::sample::select(&[
        "[", "]", "{", "}", "\"a\"", ":", ",", "1", "-", "0", "1.5", ".", "e3", "E+2", "true", "null", "fals", "\"\\n\\u00e9\\\"\"", "\"\\x\"", " ", "\n",
        "\"b\":1", "[1,2]", "{\"c\":[]}", "-0.0e-1",
    ][..]), 1..7)) {
        let text = format!("{{\"extra\":{},{}", parts.concat(), std::str::from_utf8(&BARE[1..]).unwrap());
        let valid = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        let result = survive(text.as_bytes());
        prop_assert_eq!(valid.is_ok(), result.is_ok(), "{:?} / {:?}: {}", valid, result, parts.concat());
    }
}

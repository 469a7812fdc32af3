#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use c1_parse::{C1Error, Expected, Limits, parse, parse_reader};
use pipeline_stage::{Cancel, Ledger, Space, StageContext, StageName};

/// What must hold for any file: no panic, nothing kept after an error, no more reserved than the input is long, the same verdict from memory
/// and from a reader, and JSON that is read again as the same proofs.
pub fn check_c1(file: &[u8]) {
    let (limits, expected) = (Limits::default(), Expected::default());
    let ledger = Ledger::new(&[(Space::Host, 1 << 30)]);
    let context = StageContext::new(ledger.clone(), StageName::Parse, Cancel::never());
    let from_memory = parse(file, &limits, &expected, &context);
    assert!(ledger.snapshot().peak(Space::Host) <= file.len() as u64, "more reserved than the input is long");
    let from_reader = parse_reader(file, &limits, &expected, &context);
    match (&from_memory, &from_reader) {
        (Ok(one), Ok(other)) => {
            let json = serde_json::to_vec(one).expect("proofs in memory have a JSON form");
            assert_eq!(json, serde_json::to_vec(other).expect("proofs in memory have a JSON form"));
            let again = parse(&json, &limits, &expected, &context).expect("what was written can be read");
            for (one, again) in one.partitions.iter().zip(&again.partitions) {
                assert_eq!(one.challenges, again.challenges);
            }
        }
        // The length of the input is known beforehand in memory only, and may end it earlier.
        (Err(C1Error::UnexpectedEnd { .. }), Err(_)) => {}
        (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
        _ => panic!("memory and reader disagree: {:?}, {:?}", from_memory.map(drop), from_reader.map(drop)),
    }
    drop((from_memory, from_reader));
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0, "memory is still reserved");
}

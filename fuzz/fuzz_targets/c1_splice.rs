//! A real file with a range replaced by any bytes, so that the deep levels of the format are reached at once.
#![no_main]

use libfuzzer_sys::fuzz_target;

const FILE: &[u8] = include_bytes!("../../bench-data/porep-2kib/c1.raw.json");

fuzz_target!(|input: (u32, u16, &[u8])| {
    let (start, length, bytes) = input;
    let start = start as usize % FILE.len();
    let end = (start + usize::from(length)).min(FILE.len());
    proofmill_fuzz::check_c1(&[&FILE[..start], bytes, &FILE[end..]].concat());
});

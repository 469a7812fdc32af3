//! Any bytes as a C1 file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| proofmill_fuzz::check_c1(file));

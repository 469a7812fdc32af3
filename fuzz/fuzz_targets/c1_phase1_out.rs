//! Any bytes as the document inside a wrapper.
#![no_main]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|document: &[u8]| {
    let encoded = STANDARD.encode(document);
    proofmill_fuzz::check_c1(format!("{{\"SectorNum\":1,\"Phase1Out\":\"{encoded}\",\"SectorSize\":2048}}").as_bytes());
});

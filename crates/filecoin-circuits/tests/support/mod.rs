//! The kept C1 files, and files that were changed in one place.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]
#![allow(dead_code, reason = "not every test uses all of it")]

use std::path::{Path, PathBuf};

use c1_parse::{C1, Expected, Limits, parse};
use pipeline_stage::{StageContext, StageName};
use serde_json::{Value, json};

/// A file of bench-data.
pub(crate) fn kept_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-data").join(name)
}

/// Its bytes.
pub(crate) fn kept(name: &str) -> Vec<u8> {
    std::fs::read(kept_path(name)).unwrap()
}

/// A context without limits.
pub(crate) fn context() -> StageContext {
    StageContext::unlimited(StageName::Synth)
}

/// Parses a C1 file.
pub(crate) fn parsed(bytes: &[u8]) -> C1 {
    parse(bytes, &Limits::default(), &Expected::default(), &context()).unwrap()
}

/// A bare file with the low bit of the byte at a JSON pointer flipped.
pub(crate) fn tampered(bare: &[u8], pointer: &str) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(bare).unwrap();
    let byte = value.pointer_mut(pointer).unwrap();
    *byte = json!(byte.as_u64().unwrap() ^ 1);
    serde_json::to_vec(&value).unwrap()
}

/// The pointer to a part of a challenge of the 2 KiB file.
pub(crate) fn challenge(index: usize, part: &str) -> String {
    format!("/vanilla_proofs/StackedDrg2KiBV1/0/{index}/{part}")
}

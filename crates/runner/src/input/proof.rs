//! Proof files: the raw bytes, or the hex that `prove` prints.

use std::io::Read;
use std::path::Path;

use groth16_assembly::{PARTITIONS_MAX, PROOF_BYTES};

use super::c1::open;
use crate::exit::{Exit, Failure};

/// Reads a proof of `partitions` partitions.
///
/// # Errors
/// What reading it may give; [`Exit::Data`] when it is neither as many bytes as `partitions` proofs have, nor their hex.
pub(crate) fn read_proof(path: &Path, partitions: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // Hex, and blanks around it.
    let limit = (2 * PROOF_BYTES * PARTITIONS_MAX + 1024) as u64;
    open(path)?.take(limit).read_to_end(&mut bytes).map_err(|error| Failure::reading(path, &error))?;
    decode(bytes, partitions * PROOF_BYTES).map_err(|found| {
        Failure::new(
            Exit::Data,
            format!(
                "{}: expected a proof of {partitions} partitions, {} bytes raw or twice as many digits of hex, found {found}",
                path.display(),
                partitions * PROOF_BYTES
            ),
        )
    })
}

fn decode(bytes: Vec<u8>, expected: usize) -> Result<Vec<u8>, String> {
    if bytes.len() == expected {
        return Ok(bytes);
    }
    let text = bytes.trim_ascii();
    // Raw bytes are never all digits: the first byte of a compressed point has its highest bit set.
    if text.is_empty() || !text.iter().all(u8::is_ascii_hexdigit) {
        return Err(format!("{} bytes", bytes.len()));
    }
    match hex::decode(text) {
        Ok(raw) if raw.len() == expected => Ok(raw),
        _ => Err(format!("{} digits of hex", text.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_and_hex_are_the_same_proof() {
        let raw: Vec<u8> = (0..384).map(|i| (i * 7) as u8 | 0x80).collect();
        assert_eq!(decode(raw.clone(), 384), Ok(raw.clone()));
        assert_eq!(decode(format!("  {}\n", hex::encode(&raw)).into_bytes(), 384), Ok(raw.clone()));
        assert_eq!(decode(raw[..383].to_vec(), 384), Err("383 bytes".to_owned()));
        assert_eq!(decode(hex::encode(&raw[1..]).into_bytes(), 384), Err("766 digits of hex".to_owned()));
        assert_eq!(decode(Vec::new(), 384), Err("0 bytes".to_owned()));
    }
}

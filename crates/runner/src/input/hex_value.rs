//! Values that are given as hex.

use groth16_srs::Digest;

/// The seed of a set-up: 64 digits of hex.
pub(crate) fn parse_seed(text: &str) -> Result<[u8; 32], String> {
    bytes(text)
}

/// The digest of a parameter file: 32 digits of hex.
pub(crate) fn parse_digest(text: &str) -> Result<Digest, String> {
    bytes(text).map(Digest)
}

fn bytes<const N: usize>(text: &str) -> Result<[u8; N], String> {
    let decoded = hex::decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    decoded.ok_or_else(|| format!("expected {} digits of hex, found {} characters", 2 * N, text.chars().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_exact() {
        assert_eq!(parse_seed(&"0a".repeat(32)), Ok([10; 32]));
        assert!(parse_seed(&"0a".repeat(31)).unwrap_err().contains("64 digits"));
        assert_eq!(parse_digest(&"ff".repeat(16)).unwrap().0, [255; 16]);
        assert!(parse_digest("zz").is_err());
    }
}

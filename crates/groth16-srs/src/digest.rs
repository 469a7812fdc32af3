//! The digest that the public list of official files names.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use pipeline_stage::StageContext;

use crate::SrsError;

/// The first 16 bytes of BLAKE2b-512, as the public list of official files names them (hex).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// The digest of a whole file, read in pieces.
    ///
    /// # Errors
    /// [`SrsError::Io`], [`SrsError::Cancelled`].
    pub fn of_file(path: &Path, context: &StageContext) -> Result<Self, SrsError> {
        let mut file = File::open(path).map_err(|e| SrsError::io("open it", path, e))?;
        let mut state = DigestState::default();
        let mut piece = vec![0u8; 256 << 10];
        loop {
            if context.cancel().is_cancelled() {
                return Err(SrsError::Cancelled);
            }
            match file.read(&mut piece) {
                Ok(0) => return Ok(state.finish()),
                Ok(n) => state.update(&piece[..n]),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(SrsError::io("read it", path, e)),
            }
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 16];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

/// A digest in the making.
pub(crate) struct DigestState(blake2b_simd::State);

impl Default for DigestState {
    fn default() -> Self {
        Self(blake2b_simd::State::new())
    }
}

impl DigestState {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(&self) -> Digest {
        let full = self.0.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&full.as_array()[..16]);
        Digest(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_start_of_blake2b_512() {
        // RFC 7693, appendix A: BLAKE2b-512 of "abc" starts ba80a53f981c4d0d 6a2797b69f12f6e9.
        let mut state = DigestState::default();
        state.update(b"a");
        state.update(b"bc");
        let digest = state.finish();
        assert_eq!(digest.to_string(), "ba80a53f981c4d0d6a2797b69f12f6e9");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert!("ba80".parse::<Digest>().is_err());
    }
}

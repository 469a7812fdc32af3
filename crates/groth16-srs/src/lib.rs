#![doc = include_str!("../README.md")]

#[cfg(not(target_endian = "little"))]
compile_error!(
    "groth16-srs maps keys whose points are little-endian limbs; a big-endian host would read other numbers from the same file. Build for a little-endian target."
);

mod atomic_file;
mod circuit;
mod digest;
mod encoding;
mod error;
mod export;
mod import;
#[allow(unsafe_code)]
mod map;
mod native;
mod official;
mod origin;
mod progress;
mod proving_key;
mod section;
mod setup;
mod verifying_key;
mod writer;

pub use circuit::{Circuit, CircuitCounts, CircuitIdentity, PRODUCTION_LOG2_DOMAIN};
pub use digest::Digest;
pub use error::{PointFault, SrsError};
pub use export::{export, export_to};
pub use import::{ImportChecks, import};
pub use origin::{Origin, OriginPolicy, Randomness};
pub use progress::Progress;
pub use proving_key::{KeyInfo, ProvingKey};
pub use section::Section;
pub use setup::{SetupSecrets, setup};
pub use verifying_key::VerifyingKey;

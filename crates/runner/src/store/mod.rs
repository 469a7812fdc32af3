//! The folders of compiled circuits and proving parameters.

mod circuits;
mod keys;
mod listing;

pub(crate) use circuits::{compile, open_circuit, open_or_compile, seal_proof_of};
pub(crate) use keys::{KeyRequest, key_path, lock_folder, open_or_setup, set_up, stored_key, wanted};
pub(crate) use listing::{Listed, list_circuits, list_keys};

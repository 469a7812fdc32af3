//! Building circuits needs none of the library's settings, files or caches.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

#[path = "support/process.rs"]
mod process;
mod support;

use filecoin_circuits::{Checked, Statement, check, compile, public_inputs, synthesize, vanilla_check};
use support::{context, kept, parsed};

/// The library reads its settings once, and panics when they are invalid: here they are, for the whole process.
#[test]
fn broken_settings_of_the_library_do_not_matter() {
    const TEST: &str = "broken_settings_of_the_library_do_not_matter";
    if process::step().is_none() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("rust-fil-proofs.config.toml"), "rows_to_discard = \"none\"\n[").unwrap();
        process::run_alone(TEST, "run", folder.path(), &[("FIL_PROOFS_ROWS_TO_DISCARD", "none"), ("FIL_PROOFS_CACHE_DIR", "/proc/")]);
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["rust-fil-proofs.config.toml"]);
        return;
    }
    let c1 = parsed(&kept("porep-2kib/c1-synthetic.json"));
    let (statement, partition, context) = (Statement::from(&c1), &c1.partitions[0], context());
    vanilla_check(&statement, partition, &context).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let circuit = compile(c1.seal_proof, folder.path(), &context).unwrap();
    let made = synthesize(&statement, partition, &circuit, &context).unwrap();
    assert_eq!(made.public_inputs, public_inputs(&statement, 0).unwrap());
    assert!(matches!(check(&statement, partition, &circuit, &context).unwrap(), Checked::Satisfied { .. }));
}

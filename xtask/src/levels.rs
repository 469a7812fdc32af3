//! The one table of this project's crates: their levels, and where `unsafe` may live.
//!
//! `boundaries` holds the dependencies to it, `tidy` holds the sources and the table of `docs/ARCHITECTURE.md` to it.

use std::fmt;

/// How high a crate stands. A crate depends only on crates of lower levels; tools depend on any level and nothing depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// A crate of the product.
    Product(u8),
    /// A crate that serves development only.
    Tool,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Product(level) => write!(f, "{level}"),
            Self::Tool => f.write_str("tool"),
        }
    }
}

/// Every package of the workspace and its level, lowest first.
pub(crate) const LEVELS: &[(&str, Level)] = &[
    ("buffer-accounting", Level::Product(0)),
    ("bls12-381-layout", Level::Product(0)),
    ("telemetry", Level::Product(0)),
    ("pipeline-stage", Level::Product(1)),
    ("prover-backend", Level::Product(2)),
    ("c1-parse", Level::Product(3)),
    ("circuit-synth", Level::Product(3)),
    ("groth16-srs", Level::Product(3)),
    ("cpu-backend", Level::Product(3)),
    ("scheduler", Level::Product(3)),
    ("backend-testing", Level::Product(3)),
    ("groth16-assembly", Level::Product(4)),
    ("filecoin-circuits", Level::Product(4)),
    ("groth16-pipeline", Level::Product(5)),
    ("runner", Level::Product(6)),
    ("virtual-sector", Level::Tool),
    ("peers", Level::Tool),
    ("xtask", Level::Tool),
];

/// The level of a package of the workspace.
pub(crate) fn level_of(package: &str) -> Option<Level> {
    LEVELS.iter().find(|(name, _)| *name == package).map(|(_, level)| *level)
}

/// Where `unsafe` may be written (a folder or a file, from the root of the repository), and why.
pub(crate) const UNSAFE_FENCE: &[(&str, &str)] = &[
    ("crates/bls12-381-layout/src/", "views of plain values as bytes, and calls of blst on coordinates"),
    ("crates/circuit-synth/src/map.rs", "the memory map of a compiled circuit"),
    ("crates/groth16-srs/src/map.rs", "the memory map of a proving key"),
];

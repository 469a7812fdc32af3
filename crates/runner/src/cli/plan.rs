//! `plan`.

use clap::Args;

use super::params::OfSectorSize;

/// What would be proved.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct PlanArgs {
    /// Which sectors.
    #[command(flatten)]
    pub(crate) circuit: OfSectorSize,
    /// Prove this many sectors as one pipeline
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) jobs: u32,
}

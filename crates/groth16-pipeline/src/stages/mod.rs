//! The five stages.

mod finalize;
mod msm;
mod ntt;
mod parse;
mod synth;

pub use finalize::BlindingSource;
pub(crate) use finalize::{FinalizeStage, hand_out};
pub(crate) use msm::MsmStage;
pub(crate) use ntt::NttStage;
pub(crate) use parse::ParseStage;
pub(crate) use synth::SynthStage;

#![doc = include_str!("../README.md")]
// Test support: its purpose is to panic when a backend is wrong, and its inputs are its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bases;
mod books;
mod dual;
mod samples;
mod witness;

/// The suites.
pub mod suites {
    mod fixed_base;
    mod msm;
    mod ntt;

    pub use fixed_base::fixed_base;
    pub use msm::{Oracle, msm, msm_in_ranges};
    pub use ntt::ntt;
}

pub use bases::RecordingBases;
pub use books::Books;
pub use dual::Dual;
pub use samples::{point_samples, scalar_samples};
pub use witness::OwnedWitness;

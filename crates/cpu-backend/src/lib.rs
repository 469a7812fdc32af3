#![doc = include_str!("../README.md")]

mod backend;
mod fixed_base;
pub mod msm;
pub mod naive;
pub mod ntt;
mod scratch;

pub use backend::CpuBackend;

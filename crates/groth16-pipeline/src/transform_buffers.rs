//! Buffers of domain size, kept from one partition for the next.

use std::sync::{Mutex, PoisonError};

use bls12_381_layout::zeroed_vec;
use blstrs::Scalar;
use buffer_accounting::{PoolSource, Slab, SlabPool};
use pipeline_stage::{Class, Space, StageContext, StageName};

use crate::error::QuotientError;

/// A buffer of scalars that returns to its pool.
pub type ScalarBuffer = Slab<Vec<Scalar>, Class, StageName>;

/// Where transforms get their buffers.
///
/// A buffer that comes back keeps its permit, as [`Class::Idle`], and spares the next partition a page fault for each 4 KiB: at 2^27 there
/// are 8 GiB of them.
pub struct TransformBuffers {
    pool: SlabPool<Vec<Scalar>, Class, StageName>,
    /// Held while a pair is taken: two that each have one buffer and wait for another would wait for ever.
    pair: Mutex<()>,
}

impl TransformBuffers {
    /// Buffers whose bytes come from `source`, in host memory; all that come back are kept.
    #[must_use]
    pub fn new(source: PoolSource<Class, StageName>) -> Self {
        let make = |bytes: u64| Ok(zeroed_vec(bytes as usize / size_of::<Scalar>()));
        Self { pool: SlabPool::new(source, Space::Host, (Class::Idle, StageName::Ntt), u64::MAX, make), pair: Mutex::new(()) }
    }

    /// Two buffers of a domain's size, with whatever was in them.
    ///
    /// # Errors
    /// [`QuotientError::Buffer`].
    pub(crate) fn take_two(&self, bytes_each: u64, context: &StageContext) -> Result<[ScalarBuffer; 2], QuotientError> {
        let _pair = self.pair.lock().unwrap_or_else(PoisonError::into_inner);
        let take = || self.pool.take(Class::Evaluations, context.stage(), bytes_each, context.cancel());
        Ok([take()?, take()?])
    }
}

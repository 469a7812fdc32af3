//! What jemalloc says about the memory of the process, beside what the ledger says.

use tikv_jemalloc_ctl::{epoch, epoch_mib, stats};

use crate::PageSlab;

/// The statistics of jemalloc at one moment, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocatorStats {
    /// Handed out to the program and not freed; what the caches of threads keep counts too.
    pub allocated: u64,
    /// Pages that hold at least one byte of `allocated`.
    pub active: u64,
    /// Pages that are resident at most: active ones, dirty unused ones, and jemalloc's own data.
    pub resident: u64,
    /// Mapped address space that is in use or may be reused soon.
    pub mapped: u64,
    /// Address space that is kept although its pages went back to the system.
    pub retained: u64,
    /// jemalloc's own data.
    pub metadata: u64,
    /// Bytes of [`PageSlab`]s, which jemalloc does not know.
    pub page_slabs: u64,
}

impl AllocatorStats {
    /// Bytes that the program holds and no permit pays for: `allocated` and `page_slabs` less the bytes of made buffers in
    /// the ledger, `accounted`.
    ///
    /// Signed, because below zero is a finding of its own: permits stand for buffers that jemalloc does not know, for instance those that
    /// are not made yet. Bytes that are only set aside ([`Reservation`](crate::Reservation)) are no buffers; leave them out of `accounted`.
    #[must_use]
    pub fn unaccounted(&self, accounted: u64) -> i64 {
        let difference = i128::from(self.allocated) + i128::from(self.page_slabs) - i128::from(accounted);
        difference.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// jemalloc gave no statistics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "jemalloc does not tell {statistic}: {reason}; it must be the global allocator of this program, built with its statistics (feature `stats`)"
)]
pub struct AllocatorError {
    /// Which one.
    pub statistic: &'static str,
    /// What jemalloc says.
    pub reason: String,
}

/// Reads the statistics of jemalloc. A sample takes microseconds and a lock of jemalloc for a part of them.
pub struct AllocatorSampler {
    epoch: epoch_mib,
    allocated: stats::allocated_mib,
    active: stats::active_mib,
    resident: stats::resident_mib,
    mapped: stats::mapped_mib,
    retained: stats::retained_mib,
    metadata: stats::metadata_mib,
}

impl std::fmt::Debug for AllocatorSampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AllocatorSampler").finish_non_exhaustive()
    }
}

fn told<T>(statistic: &'static str, result: Result<T, tikv_jemalloc_ctl::Error>) -> Result<T, AllocatorError> {
    result.map_err(|error| AllocatorError { statistic, reason: error.to_string() })
}

impl AllocatorSampler {
    /// Looks the statistics up and takes one sample.
    ///
    /// # Errors
    /// [`AllocatorError`] when jemalloc was built without statistics.
    pub fn new() -> Result<Self, AllocatorError> {
        let sampler = Self {
            epoch: told("epoch", epoch::mib())?,
            allocated: told("allocated", stats::allocated::mib())?,
            active: told("active", stats::active::mib())?,
            resident: told("resident", stats::resident::mib())?,
            mapped: told("mapped", stats::mapped::mib())?,
            retained: told("retained", stats::retained::mib())?,
            metadata: told("metadata", stats::metadata::mib())?,
        };
        sampler.sample()?;
        Ok(sampler)
    }

    /// The statistics now.
    ///
    /// # Errors
    /// [`AllocatorError`].
    pub fn sample(&self) -> Result<AllocatorStats, AllocatorError> {
        // jemalloc answers from a cache until its epoch is advanced.
        told("epoch", self.epoch.advance())?;
        Ok(AllocatorStats {
            allocated: told("allocated", self.allocated.read())? as u64,
            active: told("active", self.active.read())? as u64,
            resident: told("resident", self.resident.read())? as u64,
            mapped: told("mapped", self.mapped.read())? as u64,
            retained: told("retained", self.retained.read())? as u64,
            metadata: told("metadata", self.metadata.read())? as u64,
            page_slabs: PageSlab::alive_bytes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_has_a_sign() {
        let stats = |allocated| AllocatorStats { allocated, ..AllocatorStats::default() };
        assert_eq!(stats(10).unaccounted(3), 7);
        assert_eq!(stats(3).unaccounted(10), -7);
        assert_eq!(stats(u64::MAX).unaccounted(u64::MAX), 0);
        assert_eq!(stats(u64::MAX).unaccounted(0), i64::MAX);
        assert_eq!(stats(0).unaccounted(u64::MAX), i64::MIN);
    }
}

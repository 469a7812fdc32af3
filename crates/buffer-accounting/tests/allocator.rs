//! The statistics of jemalloc, in a program whose global allocator it is.
#![cfg(feature = "jemalloc")]
#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use buffer_accounting::{AllocatorSampler, Cancel, Lease, Ledger, Request, Space, labels};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

labels! { enum Class { Table => "table" } }
labels! { enum Stage { Work => "work" } }

/// What a test harness allocates meanwhile: its threads, their output.
const NOISE_BYTES: i64 = 4 << 20;
const BUFFER_BYTES: usize = 64 << 20;

/// One test: the statistics are of the whole process.
#[test]
fn what_no_permit_pays_for_is_told() {
    let sampler = AllocatorSampler::new().unwrap();
    let ledger: Ledger<Class, Stage> = Ledger::new(&[(Space::Host, u64::MAX)]);
    let unaccounted = || sampler.sample().unwrap().unaccounted(ledger.snapshot().in_use(Space::Host));
    let start = unaccounted();

    let request = Request { space: Space::Host, class: Class::Table, stage: Stage::Work, bytes: BUFFER_BYTES as u64 };
    let lease = Lease::try_new(ledger.acquire(request, &Cancel::never()).unwrap(), || vec![1u8; BUFFER_BYTES]).unwrap();
    assert!((unaccounted() - start).abs() < NOISE_BYTES, "a leased buffer is accounted for");

    let stray = vec![1u8; BUFFER_BYTES];
    let with_stray = unaccounted() - start;
    assert!((with_stray - BUFFER_BYTES as i64).abs() < NOISE_BYTES, "{with_stray}: a buffer without a permit shows in full");
    let stats = sampler.sample().unwrap();
    assert!(stats.allocated >= 2 * BUFFER_BYTES as u64, "{stats:?}");
    assert!(stats.active >= stats.allocated && stats.resident >= stats.active && stats.mapped >= stats.active, "{stats:?}");
    assert!(stats.metadata > 0, "{stats:?}");
    drop(stray);
    assert!((unaccounted() - start).abs() < NOISE_BYTES, "the sample is fresh");

    let permit = ledger.acquire(request, &Cancel::never()).unwrap();
    assert!(unaccounted() - start < NOISE_BYTES - BUFFER_BYTES as i64, "a permit without a buffer is below zero");
    drop((permit, lease));
}

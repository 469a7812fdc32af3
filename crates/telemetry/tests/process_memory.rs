//! Figures of the whole process: in a program of their own, one test at a time, so that no other test's memory is in them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use telemetry::{MemorySampler, ProcessMemory};

static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn touched_memory_is_anonymous() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = ProcessMemory::read().unwrap();
    let block = vec![1u8; 64 << 20];
    let during = ProcessMemory::read().unwrap();
    assert_eq!(block.iter().map(|b| u64::from(*b)).sum::<u64>(), 64 << 20);
    drop(block);
    let grown = during.anonymous_bytes - before.anonymous_bytes;
    assert!((64 << 20..72 << 20).contains(&grown), "{before:?} {during:?}");
    assert!(during.high_water_bytes + (1 << 20) >= during.resident_bytes(), "{during:?}");
}

#[test]
fn mapped_pages_of_a_file_are_not_anonymous() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // The program itself is a mapped file.
    assert!(ProcessMemory::read().unwrap().file_backed_bytes > 0);
}

#[test]
fn a_peak_between_two_readings_is_seen() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let sampler = MemorySampler::start(Duration::from_millis(5)).unwrap();
    let before = sampler.peak();
    let block = vec![1u8; 96 << 20];
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(block[1 << 20], 1);
    drop(block);
    let peak = sampler.lap();
    assert!(peak.anonymous_bytes >= before.anonymous_bytes + (90 << 20), "{before:?} {peak:?}");
    assert!(peak.high_water_bytes >= peak.anonymous_bytes && peak.failures == 0 && peak.samples >= 4, "{peak:?}");
    // After a lap the sampled peak is that of what came later; the kernel's own mark stays.
    let rest = sampler.stop();
    assert!(rest.anonymous_bytes + (90 << 20) <= peak.anonymous_bytes, "{rest:?}");
    assert!(rest.high_water_bytes >= peak.high_water_bytes);
}

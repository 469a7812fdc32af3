//! What it saves to keep a large slab: wall time of filling a new one and a kept one.
//!
//! `cargo run --release -p buffer-accounting --example slab_reuse [MIB]`

#![allow(clippy::print_stdout, reason = "an example shows what it measures")]

use std::error::Error;
use std::time::Instant;

use buffer_accounting::{BufferMut, Cancel, Ledger, PageSlab, PoolSource, SlabPool, Space, labels};

labels! { /// What a buffer is.
pub enum Class { Slab => "slab", Idle => "idle" } }
labels! { /// Who has it.
pub enum Stage { Work => "work" } }

const REPEATS: usize = 5;

/// Writes to each page, as whoever fills a buffer does.
fn touch(bytes: &mut [u8]) {
    for page in bytes.chunks_mut(4096) {
        page[0] = page[0].wrapping_add(1);
    }
}

fn measure(what: &str, mut round: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        round()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!("{what:<44} {:>8.1} to {:.1} ms", times[0], times[REPEATS - 1]);
    Ok(times[0])
}

fn main() -> Result<(), Box<dyn Error>> {
    let mib: u64 = std::env::args().nth(1).map_or(Ok(1024), |argument| argument.parse())?;
    let bytes = PageSlab::rounded(mib << 20);
    let never = Cancel::never();
    let fresh = measure("a vector from the allocator, freed again", || {
        let mut vector = vec![0u8; bytes as usize];
        touch(&mut vector);
        drop(std::hint::black_box(vector));
        Ok(())
    })?;
    measure("pages from the system, huge ones if any", || {
        let mut slab = PageSlab::new(bytes)?;
        touch(slab.contents_mut());
        drop(std::hint::black_box(slab));
        Ok(())
    })?;
    let ledger: Ledger<Class, Stage> = Ledger::new(&[(Space::Host, bytes)]);
    let pool = SlabPool::new(PoolSource::Ledger(ledger), Space::Host, (Class::Idle, Stage::Work), bytes, |n| Ok(vec![0u8; n as usize]));
    touch(&mut pool.take(Class::Slab, Stage::Work, bytes, &never)?);
    let kept = measure("a slab that the pool kept", || {
        touch(&mut pool.take(Class::Slab, Stage::Work, bytes, &never)?);
        Ok(())
    })?;
    println!("{mib} MiB: reuse takes {:.3} of a new one", kept / fresh);
    Ok(())
}

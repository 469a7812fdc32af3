//! What the books cost: wall time of a permit, of a lease, of a hand-over between threads.
//!
//! `cargo run --release -p buffer-accounting --example overhead`

#![allow(clippy::print_stdout, reason = "an example shows what it measures")]

use std::error::Error;
use std::hint::black_box;
use std::thread;
use std::time::Instant;

use buffer_accounting::{Cancel, Lease, Ledger, Request, Space, labels};

labels! { /// What a buffer is.
pub enum Class { A => "a", B => "b", C => "c", D => "d", E => "e", F => "f", G => "g", H => "h", I => "i", J => "j", K => "k" } }
labels! { /// Who has it.
pub enum Stage { A => "a", B => "b", C => "c", D => "d", E => "e", F => "f", G => "g", H => "h", I => "i", J => "j", K => "k" } }

const ROUNDS: u32 = 200_000;
const REPEATS: usize = 7;

/// Nanoseconds a round: the least of some repeats, and the largest.
fn measure(what: &str, mut round: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            round()?;
        }
        times.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS));
    }
    let (least, most) = times.iter().fold((f64::MAX, 0f64), |(least, most), &t| (least.min(t), most.max(t)));
    println!("{what:<66} {least:>7.0} to {most:.0} ns");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let ledger: Ledger<Class, Stage> = Ledger::new(&[(Space::Host, 1 << 40), (Space::Mapped, u64::MAX)]);
    let request = Request { space: Space::Host, class: Class::C, stage: Stage::D, bytes: 1 << 20 };
    let never = Cancel::never();
    measure("acquire, and return by drop", || {
        drop(black_box(ledger.acquire(request, &never)?));
        Ok(())
    })?;
    let mut permit = ledger.acquire(request, &never)?;
    let mut stages = [Stage::A, Stage::B].into_iter().cycle();
    measure("move to another stage", || {
        permit.attribute_to(stages.next().ok_or("endless")?);
        Ok(())
    })?;
    measure("split and merge", || {
        let part = permit.split(1).ok_or("large enough")?;
        permit.merge(part).map_err(|_| "of one permit")?;
        Ok(())
    })?;
    let small = Request { bytes: 64, ..request };
    measure("malloc and free of 64 bytes", || {
        drop(black_box(vec![0u8; 64]));
        Ok(())
    })?;
    measure("a lease of 64 bytes: permit, buffer, three stages, both returned", || {
        let mut lease = Lease::try_new(ledger.acquire(small, &never)?, || vec![0u8; 64])?;
        lease.attribute_to(Stage::E);
        lease.attribute_to(Stage::F);
        drop(black_box(lease));
        Ok(())
    })?;
    let reservation = ledger.reserve(request, &never)?;
    measure("draw from a reservation, and back", || {
        drop(black_box(reservation.draw(Class::A, Stage::A, 4096, &never)?));
        Ok(())
    })?;
    measure("snapshot of 2 spaces x 11 classes x 11 stages", || {
        drop(black_box(ledger.snapshot()));
        Ok(())
    })?;

    let tight: Ledger<Class, Stage> = Ledger::new(&[(Space::Host, 1 << 20)]);
    let start = Instant::now();
    let handovers = 20_000u32;
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..handovers / 2 {
                    // Everything there is: each waits for the other.
                    drop(black_box(tight.acquire(request, &never)));
                }
            });
        }
    });
    println!(
        "two threads over one budget, wall time of a hand-over {:>19.0} ns",
        start.elapsed().as_secs_f64() * 1e9 / f64::from(handovers)
    );
    Ok(())
}

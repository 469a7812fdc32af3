//! What links, jobs and workers cost: `cargo run --release -p scheduler --example overhead`.
//!
//! Each figure is the least of several rounds, in nanoseconds an item: other work on the machine only ever adds to it.

#![allow(clippy::print_stdout, reason = "an example talks")]

use std::time::{Duration, Instant};

use buffer_accounting::{AcquireError, Cancel, Lease, Ledger, Request, Space, labels};
use pipeline_stage::{Failed, Outlet, Stage, StageContext};
use scheduler::{Envelope, LinkReceiver, LinkSender, Ticket, Topology, WorkerSpec, link};

labels! {
    /// What a buffer is.
    enum Class {
        /// A few bytes.
        Token => "token",
    }
}

labels! {
    /// Who has it.
    enum Step {
        /// Nobody yet.
        Start => "start",
        /// In front of the first step.
        QueuedFirst => "queued_first",
        /// First step.
        First => "first",
        /// In front of the second step.
        QueuedSecond => "queued_second",
        /// Second step.
        Second => "second",
        /// In front of the third step.
        QueuedThird => "queued_third",
        /// Third step.
        Third => "third",
    }
}

type Token = Lease<Vec<u8>, Class, Step>;
type Books = Ledger<Class, Step>;
type Way = LinkSender<Envelope<Token, ()>, Step>;
type End = LinkReceiver<Envelope<Token, ()>, Step>;

const ROUNDS: usize = 7;
const ITEMS: u32 = 20_000;

fn token(books: &Books) -> Result<Token, Box<dyn std::error::Error>> {
    let request = Request { space: Space::Host, class: Class::Token, stage: Step::Start, bytes: 64 };
    Ok(Lease::try_new(books.acquire(request, &Cancel::never())?, || vec![0; 64])?)
}

/// Passes on what it gets.
struct Pass(Step);

impl Stage<Class, Step> for Pass {
    type Input = Token;
    type Output = Token;
    type Error = AcquireError;

    fn name(&self) -> Step {
        self.0
    }

    fn run(&mut self, token: Token, out: &mut dyn Outlet<Token>, _: &StageContext<Class, Step>) -> Result<(), Failed<Token, AcquireError>> {
        out.give(token);
        Ok(())
    }
}

/// The least time an item over the rounds.
fn least(mut round: impl FnMut() -> Result<Duration, Box<dyn std::error::Error>>) -> Result<f64, Box<dyn std::error::Error>> {
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        least = least.min(round()?);
    }
    Ok(least.as_nanos() as f64 / f64::from(ITEMS))
}

/// One thread sends a lease and receives it: what the link itself costs.
fn same_thread(books: &Books) -> Result<Duration, Box<dyn std::error::Error>> {
    let (sender, receiver) = link(1, Step::QueuedFirst, Step::First);
    let cancel = Cancel::never();
    let mut held = Some(token(books)?);
    let start = Instant::now();
    for _ in 0..ITEMS {
        if let Some(token) = held.take() {
            drop(sender.send(token, &cancel));
        }
        held = receiver.receive(&cancel);
    }
    Ok(start.elapsed())
}

/// Two threads, with room for both to go on: what a hand-over costs when nobody has to be woken for each item.
fn two_threads(books: &Books) -> Result<Duration, Box<dyn std::error::Error>> {
    let (sender, receiver) = link::<Token, _>(64, Step::QueuedFirst, Step::First);
    let tokens = (0..ITEMS).map(|_| token(books)).collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let cancel = Cancel::never();
            for token in tokens {
                drop(sender.send(token, &cancel));
            }
        });
        let cancel = Cancel::never();
        while receiver.receive(&cancel).is_some() {}
    });
    Ok(start.elapsed())
}

/// Jobs of one item through three stages that do nothing: what a whole pipeline adds to a job, with room for `capacity` items in each link
/// and so many jobs under way.
fn pipeline(books: &Books, capacity: usize) -> Result<Duration, Box<dyn std::error::Error>> {
    let mut topology = Topology::new(books.clone(), &Cancel::never());
    let (submit, first): (Way, End) = link(capacity, Step::QueuedFirst, Step::First);
    let (to_second, second): (Way, End) = link(capacity, Step::QueuedSecond, Step::Second);
    let (to_third, third): (Way, End) = link(capacity, Step::QueuedThird, Step::Third);
    topology.stage(&WorkerSpec::new(Step::First), first, to_second, || Pass(Step::First))?;
    topology.stage(&WorkerSpec::new(Step::Second), second, to_third, || Pass(Step::Second))?;
    let finish = |ticket: &Ticket<()>, _: Token| {
        ticket.succeed(());
    };
    topology.stage(&WorkerSpec::new(Step::Third), third, finish, || Pass(Step::Third))?;
    let cancel = Cancel::never();
    let start = Instant::now();
    let mut waiting = std::collections::VecDeque::with_capacity(capacity);
    for _ in 0..ITEMS {
        if waiting.len() == capacity
            && let Some(handle) = waiting.pop_front()
        {
            scheduler::JobHandle::wait(handle)?;
        }
        let (ticket, handle) = topology.job();
        drop(submit.send(Envelope { ticket, body: token(books)? }, &cancel));
        waiting.push_back(handle);
    }
    for handle in waiting {
        handle.wait()?;
    }
    let elapsed = start.elapsed();
    drop(submit);
    topology.drain();
    Ok(elapsed)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let books: Books = Ledger::new(&[(Space::Host, u64::MAX)]);
    println!("{:>8.0} ns  send and receive of a lease, one thread", least(|| same_thread(&books))?);
    println!("{:>8.0} ns  send and receive of a lease, two threads, room for 64", least(|| two_threads(&books))?);
    println!("{:>8.0} ns  a job through three idle stages, 64 under way", least(|| pipeline(&books, 64))?);
    println!("{:>8.0} ns  a job through three idle stages, one at a time: four threads are woken for it", least(|| pipeline(&books, 1))?);
    Ok(())
}

//! A stage that is ten times faster than the one behind it does not pile up buffers, and the slow one always has work.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod toy;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use buffer_accounting::{Accounted, Cancel, Lease, Space};
use pipeline_stage::{Classified, Failed, Outlet, Stage};
use scheduler::{Envelope, LinkSender, Ticket, Topology, WorkerSpec, link};
use toy::{Books, Buffer, Context, Kind, Part, Refused, books, in_use};

const PIECES: usize = 200;
const FAST_WORKERS: usize = 2;
const CAPACITY: usize = 3;
/// The fast stage makes so many pieces while the slow one works on one, unless there is no room for them.
const RATIO: usize = 10;

/// What the fast stage has done, for the slow one to wait on: time is counted in pieces, so nothing depends on the machine's speed.
#[derive(Default)]
struct Clock {
    /// Pieces made, and pieces given.
    state: Mutex<(usize, usize)>,
    changed: Condvar,
}

impl Clock {
    fn advance(&self, made: usize, given: usize) {
        let mut state = self.state.lock().unwrap();
        state.0 += made;
        state.1 += given;
        self.changed.notify_all();
    }
}

struct Order;

impl Accounted<Part> for Order {
    fn attribute_to(&mut self, _: Part) {}
}

struct Fast(Arc<Clock>);

impl Stage<Kind, Part> for Fast {
    type Input = Order;
    type Output = Buffer;
    type Error = Refused;

    fn name(&self) -> Part {
        Part::Cut
    }

    fn run(&mut self, _: Order, out: &mut dyn Outlet<Buffer>, context: &Context) -> Result<(), Failed<Order, Refused>> {
        let permit = context.acquire(Kind::Raw, 100).map_err(|error| Refused(error.class()))?;
        let made = Lease::try_new(permit, || vec![0; 100]).map_err(|error| Refused(error.class()))?;
        self.0.advance(1, 0);
        out.give(made);
        self.0.advance(0, 1);
        Ok(())
    }
}

struct Slow {
    clock: Arc<Clock>,
    queue: LinkSender<Envelope<Buffer, usize>, Part>,
    books: Books,
    most: Arc<AtomicUsize>,
}

impl Slow {
    /// Buffers of the pipeline that are alive now.
    fn sample(&self) {
        let snapshot = self.books.snapshot();
        snapshot.check().unwrap();
        let live: u64 = snapshot.cells().filter(|cell| cell.1 == Kind::Raw).map(|cell| cell.3.buffers).sum();
        self.most.fetch_max(live as usize, Ordering::SeqCst);
    }
}

impl Stage<Kind, Part> for Slow {
    type Input = Buffer;
    type Output = usize;
    type Error = Refused;

    fn name(&self) -> Part {
        Part::Press
    }

    fn run(&mut self, _item: Buffer, out: &mut dyn Outlet<usize>, _: &Context) -> Result<(), Failed<Buffer, Refused>> {
        self.sample();
        let mut state = self.clock.state.lock().unwrap();
        let until = state.0 + RATIO;
        // The fast stage made its ten, or it has given all, or each of its workers that has something left to give finds no room for it.
        loop {
            let (made, given) = *state;
            let stuck = self.queue.queued() == CAPACITY && made - given >= FAST_WORKERS.min(PIECES - given);
            if made >= until || given == PIECES || stuck {
                break;
            }
            state = self.clock.changed.wait(state).unwrap();
        }
        drop(state);
        self.sample();
        out.give(1);
        Ok(())
    }
}

#[test]
fn a_fast_stage_waits_for_a_slow_one_that_never_does() {
    let plan = FAST_WORKERS + CAPACITY + 1;
    // Room for far more: what bounds the buffers here is the link.
    let books = books(100 * PIECES as u64);
    let mut topology = Topology::new(books.clone(), &Cancel::never());
    let (way, orders) = link(1, Part::QueuedCut, Part::Cut);
    let (to_slow, pieces) = link(CAPACITY, Part::QueuedPress, Part::Press);
    let (clock, most) = (Arc::new(Clock::default()), Arc::new(AtomicUsize::new(0)));
    let (fast, queue) = (Arc::clone(&clock), to_slow.clone());
    let spec = WorkerSpec { threads: FAST_WORKERS, ..WorkerSpec::new(Part::Cut) };
    topology.stage(&spec, orders, to_slow, move || Fast(Arc::clone(&fast))).unwrap();
    let slow = {
        let (clock, books, most) = (Arc::clone(&clock), books.clone(), Arc::clone(&most));
        move || Slow { clock: Arc::clone(&clock), queue: queue.clone(), books: books.clone(), most: Arc::clone(&most) }
    };
    let finish = |ticket: &Ticket<usize>, one: usize| {
        ticket.succeed(one);
    };
    topology.stage(&WorkerSpec::new(Part::Press), pieces, finish, slow).unwrap();
    let handles: Vec<_> = (0..PIECES)
        .map(|_| {
            let (ticket, handle) = topology.job();
            drop(way.send(Envelope { ticket, body: Order }, &Cancel::never()));
            handle
        })
        .collect();
    for handle in handles {
        assert!(matches!(handle.wait(), Ok(1)));
    }
    let times = Arc::clone(topology.times());
    topology.give_up(toy::PATIENCE).unwrap();
    assert_eq!(in_use(&books), 0);
    let slow = times.stage(Part::Press);
    assert_eq!(slow.items, PIECES as u64);
    assert!(slow.starved <= 1, "the slow stage went idle {} times while the fast one had work", slow.starved);
    assert_eq!(most.load(Ordering::SeqCst), plan, "live buffers at most, for workers and queue together");
    let peak = books.snapshot().peak(Space::Host);
    assert_eq!(peak, 100 * plan as u64);
}

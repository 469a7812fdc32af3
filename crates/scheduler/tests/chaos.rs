//! A thousand random runs of a pipeline of three steps in which everything goes wrong: the books return to zero, no thread is left, and
//! each job has exactly one outcome.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod toy;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use buffer_accounting::{Accounted, Cancel, Lease, Request, Reservation, Space};
use pipeline_stage::{ErrorClass, Failed, Outlet, Stage};
use scheduler::{Envelope, JobError, JobHandle, LinkSender, Ticket, Topology, WorkerSpec, job, link, link_with_lane};
use toy::{Bomb, Books, Buffer, Context, Deed, Kind, PATIENCE, Part, Refused, books, in_use, quiet};

const RUNS: u64 = 1000;

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `least` to `most`.
    fn between(&mut self, least: usize, most: usize) -> usize {
        least + (self.next() % (most - least + 1) as u64) as usize
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }

    /// What happens at one of the three steps, numbered from 0.
    fn deed(&mut self, badness: u64, step: usize) -> Deed {
        if !self.one_in(badness) {
            return Deed::Pass;
        }
        match (self.between(0, 7), step) {
            (0 | 1, _) => Deed::Again(self.between(0, 3) as u32),
            (2, _) => Deed::Fail,
            (3, _) => Deed::AgainWithoutItem,
            (4, _) => Deed::CancelJob,
            (5, 1) => Deed::PanicInDrop,
            (6, 1) => Deed::PanicInAttribution,
            (5 | 6, 2) => Deed::PanicInDelivery,
            _ => Deed::Panic,
        }
    }
}

/// What is to happen to one part of a job.
#[derive(Clone, Debug)]
struct Plan {
    /// At each of the three steps.
    deeds: [Deed; 3],
    /// Of the buffer it has in front of the second step, and of the one behind it.
    bytes: [usize; 2],
    /// The last step sends it back to the second one so often.
    returns: u32,
    /// The last step takes its time.
    slow: bool,
}

impl Plan {
    fn is_harmless(&self, retries: u32, room: [usize; 2]) -> bool {
        let passes = |deed: &Deed| matches!(deed, Deed::Pass) || matches!(deed, Deed::Again(times) if *times <= retries);
        self.deeds.iter().all(passes) && self.bytes[0] <= room[0] && self.bytes[1] <= room[1]
    }
}

struct Order(Vec<Plan>);

impl Accounted<Part> for Order {
    fn attribute_to(&mut self, _: Part) {}
}

type Lane = LinkSender<Envelope<Piece, usize>, Part>;

struct Piece {
    plan: Plan,
    left: Arc<AtomicUsize>,
    /// Kept until the end, so that the piece can be pressed again.
    raw: Buffer,
    /// From what is set aside for pressing: a piece in the lane must not hold it, since only pressing would return it.
    pressed: Option<Buffer>,
    lane: Lane,
    bomb: Bomb,
}

impl Accounted<Part> for Piece {
    fn attribute_to(&mut self, stage: Part) {
        assert!(self.plan.deeds[1] != Deed::PanicInAttribution || stage != Part::Press, "told to panic in attribution");
        self.raw.attribute_to(stage);
        if let Some(pressed) = &mut self.pressed {
            pressed.attribute_to(stage);
        }
    }
}

/// Does the part of a deed that is the same at each step: `Ok` when the step goes on.
fn obey(deed: &mut Deed, context: &Context) -> Result<(), (Refused, bool)> {
    match *deed {
        Deed::Again(times) if times > 0 => {
            *deed = Deed::Again(times - 1);
            Err((Refused(ErrorClass::Retryable), true))
        }
        Deed::AgainWithoutItem => Err((Refused(ErrorClass::Retryable), false)),
        Deed::Fail => Err((Refused(ErrorClass::Fatal), true)),
        Deed::Panic => panic!("told to panic"),
        Deed::CancelJob => {
            context.cancel().cancel();
            Err((Refused(ErrorClass::Cancelled), false))
        }
        _ => Ok(()),
    }
}

fn failed<I>((error, whole): (Refused, bool), item: I) -> Failed<I, Refused> {
    if whole { Failed::with_input(error, item) } else { error.into() }
}

fn make(context: &Context, kind: Kind, bytes: usize) -> Result<Buffer, Refused> {
    use pipeline_stage::Classified;
    let permit = context.acquire(kind, bytes as u64).map_err(|error| Refused(error.class()))?;
    Lease::try_new(permit, || vec![0; bytes]).map_err(|error| Refused(error.class()))
}

struct Cut(Lane, #[allow(dead_code, reason = "is counted")] Arc<()>);

impl Stage<Kind, Part> for Cut {
    type Input = Order;
    type Output = Piece;
    type Error = Refused;

    fn name(&self) -> Part {
        Part::Cut
    }

    fn run(&mut self, Order(mut plans): Order, out: &mut dyn Outlet<Piece>, context: &Context) -> Result<(), Failed<Order, Refused>> {
        if let Some(first) = plans.first_mut()
            && let Err(error) = obey(&mut first.deeds[0], context)
        {
            return Err(failed(error, Order(plans)));
        }
        let left = Arc::new(AtomicUsize::new(plans.len()));
        for plan in plans {
            let raw = make(context, Kind::Raw, plan.bytes[0])?;
            let bomb = Bomb(plan.deeds[1] == Deed::PanicInDrop);
            out.give(Piece { plan, left: Arc::clone(&left), raw, pressed: None, lane: self.0.clone(), bomb });
        }
        Ok(())
    }
}

struct Press(#[allow(dead_code, reason = "is counted")] Arc<()>);

impl Stage<Kind, Part> for Press {
    type Input = Piece;
    type Output = Piece;
    type Error = Refused;

    fn name(&self) -> Part {
        Part::Press
    }

    fn run(&mut self, mut piece: Piece, out: &mut dyn Outlet<Piece>, context: &Context) -> Result<(), Failed<Piece, Refused>> {
        if let Err(error) = obey(&mut piece.plan.deeds[1], context) {
            return Err(failed(error, piece));
        }
        if piece.bomb.0 {
            return Ok(());
        }
        piece.pressed = Some(make(context, Kind::Pressed, piece.plan.bytes[1])?);
        out.give(piece);
        Ok(())
    }
}

struct Store(#[allow(dead_code, reason = "is counted")] Arc<()>);

impl Stage<Kind, Part> for Store {
    type Input = Piece;
    type Output = Piece;
    type Error = Refused;

    fn name(&self) -> Part {
        Part::Store
    }

    fn run(&mut self, mut piece: Piece, out: &mut dyn Outlet<Piece>, context: &Context) -> Result<(), Failed<Piece, Refused>> {
        if let Err(error) = obey(&mut piece.plan.deeds[2], context) {
            return Err(failed(error, piece));
        }
        let _scratch = make(context, Kind::Raw, 3)?;
        if piece.plan.slow {
            thread::sleep(Duration::from_micros(300));
        }
        out.give(piece);
        Ok(())
    }
}

/// The way out: sends back what is to be done again, and ends the job with its last piece.
fn finish(ticket: &Ticket<usize>, mut piece: Piece) {
    assert!(piece.plan.deeds[2] != Deed::PanicInDelivery, "told to panic in delivery");
    if piece.plan.returns > 0 {
        piece.plan.returns -= 1;
        piece.pressed = None;
        let lane = piece.lane.clone();
        if let Err(full) = lane.try_send(Envelope { ticket: ticket.clone(), body: piece }) {
            ticket.fail(JobError::Stage { stage: "store", error: Box::new(Refused(ErrorClass::Fatal)) });
            drop(full);
        }
        return;
    }
    if piece.left.fetch_sub(1, Ordering::SeqCst) == 1 {
        ticket.succeed(piece.raw.len());
    }
}

fn set_aside(books: &Books, stage: Part, bytes: usize) -> Reservation<Kind, Part> {
    let request = Request { space: Space::Host, class: Kind::Reserved, stage, bytes: bytes as u64 };
    books.reserve(request, &Cancel::never()).unwrap()
}

/// Who learns of a job's outcome.
enum Waiter {
    Handle(JobHandle<usize>),
    /// Nobody waits; outcomes are counted.
    Counted(Arc<AtomicUsize>),
}

struct Submitted {
    waiter: Waiter,
    plans: Vec<Plan>,
    left_alone: bool,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Drain,
    GiveUp,
    Stop,
    Drop,
}

fn run(seed: u64) {
    let mut random = Random(seed);
    let room = [random.between(8, 64), random.between(8, 64)];
    let scratch = 3 * 2;
    let books = books((room[0] + room[1] + scratch) as u64);
    let stop = Cancel::new();
    let retries = random.between(0, 3) as u32;
    let badness = [2, 5, 20, u64::MAX][random.between(0, 3)];
    let end = [End::Drain, End::Drain, End::GiveUp, End::Stop, End::Drop][random.between(0, 4)];
    let token = Arc::new(());

    let mut topology = Topology::new(books.clone(), &stop);
    let (way, orders) = link(random.between(1, 2), Part::QueuedCut, Part::Cut);
    let (to_press, lane, pieces) = link_with_lane(random.between(1, 3), random.between(1, 2), Part::QueuedPress, Part::Press);
    let (to_store, pressed) = link(random.between(1, 3), Part::QueuedStore, Part::Store);
    let mut spec = |stage| WorkerSpec { threads: random.between(1, 2), retries, ..WorkerSpec::new(stage) };
    let cut = Arc::clone(&token);
    topology.stage(&spec(Part::Cut), orders, to_press, move || Cut(lane.clone(), Arc::clone(&cut))).unwrap();
    let press = Arc::clone(&token);
    let press_spec = WorkerSpec { reservation: Some(set_aside(&books, Part::Press, room[1])), ..spec(Part::Press) };
    topology.stage(&press_spec, pieces, to_store, move || Press(Arc::clone(&press))).unwrap();
    let store = Arc::clone(&token);
    let store_spec = WorkerSpec { reservation: Some(set_aside(&books, Part::Store, scratch)), ..spec(Part::Store) };
    topology.stage(&store_spec, pressed, finish, move || Store(Arc::clone(&store))).unwrap();
    drop((press_spec, store_spec));
    let times = Arc::clone(topology.times());

    let mut submitted = Vec::new();
    let jobs = random.between(1, 6);
    let end_at = if end == End::Drain { usize::MAX } else { random.between(0, jobs) };
    for number in 0..jobs {
        if number == end_at && end == End::Stop {
            stop.cancel();
        }
        let plans: Vec<_> = (0..random.between(1, 4))
            .map(|part| Plan {
                // The first step works on the whole job.
                deeds: [if part == 0 { random.deed(badness, 0) } else { Deed::Pass }, random.deed(badness, 1), random.deed(badness, 2)],
                bytes: room.map(|room| {
                    // More than the whole budget: it can never be granted.
                    let excess = if random.one_in(40) { 1000 } else { 0 };
                    random.between(1, room) + excess
                }),
                returns: u32::from(random.one_in(8)),
                slow: random.one_in(6),
            })
            .collect();
        let mut left_alone = true;
        let (ticket, waiter) = if random.one_in(2) {
            let (ticket, handle) = if random.one_in(2) { topology.job() } else { job(number as u64, &stop) };
            (ticket, Waiter::Handle(handle))
        } else {
            let outcomes = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&outcomes);
            let report = move |_| {
                count.fetch_add(1, Ordering::SeqCst);
            };
            (Ticket::new(number as u64, Cancel::new(), report), Waiter::Counted(outcomes))
        };
        let cancel = ticket.cancel().clone();
        drop(way.send(Envelope { ticket, body: Order(plans.clone()) }, &cancel));
        if random.one_in(6) {
            cancel.cancel();
            left_alone = false;
        }
        // A handle that is dropped leaves the job running.
        if matches!(waiter, Waiter::Handle(_)) && random.one_in(6) {
            continue;
        }
        submitted.push(Submitted { waiter, plans, left_alone });
    }
    match end {
        End::Drain | End::Stop => {
            drop(way);
            topology.drain();
        }
        End::GiveUp => topology.give_up(PATIENCE).unwrap_or_else(|unheeded| panic!("run {seed}: {unheeded}")),
        End::Drop => drop(topology),
    }

    assert_eq!(in_use(&books), 0, "run {seed}");
    assert_eq!((Arc::strong_count(&times), Arc::strong_count(&token)), (1, 1), "run {seed}: a worker or a stage lives");
    for (number, Submitted { waiter, plans, left_alone }) in submitted.into_iter().enumerate() {
        match waiter {
            Waiter::Counted(outcomes) => assert_eq!(outcomes.load(Ordering::SeqCst), 1, "run {seed}, job {number}"),
            Waiter::Handle(handle) => {
                assert!(handle.is_finished(), "run {seed}, job {number}");
                let outcome = handle.wait();
                let harmless = plans.iter().all(|plan| plan.is_harmless(retries, room));
                if end == End::Drain && left_alone && harmless && plans.iter().all(|plan| plan.returns == 0) {
                    assert!(outcome.is_ok(), "run {seed}, job {number}: {outcome:?} of {plans:?}");
                }
                if outcome.is_ok() {
                    assert!(harmless, "run {seed}, job {number} of {plans:?}");
                }
            }
        }
    }
}

#[test]
fn a_thousand_random_runs() {
    quiet();
    for seed in 0..RUNS {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

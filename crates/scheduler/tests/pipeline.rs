//! Links and workers: nothing is stranded, every job has an outcome.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use buffer_accounting::Cancel;
use pipeline_stage::{Class, Classified, ErrorClass, Lease, Ledger, Outlet, Request, Space, Stage, StageContext, StageName};
use proptest::prelude::*;
use scheduler::{Envelope, JobError, Outcome, StageTimes, Ticket, Undelivered, WorkerSpec, Workers, link};

type Buffer = Lease<Vec<u8>>;

fn buffer(ledger: &Ledger, bytes: usize) -> Buffer {
    let request = Request { space: Space::Host, class: Class::Witness, stage: StageName::Synth, bytes: bytes as u64 };
    Lease::try_new(ledger.acquire(request, &Cancel::never()).unwrap(), || vec![0; bytes]).unwrap()
}

fn ledger(bytes: u64) -> Ledger {
    Ledger::new(&[(Space::Host, bytes)])
}

fn in_use(ledger: &Ledger) -> u64 {
    ledger.snapshot().check().unwrap();
    ledger.snapshot().in_use(Space::Host)
}

#[test]
fn a_dead_receiver_strands_nothing_while_a_sender_lives() {
    let ledger = ledger(1000);
    let (sender, receiver) = link(4, StageName::QueuedNtt, StageName::Ntt);
    sender.send(buffer(&ledger, 30), &Cancel::never()).unwrap();
    assert_eq!(ledger.snapshot().bytes(Space::Host, Class::Witness, StageName::QueuedNtt), 30);
    drop(receiver);
    assert_eq!(in_use(&ledger), 0);
    let returned = sender.send(buffer(&ledger, 40), &Cancel::never()).unwrap_err();
    assert!(matches!(returned, Undelivered::Closed(_)));
    assert_eq!(in_use(&ledger), 40);
    drop(returned);
    assert_eq!(in_use(&ledger), 0);
}

#[test]
fn a_full_link_gives_the_item_back_when_cancelled_or_closed() {
    let ledger = ledger(1000);
    let (sender, receiver) = link(1, StageName::QueuedNtt, StageName::Ntt);
    sender.send(buffer(&ledger, 1), &Cancel::never()).unwrap();
    let cancel = Cancel::new();
    let (blocked, flag) = (sender.clone(), cancel.clone());
    let item = buffer(&ledger, 2);
    let waiting = thread::spawn(move || blocked.send(item, &flag));
    cancel.cancel();
    assert!(matches!(waiting.join().unwrap(), Err(Undelivered::Cancelled(_))));
    let blocked = sender.clone();
    let item = buffer(&ledger, 3);
    let waiting = thread::spawn(move || blocked.send(item, &Cancel::never()));
    drop(receiver);
    assert!(matches!(waiting.join().unwrap(), Err(Undelivered::Closed(_)) | Ok(())));
    assert_eq!(in_use(&ledger), 0);
    drop(sender);
}

#[test]
fn receivers_that_go_away_during_sends_strand_nothing() {
    for _ in 0..200 {
        let ledger = ledger(1 << 20);
        let (sender, receiver) = link(2, StageName::QueuedNtt, StageName::Ntt);
        let senders: Vec<_> = (0..3)
            .map(|_| {
                let (sender, ledger) = (sender.clone(), ledger.clone());
                thread::spawn(move || {
                    for _ in 0..5 {
                        drop(sender.send(buffer(&ledger, 10), &Cancel::never()));
                    }
                })
            })
            .collect();
        drop(receiver.receive(&Cancel::never()));
        drop(receiver);
        for sender in senders {
            sender.join().unwrap();
        }
        // `sender` is still alive here: whatever a queue held must be gone all the same.
        assert_eq!(in_use(&ledger), 0);
        drop(sender);
    }
}

#[derive(Debug)]
struct Refused(ErrorClass);
impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("refused")
    }
}
impl std::error::Error for Refused {}
impl Classified for Refused {
    fn class(&self) -> ErrorClass {
        self.0
    }
}

/// What the n-th item does, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Pass,
    Fail,
    Panic,
    CancelJob,
}

struct Obey(StageName);

impl Stage for Obey {
    type Input = (Deed, StageName, Buffer);
    type Output = Buffer;
    type Error = Refused;
    fn name(&self) -> StageName {
        self.0
    }
    fn run(&mut self, (deed, _, item): Self::Input, out: &mut dyn Outlet<Buffer>, context: &StageContext) -> Result<(), Refused> {
        let _scratch = buffer(context.ledger(), 7);
        match deed {
            Deed::Pass => out.give(item),
            Deed::Fail => return Err(Refused(ErrorClass::Fatal)),
            Deed::Panic => panic!("told to"),
            Deed::CancelJob => {
                context.cancel().cancel();
                return Err(Refused(ErrorClass::Cancelled));
            }
        }
        Ok(())
    }
}

struct Told(Deed, Buffer);
impl buffer_accounting::Accounted<StageName> for Told {
    fn attribute_to(&mut self, stage: StageName) {
        self.1.attribute_to(stage);
    }
}

struct ObeyTold(Obey);
impl Stage for ObeyTold {
    type Input = Told;
    type Output = Buffer;
    type Error = Refused;
    fn name(&self) -> StageName {
        self.0.name()
    }
    fn run(&mut self, Told(deed, item): Told, out: &mut dyn Outlet<Buffer>, context: &StageContext) -> Result<(), Refused> {
        self.0.run((deed, StageName::Ntt, item), out, context)
    }
}

#[derive(Default)]
struct Outcomes(Mutex<Vec<(u64, Outcome<usize>)>>, Condvar);

fn run(deeds: &[Deed], threads: usize, stop_early: bool) -> (Vec<(u64, Outcome<usize>)>, Ledger) {
    let ledger = ledger(1 << 16);
    let stop = Cancel::new();
    let (sender, receiver) = link::<Envelope<Told, usize>, _>(2, StageName::QueuedNtt, StageName::Ntt);
    let spec = WorkerSpec {
        stage: StageName::Ntt,
        threads,
        ledger: ledger.clone(),
        reservation: None,
        stop: stop.clone(),
        times: Arc::new(StageTimes::default()),
    };
    let mut workers = Workers::new();
    let finish = |ticket: &Ticket<usize>, item: Buffer| {
        ticket.succeed(item.len());
    };
    workers.spawn(&spec, &receiver, &finish, || ObeyTold(Obey(StageName::Ntt))).unwrap();
    drop(receiver);
    let outcomes = Arc::new(Outcomes::default());
    for (id, &deed) in deeds.iter().enumerate() {
        let report = Arc::clone(&outcomes);
        let ticket = Ticket::new(id as u64, Cancel::new(), move |outcome| {
            report.0.lock().unwrap().push((id as u64, outcome));
            report.1.notify_all();
        });
        if stop_early && id == deeds.len() / 2 {
            stop.cancel();
        }
        drop(sender.send(Envelope { ticket, body: Told(deed, buffer(&ledger, 100)) }, &Cancel::never()));
    }
    drop(sender);
    workers.join();
    let outcomes = std::mem::take(&mut *outcomes.0.lock().unwrap());
    (outcomes, ledger)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn every_job_has_one_outcome_and_the_ledger_returns_to_zero(
        deeds in prop::collection::vec(prop_oneof![4 => Just(Deed::Pass), 1 => Just(Deed::Fail), 1 => Just(Deed::Panic), 1 => Just(Deed::CancelJob)], 1..20),
        threads in 1usize..4,
        stop_early in any::<bool>(),
    ) {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let (mut outcomes, ledger) = run(&deeds, threads, stop_early);
        std::panic::set_hook(hook);
        outcomes.sort_by_key(|(id, _)| *id);
        prop_assert_eq!(outcomes.iter().map(|(id, _)| *id).collect::<Vec<_>>(), (0..deeds.len() as u64).collect::<Vec<_>>());
        for (id, outcome) in &outcomes {
            let expected = match (deeds[*id as usize], outcome) {
                (Deed::Pass, Ok(100)) => true,
                (Deed::Fail, Err(JobError::Stage { stage: "ntt", error })) => error.class() == ErrorClass::Fatal,
                (Deed::Panic, Err(JobError::Panicked { message, .. })) => message == "told to",
                (Deed::CancelJob, Err(JobError::Cancelled)) => true,
                (_, Err(JobError::Abandoned)) => stop_early,
                _ => false,
            };
            prop_assert!(expected, "job {} ({:?}): {:?}", id, deeds[*id as usize], outcome);
        }
        prop_assert_eq!(in_use(&ledger), 0);
    }
}

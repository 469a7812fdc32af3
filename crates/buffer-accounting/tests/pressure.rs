//! Holders that let go when others wait, and slabs that are kept while nobody does.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use buffer_accounting::{
    Accounted, AcquireError, Cancel, Evictable, Lease, Ledger, OwnedBytes, PageSlab, PoolError, PoolSource, Request, SlabPool, Space,
    labels,
};

labels! { enum Class { Key => "key", Tile => "tile", Idle => "idle" } }
labels! { enum Stage { Load => "load", Work => "work" } }

type Books = Ledger<Class, Stage>;
type Tile = Lease<Vec<u8>, Class, Stage>;

/// Longer than any test runs: what happens, happens without the idle time running out.
const NEVER: Duration = Duration::from_secs(3600);

fn request(class: Class, bytes: u64) -> Request<Class, Stage> {
    Request { space: Space::Host, class, stage: Stage::Load, bytes }
}

/// A cache of one buffer that lets go unless it is in use.
struct Cache {
    held: Arc<Mutex<Option<Tile>>>,
    busy: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    registration: Evictable,
}

impl Cache {
    fn new(ledger: &Books, bytes: u64) -> Self {
        let permit = ledger.try_acquire(request(Class::Key, bytes)).unwrap();
        let held = Arc::new(Mutex::new(Some(Lease::try_new(permit, || vec![0; bytes as usize]).unwrap())));
        let (busy, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (counted, dropped) = (Arc::clone(&held), Arc::clone(&held));
        let (is_busy, was_asked) = (Arc::clone(&busy), Arc::clone(&asked));
        let registration = ledger
            .register_evictable(
                Space::Host,
                move || counted.lock().unwrap().as_ref().map_or(0, Lease::bytes),
                move || {
                    was_asked.fetch_add(1, Ordering::SeqCst);
                    !is_busy.load(Ordering::SeqCst) && dropped.lock().unwrap().take().is_some()
                },
            )
            .unwrap();
        Self { held, busy, asked, registration }
    }

    fn is_there(&self) -> bool {
        self.held.lock().unwrap().is_some()
    }
}

fn wait_for(what: impl Fn() -> bool) {
    while !what() {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_wait_that_only_eviction_can_end_ends_at_once() {
    let ledger = Books::new(&[(Space::Host, 100)]);
    ledger.set_eviction_idle(NEVER);
    let (old, recent) = (Cache::new(&ledger, 30), Cache::new(&ledger, 40));
    old.registration.touch();
    recent.registration.touch();
    let permit = ledger.acquire(request(Class::Tile, 60), &Cancel::never()).unwrap();
    // The one used longest ago was enough.
    assert!(!old.is_there() && recent.is_there());
    drop(permit);
    drop(ledger.acquire(request(Class::Tile, 100), &Cancel::never()).unwrap());
    assert!(!recent.is_there());
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
}

#[test]
fn holders_are_spared_while_others_may_return_bytes_and_asked_when_they_do_not() {
    let ledger = Books::new(&[(Space::Host, 100)]);
    ledger.set_eviction_idle(NEVER);
    let cache = Cache::new(&ledger, 40);
    let work = ledger.try_acquire(request(Class::Tile, 60)).unwrap();
    let waiter = {
        let ledger = ledger.clone();
        thread::spawn(move || ledger.acquire(request(Class::Tile, 50), &Cancel::never()).map(|permit| permit.bytes()))
    };
    wait_for(|| ledger.snapshot().spaces()[0].waiting == 1);
    drop(work);
    assert_eq!(waiter.join().unwrap().unwrap(), 50);
    assert!(cache.is_there());
    assert_eq!(cache.asked.load(Ordering::SeqCst), 0);

    // Nothing comes back this time; the idle time runs out.
    ledger.set_eviction_idle(Duration::from_millis(20));
    let _work = ledger.try_acquire(request(Class::Tile, 60)).unwrap();
    drop(ledger.acquire(request(Class::Tile, 40), &Cancel::never()).unwrap());
    assert!(!cache.is_there());
}

#[test]
fn a_busy_holder_is_asked_again_and_at_once_when_it_says_so() {
    let ledger = Books::new(&[(Space::Host, 100)]);
    ledger.set_eviction_idle(Duration::from_millis(20));
    let cache = Cache::new(&ledger, 80);
    cache.busy.store(true, Ordering::SeqCst);
    let acquire = || {
        let ledger = ledger.clone();
        thread::spawn(move || ledger.acquire(request(Class::Tile, 60), &Cancel::never()).map(|permit| permit.bytes()))
    };
    let waiter = acquire();
    // Nothing changes in the books meanwhile: the clock alone asks again.
    wait_for(|| cache.asked.load(Ordering::SeqCst) >= 3);
    cache.busy.store(false, Ordering::SeqCst);
    assert_eq!(waiter.join().unwrap().unwrap(), 60);
    assert!(!cache.is_there());

    ledger.set_eviction_idle(NEVER);
    let cache = Cache::new(&ledger, 80);
    cache.busy.store(true, Ordering::SeqCst);
    let waiter = acquire();
    wait_for(|| cache.asked.load(Ordering::SeqCst) >= 1);
    cache.busy.store(false, Ordering::SeqCst);
    cache.registration.became_idle();
    assert_eq!(waiter.join().unwrap().unwrap(), 60);
}

#[test]
fn a_holder_that_panics_is_not_asked_again_and_the_next_one_is() {
    let ledger = Books::new(&[(Space::Host, 100)]);
    ledger.set_eviction_idle(Duration::from_millis(5));
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let panics = move || {
        counter.fetch_add(1, Ordering::SeqCst);
        panic!("expected in this test");
    };
    let _broken = ledger.register_evictable(Space::Host, || 1, panics).unwrap();
    let cache = Cache::new(&ledger, 80);
    drop(ledger.acquire(request(Class::Tile, 60), &Cancel::never()).unwrap());
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(!cache.is_there());
}

/// What a pool made, and what of it is alive.
#[derive(Clone, Default)]
struct Made {
    all: Arc<AtomicUsize>,
    alive: Arc<AtomicU64>,
}

struct Counted {
    bytes: Vec<u8>,
    alive: Arc<AtomicU64>,
}
impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.fetch_sub(self.bytes.len() as u64, Ordering::SeqCst);
    }
}
impl OwnedBytes for Counted {
    fn owned_bytes(&self) -> u64 {
        self.bytes.capacity() as u64
    }
}

fn pool(source: PoolSource<Class, Stage>, idle_bytes_max: u64) -> (SlabPool<Counted, Class, Stage>, Made) {
    let made = Made::default();
    let counts = made.clone();
    let pool = SlabPool::new(source, Space::Host, (Class::Idle, Stage::Work), idle_bytes_max, move |bytes| {
        counts.all.fetch_add(1, Ordering::SeqCst);
        counts.alive.fetch_add(bytes, Ordering::SeqCst);
        Ok(Counted { bytes: vec![0; bytes as usize], alive: Arc::clone(&counts.alive) })
    });
    (pool, made)
}

#[test]
fn a_slab_is_kept_as_idle_bytes_and_serves_its_own_size_only() {
    let ledger = Books::new(&[(Space::Host, 100)]);
    let (pool, made) = pool(PoolSource::Ledger(ledger.clone()), 60);
    let never = Cancel::never();
    let mut slab = pool.take(Class::Tile, Stage::Load, 30, &never).unwrap();
    slab.attribute_to(Stage::Work);
    assert_eq!(ledger.snapshot().bytes(Space::Host, Class::Tile, Stage::Work), 30);
    drop(slab);
    assert_eq!(ledger.snapshot().bytes(Space::Host, Class::Idle, Stage::Work), 30);
    let again = pool.take(Class::Key, Stage::Load, 30, &never).unwrap();
    assert_eq!((made.all.load(Ordering::SeqCst), pool.idle_bytes()), (1, 0));
    assert_eq!(ledger.snapshot().bytes(Space::Host, Class::Key, Stage::Load), 30);
    drop(again);
    let smaller = pool.take(Class::Tile, Stage::Load, 20, &never).unwrap();
    assert_eq!((made.all.load(Ordering::SeqCst), pool.idle_bytes()), (2, 30), "sizes are not mixed");
    // 80 bytes are not free beside the idle slab, which goes.
    let large = pool.take(Class::Tile, Stage::Load, 80, &never).unwrap();
    assert_eq!(pool.idle_bytes(), 0);
    // More than the pool may keep is freed.
    drop(large);
    assert_eq!((pool.idle_bytes(), ledger.snapshot().in_use(Space::Host)), (0, 20));
    drop(smaller);
    assert_eq!(pool.shrink(1), 20);
    assert_eq!((ledger.snapshot().in_use(Space::Host), made.alive.load(Ordering::SeqCst)), (0, 0));
    assert!(matches!(pool.take(Class::Tile, Stage::Load, 101, &never), Err(PoolError::Acquire(AcquireError::ExceedsBudget { .. }))));
}

#[test]
fn whoever_waits_for_a_slab_gets_the_one_that_comes_back() {
    let ledger = Books::new(&[(Space::Host, 100)]);
    let reservation = ledger.reserve(request(Class::Idle, 50), &Cancel::never()).unwrap();
    let (pool, made) = pool(PoolSource::Reservation(reservation), 50);
    let slab = pool.take(Class::Tile, Stage::Work, 50, &Cancel::never()).unwrap();
    let (started, cancel) = (Arc::new(AtomicUsize::new(0)), Cancel::new());
    let take = |bytes: u64, cancel: &Cancel| {
        let (pool, started, cancel) = (pool.clone(), Arc::clone(&started), cancel.clone());
        thread::spawn(move || {
            started.fetch_add(1, Ordering::SeqCst);
            pool.take(Class::Tile, Stage::Work, bytes, &cancel).map(|slab| slab.bytes())
        })
    };
    let given_up = take(50, &cancel);
    wait_for(|| started.load(Ordering::SeqCst) == 1);
    cancel.cancel();
    assert!(matches!(given_up.join().unwrap(), Err(PoolError::Acquire(AcquireError::Cancelled { .. }))));
    let (same, other) = (take(50, &Cancel::never()), take(40, &Cancel::never()));
    wait_for(|| started.load(Ordering::SeqCst) == 3);
    drop(slab);
    assert_eq!(same.join().unwrap().unwrap(), 50);
    assert_eq!(other.join().unwrap().unwrap(), 40);
    assert!(made.all.load(Ordering::SeqCst) <= 3);
    drop(pool);
    assert_eq!((ledger.snapshot().in_use(Space::Host), made.alive.load(Ordering::SeqCst)), (0, 0));
}

#[test]
fn idle_slabs_go_under_pressure_from_elsewhere() {
    let ledger = Books::new(&[(Space::Host, 100)]);
    ledger.set_eviction_idle(NEVER);
    let (pool, made) = pool(PoolSource::Ledger(ledger.clone()), 100);
    let _registration = pool.evict_under_pressure(&ledger).unwrap();
    let never = Cancel::never();
    let slabs = [60, 30].map(|bytes| pool.take(Class::Tile, Stage::Work, bytes, &never).unwrap());
    drop(slabs);
    assert_eq!(pool.idle_bytes(), 90);
    drop(ledger.acquire(request(Class::Key, 20), &never).unwrap());
    // The first slab that went was enough to be served; the second one goes in the ledger's thread.
    wait_for(|| pool.idle_bytes() == 0 && made.alive.load(Ordering::SeqCst) == 0);
}

#[test]
fn a_slab_that_cannot_be_made_costs_nothing() {
    let ledger = Books::new(&[(Space::Host, 100)]);
    let source = || PoolSource::Ledger(ledger.clone());
    let failing: SlabPool<Vec<u8>, Class, Stage> =
        SlabPool::new(source(), Space::Host, (Class::Idle, Stage::Work), 100, |_| Err(io::Error::from(io::ErrorKind::OutOfMemory)));
    let error = failing.take(Class::Tile, Stage::Work, 10, &Cancel::never()).map(|_| ()).unwrap_err();
    assert!(matches!(&error, PoolError::Make { bytes: 10, .. }), "{error}");
    let lying: SlabPool<Vec<u8>, Class, Stage> =
        SlabPool::new(source(), Space::Host, (Class::Idle, Stage::Work), 100, |bytes| Ok(vec![0; bytes as usize + 1]));
    assert!(matches!(lying.take(Class::Tile, Stage::Work, 10, &Cancel::never()).map(|_| ()), Err(PoolError::Oversized(_))));
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
}

#[test]
fn page_slabs_own_whole_huge_pages() {
    let ledger = Books::new(&[(Space::Host, 16 << 20)]);
    let pool: SlabPool<PageSlab, Class, Stage> =
        SlabPool::new(PoolSource::Ledger(ledger), Space::Host, (Class::Idle, Stage::Work), 16 << 20, PageSlab::new);
    let bytes = PageSlab::rounded((2 << 20) + 1);
    assert_eq!(bytes, 4 << 20);
    assert_eq!([0, 1, 4097, (2 << 20) - 1].map(PageSlab::rounded), [4096, 4096, 8192, 2 << 20]);
    assert_eq!(PageSlab::alive_bytes(), 0);
    let mut slab = pool.take(Class::Tile, Stage::Work, bytes, &Cancel::never()).unwrap();
    assert_eq!((slab.len() as u64, slab[0], slab.as_ptr().align_offset(4096)), (bytes, 0, 0));
    slab[7] = 9;
    assert_eq!(PageSlab::alive_bytes(), bytes);
    drop(slab);
    assert_eq!(pool.take(Class::Tile, Stage::Work, bytes, &Cancel::never()).unwrap()[7], 9, "a slab is not cleared");
    drop(pool);
    assert!(PageSlab::new(u64::MAX).is_err());
    assert_eq!(PageSlab::alive_bytes(), 0);
}

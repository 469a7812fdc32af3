//! A pipeline of three steps with labels of its own, whose items say what goes wrong.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::{Arc, Once};
use std::time::Duration;

use buffer_accounting::{Accounted, Cancel, Lease, Ledger, Request, Space, labels};
use pipeline_stage::{Classified, ErrorClass, Failed, Outlet, Stage, StageContext};

labels! {
    /// What a buffer is.
    pub(crate) enum Kind {
        /// As it came.
        Raw => "raw",
        /// As it goes on.
        Pressed => "pressed",
        /// Set aside.
        Reserved => "reserved",
    }
}

labels! {
    /// Who has it.
    pub(crate) enum Part {
        /// In front of the first step.
        QueuedCut => "queued_cut",
        /// First step.
        Cut => "cut",
        /// In front of the second step.
        QueuedPress => "queued_press",
        /// Second step.
        Press => "press",
        /// In front of the third step.
        QueuedStore => "queued_store",
        /// Third step.
        Store => "store",
    }
}

pub(crate) type Books = Ledger<Kind, Part>;
pub(crate) type Buffer = Lease<Vec<u8>, Kind, Part>;
pub(crate) type Context = StageContext<Kind, Part>;

/// How long a test waits for what must happen: it fails then instead of hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn books(bytes: u64) -> Books {
    Ledger::new(&[(Space::Host, bytes)])
}

pub(crate) fn buffer(books: &Books, bytes: usize) -> Buffer {
    let request = Request { space: Space::Host, class: Kind::Raw, stage: Part::Cut, bytes: bytes as u64 };
    Lease::try_new(books.acquire(request, &Cancel::never()).unwrap(), || vec![0; bytes]).unwrap()
}

/// Bytes in use, by books that add up.
pub(crate) fn in_use(books: &Books) -> u64 {
    books.snapshot().check().unwrap();
    books.snapshot().in_use(Space::Host)
}

/// Panics that tests ask for are not printed.
pub(crate) fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>().is_none_or(|message| !message.starts_with("told to")) {
                usual(info);
            }
        }));
    });
}

/// An error of a toy step.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) ErrorClass);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "refused as {:?}", self.0)
    }
}
impl std::error::Error for Refused {}
impl Classified for Refused {
    fn class(&self) -> ErrorClass {
        self.0
    }
}

/// What happens to an item at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Pass,
    /// Fails for good.
    Fail,
    /// Fails so often in a way that may pass, and hands the item back.
    Again(u32),
    /// Fails in a way that may pass, and hands nothing back.
    AgainWithoutItem,
    /// Fails in a way that may pass, after it gave something.
    AgainAfterGiving,
    Panic,
    /// The item panics when it is dropped.
    PanicInDrop,
    /// The item panics when its buffers are attributed to the next step.
    PanicInAttribution,
    /// The way out panics.
    PanicInDelivery,
    CancelJob,
}

/// Panics when dropped, if told to.
#[derive(Debug, Default)]
pub(crate) struct Bomb(pub(crate) bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0 || std::thread::panicking(), "told to panic in drop");
    }
}

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) deed: Deed,
    pub(crate) buffer: Buffer,
    pub(crate) bomb: Bomb,
}

impl Item {
    pub(crate) fn new(deed: Deed, buffer: Buffer) -> Self {
        Self { deed, buffer, bomb: Bomb(deed == Deed::PanicInDrop) }
    }
}

impl Accounted<Part> for Item {
    fn attribute_to(&mut self, stage: Part) {
        assert!(self.deed != Deed::PanicInAttribution || stage != Part::Press, "told to panic in attribution");
        self.buffer.attribute_to(stage);
    }
}

/// The second step alone: does as the item says.
pub(crate) struct Obey {
    /// How many of them were made.
    pub(crate) made: Arc<std::sync::atomic::AtomicUsize>,
}

impl Stage<Kind, Part> for Obey {
    type Input = Item;
    type Output = Item;
    type Error = Refused;

    fn name(&self) -> Part {
        Part::Press
    }

    fn run(&mut self, mut item: Item, out: &mut dyn Outlet<Item>, context: &Context) -> Result<(), Failed<Item, Refused>> {
        let Ok(_scratch) = context.acquire(Kind::Raw, 20) else { return Err(Failed::with_input(Refused(ErrorClass::Cancelled), item)) };
        match item.deed {
            Deed::Pass | Deed::PanicInDelivery => out.give(item),
            Deed::Again(0) => {
                item.deed = Deed::Pass;
                out.give(item);
            }
            Deed::Again(times) => {
                item.deed = Deed::Again(times - 1);
                return Err(Failed::with_input(Refused(ErrorClass::Retryable), item));
            }
            Deed::AgainWithoutItem => return Err(Refused(ErrorClass::Retryable).into()),
            Deed::AgainAfterGiving => {
                out.give(Item::new(Deed::Pass, buffer(context.ledger(), 5)));
                return Err(Failed::with_input(Refused(ErrorClass::Retryable), item));
            }
            Deed::Fail => return Err(Failed::with_input(Refused(ErrorClass::Fatal), item)),
            Deed::Panic | Deed::PanicInAttribution => panic!("told to panic"),
            Deed::PanicInDrop => {}
            Deed::CancelJob => {
                context.cancel().cancel();
                return Err(Refused(ErrorClass::Cancelled).into());
            }
        }
        Ok(())
    }
}

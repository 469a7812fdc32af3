//! Compresses files under a byte budget and proves each block by unpacking it again: read, pack, check.
//!
//! `cargo run --release -p scheduler --example archive -- [FILE...]`; without files it makes up some logs. However large the files are,
//! what is alive stays within the budget, and the table at the end says what each stage held.

#![allow(clippy::print_stdout, reason = "an example talks")]

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use buffer_accounting::{Accounted, AcquireError, Cancel, Label, Lease, Ledger, OversizedBuffer, Request, Reservation, Space, labels};
use pipeline_stage::{Classified, ErrorClass, Failed, Outlet, Stage, StageContext};
use scheduler::{Envelope, LinkSender, Ticket, Topology, WorkerSpec, link};

labels! {
    /// What a buffer is.
    enum Class {
        /// A block of a file.
        Text => "text",
        /// The block, compressed.
        Packed => "packed",
        /// The block, unpacked to be compared.
        Unpacked => "unpacked",
        /// Set aside for a stage.
        Reserved => "reserved",
    }
}

labels! {
    /// Who has it.
    enum Step {
        /// In front of reading.
        QueuedRead => "queued_read",
        /// File to blocks.
        Read => "read",
        /// In front of packing.
        QueuedPack => "queued_pack",
        /// Block to fewer bytes.
        Pack => "pack",
        /// In front of checking.
        QueuedCheck => "queued_check",
        /// Fewer bytes to the same block.
        Check => "check",
    }
}

type Buffer = Lease<Vec<u8>, Class, Step>;
type Context = StageContext<Class, Step>;

const BLOCK: usize = 256 << 10;
/// A packed block at worst: a byte of flags for eight that could not be shortened.
const PACKED: usize = BLOCK + BLOCK / 8 + 1;
const PACKERS: usize = 2;
const QUEUE: usize = 2;

/// The budget as a sum. Packing and checking draw from bytes of their own, so neither waits for what only its own progress would free;
/// reading takes what is left and waits when that is gone.
const PACKED_BYTES: usize = (PACKERS + QUEUE + 1) * PACKED;
const UNPACKED_BYTES: usize = BLOCK;
const TEXT_BYTES: usize = 6 * BLOCK;
const BUDGET: usize = PACKED_BYTES + UNPACKED_BYTES + TEXT_BYTES;

#[derive(Debug, thiserror::Error)]
enum ArchiveError {
    #[error("{0}")]
    Memory(#[from] AcquireError),
    #[error("{0}")]
    Oversized(#[from] OversizedBuffer),
    #[error("{path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("a packed block does not unpack to what it was made from")]
    Broken,
}

impl Classified for ArchiveError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Memory(error) => error.class(),
            // The file may be busy or on a disk that comes back: the stage hands its item back and is asked again.
            Self::Read { .. } => ErrorClass::Retryable,
            Self::Oversized(_) | Self::Broken => ErrorClass::Fatal,
        }
    }
}

/// What is submitted.
#[derive(Clone)]
enum Source {
    File(PathBuf),
    MadeUp { seed: u64, bytes: usize },
}

impl Accounted<Step> for Source {
    fn attribute_to(&mut self, _: Step) {}
}

/// What a job has so far. Each of its blocks has a share in it.
#[derive(Default)]
struct Tally {
    text: AtomicU64,
    packed: AtomicU64,
    /// Blocks that are not checked yet, plus one while the file is read.
    open: AtomicUsize,
}

/// Bytes before and after.
type Report = (u64, u64);

impl Tally {
    fn close_one(&self) -> Option<Report> {
        (self.open.fetch_sub(1, Ordering::AcqRel) == 1).then(|| (self.text.load(Ordering::Relaxed), self.packed.load(Ordering::Relaxed)))
    }
}

/// One block on its way, or the end of a file.
struct Block {
    tally: Arc<Tally>,
    text: Option<Buffer>,
    packed: Option<Buffer>,
}

impl Accounted<Step> for Block {
    fn attribute_to(&mut self, stage: Step) {
        for buffer in [&mut self.text, &mut self.packed].into_iter().flatten() {
            buffer.attribute_to(stage);
        }
    }
}

fn buffer(context: &Context, class: Class, bytes: usize, make: impl FnOnce() -> Vec<u8>) -> Result<Buffer, ArchiveError> {
    Ok(Lease::try_new(context.acquire(class, bytes as u64)?, make)?)
}

struct ReadStage;

impl Stage<Class, Step> for ReadStage {
    type Input = Source;
    type Output = Block;
    type Error = ArchiveError;

    fn name(&self) -> Step {
        Step::Read
    }

    fn run(&mut self, source: Source, out: &mut dyn Outlet<Block>, context: &Context) -> Result<(), Failed<Source, ArchiveError>> {
        let mut reader: Box<dyn Read> = match &source {
            Source::MadeUp { seed, bytes } => Box::new(Logs { state: *seed, line: Vec::new(), at: 0 }.take(*bytes as u64)),
            Source::File(path) => match File::open(path) {
                Ok(file) => Box::new(file),
                Err(error) => return Err(Failed::with_input(ArchiveError::Read { path: path.clone(), source: error }, source)),
            },
        };
        let tally = Arc::new(Tally { open: AtomicUsize::new(1), ..Tally::default() });
        loop {
            let mut read = Ok(0);
            let text = buffer(context, Class::Text, BLOCK, || {
                let mut text = Vec::with_capacity(BLOCK);
                read = reader.by_ref().take(BLOCK as u64).read_to_end(&mut text);
                text
            })?;
            let path = || if let Source::File(path) = &source { path.clone() } else { PathBuf::new() };
            if read.map_err(|error| ArchiveError::Read { path: path(), source: error })? == 0 {
                break;
            }
            tally.open.fetch_add(1, Ordering::Relaxed);
            out.give(Block { tally: Arc::clone(&tally), text: Some(text), packed: None });
        }
        out.give(Block { tally, text: None, packed: None });
        Ok(())
    }
}

struct PackStage;

impl Stage<Class, Step> for PackStage {
    type Input = Block;
    type Output = Block;
    type Error = ArchiveError;

    fn name(&self) -> Step {
        Step::Pack
    }

    fn run(&mut self, mut block: Block, out: &mut dyn Outlet<Block>, context: &Context) -> Result<(), Failed<Block, ArchiveError>> {
        if let Some(text) = &block.text {
            block.packed = Some(buffer(context, Class::Packed, PACKED, || pack(text))?);
        }
        out.give(block);
        Ok(())
    }
}

struct CheckStage;

impl Stage<Class, Step> for CheckStage {
    type Input = Block;
    type Output = Report;
    type Error = ArchiveError;

    fn name(&self) -> Step {
        Step::Check
    }

    fn run(&mut self, block: Block, out: &mut dyn Outlet<Report>, context: &Context) -> Result<(), Failed<Block, ArchiveError>> {
        let Block { tally, text, packed } = block;
        if let (Some(text), Some(packed)) = (&text, &packed) {
            let unpacked = buffer(context, Class::Unpacked, BLOCK, || unpack(packed, text.len()))?;
            if unpacked[..] != text[..] {
                return Err(ArchiveError::Broken.into());
            }
            tally.text.fetch_add(text.len() as u64, Ordering::Relaxed);
            tally.packed.fetch_add(packed.len() as u64, Ordering::Relaxed);
        }
        if let Some(report) = tally.close_one() {
            out.give(report);
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<_> = std::env::args_os().skip(1).map(|path| Source::File(path.into())).collect();
    let sources = if files.is_empty() { (1..=4).map(|seed| Source::MadeUp { seed, bytes: 12 * BLOCK + 1000 }).collect() } else { files };

    let ledger: Ledger<Class, Step> = Ledger::new(&[(Space::Host, BUDGET as u64)]);
    let mut topology = Topology::new(ledger.clone(), &Cancel::never());
    let (submit, sources_in) = link(1, Step::QueuedRead, Step::Read);
    let (to_pack, blocks) = link(QUEUE, Step::QueuedPack, Step::Pack);
    let (to_check, packed) = link(QUEUE, Step::QueuedCheck, Step::Check);
    topology.stage(&WorkerSpec::new(Step::Read), sources_in, to_pack, || ReadStage)?;
    let set_aside = |stage, bytes: usize| -> Result<Option<Reservation<Class, Step>>, AcquireError> {
        let request = Request { space: Space::Host, class: Class::Reserved, stage, bytes: bytes as u64 };
        ledger.reserve(request, &Cancel::never()).map(Some)
    };
    let pack = WorkerSpec { threads: PACKERS, reservation: set_aside(Step::Pack, PACKED_BYTES)?, ..WorkerSpec::new(Step::Pack) };
    topology.stage(&pack, blocks, to_check, || PackStage)?;
    let check = WorkerSpec { reservation: set_aside(Step::Check, UNPACKED_BYTES)?, ..WorkerSpec::new(Step::Check) };
    let finish = |ticket: &Ticket<Report>, report: Report| {
        ticket.succeed(report);
    };
    topology.stage(&check, packed, finish, || CheckStage)?;
    drop((pack, check));

    let submit_one = |submit: &LinkSender<Envelope<Source, Report>, Step>, source: &Source| {
        let (ticket, handle) = topology.job();
        // Waits while the first queue is full. What cannot be delivered is dropped, which gives the job its outcome.
        drop(submit.send(Envelope { ticket, body: source.clone() }, &Cancel::never()));
        handle
    };
    let handles: Vec<_> = sources.iter().map(|source| submit_one(&submit, source)).collect();
    print_table("bytes in flight", &ledger, |cell| cell.bytes);
    for (number, handle) in handles.into_iter().enumerate() {
        match handle.wait() {
            Ok((text, packed)) => println!("file {number}: {text} bytes packed into {packed}, every block unpacked and compared"),
            Err(error) => println!("file {number}: {error}"),
        }
    }
    let times = Arc::clone(topology.times());
    drop(submit);
    topology.drain();
    print_table("bytes at most", &ledger, |cell| cell.peak_bytes);
    for &step in Step::ALL {
        let time = times.stage(step);
        if time.items > 0 {
            println!("{}: {} items, busy {:?}, of which {:?} without room behind it", step.name(), time.items, time.busy, time.blocked);
        }
    }
    let books = ledger.snapshot();
    println!("budget {BUDGET} bytes, at most {} in use, {} now", books.peak(Space::Host), books.in_use(Space::Host));
    Ok(())
}

fn print_table(title: &str, ledger: &Ledger<Class, Step>, value: impl Fn(buffer_accounting::Cell) -> u64) {
    let books = ledger.snapshot();
    print!("{title:>15}");
    Step::ALL.iter().for_each(|step| print!(" {:>12}", step.name()));
    println!();
    for &class in Class::ALL {
        print!("{:>15}", class.name());
        for &step in Step::ALL {
            let cell = books.cells().find(|cell| (cell.1, cell.2) == (class, step)).map(|cell| value(cell.3));
            print!(" {:>12}", cell.unwrap_or(0));
        }
        println!();
    }
}

/// Storer and Szymanski's variant of LZ77 (Data compression via textual substitution, 1982): eight items behind a byte of flags, each a
/// literal byte or a distance of two bytes and a length of one.
fn pack(text: &[u8]) -> Vec<u8> {
    const SHORTEST: usize = 4;
    let mut last_seen = [usize::MAX; 1 << 12];
    let mut packed = Vec::with_capacity(PACKED);
    let (mut at, mut flags_at) = (0, 0);
    for item in 0.. {
        if at == text.len() {
            break;
        }
        if item % 8 == 0 {
            flags_at = packed.len();
            packed.push(0);
        }
        let length = match text[at..] {
            [a, b, c, d, ..] => {
                let slot = &mut last_seen[(u32::from_le_bytes([a, b, c, d]).wrapping_mul(2_654_435_761) >> 20) as usize];
                let seen = std::mem::replace(slot, at);
                let same = if seen < at && at - seen <= usize::from(u16::MAX) {
                    let most = (text.len() - at).min(SHORTEST + usize::from(u8::MAX));
                    (0..most).take_while(|&i| text[seen + i] == text[at + i]).count()
                } else {
                    0
                };
                (same >= SHORTEST).then_some((at - seen.min(at), same))
            }
            _ => None,
        };
        match length {
            Some((distance, same)) => {
                packed[flags_at] |= 1 << (item % 8);
                packed.extend((distance as u16).to_le_bytes());
                packed.push((same - SHORTEST) as u8);
                at += same;
            }
            None => {
                packed.push(text[at]);
                at += 1;
            }
        }
    }
    // What the block came out smaller goes back to the budget with the capacity.
    packed.shrink_to_fit();
    packed
}

fn unpack(packed: &[u8], bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes);
    let mut rest = packed;
    while let [flags, items @ ..] = rest {
        rest = items;
        for item in 0..8 {
            match (flags >> item & 1, rest) {
                (1, [low, high, length, tail @ ..]) => {
                    let from = text.len().saturating_sub(usize::from(u16::from_le_bytes([*low, *high])));
                    for i in from..from + usize::from(*length) + 4 {
                        let byte = text.get(i).copied().unwrap_or_default();
                        text.push(byte);
                    }
                    rest = tail;
                }
                (_, [literal, tail @ ..]) => {
                    text.push(*literal);
                    rest = tail;
                }
                (_, []) => break,
            }
        }
    }
    text
}

/// Made-up lines of a log.
struct Logs {
    state: u64,
    line: Vec<u8>,
    at: usize,
}

impl Read for Logs {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.line.len() {
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (a, b) = (self.state >> 60, self.state >> 40 & 0xffff);
            let words = ["opened", "closed", "moved", "waited for", "returned", "split"];
            self.line = format!("worker-{a} {} a buffer of {b} bytes\n", words[(self.state >> 33) as usize % words.len()]).into_bytes();
            self.at = 0;
        }
        let bytes = out.len().min(self.line.len() - self.at);
        out[..bytes].copy_from_slice(&self.line[self.at..self.at + bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}

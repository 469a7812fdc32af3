//! Three steps over images under a budget of bytes: decode, shrink, encode, each in its own thread.
//!
//! `cargo run -p buffer-accounting --example thumbnails`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use buffer_accounting::{Cancel, Label, Lease, Ledger, Request, Space, labels};

labels! { /// What a buffer is.
pub enum Class { Image => "image", Thumbnail => "thumbnail", Encoded => "encoded" } }
labels! { /// Who has it.
pub enum Stage { Decode => "decode", QueuedShrink => "queued_shrink", Shrink => "shrink", QueuedEncode => "queued_encode", Encode => "encode" } }

type Books = Ledger<Class, Stage>;
type Bytes = Lease<Vec<u8>, Class, Stage>;

const SIDE: usize = 1024;
const FACTOR: usize = 8;
const IMAGES: usize = 40;

/// Waits for the bytes and makes the buffer. Dropping it anywhere frees it and returns its bytes.
fn buffer(ledger: &Books, class: Class, stage: Stage, bytes: usize) -> Result<Bytes, Box<dyn Error + Send + Sync>> {
    let request = Request { space: Space::Host, class, stage, bytes: bytes as u64 };
    let permit = ledger.acquire(request, &Cancel::never())?;
    Ok(Lease::try_new(permit, || vec![0; bytes])?)
}

fn decode(ledger: &Books, out: &SyncSender<Bytes>) -> Result<(), Box<dyn Error + Send + Sync>> {
    for number in 0..IMAGES {
        let mut image = buffer(ledger, Class::Image, Stage::Decode, SIDE * SIDE)?;
        for (k, pixel) in image.iter_mut().enumerate() {
            *pixel = ((k % SIDE) ^ (k / SIDE) ^ number) as u8;
        }
        image.attribute_to(Stage::QueuedShrink);
        out.send(image)?;
    }
    Ok(())
}

fn shrink(ledger: &Books, images: &Receiver<Bytes>, out: &SyncSender<Bytes>) -> Result<(), Box<dyn Error + Send + Sync>> {
    for mut image in images {
        image.attribute_to(Stage::Shrink);
        let side = SIDE / FACTOR;
        let mut thumbnail = buffer(ledger, Class::Thumbnail, Stage::Shrink, side * side)?;
        for (k, pixel) in thumbnail.iter_mut().enumerate() {
            let (x, y) = (k % side * FACTOR, k / side * FACTOR);
            let block = (0..FACTOR * FACTOR).map(|i| u32::from(image[(y + i / FACTOR) * SIDE + x + i % FACTOR]));
            *pixel = (block.sum::<u32>() / (FACTOR * FACTOR) as u32) as u8;
        }
        // The image goes before the thumbnail waits.
        drop(image);
        thumbnail.attribute_to(Stage::QueuedEncode);
        out.send(thumbnail)?;
    }
    Ok(())
}

/// Run lengths: pairs of a count and a value.
fn encode(ledger: &Books, thumbnails: &Receiver<Bytes>) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let mut total = 0;
    for mut thumbnail in thumbnails {
        thumbnail.attribute_to(Stage::Encode);
        let mut encoded = buffer(ledger, Class::Encoded, Stage::Encode, 2 * thumbnail.len())?;
        let mut length = 0;
        for run in thumbnail.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255)) {
            encoded[length] = run.len() as u8;
            encoded[length + 1] = run[0];
            length += 2;
        }
        total += length as u64;
    }
    Ok(total)
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    // Room for three images, although forty are to be made and the queues would take eight.
    let ledger = Books::new(&[(Space::Host, 3 * (SIDE * SIDE) as u64 + (1 << 17))]);
    let (images, to_shrink) = sync_channel(4);
    let (thumbnails, to_encode) = sync_channel(4);
    let (first, second) = (ledger.clone(), ledger.clone());
    let decoding = thread::spawn(move || decode(&first, &images));
    let shrinking = thread::spawn(move || shrink(&second, &to_shrink, &thumbnails));
    let encoded = encode(&ledger, &to_encode)?;
    for thread in [decoding, shrinking] {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    let snapshot = ledger.snapshot();
    snapshot.check()?;
    println!(
        "{IMAGES} images, {encoded} bytes encoded; at most {} bytes at once, {} now",
        snapshot.peak(Space::Host),
        snapshot.in_use(Space::Host)
    );
    println!("{:<10} {:<14} {:>12}", "class", "stage", "peak bytes");
    for (_, class, stage, cell) in snapshot.cells() {
        println!("{:<10} {:<14} {:>12}", class.name(), stage.name(), cell.peak_bytes);
    }
    Ok(())
}

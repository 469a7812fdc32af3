//! The two forms of a C1 file, and its top-level fields.

use std::io::Read;

use pipeline_stage::{Class, Lease, StageContext};

use crate::base64_source::Base64Source;
use crate::challenge::challenge_proof;
use crate::lexer::Lexer;
use crate::proof::{C1, DecodedSize, Digest, Partition, WrappedSector};
use crate::seal_proof::SHAPE_KEYS;
use crate::source::{ReaderSource, SliceSource, Source};
use crate::{Authority, C1Error, Document, Expected, Limits, Location, PoRepKind, SealProof, SectorSize};

const WRAPPER: &[&str] = &["SectorNum", "Phase1Out", "SectorSize"];
const BARE: &[&str] = &["registered_proof", "vanilla_proofs", "comm_r", "comm_d", "replica_id", "seed", "ticket"];
/// Both forms: which one a file has shows at its first known field.
const EITHER: &[&str] = &[WRAPPER[0], WRAPPER[1], WRAPPER[2], BARE[0], BARE[1], BARE[2], BARE[3], BARE[4], BARE[5], BARE[6]];

/// Reads a C1 file, bare or wrapped, from memory.
///
/// The decoded proofs are reserved in one step as [`Class::VanillaProof`], before the first of them is decoded, and then shared out: each
/// partition is in a lease of its own, of its exact size. Besides them, and the caller's bytes, two windows of 64 KiB are used.
///
/// # Errors
/// [`C1Error`]; nothing is held afterwards.
pub fn parse(bytes: &[u8], limits: &Limits, expected: &Expected, context: &StageContext) -> Result<C1, C1Error> {
    let length = bytes.len() as u64;
    if length > limits.max_input_bytes {
        return Err(C1Error::TooLarge { limit: limits.max_input_bytes, found: length, at_least: false });
    }
    Job { limits, expected, context, input_bytes: length }.run(&mut SliceSource(bytes))
}

/// Reads a C1 file, bare or wrapped, from a reader, to its end. Needs no buffer around the reader.
///
/// As [`parse`], but the file is never in memory as a whole.
///
/// # Errors
/// [`C1Error`]; nothing is held afterwards.
pub fn parse_reader(reader: impl Read, limits: &Limits, expected: &Expected, context: &StageContext) -> Result<C1, C1Error> {
    let job = Job { limits, expected, context, input_bytes: limits.max_input_bytes };
    job.run(&mut ReaderSource::new(reader, limits.max_input_bytes))
}

struct Job<'a> {
    limits: &'a Limits,
    expected: &'a Expected,
    context: &'a StageContext,
    /// Bytes of the file, or the most it may have.
    input_bytes: u64,
}

impl Job<'_> {
    fn run(&self, source: &mut dyn Source) -> Result<C1, C1Error> {
        let mut lexer = Lexer::new(source, Document::File, self.limits, self.context.cancel());
        if lexer.token_or_end()?.is_none() {
            return Err(C1Error::Empty);
        }
        let mut draft = Draft::default();
        let mut wrapper = Wrapper::default();
        let mut wrapped = None;
        lexer.object(EITHER, |lexer, field| {
            let of_wrapper = field < WRAPPER.len();
            if *wrapped.get_or_insert(of_wrapper) != of_wrapper {
                let expected = if of_wrapper { BARE } else { WRAPPER }.join(", ");
                return Err(C1Error::UnknownName { at: lexer.here(), expected, found: EITHER[field].to_owned() });
            }
            if of_wrapper {
                self.wrapper_field(&mut wrapper, lexer, field)
            } else {
                self.bare_field(&mut draft, lexer, field - WRAPPER.len())
            }
        })?;
        let c1 = if wrapped == Some(true) { self.unwrap(wrapper, &lexer)? } else { draft.complete(&lexer)? };
        lexer.finish()?;
        Ok(c1)
    }

    fn wrapper_field(&self, wrapper: &mut Wrapper, lexer: &mut Lexer<'_>, field: usize) -> Result<(), C1Error> {
        match field {
            0 => {
                let at = lexer.here();
                let found = lexer.unsigned()?;
                match self.expected.sector_number {
                    Some(expected) if expected != found => {
                        return Err(C1Error::WrongSectorNumber { at, authority: Authority::Caller, expected, found });
                    }
                    _ => wrapper.number = Some(found),
                }
            }
            1 => {
                lexer.expect(b'"', "a string of base64")?;
                let cancel = lexer.cancel().clone();
                let mut source = Base64Source::new(lexer);
                let mut inner = Lexer::new(&mut source, Document::Phase1Out, self.limits, &cancel);
                let mut draft = Draft::default();
                inner.object(BARE, |lexer, field| self.bare_field(&mut draft, lexer, field))?;
                let c1 = draft.complete(&inner)?;
                inner.finish()?;
                wrapper.phase1 = Some(c1);
            }
            _ => {
                let at = lexer.here();
                let found = lexer.unsigned()?;
                self.check_size(found, || at.clone())?;
                wrapper.size = Some((found, at));
            }
        }
        Ok(())
    }

    fn unwrap(&self, wrapper: Wrapper, lexer: &Lexer<'_>) -> Result<C1, C1Error> {
        let number = lexer.require(wrapper.number, WRAPPER[0])?;
        let mut c1 = lexer.require(wrapper.phase1, WRAPPER[1])?;
        let (size_bytes, at) = lexer.require(wrapper.size, WRAPPER[2])?;
        let expected = c1.seal_proof.sector_size.bytes();
        if size_bytes != expected {
            return Err(C1Error::WrongSectorSize { at, authority: Authority::SealProof, expected, found: size_bytes });
        }
        c1.sector = Some(WrappedSector { number, size_bytes });
        Ok(c1)
    }

    fn bare_field(&self, draft: &mut Draft, lexer: &mut Lexer<'_>, field: usize) -> Result<(), C1Error> {
        match field {
            0 => {
                let at = lexer.here();
                draft.seal_proof = Some(self.seal_proof(draft, lexer, at)?);
            }
            1 => {
                let proof = draft.seal_proof;
                let (size, partitions) = lexer.variant(&SHAPE_KEYS, |lexer, key| {
                    let size = SectorSize::ALL[key];
                    if let Some(seal_proof) = proof {
                        same_shape(lexer, seal_proof, size)?;
                    }
                    self.check_size(size.bytes(), || lexer.here())?;
                    // A file of another registered proof than expected is refused when it names it.
                    let proof = proof.or(self.expected.seal_proof.filter(|proof| proof.sector_size == size));
                    Ok((size, self.partitions(lexer, size, proof)?))
                })?;
                draft.vanilla = Some((size, partitions));
            }
            2 => draft.comm_r = Some(lexer.field_element()?),
            3 => draft.comm_d = Some(lexer.field_element()?),
            4 => draft.replica_id = Some(lexer.field_element()?),
            5 => draft.seed = Some(lexer.digest()?),
            _ => draft.ticket = Some(lexer.digest()?),
        }
        Ok(())
    }

    fn seal_proof(&self, draft: &Draft, lexer: &mut Lexer<'_>, at: Box<Location>) -> Result<SealProof, C1Error> {
        lexer.string()?;
        let Some(found) = SealProof::from_name(&lexer.text) else {
            let expected = SealProof::all().map(SealProof::name).collect::<Vec<_>>().join(", ");
            return Err(C1Error::UnknownName { at, expected, found: lexer.text.clone() });
        };
        if let Some(expected) = self.expected.seal_proof
            && expected != found
        {
            return Err(C1Error::WrongSealProof { at, expected, found });
        }
        self.check_size(found.sector_size.bytes(), || at.clone())?;
        if let Some((size, partitions)) = &draft.vanilla {
            same_shape(lexer, found, *size)?;
            if partitions.len() != found.partitions() {
                let at = Box::new(Location { path: format!("$.vanilla_proofs.{}", size.shape_key()), ..*at });
                let (expected, found) = (found.partitions() as u64, partitions.len() as u64);
                return Err(C1Error::Count { at, what: "partitions", expected, found });
            }
        }
        Ok(found)
    }

    fn check_size(&self, found: u64, at: impl FnOnce() -> Box<Location>) -> Result<(), C1Error> {
        match self.expected.sector_size {
            Some(expected) if expected != found => {
                Err(C1Error::WrongSectorSize { at: at(), authority: Authority::Caller, expected, found })
            }
            _ => Ok(()),
        }
    }

    /// The partitions. When the registered proof is not known yet, one partition is the least and those of a non-interactive proof the most.
    fn partitions(&self, lexer: &mut Lexer<'_>, size: SectorSize, proof: Option<SealProof>) -> Result<Vec<Lease<Partition>>, C1Error> {
        let most = proof.unwrap_or(SealProof { sector_size: size, kind: PoRepKind::NonInteractive }).partitions();
        let least = proof.map_or(1, SealProof::partitions);
        let decoded = DecodedSize::of(size);
        let max_decoded = self.limits.max_decoded_bytes;
        if least > self.limits.max_partitions {
            return Err(lexer.limit("max_partitions", self.limits.max_partitions as u64));
        }
        if decoded.partition * least as u64 > max_decoded {
            return Err(lexer.limit("max_decoded_bytes", max_decoded));
        }
        let most = most.min(self.limits.max_partitions);
        // JSON takes more bytes than what it encodes, even if all digits are zero, so a reservation of the size of the file never stops a complete one.
        let reserve = (decoded.partition * most as u64).min(max_decoded).min(self.input_bytes);
        // One request for all partitions: two files that each wait for their second half could otherwise wait for each other.
        let mut permit = self.context.acquire(Class::VanillaProof, reserve)?;
        let mut partitions = Vec::with_capacity(most);
        lexer.list("partitions", least, most, |lexer, index| {
            let share = decoded.partition.min(permit.bytes());
            let Some(share) = permit.split(share) else { return Err(lexer.limit("max_decoded_bytes", max_decoded)) };
            let mut free = share.bytes();
            let mut take = |lexer: &Lexer<'_>, bytes: u64| match free.checked_sub(bytes) {
                Some(rest) => {
                    free = rest;
                    Ok(())
                }
                None if self.input_bytes >= max_decoded => Err(lexer.limit("max_decoded_bytes", max_decoded)),
                None => Err(lexer.unexpected_end("vanilla proofs that the file is too short for")),
            };
            take(lexer, decoded.slots)?;
            let mut challenges = Vec::with_capacity(size.challenges_per_partition());
            lexer.array("challenges", size.challenges_per_partition(), |lexer, _| {
                take(lexer, decoded.challenge)?;
                challenges.push(challenge_proof(lexer, size)?);
                Ok(())
            })?;
            partitions.push(Lease::try_new(share, || Partition { index, challenges })?);
            Ok(())
        })?;
        Ok(partitions)
    }
}

fn same_shape(lexer: &Lexer<'_>, seal_proof: SealProof, size: SectorSize) -> Result<(), C1Error> {
    if seal_proof.sector_size == size {
        return Ok(());
    }
    Err(C1Error::ShapeMismatch { at: lexer.here(), seal_proof, found: size.shape_key() })
}

#[derive(Default)]
struct Wrapper {
    number: Option<u64>,
    phase1: Option<C1>,
    size: Option<(u64, Box<Location>)>,
}

#[derive(Default)]
struct Draft {
    seal_proof: Option<SealProof>,
    vanilla: Option<(SectorSize, Vec<Lease<Partition>>)>,
    comm_r: Option<Digest>,
    comm_d: Option<Digest>,
    replica_id: Option<Digest>,
    seed: Option<[u8; 32]>,
    ticket: Option<[u8; 32]>,
}

impl Draft {
    fn complete(self, lexer: &Lexer<'_>) -> Result<C1, C1Error> {
        let seal_proof = lexer.require(self.seal_proof, BARE[0])?;
        let (_, partitions) = lexer.require(self.vanilla, BARE[1])?;
        Ok(C1 {
            seal_proof,
            sector: None,
            comm_r: lexer.require(self.comm_r, BARE[2])?,
            comm_d: lexer.require(self.comm_d, BARE[3])?,
            replica_id: lexer.require(self.replica_id, BARE[4])?,
            seed: lexer.require(self.seed, BARE[5])?,
            ticket: lexer.require(self.ticket, BARE[6])?,
            partitions,
        })
    }
}

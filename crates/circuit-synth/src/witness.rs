//! The compact witness and how it grows.

use blstrs::Scalar;
use buffer_accounting::{Buffer, OwnedBytes};
use ff::Field;
use pipeline_stage::{Class, Lease, Permit, StageContext};
use prover_backend::{BackendError, FULL_CHUNK, RANK_BLOCK, WitnessView};

use crate::error::SynthError;

/// A compact witness: see [`WitnessView`] for its parts.
#[derive(Debug, Default)]
pub struct CompactWitness {
    variables: usize,
    ones: Vec<u64>,
    full_flags: Vec<u64>,
    ranks: Vec<u32>,
    full: Vec<Vec<Scalar>>,
}

impl CompactWitness {
    /// The parts as backends read them.
    ///
    /// # Errors
    /// [`BackendError::Length`] never happens for a witness that this crate made.
    pub fn view(&self) -> Result<WitnessView<'_>, BackendError> {
        WitnessView::new(self.variables, &self.ones, &self.full_flags, &self.ranks, &self.full)
    }

    /// Number of variables, inputs included.
    #[must_use]
    pub fn variables(&self) -> usize {
        self.variables
    }

    /// Variables that are neither 0 nor 1.
    #[must_use]
    pub fn full_values(&self) -> usize {
        self.full.iter().map(Vec::len).sum()
    }
}

impl OwnedBytes for CompactWitness {
    fn owned_bytes(&self) -> u64 {
        self.ones.owned_bytes()
            + self.full_flags.owned_bytes()
            + self.ranks.owned_bytes()
            + self.full.iter().map(OwnedBytes::owned_bytes).sum::<u64>()
            + (self.full.capacity() * size_of::<Vec<Scalar>>()) as u64
    }
}

impl Buffer for CompactWitness {
    type Contents = Self;
    fn contents(&self) -> &Self {
        self
    }
}

/// Full-size values by which a chunk grows: 128 KiB.
const GROWTH: usize = 1 << 12;
const GROWTH_BYTES: u64 = (GROWTH * size_of::<Scalar>()) as u64;

fn fixed_bytes(variables: usize) -> u64 {
    let (words, blocks) = (variables.div_ceil(64), variables.div_ceil(RANK_BLOCK));
    (16 * words + 4 * blocks + chunks_max(variables) * size_of::<Vec<Scalar>>()) as u64
}

/// Chunk headers: one for each chunk there can be at most.
fn chunks_max(variables: usize) -> usize {
    variables.div_ceil(FULL_CHUNK) + 1
}

/// Bytes that the witness of so many variables takes from the ledger at most while it is made: if every value were full-size.
#[must_use]
pub fn witness_bytes_max(variables: usize) -> u64 {
    fixed_bytes(variables) + variables.div_ceil(GROWTH) as u64 * GROWTH_BYTES + GROWTH_BYTES
}

/// Takes auxiliary values one by one; the inputs, which are few, are put in front at the end.
///
/// The words are allocated once for the number of variables the circuit has; full-size values come in chunks, each under bytes that the
/// ledger granted before it grows.
pub(crate) struct WitnessBuilder {
    witness: CompactWitness,
    permit: Permit,
    context: StageContext,
    inputs: usize,
    /// The next variable.
    next: usize,
    /// Full-size auxiliary values so far.
    full: usize,
}

impl WitnessBuilder {
    /// For a circuit with so many inputs (ONE included) and auxiliary variables.
    pub(crate) fn new(inputs: usize, auxiliary: usize, context: &StageContext) -> Result<Self, SynthError> {
        let variables = inputs + auxiliary;
        let (words, blocks) = (variables.div_ceil(64), variables.div_ceil(RANK_BLOCK));
        let permit = context.acquire(Class::Witness, fixed_bytes(variables))?;
        let witness = CompactWitness {
            variables,
            ones: vec![0; words],
            full_flags: vec![0; words],
            ranks: vec![0; blocks],
            full: Vec::with_capacity(chunks_max(variables)),
        };
        Ok(Self { witness, permit, context: context.clone(), inputs, next: inputs, full: 0 })
    }

    /// Auxiliary variables so far.
    pub(crate) fn auxiliary(&self) -> usize {
        self.next - self.inputs
    }

    fn push_full(&mut self, value: Scalar) -> Result<(), SynthError> {
        if self.witness.full.last().is_none_or(|chunk| chunk.len() == FULL_CHUNK) {
            self.witness.full.push(Vec::new());
        }
        if self.witness.full.last().is_some_and(|chunk| chunk.len() == chunk.capacity()) {
            let more = self.context.acquire(Class::Witness, GROWTH_BYTES)?;
            // Same ledger, reservation, space and class by construction; were they not, the bytes would return while in use.
            if let Err(other) = self.permit.merge(more) {
                return Err(SynthError::Length { what: "bytes of a witness permit", expected: GROWTH_BYTES, found: other.bytes() });
            }
        }
        if let Some(chunk) = self.witness.full.last_mut() {
            if chunk.len() == chunk.capacity() {
                chunk.reserve_exact(GROWTH);
            }
            chunk.push(value);
        }
        Ok(())
    }

    /// Adds the next auxiliary value. `Ok(false)` when the circuit has no more variables.
    #[inline]
    pub(crate) fn push(&mut self, value: Scalar) -> Result<bool, SynthError> {
        let i = self.next;
        if i >= self.witness.variables {
            return Ok(false);
        }
        if i.is_multiple_of(RANK_BLOCK) {
            self.witness.ranks[i / RANK_BLOCK] = self.full as u32;
        }
        if value == Scalar::ONE {
            self.witness.ones[i / 64] |= 1 << (i % 64);
        } else if !value.is_zero_vartime() {
            self.witness.full_flags[i / 64] |= 1 << (i % 64);
            self.push_full(value)?;
            self.full += 1;
        }
        self.next += 1;
        Ok(true)
    }

    /// The value of an auxiliary variable that was pushed.
    #[inline]
    pub(crate) fn auxiliary_value(&self, j: usize) -> Option<Scalar> {
        let i = self.inputs + j;
        if i >= self.next {
            return None;
        }
        let (word, bit) = (i / 64, i % 64);
        let w = &self.witness;
        if w.full_flags[word] >> bit & 1 == 1 {
            let block = i / RANK_BLOCK;
            // Before the end the ranks count auxiliary values alone, and the flags of the inputs are not set.
            let mut rank = w.ranks[block] as usize;
            for flags in &w.full_flags[block * (RANK_BLOCK / 64)..word] {
                rank += flags.count_ones() as usize;
            }
            rank += (w.full_flags[word] & ((1 << bit) - 1)).count_ones() as usize;
            Some(w.full[rank / FULL_CHUNK][rank % FULL_CHUNK])
        } else {
            Some(if w.ones[word] >> bit & 1 == 1 { Scalar::ONE } else { Scalar::ZERO })
        }
    }

    /// Puts the inputs in front and counts the ranks.
    pub(crate) fn finish(mut self, inputs: &[Scalar]) -> Result<Lease<CompactWitness>, SynthError> {
        let mut front = Vec::new();
        for (i, value) in inputs.iter().enumerate() {
            if *value == Scalar::ONE {
                self.witness.ones[i / 64] |= 1 << (i % 64);
            } else if !value.is_zero_vartime() {
                self.witness.full_flags[i / 64] |= 1 << (i % 64);
                front.push(*value);
            }
        }
        self.insert_front(front)?;
        if let Some(last) = self.witness.full.last_mut() {
            last.shrink_to_fit();
        }
        let mut rank = 0;
        for (block, flags) in self.witness.full_flags.chunks(RANK_BLOCK / 64).enumerate() {
            self.witness.ranks[block] = rank;
            rank += flags.iter().map(|w| w.count_ones()).sum::<u32>();
        }
        self.witness.full.shrink_to_fit();
        Ok(Lease::try_new(self.permit, || self.witness)?)
    }

    /// Puts values before all full-size values, moving the others up across the chunks.
    fn insert_front(&mut self, values: Vec<Scalar>) -> Result<(), SynthError> {
        // At most one chunk's worth at a time, the last values first.
        for piece in values.rchunks(FULL_CHUNK) {
            let mut carry = piece.to_vec();
            for chunk in &mut self.witness.full {
                if chunk.len() < FULL_CHUNK {
                    break;
                }
                let moved = carry.len();
                chunk.rotate_right(moved);
                chunk[..moved].swap_with_slice(&mut carry);
            }
            // What is left goes before the values of the last chunk when that has room, else into a new one.
            let tail: Vec<Scalar> = match self.witness.full.last_mut() {
                // A copy, so that the chunk keeps the capacity it has bytes for.
                Some(chunk) if chunk.len() < FULL_CHUNK => {
                    let tail = chunk.clone();
                    chunk.clear();
                    tail
                }
                _ => Vec::new(),
            };
            for value in carry.into_iter().chain(tail) {
                self.push_full(value)?;
            }
        }
        Ok(())
    }
}

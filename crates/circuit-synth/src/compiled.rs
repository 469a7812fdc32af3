//! A compiled circuit, mapped.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use bls12_381_layout::from_bytes;
use blstrs::Scalar;
use ff::Field;
use pipeline_stage::StageContext;
use prover_backend::{BackendError, ConstraintMatrices, Matrix};
use xxhash_rust::xxh3::xxh3_64;

use crate::block::{BLOCK_ROWS, RowReader};
use crate::dictionary::Coefficient;
use crate::error::SynthError;
use crate::format::{COEFFICIENT_BYTES, ENTRY_BYTES, Entry, HEADER_BYTES, Header};
use crate::hash::CircuitHash;
use crate::map::Map;
use crate::shape::CircuitShape;

/// A compiled circuit, mapped from disk: A, B and C as compressed sparse rows.
///
/// Header, dictionary, densities and directory are checked when it is opened; a block of rows is checked when it is first read. A damaged
/// block is an error, never a wrong value.
#[derive(Debug)]
pub struct CompiledCircuit {
    map: Map,
    header: Header,
    coefficients: Vec<Coefficient>,
    /// For each block a bit for each matrix whose checksum was compared.
    checked: Vec<AtomicU8>,
}

pub(crate) fn number(matrix: Matrix) -> usize {
    match matrix {
        Matrix::A => 0,
        Matrix::B => 1,
        Matrix::C => 2,
    }
}

impl CompiledCircuit {
    /// Maps the compiled circuit called `name`.
    ///
    /// # Errors
    /// [`SynthError::Io`], [`SynthError::Foreign`], [`SynthError::Version`], [`SynthError::Size`], [`SynthError::Damaged`],
    /// [`SynthError::OtherCircuit`], memory.
    pub fn open(path: &Path, name: &str, context: &StageContext) -> Result<Self, SynthError> {
        let circuit = Self::open_any(path, context)?;
        if circuit.name() != name {
            return Err(SynthError::OtherCircuit { path: path.to_owned(), expected: name.to_owned(), found: circuit.name().to_owned() });
        }
        Ok(circuit)
    }

    /// Maps a compiled circuit of whatever name, for tools that list and show them.
    ///
    /// # Errors
    /// As for [`open`](CompiledCircuit::open).
    pub fn open_any(path: &Path, context: &StageContext) -> Result<Self, SynthError> {
        let map = Map::open(path, HEADER_BYTES as u64, context)?;
        let bytes = map.bytes();
        let mut page = [0; HEADER_BYTES];
        page.copy_from_slice(&bytes[..HEADER_BYTES]);
        let header = Header::decode(&page, path, bytes.len() as u64)?;
        let damaged = |part: &str, expected: String, found: String| SynthError::Damaged {
            path: path.to_owned(),
            part: part.to_owned(),
            expected,
            found,
        };
        let found = xxh3_64(&bytes[header.dictionary_offset as usize..]);
        if found != header.tail_checksum {
            let part = "the checksum of dictionary, densities and directory";
            return Err(damaged(part, format!("{:016x}", header.tail_checksum), format!("{found:016x}")));
        }
        let dictionary = &bytes[header.dictionary_offset as usize..header.density_offset as usize];
        let coefficients = dictionary.as_chunks::<COEFFICIENT_BYTES>().0.iter().map(Coefficient::from_bytes).collect::<Option<Vec<_>>>();
        let coefficients =
            coefficients.ok_or_else(|| damaged("the dictionary", "coefficients below the group order".into(), "a larger one".into()))?;
        let first: Vec<Scalar> = coefficients.iter().take(2).map(|c| c.scalar).collect();
        if first != [Scalar::ONE, -Scalar::ONE] {
            return Err(damaged("the dictionary", "1 and -1 in front".into(), format!("{first:?}")));
        }
        let checked = (0..header.blocks()).map(|_| AtomicU8::new(0)).collect();
        Ok(Self { map, header, coefficients, checked })
    }

    /// The circuit's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.header.name
    }

    /// SHA-256 over the matrices: two circuits with the same hash have the same constraints.
    #[must_use]
    pub fn hash(&self) -> &[u8; 32] {
        &self.header.hash
    }

    /// The numbers of the circuit.
    #[must_use]
    pub fn shape(&self) -> &CircuitShape {
        &self.header.shape
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.map.path()
    }

    /// Bytes of the file, and of the map.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.header.file_bytes
    }

    /// Compares every block with its checksum and the whole with the circuit's hash, reading the whole file.
    ///
    /// # Errors
    /// [`SynthError::Damaged`], [`SynthError::Cancelled`].
    pub fn verify_checksums(&self, context: &StageContext) -> Result<(), SynthError> {
        let mut hash = CircuitHash::new();
        for block in 0..self.blocks() {
            if context.cancel().is_cancelled() {
                return Err(SynthError::Cancelled);
            }
            for matrix in Matrix::ALL {
                self.rows_of_block(matrix, block)?;
                let (place, _) = self.place_of_block(matrix, block)?;
                hash.update(&self.map.bytes()[place]);
            }
        }
        hash.update(&self.map.bytes()[self.header.dictionary_offset as usize..self.header.density_offset as usize]);
        let found = hash.finish(&self.header.shape);
        if found == self.header.hash {
            return Ok(());
        }
        let hex = |hash: &[u8; 32]| hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let part = "the circuit's hash".to_owned();
        Err(SynthError::Damaged { path: self.path().to_owned(), part, expected: hex(&self.header.hash), found: hex(&found) })
    }

    pub(crate) fn coefficients(&self) -> &[Coefficient] {
        &self.coefficients
    }

    pub(crate) fn blocks(&self) -> usize {
        self.checked.len()
    }

    /// Constraints of a block.
    pub(crate) fn block_rows(&self, block: usize) -> Range<usize> {
        block * BLOCK_ROWS..((block + 1) * BLOCK_ROWS).min(self.header.shape.constraints as usize)
    }

    pub(crate) fn damaged_block(&self, matrix: Matrix, block: usize, expected: String, found: String) -> SynthError {
        SynthError::Damaged { path: self.path().to_owned(), part: format!("block {block} of {matrix:?}"), expected, found }
    }

    /// Where the rows of one matrix in one block are, and their checksum.
    fn place_of_block(&self, matrix: Matrix, block: usize) -> Result<(Range<usize>, u64), SynthError> {
        let k = number(matrix);
        let at = self.header.directory_offset as usize + block * ENTRY_BYTES;
        let entry = self.map.bytes().get(at..).and_then(|rest| rest.first_chunk::<ENTRY_BYTES>()).map(Entry::decode).unwrap_or_default();
        let (start, length) = (entry.start(k) as usize, entry.lengths[k] as usize);
        let end = start.saturating_add(length);
        if start < HEADER_BYTES || end > self.header.dictionary_offset as usize {
            return Err(self.damaged_block(matrix, block, "a place among the blocks".into(), format!("{length} bytes at {start}")));
        }
        Ok((start..end, entry.checksums[k]))
    }

    /// The rows of one matrix in one block, compared with their checksum when read for the first time.
    pub(crate) fn rows_of_block(&self, matrix: Matrix, block: usize) -> Result<RowReader<'_>, SynthError> {
        let k = number(matrix);
        let (place, checksum) = self.place_of_block(matrix, block)?;
        let rows = &self.map.bytes()[place];
        if self.checked[block].load(Ordering::Relaxed) >> k & 1 == 0 {
            let found = xxh3_64(rows);
            if found != checksum {
                return Err(self.damaged_block(matrix, block, format!("{checksum:016x}"), format!("{found:016x}")));
            }
            self.checked[block].fetch_or(1 << k, Ordering::Relaxed);
        }
        let shape = &self.header.shape;
        Ok(RowReader::new(rows, shape.inputs, shape.auxiliary, shape.coefficients))
    }

    /// An error for rows that do not decode although their checksum is right.
    pub(crate) fn undecodable(&self, matrix: Matrix, block: usize) -> SynthError {
        self.damaged_block(matrix, block, "rows of known variables and coefficients".into(), "something else".into())
    }

    fn terms_of_block(
        &self,
        matrix: Matrix,
        block: usize,
        rows: &Range<usize>,
        term: &mut dyn FnMut(usize, usize, &Scalar),
    ) -> Result<(), SynthError> {
        let mut reader = self.rows_of_block(matrix, block)?;
        for row in self.block_rows(block) {
            if row >= rows.end {
                return Ok(());
            }
            let terms = reader.begin_row().ok_or_else(|| self.undecodable(matrix, block))?;
            for _ in 0..terms {
                let (variable, coefficient) = reader.term().ok_or_else(|| self.undecodable(matrix, block))?;
                if row >= rows.start {
                    term(row, variable, &self.coefficients[coefficient].scalar);
                }
            }
        }
        if reader.is_at_end() { Ok(()) } else { Err(self.undecodable(matrix, block)) }
    }
}

impl ConstraintMatrices for CompiledCircuit {
    fn inputs(&self) -> usize {
        self.header.shape.inputs as usize
    }

    fn auxiliary(&self) -> usize {
        self.header.shape.auxiliary as usize
    }

    fn constraints(&self) -> usize {
        self.header.shape.constraints as usize
    }

    /// For C, whose density no query of a key has, nothing is set.
    fn density(&self, matrix: Matrix) -> &[u64] {
        let words = self.header.density_words() as usize;
        let start = self.header.density_offset as usize + 8 * words * number(matrix);
        match matrix {
            // The offset is a multiple of eight in a page-aligned map and the end was checked, so the view always exists.
            Matrix::A | Matrix::B => self.map.bytes().get(start..start + 8 * words).and_then(|b| from_bytes(b).ok()).unwrap_or(&[]),
            Matrix::C => &[],
        }
    }

    fn for_each_term(&self, matrix: Matrix, rows: Range<usize>, term: &mut dyn FnMut(usize, usize, &Scalar)) -> Result<(), BackendError> {
        if rows.end > self.rows() {
            return Err(BackendError::Length { what: "rows of the matrix", expected: rows.end, found: self.rows() });
        }
        let constraints = self.constraints();
        let first = rows.start / BLOCK_ROWS;
        for block in first..rows.end.min(constraints).div_ceil(BLOCK_ROWS) {
            self.terms_of_block(matrix, block, &rows, term).map_err(|error| BackendError::Bases {
                start: rows.start,
                end: rows.end,
                reason: error.to_string(),
            })?;
        }
        if matrix == Matrix::A {
            for row in rows.start.max(constraints)..rows.end {
                term(row, row - constraints, &self.coefficients[0].scalar);
            }
        }
        Ok(())
    }
}

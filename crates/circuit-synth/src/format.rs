//! The file format of compiled circuits, version 1. Everything is little-endian.
//!
//! | part | content |
//! |---|---|
//! | header, one page of 4096 bytes | magic, version, hash, numbers of the circuit, offsets of the parts, name, checksum of the page |
//! | blocks | for each [`BLOCK_ROWS`] rows: A, B, C as in the module `block` |
//! | dictionary | 32 bytes a coefficient, canonical |
//! | densities | the words of A's and B's density, padded to 8 bytes |
//! | directory | 48 bytes a block: offset, three lengths, three checksums |
//!
//! Checksums are XXH3 of 64 bits: they tell accidents, not malice. The hash is the SHA-256 of the blocks, the dictionary and the numbers of
//! inputs, auxiliary variables and constraints; it identifies the circuit.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::block::BLOCK_ROWS;
use crate::error::SynthError;
use crate::shape::CircuitShape;

/// First bytes of every compiled circuit.
const MAGIC: [u8; 8] = *b"R1CSCSR\n";
/// Version of the format.
pub(crate) const VERSION: u32 = 1;
/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 4096;
/// Longest name.
pub(crate) const NAME_MAX: usize = 200;
/// Bytes of a directory entry.
pub(crate) const ENTRY_BYTES: usize = 48;
/// Bytes of a dictionary entry.
pub(crate) const COEFFICIENT_BYTES: usize = 32;

/// What the header holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) hash: [u8; 32],
    pub(crate) shape: CircuitShape,
    pub(crate) dictionary_offset: u64,
    pub(crate) density_offset: u64,
    pub(crate) directory_offset: u64,
    /// Checksum of everything between the blocks and the end of the file.
    pub(crate) tail_checksum: u64,
    pub(crate) file_bytes: u64,
}

/// Is this a name that can be part of a file name?
pub(crate) fn check_name(name: &str) -> Result<(), SynthError> {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if name.is_empty() || name.len() > NAME_MAX || name.starts_with('.') || !plain {
        return Err(SynthError::Name { found: name.to_owned(), max: NAME_MAX });
    }
    Ok(())
}

fn numbers(header: &Header) -> [u64; 18] {
    let s = &header.shape;
    [
        s.inputs,
        s.auxiliary,
        s.constraints,
        s.terms[0],
        s.terms[1],
        s.terms[2],
        s.terms_max[0],
        s.terms_max[1],
        s.terms_max[2],
        s.coefficients,
        s.a_auxiliary,
        s.b_inputs,
        s.b_auxiliary,
        header.dictionary_offset,
        header.density_offset,
        header.directory_offset,
        header.tail_checksum,
        header.file_bytes,
    ]
}

impl Header {
    /// Blocks of the file.
    pub(crate) fn blocks(&self) -> u64 {
        self.shape.constraints.div_ceil(BLOCK_ROWS as u64)
    }

    /// Words of one density.
    pub(crate) fn density_words(&self) -> u64 {
        self.shape.variables().div_ceil(64)
    }

    /// Do the parts follow each other to the end of the file? `None` when a sum leaves 64 bits. The counts are within limits.
    fn parts_fit(&self, file_bytes: u64) -> Option<bool> {
        let density_offset = self.dictionary_offset.checked_add(self.shape.coefficients.checked_mul(COEFFICIENT_BYTES as u64)?)?;
        let directory_offset = self.density_offset.checked_add(16 * self.density_words())?;
        let end = self.directory_offset.checked_add(self.blocks() * ENTRY_BYTES as u64)?;
        Some(
            self.dictionary_offset >= HEADER_BYTES as u64
                && self.dictionary_offset.is_multiple_of(8)
                && self.density_offset == density_offset
                && self.directory_offset == directory_offset
                && end == file_bytes,
        )
    }

    /// The page.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.name.len() as u32).to_le_bytes());
        bytes.extend(self.hash);
        for number in numbers(self) {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.name.as_bytes());
        let mut page = [0; HEADER_BYTES];
        page[..bytes.len()].copy_from_slice(&bytes);
        let checksum = xxh3_64(&page[..HEADER_BYTES - 8]);
        page[HEADER_BYTES - 8..].copy_from_slice(&checksum.to_le_bytes());
        page
    }

    /// Reads the page and checks it against the file's length and itself.
    pub(crate) fn decode(page: &[u8; HEADER_BYTES], path: &Path, file_bytes: u64) -> Result<Self, SynthError> {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&page[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let half = |at: usize| word(at) as u32;
        if page[..8] != MAGIC {
            let found = page[..8].iter().map(|b| format!("{b:02x}")).collect();
            return Err(SynthError::Foreign { path: path.to_owned(), found });
        }
        if half(8) != VERSION {
            return Err(SynthError::Version { path: path.to_owned(), expected: VERSION, found: half(8) });
        }
        let damaged = |part: &str, expected: String, found: String| SynthError::Damaged {
            path: path.to_owned(),
            part: part.to_owned(),
            expected,
            found,
        };
        let (expected, found) = (word(HEADER_BYTES - 8), xxh3_64(&page[..HEADER_BYTES - 8]));
        if expected != found {
            return Err(damaged("the checksum of the header", format!("{expected:016x}"), format!("{found:016x}")));
        }
        let mut hash = [0; 32];
        hash.copy_from_slice(&page[16..48]);
        let number = |k: usize| word(48 + 8 * k);
        let name_at = 48 + 8 * 18;
        let name_bytes = page.get(name_at..name_at + half(12) as usize).unwrap_or(&[]);
        let name = String::from_utf8_lossy(name_bytes).into_owned();
        check_name(&name)?;
        let header = Self {
            name,
            hash,
            shape: CircuitShape {
                inputs: number(0),
                auxiliary: number(1),
                constraints: number(2),
                terms: [number(3), number(4), number(5)],
                terms_max: [number(6), number(7), number(8)],
                coefficients: number(9),
                a_auxiliary: number(10),
                b_inputs: number(11),
                b_auxiliary: number(12),
            },
            dictionary_offset: number(13),
            density_offset: number(14),
            directory_offset: number(15),
            tail_checksum: number(16),
            file_bytes: number(17),
        };
        if header.file_bytes != file_bytes {
            return Err(SynthError::Size { path: path.to_owned(), expected: header.file_bytes, found: file_bytes });
        }
        // The checksum tells accidents, not malice: later arithmetic and slicing rely on these sizes, so none of them is taken on trust.
        let limit = 1u64 << prover_backend::MAX_LOG2_SIZE;
        let s = &header.shape;
        let counts = s.inputs >= 1 && [s.inputs, s.auxiliary, s.constraints].iter().all(|count| *count <= limit) && s.rows() <= limit;
        let sane = counts && header.parts_fit(file_bytes).unwrap_or(false);
        if sane { Ok(header) } else { Err(damaged("the sizes in the header", "ones that fit each other".into(), format!("{s:?}"))) }
    }
}

/// Where a block's three parts are, and their checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) lengths: [u32; 3],
    pub(crate) checksums: [u64; 3],
}

impl Entry {
    pub(crate) fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        for (k, length) in self.lengths.iter().enumerate() {
            bytes[8 + 4 * k..12 + 4 * k].copy_from_slice(&length.to_le_bytes());
        }
        for (k, checksum) in self.checksums.iter().enumerate() {
            bytes[24 + 8 * k..32 + 8 * k].copy_from_slice(&checksum.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let lengths = word(8);
        Self {
            offset: word(0),
            lengths: [lengths as u32, (lengths >> 32) as u32, word(16) as u32],
            checksums: [word(24), word(32), word(40)],
        }
    }

    /// Where one matrix's part begins.
    pub(crate) fn start(&self, matrix: usize) -> u64 {
        self.offset.saturating_add(self.lengths[..matrix].iter().map(|l| u64::from(*l)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_entries_read_back() {
        let entry = Entry { offset: 1 << 40, lengths: [1, u32::MAX, 3], checksums: [4, u64::MAX, 6] };
        assert_eq!(Entry::decode(&entry.encode()), entry);
        assert_eq!(entry.start(2), (1 << 40) + 1 + u64::from(u32::MAX));
        let shape = CircuitShape { inputs: 2, auxiliary: 100, constraints: 5000, coefficients: 3, ..CircuitShape::default() };
        let mut header = Header {
            name: "porep-2kib".into(),
            hash: [7; 32],
            shape,
            dictionary_offset: 4096,
            density_offset: 4096 + 96,
            directory_offset: 4096 + 96 + 32,
            tail_checksum: 9,
            file_bytes: 4096 + 96 + 32 + 96,
        };
        let path = Path::new("x");
        assert_eq!(Header::decode(&header.encode(), path, header.file_bytes).unwrap(), header);
        assert!(matches!(Header::decode(&header.encode(), path, 5), Err(SynthError::Size { .. })));
        for at in 0..HEADER_BYTES {
            let mut page = header.encode();
            page[at] ^= 0x10;
            assert!(Header::decode(&page, path, header.file_bytes).is_err(), "byte {at}");
        }
        // Wrong numbers under a right checksum: a typed error, never an overflow.
        let good = header.clone();
        for wrong in [8, 1 << 63, u64::MAX] {
            for place in 0..6 {
                header = good.clone();
                let numbers = [
                    &mut header.directory_offset,
                    &mut header.density_offset,
                    &mut header.dictionary_offset,
                    &mut header.shape.coefficients,
                    &mut header.shape.inputs,
                    &mut header.shape.auxiliary,
                ];
                for (k, number) in numbers.into_iter().enumerate() {
                    *number ^= if k == place { wrong } else { 0 };
                }
                // Eight more inputs or variables still need the same two words.
                let error = Header::decode(&header.encode(), path, header.file_bytes);
                assert!(matches!(error, Err(SynthError::Damaged { .. })) || (wrong == 8 && place > 3), "place {place}, {wrong}: {error:?}");
            }
        }
    }
}

//! The header of a native proving key. The format is described in docs/FORMATS.md.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use crate::circuit::{Circuit, CircuitCounts, CircuitIdentity};
use crate::{Digest, Origin, Randomness, SrsError};

/// First bytes of every native proving key; the line end tells a file that was copied as text.
const MAGIC: [u8; 8] = *b"\x89PMKEY\r\n";
const VERSION: u32 = 1;
/// Header and sections start at multiples of this.
pub(crate) const PAGE: u64 = 4096;
/// The header is one page.
pub(crate) const HEADER_BYTES: usize = PAGE as usize;

const CHECKSUM_AT: usize = HEADER_BYTES - 16;
const TABLE_AT: usize = 512;
const ENTRY_BYTES: usize = 48;
const NAME_AT: usize = 256;

/// The sections, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionKind {
    /// α, β, δ, then ic, in G1.
    VkG1,
    /// β, γ, δ in G2.
    VkG2,
    /// τ^i·(τ^N - 1)/δ in G1.
    H,
    /// (β·a_j + α·b_j + c_j)/δ of the auxiliary variables, in G1.
    L,
    /// a_j of the variables of the A query, in G1.
    A,
    /// b_j of the variables of the B query, in G1.
    BG1,
    /// b_j of the variables of the B query, in G2.
    BG2,
}

impl SectionKind {
    pub(crate) const ALL: [Self; 7] = [Self::VkG1, Self::VkG2, Self::H, Self::L, Self::A, Self::BG1, Self::BG2];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::VkG1 => "vk_g1",
            Self::VkG2 => "vk_g2",
            Self::H => "h",
            Self::L => "l",
            Self::A => "a",
            Self::BG1 => "b_g1",
            Self::BG2 => "b_g2",
        }
    }

    pub(crate) fn point_bytes(self) -> u64 {
        match self {
            Self::VkG2 | Self::BG2 => 192,
            _ => 96,
        }
    }

    pub(crate) fn points(self, counts: &CircuitCounts) -> u64 {
        match self {
            Self::VkG1 => 3 + counts.inputs(),
            Self::VkG2 => 3,
            Self::H => counts.h_query(),
            Self::L => counts.auxiliary(),
            Self::A => counts.a_query(),
            Self::BG1 | Self::BG2 => counts.b_query(),
        }
    }
}

/// Where a section lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: SectionKind,
    pub(crate) offset: u64,
    pub(crate) points: u64,
    pub(crate) checksum: u128,
}

impl Entry {
    pub(crate) fn bytes(&self) -> u64 {
        self.points * self.kind.point_bytes()
    }

    /// One past the section's last byte.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.bytes()
    }

    /// One past the padding after the section.
    pub(crate) fn padded_end(&self) -> u64 {
        self.end().next_multiple_of(PAGE)
    }
}

/// The sections of a circuit's key, checksums zero, and the length of the file. Counts fix everything.
pub(crate) fn layout(counts: &CircuitCounts) -> ([Entry; 7], u64) {
    let mut offset = PAGE;
    let table = SectionKind::ALL.map(|kind| {
        let entry = Entry { kind, offset, points: kind.points(counts), checksum: 0 };
        offset = entry.padded_end();
        entry
    });
    (table, offset)
}

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) circuit: Circuit,
    pub(crate) origin: Origin,
    pub(crate) table: [Entry; 7],
    pub(crate) file_bytes: u64,
}

impl Header {
    /// The first page of the file.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut page = [0u8; HEADER_BYTES];
        let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(12, &(HEADER_BYTES as u32).to_le_bytes());
        put(16, &self.file_bytes.to_le_bytes());
        let (tag, digest) = match self.origin {
            Origin::Development(Randomness::Seeded) => (1u32, [0; 16]),
            Origin::Development(Randomness::OperatingSystem) => (2, [0; 16]),
            Origin::Official { digest } => (3, digest.0),
            Origin::Imported { digest } => (4, digest.0),
        };
        put(24, &tag.to_le_bytes());
        put(28, &(self.table.len() as u32).to_le_bytes());
        put(32, &digest);
        put(48, self.circuit.identity.hash());
        let counts = &self.circuit.counts;
        let numbers = [counts.inputs(), counts.auxiliary(), counts.constraints(), counts.a_query(), counts.b_query()];
        for (i, number) in numbers.iter().enumerate() {
            put(80 + 8 * i, &number.to_le_bytes());
        }
        put(120, &counts.domain().log2_size().to_le_bytes());
        let name = self.circuit.identity.name().as_bytes();
        put(124, &(name.len() as u32).to_le_bytes());
        put(NAME_AT, name);
        for (i, entry) in self.table.iter().enumerate() {
            let at = TABLE_AT + ENTRY_BYTES * i;
            put(at, &(i as u32).to_le_bytes());
            put(at + 4, &(entry.kind.point_bytes() as u32).to_le_bytes());
            put(at + 8, &entry.offset.to_le_bytes());
            put(at + 16, &entry.points.to_le_bytes());
            put(at + 24, &entry.bytes().to_le_bytes());
            put(at + 32, &entry.checksum.to_le_bytes());
        }
        let checksum = xxh3_128(&page[..CHECKSUM_AT]);
        page[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        page
    }

    /// Reads the first page of a file of `file_bytes` bytes.
    pub(crate) fn decode(page: &[u8; HEADER_BYTES], path: &Path, file_bytes: u64) -> Result<Self, SrsError> {
        if page[..8] != MAGIC {
            return Err(SrsError::Foreign { path: path.to_owned(), expected: hex::encode(MAGIC), found: hex::encode(&page[..8]) });
        }
        let version = u32_at(page, 8);
        if version != VERSION {
            return Err(SrsError::Version { path: path.to_owned(), expected: VERSION, found: version });
        }
        let (stored, actual) = (u128_at(page, CHECKSUM_AT), xxh3_128(&page[..CHECKSUM_AT]));
        if stored != actual {
            return Err(SrsError::HeaderChecksum {
                path: path.to_owned(),
                expected: format!("{stored:032x}"),
                found: format!("{actual:032x}"),
            });
        }
        let wrong = |field, expected: String, found: String| SrsError::Header { path: path.to_owned(), field, expected, found };

        let mut digest = Digest([0; 16]);
        digest.0.copy_from_slice(&page[32..48]);
        let origin = match u32_at(page, 24) {
            1 => Origin::Development(Randomness::Seeded),
            2 => Origin::Development(Randomness::OperatingSystem),
            3 => Origin::Official { digest },
            4 => Origin::Imported { digest },
            other => return Err(wrong("the origin", "1 to 4".to_owned(), other.to_string())),
        };
        let mut hash = [0; 32];
        hash.copy_from_slice(&page[48..80]);
        let name_bytes = u32_at(page, 124) as usize;
        let name = page[NAME_AT..TABLE_AT].get(..name_bytes).and_then(|b| std::str::from_utf8(b).ok());
        let Some(name) = name else {
            return Err(wrong(
                "the circuit's name",
                format!("at most {} bytes of text", TABLE_AT - NAME_AT),
                format!("{name_bytes} bytes"),
            ));
        };
        let identity = CircuitIdentity::new(name, hash)?;
        let n = |i: usize| u64_at(page, 80 + 8 * i);
        let counts = CircuitCounts::new(n(0), n(1), n(2), n(3), n(4))?;

        let (mut table, expected_bytes) = layout(&counts);
        for (i, entry) in table.iter_mut().enumerate() {
            entry.checksum = u128_at(page, TABLE_AT + ENTRY_BYTES * i + 32);
        }
        let header = Self { circuit: Circuit { identity, counts }, origin, table, file_bytes: expected_bytes };
        // Everything but the fields read above follows from them: one comparison covers table, sizes and reserved bytes.
        if let Some(at) = header.encode().iter().zip(page).position(|(a, b)| a != b) {
            return Err(wrong("the header", "what its counts imply".to_owned(), format!("another value at byte {at}")));
        }
        if file_bytes != expected_bytes {
            return Err(SrsError::Size { path: path.to_owned(), what: "by its header", expected: expected_bytes, found: file_bytes });
        }
        Ok(header)
    }
}

fn u32_at(page: &[u8; HEADER_BYTES], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&page[at..at + 4]);
    u32::from_le_bytes(bytes)
}

fn u64_at(page: &[u8; HEADER_BYTES], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&page[at..at + 8]);
    u64::from_le_bytes(bytes)
}

fn u128_at(page: &[u8; HEADER_BYTES], at: usize) -> u128 {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&page[at..at + 16]);
    u128::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let counts = CircuitCounts::new(3, 100, 120, 90, 40).unwrap();
        let (mut table, file_bytes) = layout(&counts);
        for (i, entry) in table.iter_mut().enumerate() {
            entry.checksum = u128::MAX / (i as u128 + 2);
        }
        let identity = CircuitIdentity::new("toy", [7; 32]).unwrap();
        Header { circuit: Circuit { identity, counts }, origin: Origin::Imported { digest: Digest([9; 16]) }, table, file_bytes }
    }

    #[test]
    fn round_trip_for_each_origin() {
        let path = Path::new("toy.pmkey");
        let digest = Digest([3; 16]);
        for origin in [
            Origin::Development(Randomness::Seeded),
            Origin::Development(Randomness::OperatingSystem),
            Origin::Official { digest },
            Origin::Imported { digest },
        ] {
            let header = Header { origin, ..header() };
            assert_eq!(Header::decode(&header.encode(), path, header.file_bytes).unwrap(), header);
        }
    }

    #[test]
    fn every_flipped_bit_is_refused() {
        let path = Path::new("toy.pmkey");
        let header = header();
        let page = header.encode();
        for byte in 0..HEADER_BYTES {
            let mut broken = page;
            broken[byte] ^= 1 << (byte % 8);
            assert!(Header::decode(&broken, path, header.file_bytes).is_err(), "byte {byte}");
        }
    }

    #[test]
    fn a_consistent_checksum_does_not_excuse_nonsense() {
        let path = Path::new("toy.pmkey");
        let header = header();
        // Reserved bytes, origin, counts, name, table.
        for at in [24usize, 28, 47, 80, 88, 96, 104, 112, 120, 124, 200, NAME_AT, 300, TABLE_AT + 8, TABLE_AT + 16, TABLE_AT + 24, 4000] {
            let mut page = header.encode();
            page[at] ^= 0x80;
            let checksum = xxh3_128(&page[..CHECKSUM_AT]);
            page[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
            if at == 47 {
                assert!(Header::decode(&page, path, header.file_bytes).is_ok(), "a digest is free");
            } else {
                assert!(Header::decode(&page, path, header.file_bytes).is_err(), "byte {at}");
            }
        }
        assert!(matches!(Header::decode(&header.encode(), path, header.file_bytes - 1), Err(SrsError::Size { .. })));
    }

    #[test]
    fn sections_are_page_aligned_and_do_not_overlap() {
        let header = header();
        let mut end = PAGE;
        for entry in header.table {
            assert_eq!(entry.offset, end);
            assert_eq!(entry.offset % PAGE, 0);
            end = entry.padded_end();
        }
        assert_eq!(end, header.file_bytes);
    }
}

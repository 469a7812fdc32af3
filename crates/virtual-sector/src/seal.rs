//! Real sectors of the test sizes, sealed by the library.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use filecoin_proofs_api::seal::{self, SealCommitPhase1Output};
use filecoin_proofs_api::{PieceInfo, RegisteredSealProof, SectorId, UnpaddedBytesAmount};
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};

use crate::error::library;
use crate::{C1File, Error, SectorSize, Spec, prover_id};

/// The miner of every fixture.
const FIXTURE_MINER: u64 = 1000;
/// The sector of every fixture.
const FIXTURE_SECTOR: u64 = 1;

/// The sealed sectors whose C1 files are kept as test data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fixture {
    /// 2 KiB, version 1.1.
    KiB2,
    /// 2 KiB, version 1.1, synthetic challenges.
    KiB2Synthetic,
    /// 2 KiB, version 1.2, non-interactive: 13 partitions.
    KiB2NonInteractive,
    /// 8 MiB, version 1.1.
    MiB8,
}

impl Fixture {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::KiB2, Self::KiB2Synthetic, Self::KiB2NonInteractive, Self::MiB8];

    fn seal_proof(self) -> RegisteredSealProof {
        match self {
            Self::KiB2 => RegisteredSealProof::StackedDrg2KiBV1_1,
            Self::KiB2Synthetic => RegisteredSealProof::StackedDrg2KiBV1_1_Feat_SyntheticPoRep,
            Self::KiB2NonInteractive => RegisteredSealProof::StackedDrg2KiBV1_2_Feat_NonInteractivePoRep,
            Self::MiB8 => RegisteredSealProof::StackedDrg8MiBV1_1,
        }
    }

    /// What the generator of the data is seeded with.
    fn data_label(self) -> &'static str {
        match self {
            Self::KiB2 => "filref data 2k",
            Self::KiB2Synthetic => "filref data 2k-synth",
            Self::KiB2NonInteractive => "filref data 2k-ni",
            Self::MiB8 => "filref data 8m",
        }
    }
}

/// A sealing: everything but the staged data.
struct Sealing {
    proof: RegisteredSealProof,
    miner: u64,
    sector: u64,
    ticket: [u8; 32],
    challenge_seed: [u8; 32],
}

/// Seals the sector of a spec, all nodes labelled, through the library's commit phase 1. The slow twin of [`fabricate`](crate::fabricate).
///
/// Works in a temporary folder below `scratch`, which is removed; see the crate's page for what else the library reads and writes.
///
/// # Errors
/// [`Error::TooLarge`] above 8 MiB, [`Error::Io`], and the library's own.
pub fn seal(spec: &Spec, scratch: &Path) -> Result<C1File, Error> {
    if spec.size > SectorSize::MiB8 {
        return Err(Error::TooLarge { size: spec.size });
    }
    let folder = tempfile::tempdir_in(scratch)?;
    let data = spec.data_tree()?;
    // The nodes are below 2^254, so they are in the padded form of a staged file already.
    let padded: Vec<u8> = (0..spec.size.bytes() / 32).flat_map(|node| <[u8; 32]>::from(data.leaf(node))).collect();
    fs::write(folder.path().join("staged"), padded)?;
    let pieces = [PieceInfo { commitment: data.root().into(), size: UnpaddedBytesAmount(spec.size.bytes() / 128 * 127) }];
    let sealing = Sealing {
        proof: spec.size.seal_proof(),
        miner: spec.miner,
        sector: spec.sector,
        ticket: spec.ticket(),
        challenge_seed: spec.challenge_seed(),
    };
    C1File::new(&sealing.run(folder.path(), &pieces)?, spec.miner, spec.sector)
}

/// Seals a fixture: the same bytes each time.
///
/// Works in a temporary folder below `scratch`, which is removed; see the crate's page for what else the library reads and writes.
///
/// # Errors
/// [`Error::Io`], and the library's own.
pub fn seal_fixture(fixture: Fixture, scratch: &Path) -> Result<C1File, Error> {
    let folder = tempfile::tempdir_in(scratch)?;
    let proof = fixture.seal_proof();
    let unpadded = u64::from(proof.sector_size()) / 128 * 127;
    let mut data = vec![0; unpadded as usize];
    generator(fixture.data_label()).fill_bytes(&mut data);
    let mut staged = OpenOptions::new().read(true).write(true).create_new(true).open(folder.path().join("staged"))?;
    let (piece, _) =
        seal::add_piece(proof, &data[..], &mut staged, UnpaddedBytesAmount(unpadded), &[]).map_err(library("adding a piece"))?;
    drop(staged);
    let sealing = Sealing {
        proof,
        miner: FIXTURE_MINER,
        sector: FIXTURE_SECTOR,
        ticket: commitment("filref ticket"),
        challenge_seed: commitment("filref seed"),
    };
    C1File::new(&sealing.run(folder.path(), &[piece])?, FIXTURE_MINER, FIXTURE_SECTOR)
}

impl Sealing {
    /// Seals `staged` of a folder.
    fn run(&self, folder: &Path, pieces: &[PieceInfo]) -> Result<SealCommitPhase1Output, Error> {
        let (cache, staged, sealed) = (folder.join("cache"), folder.join("staged"), folder.join("sealed"));
        fs::create_dir(&cache)?;
        File::create(&sealed)?;
        let (prover, sector, ticket) = (prover_id(self.miner), SectorId::from(self.sector), self.ticket);
        let labelled = seal::seal_pre_commit_phase1(self.proof, &cache, &staged, &sealed, prover, sector, ticket, pieces)
            .map_err(library("pre-commit phase 1"))?;
        let committed = seal::seal_pre_commit_phase2(labelled, &cache, &sealed).map_err(library("pre-commit phase 2"))?;
        if self.proof == RegisteredSealProof::StackedDrg2KiBV1_1_Feat_SyntheticPoRep {
            seal::generate_synth_proofs(&cache, &sealed, prover, sector, ticket, committed.clone(), pieces)
                .map_err(library("generating the synthetic proofs"))?;
        }
        seal::seal_commit_phase1(&cache, &sealed, prover, sector, ticket, self.challenge_seed, committed, pieces)
            .map_err(library("commit phase 1"))
    }
}

/// A generator seeded by the bytes of a label, cut or zero padded to 32.
fn generator(label: &str) -> ChaCha20Rng {
    let mut seed = [0; 32];
    for (to, from) in seed.iter_mut().zip(label.bytes()) {
        *to = from;
    }
    ChaCha20Rng::from_seed(seed)
}

/// 32 bytes from a generator, below 2^254.
fn commitment(label: &str) -> [u8; 32] {
    let mut out = [0; 32];
    generator(label).fill_bytes(&mut out);
    out[31] &= 0x3f;
    out
}

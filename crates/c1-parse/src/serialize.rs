//! The proofs in the official serde data model: `bincode` and `serde_json` write byte for byte what they write for the official types.

use serde::ser::{Serialize, SerializeSeq, SerializeStruct, SerializeStructVariant, Serializer};

use crate::proof::{C1, Column, Digest, InclusionPath, InclusionProof, Partition};

impl Serialize for C1 {
    /// The bare form; what a wrapper said is not written.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("SealCommitPhase1Output", 7)?;
        fields.serialize_field("registered_proof", &RegisteredProof(self))?;
        fields.serialize_field("vanilla_proofs", &VanillaProofs(self))?;
        fields.serialize_field("comm_r", &self.comm_r)?;
        fields.serialize_field("comm_d", &self.comm_d)?;
        fields.serialize_field("replica_id", &self.replica_id)?;
        fields.serialize_field("seed", &self.seed)?;
        fields.serialize_field("ticket", &self.ticket)?;
        fields.end()
    }
}

struct RegisteredProof<'a>(&'a C1);

impl Serialize for RegisteredProof<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let proof = self.0.seal_proof;
        serializer.serialize_unit_variant("RegisteredSealProof", proof.registered_id() as u32, proof.name())
    }
}

struct VanillaProofs<'a>(&'a C1);

impl Serialize for VanillaProofs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let size = self.0.seal_proof.sector_size;
        serializer.serialize_newtype_variant("VanillaSealProof", size as u32, size.shape_key(), &Partitions(self.0))
    }
}

struct Partitions<'a>(&'a C1);

impl Serialize for Partitions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.partitions.iter().map(|lease| -> &Partition { lease }))
    }
}

impl Serialize for Partition {
    /// The list of the challenges.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.challenges.serialize(serializer)
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Column", 3)?;
        fields.serialize_field("index", &self.index)?;
        fields.serialize_field("rows", &self.rows)?;
        // The official type writes its marker: null in JSON, nothing in bincode.
        fields.serialize_field("_h", &())?;
        fields.end()
    }
}

impl Serialize for InclusionProof {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("MerkleProof", 1)?;
        fields.serialize_field("data", &ProofData(self))?;
        fields.end()
    }
}

struct ProofData<'a>(&'a InclusionProof);

impl Serialize for ProofData<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            InclusionProof::Single { root, leaf, path } => {
                let mut fields = serializer.serialize_struct_variant("ProofData", 0, "Single", 3)?;
                fields.serialize_field("root", root)?;
                fields.serialize_field("leaf", leaf)?;
                fields.serialize_field("path", path)?;
                fields.end()
            }
            InclusionProof::Sub { base_proof, sub_proof, root, leaf } => {
                let mut fields = serializer.serialize_struct_variant("ProofData", 1, "Sub", 4)?;
                fields.serialize_field("base_proof", base_proof)?;
                fields.serialize_field("sub_proof", sub_proof)?;
                fields.serialize_field("root", root)?;
                fields.serialize_field("leaf", leaf)?;
                fields.end()
            }
            InclusionProof::Top { base_proof, sub_proof, top_proof, root, leaf } => {
                let mut fields = serializer.serialize_struct_variant("ProofData", 2, "Top", 5)?;
                fields.serialize_field("base_proof", base_proof)?;
                fields.serialize_field("sub_proof", sub_proof)?;
                fields.serialize_field("top_proof", top_proof)?;
                fields.serialize_field("root", root)?;
                fields.serialize_field("leaf", leaf)?;
                fields.end()
            }
        }
    }
}

impl Serialize for InclusionPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("InclusionPath", 1)?;
        fields.serialize_field("path", &PathLevels(self))?;
        fields.end()
    }
}

struct PathLevels<'a>(&'a InclusionPath);

impl Serialize for PathLevels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut levels = serializer.serialize_seq(Some(self.0.len()))?;
        for (hashes, index) in self.0.levels() {
            levels.serialize_element(&PathElement { hashes, index })?;
        }
        levels.end()
    }
}

#[derive(serde::Serialize)]
struct PathElement<'a> {
    hashes: &'a [Digest],
    index: usize,
}

//! Public inputs as a JSON document.

use std::io::Read;
use std::path::Path;

use blstrs::Scalar;
use c1_parse::{C1, SectorSize};
use ff::PrimeField;
use groth16_assembly::PARTITIONS_MAX;
use serde_json::{Value as Json, json};

use super::c1::open;
use crate::exit::{Exit, Failure};

/// A document is at most this large: the most partitions, with as many inputs as the largest circuit has.
const DOCUMENT_BYTES_MAX: u64 = 16 << 20;
/// Version of the document.
const VERSION: u64 = 1;

/// What a proof is about: the circuit's sector size and the public inputs (without ONE) of each partition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PublicInputs {
    pub(crate) sector_size: SectorSize,
    pub(crate) partitions: Vec<Vec<Scalar>>,
}

impl PublicInputs {
    /// As a verifier derives them from what a C1 file states.
    ///
    /// # Errors
    /// [`Exit::Data`].
    pub(crate) fn of_c1(name: &str, c1: &C1) -> Result<Self, Failure> {
        let statement = filecoin_circuits::Statement::from(c1);
        let partitions = (0..c1.seal_proof.partitions())
            .map(|partition| filecoin_circuits::public_inputs(&statement, partition))
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::from_part(name, &error, Exit::Data))?;
        Ok(Self { sector_size: c1.seal_proof.sector_size, partitions })
    }

    /// The fields of the document: each input as 64 digits of hex, least significant byte first.
    pub(crate) fn fields(&self) -> Json {
        let partitions: Vec<Vec<String>> =
            self.partitions.iter().map(|inputs| inputs.iter().map(|input| hex::encode(input.to_repr())).collect()).collect();
        json!({ "sector_size": self.sector_size.bytes(), "partitions": partitions })
    }

    /// Reads a document.
    ///
    /// # Errors
    /// What reading it may give; [`Exit::Data`] with the JSON path.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let mut bytes = Vec::new();
        open(path)?.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| Failure::reading(path, &error))?;
        Self::decode(&bytes).map_err(|what| Failure::new(Exit::Data, format!("{}: {what}", path.display())))
    }

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
            return Err(format!("public inputs have at most {DOCUMENT_BYTES_MAX} bytes"));
        }
        let document: Json = serde_json::from_slice(bytes).map_err(|error| format!("not JSON: {error}"))?;
        let expect = |at: &str, expected: &str| format!("$.{at}: expected {expected}: is this what `proofmill circuit inputs` printed?");
        if document["version"].as_u64() != Some(VERSION) {
            return Err(expect("version", "1"));
        }
        let sector_size = SectorSize::ALL
            .into_iter()
            .find(|size| document["sector_size"].as_u64() == Some(size.bytes()))
            .ok_or_else(|| expect("sector_size", "the bytes of a sector size"))?;
        let partitions = document["partitions"].as_array().filter(|list| (1..=PARTITIONS_MAX).contains(&list.len()));
        let partitions = partitions.ok_or_else(|| expect("partitions", "a list of partitions"))?;
        let mut scalars = Vec::with_capacity(partitions.len());
        for (p, inputs) in partitions.iter().enumerate() {
            let inputs = inputs.as_array().ok_or_else(|| expect(&format!("partitions[{p}]"), "a list of inputs"))?;
            let decoded = inputs.iter().enumerate().map(|(i, input)| {
                input.as_str().and_then(scalar).ok_or_else(|| {
                    expect(&format!("partitions[{p}][{i}]"), "64 digits of hex, a field element, least significant byte first")
                })
            });
            scalars.push(decoded.collect::<Result<_, _>>()?);
        }
        Ok(Self { sector_size, partitions: scalars })
    }
}

fn scalar(text: &str) -> Option<Scalar> {
    let bytes: [u8; 32] = hex::decode(text).ok()?.try_into().ok()?;
    Scalar::from_repr_vartime(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_reads_back_and_mistakes_are_named() {
        let inputs = PublicInputs {
            sector_size: SectorSize::KiB2,
            partitions: vec![vec![Scalar::from(7), -Scalar::from(1)], vec![Scalar::from(9)]],
        };
        let mut document = inputs.fields();
        document["version"] = 1.into();
        let good = document.to_string();
        assert_eq!(PublicInputs::decode(good.as_bytes()), Ok(inputs));
        let refused = |change: &dyn Fn(&mut Json), words: &str| {
            let mut changed = document.clone();
            change(&mut changed);
            let found = PublicInputs::decode(changed.to_string().as_bytes()).unwrap_err();
            assert!(found.contains(words), "{found}");
        };
        refused(&|d| d["version"] = 2.into(), "$.version");
        refused(&|d| d["sector_size"] = 2049.into(), "$.sector_size");
        refused(&|d| d["partitions"] = json!([]), "$.partitions");
        refused(&|d| d["partitions"][1] = json!("x"), "$.partitions[1]:");
        // The modulus itself is not canonical.
        refused(
            &|d| d["partitions"][0][1] = "01000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73".into(),
            "$.partitions[0][1]",
        );
        refused(&|d| d["partitions"][0][0] = "07".into(), "$.partitions[0][0]");
        assert!(PublicInputs::decode(&good.as_bytes()[1..]).unwrap_err().contains("not JSON"));
    }
}

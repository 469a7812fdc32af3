//! `verify`: a proof against a C1 file or public inputs.

use groth16_assembly::{PreparedVerifyingKey, verify_partitions};
use groth16_srs::VerifyingKey;
use pipeline_stage::StageName;
use serde_json::json;

use crate::cli::VerifyArgs;
use crate::exit::{Exit, Failure};
use crate::input::{PublicInputs, read_c1, read_proof};
use crate::output::Report;
use crate::session::Session;
use crate::store;

/// Verifies a proof. A proof that does not verify is an error, so that a script cannot overlook it.
///
/// # Errors
/// [`Exit::Data`] for a proof that does not verify; what reading inputs and key gives.
pub(crate) fn verify(args: &VerifyArgs, session: &Session<'_>) -> Result<Report, Failure> {
    let inputs = match (&args.c1, &args.public_inputs) {
        (Some(path), _) => {
            let c1 = read_c1(path, &args.sector, None, &session.context(StageName::Parse))?;
            PublicInputs::of_c1(&path.display().to_string(), &c1)?
        }
        (None, Some(path)) => PublicInputs::read(path)?,
        (None, None) => return Err(Failure::new(Exit::Usage, "verify needs --c1 or --public-inputs")),
    };
    let proof = read_proof(&args.proof, inputs.partitions.len())?;
    let (key, origin) = match &args.verifying_key {
        Some(path) => {
            let key = VerifyingKey::open(path).map_err(|error| Failure::from_part("verifying key", &error, Exit::Data))?;
            (key, path.display().to_string())
        }
        None => {
            let key = store::stored_key(session, inputs.sector_size)?;
            (key.verifying_key().clone(), key.origin().to_string())
        }
    };
    let prepared = PreparedVerifyingKey::new(&key).map_err(|error| Failure::from_part("verifying key", &error, Exit::Data))?;
    verify_partitions(&prepared, &proof, &inputs.partitions)
        .map_err(|error| Failure::from_part(args.proof.display(), &error, Exit::Data))?;
    let partitions = inputs.partitions.len();
    let text =
        format!("{}: verified, {partitions} partition{}, key: {origin}\n", args.proof.display(), if partitions == 1 { "" } else { "s" });
    Ok(Report::new(
        text,
        json!({ "proof": args.proof.display().to_string(), "verified": true, "partitions": partitions, "verifying_key": origin }),
    ))
}

//! `circuit`: compiled circuits made, checked against C1 files, described.

use std::path::Path;

use c1_parse::SectorSize;
use filecoin_circuits::Checked;
use pipeline_stage::StageName;
use prover_backend::ConstraintMatrices;
use serde_json::{Value as Json, json};

use crate::cli::CircuitCommand;
use crate::exit::{Exit, Failure};
use crate::input::{PublicInputs, SectorArgs, read_c1};
use crate::output::Report;
use crate::session::Session;
use crate::store;

/// Carries a command out.
///
/// # Errors
/// Each command's own.
pub(crate) fn run(command: CircuitCommand, session: &Session<'_>) -> Result<Report, Failure> {
    match command {
        CircuitCommand::Compile { circuit, force } => compile(circuit.sector_size, force, session),
        CircuitCommand::Check { c1, partition, sector } => check(&c1, partition, &sector, session),
        CircuitCommand::Inputs { c1, sector } => inputs(&c1, &sector, session),
        CircuitCommand::Info { sector_size } => info(sector_size, session),
    }
}

fn compile(size: SectorSize, force: bool, session: &Session<'_>) -> Result<Report, Failure> {
    let circuit = if force { store::compile(session, size)? } else { store::open_or_compile(session, size)? };
    let fields = compiled_fields(&circuit);
    Ok(Report::new(
        format!("{}: {} constraints, hash {}\n", circuit.path().display(), circuit.constraints(), hex::encode(circuit.hash())),
        fields,
    ))
}

fn compiled_fields(circuit: &circuit_synth::CompiledCircuit) -> Json {
    json!({
        "circuit": circuit.name(),
        "hash": hex::encode(circuit.hash()),
        "file": circuit.path().display().to_string(),
        "inputs": circuit.inputs(),
        "auxiliary": circuit.auxiliary(),
        "constraints": circuit.constraints(),
    })
}

/// Evaluates every constraint of the partitions.
fn check(path: &Path, only: Option<usize>, sector: &SectorArgs, session: &Session<'_>) -> Result<Report, Failure> {
    let name = path.display().to_string();
    let c1 = read_c1(path, sector, None, &session.context(StageName::Parse))?;
    let partitions = c1.partitions.len();
    if let Some(index) = only
        && index >= partitions
    {
        return Err(Failure::new(
            Exit::Usage,
            format!("{name}: there is no partition {index}: partitions are numbered from 0 to {}", partitions - 1),
        ));
    }
    let circuit = store::open_or_compile(session, c1.seal_proof.sector_size)?;
    let statement = filecoin_circuits::Statement::from(&c1);
    let context = session.context(StageName::Synth);
    let bar = session.bars.items("partitions", partitions as u64);
    let (mut text, mut checked) = (String::new(), Vec::new());
    for (index, partition) in c1.partitions.into_iter().enumerate() {
        if only.is_some_and(|only| only != index) {
            continue;
        }
        bar.set(index as u64, partitions as u64);
        let found = filecoin_circuits::check(&statement, &partition, &circuit, &context)
            .map_err(|error| Failure::from_part(format!("{name}: partition {index}"), &error, Exit::Data))?;
        // A checked partition is not needed while the next one is.
        drop(partition);
        match found {
            Checked::Satisfied { constraints } => {
                text.push_str(&format!("{name}: partition {index}: all {constraints} constraints hold\n"));
            }
            Checked::Broken(broken) => {
                return Err(Failure::new(Exit::Data, format!("{name}: partition {index} does not satisfy the circuit: {broken}")));
            }
        }
        checked.push(index);
    }
    Ok(Report::new(text, json!({ "c1": name, "circuit": compiled_fields(&circuit), "partitions": checked, "satisfied": true })))
}

/// The public inputs, as a document that `verify` reads.
fn inputs(path: &Path, sector: &SectorArgs, session: &Session<'_>) -> Result<Report, Failure> {
    let name = path.display().to_string();
    let c1 = read_c1(path, sector, None, &session.context(StageName::Parse))?;
    let fields = PublicInputs::of_c1(&name, &c1)?.fields();
    Ok(Report::document(fields))
}

fn info(size: Option<SectorSize>, session: &Session<'_>) -> Result<Report, Failure> {
    let sizes = size.map_or_else(|| SectorSize::ALL.to_vec(), |size| vec![size]);
    let (mut text, mut entries) = (String::new(), Vec::new());
    for size in sizes {
        let identity = filecoin_circuits::identity(store::seal_proof_of(size))
            .map_err(|error| Failure::from_part(format!("circuit of {size}"), &error, Exit::Internal))?;
        let compiled = store::open_circuit(session, size);
        let state = match &compiled {
            Ok(circuit) => format!(
                "{} constraints, {} auxiliary variables, {} inputs, hash {} ({})",
                circuit.constraints(),
                circuit.auxiliary(),
                circuit.inputs(),
                hex::encode(circuit.hash()),
                circuit.path().display()
            ),
            Err(failure) if failure.exit == Exit::NoInput => "not compiled here".to_owned(),
            Err(failure) => failure.message.clone(),
        };
        text.push_str(&format!(
            "{}: sectors of {size}, {} partitions\n  official: {}\n  parameters: {}, digest {}\n  compiled: {state}\n",
            identity.name,
            identity.partitions,
            identity.identifier,
            identity.params.name,
            identity.params.digest.unwrap_or("not published"),
        ));
        entries.push(json!({
            "circuit": identity.name,
            "sector_size": identity.sector_size,
            "partitions": identity.partitions,
            "identifier": identity.identifier,
            "params": { "name": identity.params.name, "digest": identity.params.digest, "cid": identity.params.cid },
            "verifying_key": { "name": identity.verifying_key.name, "digest": identity.verifying_key.digest, "cid": identity.verifying_key.cid },
            "compiled": compiled.ok().map(|circuit| compiled_fields(&circuit)),
        }));
    }
    Ok(Report::new(text, json!({ "circuits": entries })))
}

//! `prove`: C1 files to verified proofs, as one pipeline.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use buffer_accounting::Label;
use c1_parse::{SealProof, SectorSize};
use groth16_pipeline::{CircuitKeys, Engine, EngineConfig, JobError, JobHandle, JobProof, JobSize};
use pipeline_stage::{Classified, ErrorClass, Lease, StageName};
use rayon::prelude::*;
use serde_json::{Value as Json, json};
use telemetry::{MemorySampler, Stopwatch};

use crate::cli::ProveArgs;
use crate::exit::{Exit, Failure};
use crate::input::read_c1;
use crate::observe::{self, Watch};
use crate::output::{OutFile, Parameters, Report, Steps, Summary, create_folder};
use crate::porep::{Porep, SectorJob};
use crate::resources;
use crate::session::Session;
use crate::store;
use crate::workload::{PlannedJob, job_size};

/// Time between two samples of resident memory.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);
/// Time between two updates of the progress bar.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// One input and where its proof goes.
struct Order {
    job: SectorJob,
    seal_proof: SealProof,
    sector_number: Option<u64>,
    out: Option<(PathBuf, OutFile)>,
}

/// How one input ended.
struct Done {
    path: PathBuf,
    seal_proof: SealProof,
    sector_number: Option<u64>,
    out: Option<PathBuf>,
    result: Result<JobProof, Failure>,
}

/// Proves every input. Inputs are all read and checked before anything costly begins.
///
/// # Errors
/// Whatever keeps every input from being proved. A failure of one input among several is in the report, and the others are proved.
pub(crate) fn prove(args: ProveArgs, session: &Session<'_>) -> Result<Report, Failure> {
    let measure = |error| Failure::new(Exit::Io, format!("this process cannot be measured: {error}"));
    let stopwatch = Stopwatch::start().map_err(measure)?;
    let sampler = MemorySampler::start(SAMPLE_INTERVAL).map_err(measure)?;
    let mut steps = Steps::default();
    let watch = Watch::start(session, args.buffers)?;

    let outputs = plan_outputs(&args)?;
    let orders = steps.time("check C1", || read_orders(&args, outputs, session))?;
    let keys = open_keys(&orders, session, &mut steps)?;
    let circuits: Vec<_> = keys.values().cloned().collect();
    let origins = circuits.iter().map(|keys| Parameters::of(keys)).collect();
    let config = EngineConfig {
        jobs: planned(&orders),
        synth_threads: resources::synth_threads(session.config),
        stop: session.cancel.clone(),
        ..EngineConfig::default()
    };
    let statement = Porep { keys, sector: args.sector };
    let before = session.ledger.snapshot();
    let engine = Engine::start(statement, &circuits, session.backend(), &session.ledger, &config)
        .map_err(|error| Failure::from_part("the pipeline cannot start", &error, Exit::Unavailable))?;
    let (times, plan) = (engine.times(), engine.plan().clone());
    watch.pipeline(Arc::clone(&times));
    let done = run(&engine, orders, session);
    engine.finish();

    // Proofs that were finished before a stop are handed out.
    if done.iter().all(|done| done.result.is_err()) {
        session.go_on()?;
    }
    let peak = sampler.stop();
    let elapsed = stopwatch.elapsed().ok();
    let summary = Summary {
        steps: &steps,
        parameters: origins,
        stages: &times,
        ledger: &session.ledger,
        plan: &plan,
        before: &before,
        peak,
        elapsed,
    };
    Ok(report(done, &summary))
}

/// What the orders hold besides witnesses.
fn planned(orders: &[Order]) -> JobSize {
    let held = orders.iter().filter_map(|order| order.job.c1.as_ref()).flat_map(|c1| &c1.partitions).map(Lease::bytes).sum();
    job_size(orders.iter().map(|order| PlannedJob { seal_proof: order.seal_proof, read_in_turn: order.job.c1.is_none() }), held)
}

/// Where each proof goes. Files are prepared now, so that a place that cannot be written to is found before the work.
fn plan_outputs(args: &ProveArgs) -> Result<Vec<Option<(PathBuf, OutFile)>>, Failure> {
    let several = args.inputs.len() > 1;
    if several && args.out.is_some() {
        return Err(Failure::new(Exit::Usage, "--out is for one C1 file; with several, --out-dir names the folder for their proofs"));
    }
    if several && args.sector.sector_number.is_some() {
        return Err(Failure::new(Exit::Usage, "--sector-number is for one C1 file: two files cannot be of the same sector"));
    }
    if args.inputs.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(Failure::new(Exit::Usage, "standard input (-) can be read once only"));
    }
    if let Some(path) = &args.out {
        return Ok(vec![Some((path.clone(), OutFile::create(path)?))]);
    }
    let Some(folder) = &args.out_dir else { return Ok(args.inputs.iter().map(|_| None).collect()) };
    let mut names = BTreeMap::new();
    for input in &args.inputs {
        let path = folder.join(proof_name(input));
        if let Some(other) = names.insert(path.clone(), input) {
            return Err(Failure::new(
                Exit::Usage,
                format!("{} and {} would both be written to {}: prove them one by one", other.display(), input.display(), path.display()),
            ));
        }
    }
    create_folder(folder)?;
    args.inputs
        .iter()
        .map(|input| {
            let path = folder.join(proof_name(input));
            OutFile::create(&path).map(|file| Some((path, file)))
        })
        .collect()
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// `sector-7.json` is proved to `sector-7.proof`.
fn proof_name(input: &Path) -> PathBuf {
    let stem = if is_stdin(input) { "stdin".as_ref() } else { input.file_stem().unwrap_or(input.as_os_str()) };
    let mut name = stem.to_owned();
    name.push(".proof");
    name.into()
}

/// Reads every input, and checks that its vanilla proofs hold.
fn read_orders(args: &ProveArgs, outputs: Vec<Option<(PathBuf, OutFile)>>, session: &Session<'_>) -> Result<Vec<Order>, Failure> {
    let context = session.context(StageName::Parse);
    let alone = args.inputs.len() == 1;
    let mut orders = Vec::with_capacity(args.inputs.len());
    for (path, out) in args.inputs.iter().zip(outputs) {
        let c1 = read_c1(path, &args.sector, None, &context)?;
        let seal_proof = c1.seal_proof;
        if seal_proof.is_non_interactive() {
            return Err(Failure::new(
                Exit::Unavailable,
                format!(
                    "{}: {} proofs are aggregated from those of their partitions, which this version cannot do: \
                     expected an interactive or synthetic proof of replication",
                    path.display(),
                    seal_proof.name()
                ),
            ));
        }
        let statement = filecoin_circuits::Statement::from(&c1);
        c1.partitions
            .par_iter()
            .try_for_each(|partition| filecoin_circuits::vanilla_check(&statement, partition, &context))
            .map_err(|error| Failure::from_part(path.display(), &error, Exit::Data))?;
        let sector_number = c1.sector.map(|sector| sector.number).or(args.sector.sector_number);
        // What can be read again is not held while others are proved.
        let keep = alone || is_stdin(path);
        let job = SectorJob { path: path.clone(), seal_proof, c1: keep.then_some(c1) };
        orders.push(Order { job, seal_proof, sector_number, out });
    }
    Ok(orders)
}

/// The circuit and key of every sector size, made where they are missing.
fn open_keys(orders: &[Order], session: &Session<'_>, steps: &mut Steps) -> Result<BTreeMap<SectorSize, Arc<CircuitKeys>>, Failure> {
    let mut keys = BTreeMap::new();
    for order in orders {
        let size = order.seal_proof.sector_size;
        if keys.contains_key(&size) {
            continue;
        }
        let circuit = steps.time(format!("circuit {size}"), || store::open_or_compile(session, size))?;
        let pair = steps.time(format!("parameters {size}"), || store::open_or_setup(session, size, circuit))?;
        keys.insert(size, pair);
    }
    Ok(keys)
}

/// Submits every order from a thread of its own, since a full queue makes it wait, and takes the outcomes in order.
fn run(engine: &Engine<Porep>, orders: Vec<Order>, session: &Session<'_>) -> Vec<Done> {
    let partitions: u64 = orders.iter().map(|order| order.seal_proof.partitions() as u64).sum();
    let bar = session.bars.items("partitions", partitions);
    let times = engine.times();
    let mut done = Vec::with_capacity(orders.len());
    let mut jobs = Vec::with_capacity(orders.len());
    let mut rest = Vec::with_capacity(orders.len());
    for Order { job, seal_proof, sector_number, out } in orders {
        rest.push((job.path.clone(), seal_proof, sector_number, out));
        jobs.push(job);
    }
    let (handles, submitted) = sync_channel::<JobHandle>(jobs.len().max(1));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for job in jobs {
                if handles.send(engine.submit(job)).is_err() {
                    break;
                }
            }
        });
        for ((path, seal_proof, sector_number, out), handle) in rest.into_iter().zip(&submitted) {
            while session.bars.are_visible() && !handle.is_finished() {
                bar.set(times.stage(StageName::Finalize).items, partitions);
                std::thread::sleep(PROGRESS_INTERVAL);
            }
            let outcome = handle.wait();
            observe::verified(&outcome);
            let class = outcome.as_ref().err().map_or(ErrorClass::Fatal, JobError::class);
            let proof = outcome.map_err(|error| job_failure(&path, &error));
            let (out, result) = match (proof, out) {
                (Ok(proof), Some((out, file))) => (Some(out), file.commit(&proof.bytes).map(|()| proof)),
                (proof, _) => (None, proof),
            };
            match &result {
                Ok(_) => observe::completed(),
                Err(_) => observe::failed(class),
            }
            done.push(Done { path, seal_proof, sector_number, out, result });
        }
    });
    done
}

fn job_failure(path: &Path, error: &JobError) -> Failure {
    match error {
        JobError::Stage { stage, error } => {
            // Parsing and synthesis judge the input; so does the first transform, and verification judges input and key together.
            let part: &dyn Classified = error.as_ref();
            let mut failure = Failure::from_part(format!("{}: {stage}", path.display()), part, Exit::Data);
            if *stage == StageName::Finalize.name() && !failure.cancelled {
                failure.message.push_str("; `proofmill params check` tells whether the parameters are damaged");
            }
            failure
        }
        other => {
            let exit = match other.class() {
                ErrorClass::Retryable => Exit::Temporary,
                _ => Exit::Internal,
            };
            let cancelled = other.class() == ErrorClass::Cancelled;
            Failure { exit, message: format!("{}: {other}", path.display()), cancelled }
        }
    }
}

/// One line a proof on standard output; the tables, and what failed, beside it.
fn report(done: Vec<Done>, summary: &Summary<'_>) -> Report {
    let several = done.len() > 1;
    let (mut text, mut failures, mut proofs) = (String::new(), Vec::new(), Vec::new());
    let mut again = String::new();
    for Done { path, seal_proof, sector_number, out, result } in done {
        let mut entry = json!({
            "c1": path.display().to_string(),
            "seal_proof": seal_proof.name(),
            "sector_size": seal_proof.sector_size.bytes(),
            "sector_number": sector_number,
        });
        let more = match result {
            Ok(proof) => {
                let hex = hex::encode(&proof.bytes);
                text.push_str(&if several { format!("{hex}  {}\n", path.display()) } else { format!("{hex}\n") });
                for partition in &proof.reproved {
                    again.push_str(&format!(
                        "{}: the first proof of partition {partition} did not verify and it was proved again: suspect the hardware\n",
                        path.display()
                    ));
                }
                let out = out.map(|out| out.display().to_string());
                json!({ "partitions": proof.partitions, "verified": true, "proof": hex, "out": out, "reproved": proof.reproved })
            }
            Err(failure) => {
                let more = json!({ "error": { "exit_code": failure.exit.code(), "message": failure.message } });
                failures.push(failure);
                more
            }
        };
        if let (Json::Object(entry), Json::Object(more)) = (&mut entry, more) {
            entry.extend(more);
        }
        proofs.push(entry);
    }
    let mut report = Report::new(text, json!({ "proofs": proofs, "summary": summary.json() }));
    report.aside = again + &summary.text();
    report.failures = failures;
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_are_named_after_their_inputs() {
        assert_eq!(proof_name(Path::new("/a/sector-7.json")), Path::new("sector-7.proof"));
        assert_eq!(proof_name(Path::new("c1")), Path::new("c1.proof"));
        assert_eq!(proof_name(Path::new("-")), Path::new("stdin.proof"));
    }
}

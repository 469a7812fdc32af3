//! `plan`: what proving takes at most, and what fits into the budget.

use c1_parse::SectorSize;
use circuit_synth::CompiledCircuit;
use cpu_backend::CpuBackend;
use filecoin_circuits::KnownCircuit;
use groth16_pipeline::{CircuitSize, MemoryPlan, Workload};
use groth16_srs::CircuitCounts;
use pipeline_stage::{Space, StageContext, StageName};
use scheduler::plan::Fit;
use serde_json::json;
use telemetry::Machine;

use crate::cli::PlanArgs;
use crate::config::{Bytes, Config, MemoryBudget, Size, Value};
use crate::exit::{Exit, Failure};
use crate::output::Report;
use crate::resources;
use crate::store;
use crate::workload::{PlannedJob, job_size};

/// Plans, and compares the plans with the budget. The budget may be that of another machine.
///
/// # Errors
/// A circuit whose sizes cannot be had, an automatic budget of nothing. A budget that is too small is reported with the least plan.
pub(crate) fn plan(args: &PlanArgs, config: &Config) -> Result<Report, Failure> {
    let machine = Machine::look();
    let size = args.circuit.sector_size;
    let (circuit, compiled) = circuit_size(size, config)?;
    let workload = Workload { circuits: vec![circuit], jobs: jobs_of(size, args.jobs), synth_threads: resources::synth_threads(config) };
    let threads = resources::threads(config, &machine);
    let backend = CpuBackend::with_workers(threads);
    let budget = match config.memory.value {
        MemoryBudget::Bytes(bytes) => bytes,
        MemoryBudget::Auto => resources::automatic(&machine)?,
    };

    let plans = workload.plans(&backend);
    let fit = plans.fit(budget);
    let shown = fit.plan.unwrap_or(plans.minimum());
    let least = |synth_threads| workload.with_synth_threads(synth_threads).plans(&backend).minimum().total(Space::Host);
    let more_threads = least(workload.synth_threads + 1).saturating_sub(fit.minimum);
    let fewer = (1..workload.synth_threads).rev().find(|fewer| least(*fewer) <= budget).filter(|_| fit.plan.is_none());

    let jobs = if args.jobs == 1 { "one sector".to_owned() } else { format!("{} sectors", args.jobs) };
    let mut text = format!(
        "{jobs} of {size}, {} in synthesis at a time, {threads} compute threads; sizes {}\n\n{shown}\n",
        workload.synth_threads,
        if compiled { "of the compiled circuit" } else { "known from before, the circuit is not compiled here" },
    );
    text.push_str(&sentences(&fit, budget, config));
    if more_threads > 0 {
        text.push_str(&format!("one more synthesis thread needs {} more at least\n", Bytes(more_threads)));
    }
    let fields = json!({
        "sector_size": size.bytes(),
        "jobs": args.jobs,
        "synth_threads": workload.synth_threads,
        "threads": threads,
        "compiled": compiled,
        "budget_bytes": budget,
        "fits": fit.plan.is_some(),
        "minimum_bytes": fit.minimum,
        "recommended_bytes": fit.recommended,
        "planned_bytes": fit.plan.map(|plan: &MemoryPlan| plan.total(Space::Host)),
        "missing_bytes": fit.missing,
        "next": fit.next,
        "one_more_synth_thread_bytes": more_threads,
        "fits_with_synth_threads": fewer,
        "plan": shown,
    });
    let mut report = Report::new(text, fields);
    if fit.plan.is_none() {
        report.failures.push(too_small(size, &fit, budget, fewer));
    }
    Ok(report)
}

/// Every job holds its C1 file from the start when it is the only one; of several, each is read when its turn comes.
fn jobs_of(size: SectorSize, count: u32) -> groth16_pipeline::JobSize {
    let seal_proof = store::seal_proof_of(size);
    let job = PlannedJob { seal_proof, read_in_turn: count > 1 };
    let held = if count > 1 { 0 } else { seal_proof.partitions() as u64 * seal_proof.partition_bytes() };
    job_size(std::iter::repeat_n(job, count as usize), held)
}

/// The sizes of a circuit, from the compiled one where it is there; true in that case.
fn circuit_size(size: SectorSize, config: &Config) -> Result<(CircuitSize, bool), Failure> {
    let failed = |error: groth16_srs::SrsError| Failure::from_part(format!("circuit of {size} sectors"), &error, Exit::Internal);
    let context = StageContext::unlimited(StageName::Setup);
    let circuit: Option<CompiledCircuit> =
        config.cache_dir().ok().and_then(|folder| filecoin_circuits::open(store::seal_proof_of(size), folder, &context).ok());
    if let Some(circuit) = circuit {
        let counts = CircuitCounts::of(&circuit).map_err(failed)?;
        return Ok((CircuitSize { name: circuit.name().to_owned(), counts, compiled_bytes: circuit.file_bytes() }, true));
    }
    let KnownCircuit { name, inputs, auxiliary, constraints, a_query, b_query, compiled_bytes } = filecoin_circuits::known_circuit(size);
    let counts = CircuitCounts::new(inputs, auxiliary, constraints, a_query, b_query).map_err(failed)?;
    Ok((CircuitSize { name: name.to_owned(), counts, compiled_bytes }, false))
}

/// A size as the setting takes it, rounded up.
fn setting(bytes: u64) -> String {
    Size(bytes.next_multiple_of(1 << 20)).show()
}

fn sentences(fit: &Fit<'_, pipeline_stage::Class, StageName>, budget: u64, config: &Config) -> String {
    let mut text = format!(
        "budget: {} ({}: {}); at least {} are needed, more than {} are of no use\n",
        Bytes(budget),
        config.memory.source,
        config.memory.value.show(),
        Bytes(fit.minimum),
        Bytes(fit.recommended),
    );
    if let Some(next) = &fit.next {
        text.push_str(&format!("with {} more there is {}: --memory {}\n", Bytes(next.missing), next.adds, setting(next.bytes)));
    }
    text
}

fn too_small(size: SectorSize, fit: &Fit<'_, pipeline_stage::Class, StageName>, budget: u64, fewer: Option<usize>) -> Failure {
    let or = fewer.map(|n| format!(", or synthesise with fewer threads: --synth-threads {n}")).unwrap_or_default();
    Failure::new(
        Exit::Unavailable,
        format!(
            "sectors of {size} need at least {} bytes of memory, the budget is {budget} bytes: raise it by {} with --memory {}{or}",
            fit.minimum,
            Bytes(fit.missing),
            setting(fit.minimum)
        ),
    )
}

//! What an engine holds at most, from circuits, jobs and workers.
//!
//! Why the sums below are true bounds: a stage draws its host memory from what was set aside for it and from nowhere else, so what a stage
//! cannot have it waits for. How many of each kind there are at a time follows from links and workers alone: an item is in exactly one place,
//! a link has room for [`QUEUE`] items, and a worker has one item, the one it works on or the one it waits to hand on.
//!
//! Why nothing waits for ever: of each kind, what is made waits only for stages further down, whose memory is set aside too, and goes back when
//! they are done with it. So whoever makes the next one gets what it needs in the end, if what is set aside holds one for each maker at the
//! same time. That is the least plan; everything above it buys overlap.

use std::sync::Arc;

use circuit_synth::{evaluate_scratch_bytes, witness_bytes_max};
use groth16_srs::{CircuitCounts, SrsError};
use pipeline_stage::{Class, Space, StageName};
use prover_backend::ProverBackend;
use scheduler::plan::{Ladder, Plan, Row, Sum};

use crate::keys::CircuitKeys;
use crate::quotient::buffer_bytes;
use crate::sums::sums_scratch_bytes;

/// A plan over the prover's labels.
pub type MemoryPlan = Plan<Class, StageName>;
/// Plans to choose from.
pub type MemoryPlans = Ladder<Class, StageName>;

/// Items that wait in a link. One keeps the stage behind it fed; what bounds memory is the permit in each item.
pub(crate) const QUEUE: usize = 1;
/// Partitions that can wait to be proved again. Each holds its compact witness.
pub(crate) const RETURN_LANE: usize = 2;
/// What is set aside: for parsing,
pub(crate) const PARSING: &str = "parsing";
/// for synthesis,
pub(crate) const SYNTHESIS: &str = "synthesis";
/// for buffers of domain size,
pub(crate) const BUFFERS: &str = "transform buffers";
/// for the scratch of evaluating and transforming,
pub(crate) const SCRATCH: &str = "scratch of the transforms";
/// and for the sums.
pub(crate) const SUMS: &str = "sums";
/// Transform buffers of domain size besides the two that a transform works in: more than the places where h of other partitions waits are of
/// no use. The one in the sums, and the one in front of them.
const SPARE_BUFFERS_MAX: u64 = 2;

/// What the plan needs to know of a circuit. Known without compiling it where its counts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitSize {
    /// Its name.
    pub name: String,
    /// What fixes domain, witness and key.
    pub counts: CircuitCounts,
    /// Bytes of the compiled circuit.
    pub compiled_bytes: u64,
}

impl CircuitSize {
    /// Of a circuit and its key.
    ///
    /// # Errors
    /// [`SrsError::CircuitCounts`] for a circuit above the largest domain.
    pub fn of(keys: &CircuitKeys) -> Result<Self, SrsError> {
        let circuit = keys.circuit();
        Ok(Self { name: circuit.name().to_owned(), counts: CircuitCounts::of(circuit)?, compiled_bytes: circuit.file_bytes() })
    }

    fn witness_bytes(&self) -> u64 {
        witness_bytes_max((self.counts.inputs() + self.counts.auxiliary()) as usize)
    }
}

/// What jobs hold besides witnesses, in bytes of host memory; of several kinds of jobs the largest of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobSize {
    /// What parsing takes for a job at most: all its partitions, if they are parsed together. Zero: nothing is set aside for parsing, and what it
    /// takes comes from what the plan leaves free, which may be nothing.
    pub parsed_bytes: u64,
    /// One partition in front of and in synthesis.
    pub partition_bytes: u64,
    /// What synthesis of a partition takes besides the partition and its witness. Synthesis that takes more than this may wait for ever.
    pub conversion_bytes: u64,
    /// What the jobs hold before they are submitted, all together; in use already when the engine starts.
    pub held_bytes: u64,
    /// How many jobs there will be. `None`: no end is known.
    pub jobs: Option<u64>,
    /// How many partitions they have together. `None`: no end is known.
    pub partitions: Option<u64>,
}

/// What an engine's plans are made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The circuits; the largest one decides, each quantity by itself.
    pub circuits: Vec<CircuitSize>,
    /// The jobs.
    pub jobs: JobSize,
    /// Threads that synthesise, at least one.
    pub synth_threads: usize,
}

impl Workload {
    /// Of circuits that are at hand.
    ///
    /// # Errors
    /// As for [`CircuitSize::of`].
    pub fn of(circuits: &[Arc<CircuitKeys>], jobs: JobSize, synth_threads: usize) -> Result<Self, SrsError> {
        let circuits = circuits.iter().map(|keys| CircuitSize::of(keys)).collect::<Result<_, _>>()?;
        Ok(Self { circuits, jobs, synth_threads })
    }

    /// The plans, from the least that makes progress to the most that is of use. Buffers of whose use there is most come first.
    #[must_use]
    pub fn plans(&self, backend: &dyn ProverBackend) -> MemoryPlans {
        let sizes = Sizes::of(self, backend);
        let mut waiting = 0;
        let mut plans = Ladder::new(Space::Host, sizes.plan(0, waiting));
        for spare in 1..=sizes.at_most(SPARE_BUFFERS_MAX, 1) {
            plans = plans.then(format!("a spare transform buffer ({spare})"), sizes.plan(spare, waiting));
            if waiting < sizes.waiting_max() {
                waiting += 1;
                plans = plans.then(format!("room for a full-size witness that waits ({waiting})"), sizes.plan(spare, waiting));
            }
        }
        let spare = sizes.at_most(SPARE_BUFFERS_MAX, 1);
        while waiting < sizes.waiting_max() {
            waiting += 1;
            plans = plans.then(format!("room for a full-size witness that waits ({waiting})"), sizes.plan(spare, waiting));
        }
        plans
    }

    /// The same with another number of synthesis threads.
    #[must_use]
    pub fn with_synth_threads(&self, synth_threads: usize) -> Self {
        Self { synth_threads, ..self.clone() }
    }

    /// The circuit with the most rows.
    pub(crate) fn largest(&self) -> &str {
        self.circuits.iter().max_by_key(|circuit| circuit.counts.constraints()).map_or("", |circuit| &circuit.name)
    }
}

/// Each quantity of the largest circuit.
struct Sizes<'a> {
    workload: &'a Workload,
    /// Threads of synthesis that have a partition.
    threads: u64,
    witness: u64,
    buffer: u64,
    evaluate_scratch: u64,
    ntt_scratch: u64,
    /// A buffer of the smallest circuit.
    buffer_min: u64,
    sums: [(&'static str, u64); 5],
}

fn row(class: Class, stage: StageName, what: &str, (count, bytes_each): (u64, u64), why: &str) -> Row<Class, StageName> {
    Row { class, stage, what: what.to_owned(), count, bytes_each, why: why.to_owned() }
}

impl<'a> Sizes<'a> {
    fn of(workload: &'a Workload, backend: &dyn ProverBackend) -> Self {
        let largest = |of: &dyn Fn(&CircuitSize) -> u64| workload.circuits.iter().map(of).max().unwrap_or(0);
        let mut sums = [("", 0); 5];
        for circuit in &workload.circuits {
            for (all, (name, bytes)) in sums.iter_mut().zip(sums_scratch_bytes(&circuit.counts, backend)) {
                *all = (name, bytes.max(all.1));
            }
        }
        let ntt_scratch = |circuit: &CircuitSize| backend.ntt_scratch_bytes(circuit.counts.domain().log2_size());
        let evaluate_scratch = |circuit: &CircuitSize| evaluate_scratch_bytes(circuit.counts.domain());
        let buffer = |circuit: &CircuitSize| buffer_bytes(circuit.counts.domain());
        let partitions = workload.jobs.partitions.unwrap_or(u64::MAX).max(1);
        Self {
            workload,
            threads: (workload.synth_threads.max(1) as u64).min(partitions),
            witness: largest(&CircuitSize::witness_bytes),
            buffer: largest(&buffer),
            evaluate_scratch: largest(&evaluate_scratch),
            ntt_scratch: largest(&ntt_scratch),
            buffer_min: workload.circuits.iter().map(buffer).min().unwrap_or(0),
            sums,
        }
    }

    /// So many, but no more than there are partitions besides `others`.
    fn at_most(&self, count: u64, others: u64) -> u64 {
        count.min(self.workload.jobs.partitions.map_or(u64::MAX, |partitions| partitions.saturating_sub(others)))
    }

    /// Live witnesses: each thread of synthesis has one that it makes or waits to hand on; then come the places further down.
    fn witnesses(&self) -> u64 {
        let queue = QUEUE as u64;
        let ntt = queue + RETURN_LANE as u64 + 1;
        let (msm, finalize) = (queue + 1, queue + 1);
        self.at_most(self.threads + ntt + msm + finalize, 0)
    }

    /// Witnesses besides those being made.
    fn waiting_max(&self) -> u64 {
        self.witnesses().saturating_sub(self.threads)
    }

    fn plan(&self, spare_buffers: u64, waiting_witnesses: u64) -> MemoryPlan {
        let mut plan = Plan::new(Class::Reserved);
        plan.add(Space::Host, self.held());
        plan.add(Space::Host, self.parsing());
        plan.add(Space::Host, self.synthesis(waiting_witnesses));
        plan.add(Space::Host, self.buffers(spare_buffers));
        plan.add(Space::Host, self.scratch());
        plan.add(Space::Host, self.sums());
        for circuit in &self.workload.circuits {
            plan.add(Space::Mapped, mapped(circuit));
        }
        plan
    }

    /// Where a partition's vanilla proof can be. An item that a worker has just taken, or waits to hand on, still stands in the queue's name.
    fn vanilla_rows(&self, sum: Sum<Class, StageName>, all: u64, one: u64) -> Sum<Class, StageName> {
        let queued = self.at_most(self.threads + QUEUE as u64 + 1, 0);
        sum.row(row(Class::VanillaProof, StageName::Parse, "vanilla proofs in parsing", (1, all), "one job at a time"))
            .row(row(
                Class::VanillaProof,
                StageName::QueuedSynth,
                "partitions in front of synthesis",
                (queued, one),
                "the queue, one waiting for room in it, and those just taken",
            ))
            .row(row(Class::VanillaProof, StageName::Synth, "partitions in synthesis", (self.threads, one), "one a thread"))
    }

    /// Jobs that hold their input before they are submitted.
    fn held(&self) -> Sum<Class, StageName> {
        let held = self.workload.jobs.held_bytes;
        let sum = Sum::new("inputs held from the start", "in use already; they move through the stages").limited_to(held);
        self.vanilla_rows(sum, held, held)
    }

    /// One job in parsing, and what parsing gave: a queue of partitions and one a thread of synthesis.
    fn parsing(&self) -> Sum<Class, StageName> {
        let JobSize { parsed_bytes, partition_bytes, jobs, .. } = self.workload.jobs;
        let given = self.at_most(QUEUE as u64 + self.threads, 0).saturating_mul(partition_bytes);
        let limit = parsed_bytes.saturating_add(given).min(parsed_bytes.saturating_mul(jobs.unwrap_or(u64::MAX)));
        let sum = Sum::new(PARSING, "one job, one partition in the queue behind it, one in each thread of synthesis")
            .limited_to(limit)
            .set_aside_for(StageName::Parse);
        if parsed_bytes == 0 { sum } else { self.vanilla_rows(sum, parsed_bytes, partition_bytes) }
    }

    /// Each thread of synthesis can make the largest witness there is, whatever waits. Compact witnesses of bits take a fiftieth of that, so that
    /// all that can wait fit in besides.
    fn synthesis(&self, waiting: u64) -> Sum<Class, StageName> {
        let conversion = self.workload.jobs.conversion_bytes;
        let queue = QUEUE as u64;
        let at = |stage, what: &str, count, why: &str| row(Class::Witness, stage, what, (self.at_most(count, 0), self.witness), why);
        let limit = (self.threads + waiting).saturating_mul(self.witness).saturating_add(self.threads.saturating_mul(conversion));
        let witnesses = Sum::new("witnesses", "those being made, were every variable full-size; those that wait share what is left")
            .limited_to(self.witnesses().saturating_mul(self.witness).min(limit))
            .row(at(StageName::Synth, "witnesses in synthesis", self.threads, "one a thread"))
            .row(at(
                StageName::QueuedNtt,
                "witnesses in front of the transforms",
                self.threads + queue + RETURN_LANE as u64 + 1,
                "the queue, one a thread waiting for room in it, those to be proved again, one just taken",
            ))
            .row(at(StageName::Ntt, "witness in the transforms", 1, "one worker"))
            .row(at(StageName::QueuedMsm, "witnesses in front of the sums", queue + 2, "the queue, one waiting for room, one just taken"))
            .row(at(StageName::Msm, "witness in the sums", 1, "one worker"))
            .row(at(
                StageName::QueuedFinalize,
                "witnesses in front of verification",
                queue + 2,
                "as in front of the sums; kept until the proof is verified",
            ))
            .row(at(StageName::Finalize, "witness in verification", 1, "one worker"));
        let conversions = row(
            Class::VanillaProof,
            StageName::Synth,
            "partitions in the circuit's form",
            (self.threads, conversion),
            "one a thread, while its circuit lives",
        );
        Sum::new(SYNTHESIS, "what its threads make").limited_to(limit).set_aside_for(StageName::Synth).row(conversions).sum(witnesses)
    }

    /// Two buffers in which a partition is transformed, one of which becomes h. The next one can be transformed while h is in or in front of the
    /// sums if there are spare buffers.
    fn buffers(&self, spare: u64) -> Sum<Class, StageName> {
        let count = 2 + spare;
        let limit = count.saturating_mul(self.buffer);
        let h = |stage, what: &str, count, why: &str| row(Class::HPoly, stage, what, (self.at_most(count, 0), self.buffer), why);
        // While the newest h was made, its second buffer was there besides all h.
        let h = Sum::new("h", "all buffers but one: while the newest was made there was a second one beside it")
            .limited_to(limit.saturating_sub(self.buffer_min))
            .row(h(StageName::Ntt, "h just made", 1, "one worker"))
            .row(h(StageName::QueuedMsm, "h in front of the sums", QUEUE as u64 + 2, "the queue, one waiting for room, one just taken"))
            .row(h(StageName::Msm, "h in the sums", 1, "one worker"));
        let why = "six transforms in two buffers, whatever the number of partitions";
        let working = row(Class::Evaluations, StageName::Ntt, "A·w and B·w, then C·w", (2, self.buffer), why);
        let idle = row(Class::Idle, StageName::Ntt, "buffers kept for the next partition", (count, self.buffer), "those not in use");
        Sum::new(BUFFERS, format!("of domain size: two to transform in, {spare} spare"))
            .limited_to(limit)
            .set_aside_for(StageName::Ntt)
            .row(working)
            .sum(h)
            .row(idle)
    }

    fn scratch(&self) -> Sum<Class, StageName> {
        Sum::new(SCRATCH, "evaluating and transforming take turns")
            .limited_to(self.evaluate_scratch.max(self.ntt_scratch))
            .set_aside_for(StageName::Ntt)
            .row(row(Class::Evaluations, StageName::Ntt, "rows on their way to their places", (1, self.evaluate_scratch), "one batch"))
            .row(row(Class::NttScratch, StageName::Ntt, "twiddles and tiles", (1, self.ntt_scratch), "a workspace a compute thread"))
    }

    fn sums(&self) -> Sum<Class, StageName> {
        let largest = self.sums.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        let sum = Sum::new(SUMS, "one after the other: the largest one decides").limited_to(largest).set_aside_for(StageName::Msm);
        self.sums.iter().fold(sum, |sum, (name, bytes)| {
            sum.row(row(
                Class::MsmBuckets,
                StageName::Msm,
                &format!("buckets and sorted digits for {name}"),
                (1, *bytes),
                "the mixture of scalars that takes most",
            ))
        })
    }
}

/// The files of a circuit.
fn mapped(circuit: &CircuitSize) -> Sum<Class, StageName> {
    let file = |class, what: &str, bytes, why: &str| row(class, StageName::Setup, what, (1, bytes), why);
    let sections = circuit.counts.native_sections();
    let rest = circuit.counts.native_bytes().saturating_sub(sections.iter().map(|(_, bytes)| bytes).sum());
    let files = Sum::new(format!("files of {}", circuit.name), "shared by all partitions; the kernel may drop their pages at any time")
        .row(file(Class::CompiledCircuit, "compiled circuit", circuit.compiled_bytes, "A, B and C, read once a partition"));
    let key = sections.iter().fold(files, |sum, (name, bytes)| {
        sum.row(file(Class::SrsSection, &format!("section {name} of the proving key"), *bytes, "read in chunks"))
    });
    key.row(file(Class::SrsSection, "the rest of the proving key", rest, "header, verifying key, padding"))
}

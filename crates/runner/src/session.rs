//! What commands that compute work with: memory, threads, cancellation, progress.

use std::sync::Arc;

use cpu_backend::CpuBackend;
use pipeline_stage::{Cancel, Ledger, StageContext, StageName};
use prover_backend::ProverBackend;
use telemetry::Machine;

use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::output::Bars;
use crate::resources;

/// What commands that compute work with.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    pub(crate) config: &'a Config,
    pub(crate) bars: &'a Bars,
    pub(crate) cancel: &'a Cancel,
    pub(crate) ledger: Ledger,
}

impl<'a> Session<'a> {
    /// Sets the budget and the threads of this process up; once in a process.
    ///
    /// # Errors
    /// [`Exit::Unavailable`] for a budget that cannot be, [`Exit::Temporary`] when threads cannot be had.
    pub(crate) fn open(config: &'a Config, bars: &'a Bars, cancel: &'a Cancel) -> Result<Self, Failure> {
        let machine = Machine::look();
        let budget_bytes = resources::memory_budget(config, &machine)?;
        let threads = resources::threads(config, &machine);
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("compute-{index}"))
            .build_global()
            .map_err(|error| Failure::new(Exit::Temporary, format!("{threads} threads could not be started: {error}")))?;
        tracing::info!(budget_bytes, threads, "session");
        Ok(Self { config, bars, cancel, ledger: resources::ledger(budget_bytes) })
    }

    /// A context for work of this stage outside the engine: nobody else returns memory meanwhile, so what does not fit is an error.
    pub(crate) fn context(&self, stage: StageName) -> StageContext {
        StageContext::new(self.ledger.clone(), stage, self.cancel.clone()).alone()
    }

    /// The backend of this machine.
    pub(crate) fn backend(&self) -> Arc<dyn ProverBackend> {
        Arc::new(CpuBackend::new())
    }

    /// Fails when the work was cancelled meanwhile.
    pub(crate) fn go_on(&self) -> Result<(), Failure> {
        if self.cancel.is_cancelled() {
            return Err(Failure { exit: Exit::Temporary, message: "cancelled".to_owned(), cancelled: true });
        }
        Ok(())
    }
}

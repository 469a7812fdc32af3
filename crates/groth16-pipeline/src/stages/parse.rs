//! Job to partitions.

use std::sync::{Arc, Mutex};

use groth16_assembly::{PartitionCollector, PartitionError};
use pipeline_stage::{Classified, ErrorClass, Failed, Outlet, Stage, StageContext, StageName};

use crate::items::{Collected, Collector, JobItem, PartitionItem, Place};
use crate::statement::Statement;

/// Why a job did not become partitions.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ParseError<E: Classified> {
    #[error("{0}")]
    Statement(#[source] E),
    #[error("{0}")]
    Partitions(#[source] PartitionError),
    #[error("the circuit family gave a partition before it announced how many there are")]
    NotAnnounced,
}

impl<E: Classified> Classified for ParseError<E> {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Statement(error) => error.class(),
            Self::Partitions(error) => error.class(),
            Self::NotAnnounced => ErrorClass::Fatal,
        }
    }
}

pub(crate) struct ParseStage<S>(pub(crate) Arc<S>);

impl<S: Statement> Stage for ParseStage<S> {
    type Input = JobItem<S::Job>;
    type Output = PartitionItem<S::Partition>;
    type Error = ParseError<S::Error>;

    fn name(&self) -> StageName {
        StageName::Parse
    }

    fn run(
        &mut self,
        JobItem { job, priority }: Self::Input,
        out: &mut dyn Outlet<Self::Output>,
        context: &StageContext,
    ) -> Result<(), Failed<Self::Input, Self::Error>> {
        let collector: Mutex<Option<Result<Collector, PartitionError>>> = Mutex::new(None);
        let mut missing = false;
        let announced = || collector.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let outcome = self.0.parse(
            job,
            context,
            &mut |partitions| {
                *announced() = Some(
                    PartitionCollector::new(partitions).map(|proofs| Arc::new(Mutex::new(Collected { proofs, reproved: Vec::new() }))),
                );
            },
            &mut |partition| {
                let collector = announced().as_ref().and_then(|c| c.as_ref().ok()).cloned();
                match collector {
                    Some(collector) => out.give(PartitionItem {
                        place: Place { index: partition.index, keys: partition.keys, collector, priority, pass: None },
                        body: partition.body,
                    }),
                    None => missing = true,
                }
            },
        );
        outcome.map_err(|failed| failed.map(|job| JobItem { job, priority }, ParseError::Statement))?;
        match collector.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some(Err(error)) => Err(ParseError::Partitions(error).into()),
            Some(Ok(_)) if !missing => Ok(()),
            _ => Err(ParseError::NotAnnounced.into()),
        }
    }
}

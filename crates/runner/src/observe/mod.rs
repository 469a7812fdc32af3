//! What others see of a running command: metrics, a live table of the buffers, log lines.

mod buffers;
mod metrics;
mod ticker;

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use groth16_pipeline::StageTimes;
use telemetry::MetricsServer;

use crate::config::{BuffersInterval, LogLevel, MetricsAddress, Value};
use crate::exit::Failure;
use crate::session::Session;
use metrics::Sources;
pub(crate) use metrics::{completed, failed, verified};
use ticker::Ticker;

/// Time between two drawings of the live table.
const TABLE_INTERVAL: Duration = Duration::from_millis(250);
/// Time between two log lines of `--buffers` where there is no terminal and no other time is set.
const LINE_INTERVAL_DEFAULT: Duration = Duration::from_secs(10);

/// The filter of the log: lines about buffers were asked for by a setting of their own, so they pass at every level but `off`.
pub(crate) fn log_filter(level: LogLevel) -> String {
    match level {
        LogLevel::Off => level.show(),
        _ => format!("{},{}=info", level.show(), buffers::LOG_TARGET),
    }
}

/// Shows a command to others until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    sources: Arc<Sources>,
    /// Ends before the sources do.
    _shown: (Option<MetricsServer>, Vec<Ticker>),
}

impl Watch {
    /// Starts what the settings and `--buffers` ask for.
    ///
    /// # Errors
    /// [`Exit::Unavailable`](crate::exit::Exit::Unavailable) when the address is taken, and the other reasons why nothing can be served there.
    pub(crate) fn start(session: &Session<'_>, table: bool) -> Result<Self, Failure> {
        let sources = Arc::new(Sources::of(&session.ledger));
        let server = match session.config.metrics_addr.value {
            MetricsAddress::Off => None,
            MetricsAddress::At(address) => Some(metrics::serve(address, &session.config.metrics_addr.source, &sources)?),
        };
        let on_terminal = table && session.bars.are_visible() && std::io::stderr().is_terminal();
        let mut tickers = Vec::new();
        if on_terminal {
            let (drawn, ledger) = (session.bars.text(), session.ledger.clone());
            tickers.push(Ticker::start("buffers-table", TABLE_INTERVAL, move || drawn.show(buffers::table(&ledger.snapshot())))?);
        }
        let interval = match session.config.buffers_interval.value {
            BuffersInterval::Every(interval) => Some(interval),
            BuffersInterval::Off => (table && !on_terminal).then_some(LINE_INTERVAL_DEFAULT),
        };
        if let Some(interval) = interval {
            let ledger = session.ledger.clone();
            tickers.push(Ticker::start("buffers-log", interval, move || buffers::log(&ledger.snapshot()))?);
        }
        Ok(Self { sources, _shown: (server, tickers) })
    }

    /// The pipeline runs from now on, and counts its time here.
    pub(crate) fn pipeline(&self, times: Arc<StageTimes>) {
        self.sources.pipeline(times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_were_asked_for_pass_at_every_level_but_off() {
        assert_eq!(log_filter(LogLevel::Off), "off");
        assert_eq!(log_filter(LogLevel::Warn), "warn,buffers=info");
    }
}

//! Runs a command so that signals stop it: the first one cleanly, a second one at once.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use pipeline_stage::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::{Exit, Failure};

/// Stack of the thread that runs the command: synthesis nests deeply.
const STACK_BYTES: usize = 64 << 20;

enum Event<T> {
    Done(Result<T, Failure>),
    Signal(i32),
}

/// Runs `work` in a thread of its own. The first signal raises `cancel`, and the work has `grace` to end; a second signal, or the end of
/// the grace, abandons it: the process then ends as soon as the caller returns.
pub(crate) fn supervise<T: Send + 'static>(
    cancel: &Cancel,
    grace: Duration,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let (events, received) = sync_channel(4);
    let started = listen(events.clone()).and_then(|()| start(events, work));
    if let Err(error) = started {
        let failure = Failure::new(Exit::Temporary, format!("a thread or signal handler could not be set up: {error}"));
        return Err(failure);
    }
    let mut stopping: Option<(i32, Instant)> = None;
    loop {
        let event = match stopping {
            None => received.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some((_, deadline)) => received.recv_timeout(deadline.saturating_duration_since(Instant::now())),
        };
        match (event, stopping) {
            (Ok(Event::Done(Err(_))), Some((signal, _))) => return Err(stopped(signal, "stopped")),
            (Ok(Event::Done(result)), _) => return result,
            (Ok(Event::Signal(signal)), None) => {
                crate::output::note("stopping; a second signal stops at once");
                // Far, but representable: some platforms count instants from the start of the machine.
                let deadline = Instant::now().checked_add(grace).unwrap_or_else(|| Instant::now() + Duration::from_secs(1 << 20));
                stopping = Some((signal, deadline));
                cancel.cancel();
            }
            (Ok(Event::Signal(signal)), Some(_)) => return Err(stopped(signal, "stopped at once")),
            (Err(RecvTimeoutError::Timeout), Some((signal, _))) => {
                return Err(stopped(signal, "stopped at the end of the grace, before the work had ended"));
            }
            (Err(_), _) => return Err(defect()),
        }
    }
}

fn stopped(signal: i32, how: &str) -> Failure {
    let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
    Failure { exit: Exit::Signal(signal), message: format!("{how} on {name}; unfinished files were not put in place"), cancelled: true }
}

fn defect() -> Failure {
    Failure::new(Exit::Internal, "a defect of proofmill ended the command; please report it with the lines above")
}

fn listen<T: Send + 'static>(events: SyncSender<Event<T>>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if events.send(Event::Signal(signal)).is_err() {
                break;
            }
        }
    })?;
    Ok(())
}

fn start<T: Send + 'static>(events: SyncSender<Event<T>>, work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("command".into()).stack_size(STACK_BYTES).spawn(move || {
        // A panic is a defect; it must still end the process with its own code, and not leave the main thread waiting.
        let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(defect()));
        // Nobody listens any more once the command was abandoned.
        drop(events.send(Event::Done(result)));
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(60);

    #[test]
    fn results_and_panics_come_back() {
        let cancel = Cancel::new();
        assert_eq!(supervise(&cancel, GRACE, || Ok(7)).unwrap(), 7);
        let failed = supervise::<()>(&cancel, GRACE, || Err(Failure::new(Exit::Data, "bad")));
        assert_eq!(failed.unwrap_err().exit, Exit::Data);
        let panicked = supervise::<()>(&cancel, GRACE, || panic!("expected in this test"));
        assert_eq!(panicked.unwrap_err().exit, Exit::Internal);
        assert!(!cancel.is_cancelled());
    }
}

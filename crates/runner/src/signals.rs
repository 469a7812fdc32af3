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

/// Signals this soon after the first one are the same request: some senders signal a process and then its whole group.
const SAME_REQUEST: Duration = Duration::from_millis(200);

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
    amend: impl FnOnce(&mut T, Failure),
) -> Result<T, Failure> {
    let (events, received) = sync_channel(4);
    let started = listen(events.clone()).and_then(|()| start(events, work));
    if let Err(error) = started {
        let failure = Failure::new(Exit::Temporary, format!("a thread or signal handler could not be set up: {error}"));
        return Err(failure);
    }
    let mut stopping: Option<Stopping> = None;
    loop {
        let event = match &stopping {
            None => received.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(stopping) => received.recv_timeout(stopping.deadline.saturating_duration_since(Instant::now())),
        };
        match (event, &stopping) {
            (Ok(Event::Done(Err(_))), Some(stopping)) => return Err(stopped(stopping.signal, "stopped")),
            // Part of the work was done all the same, and the result says so.
            (Ok(Event::Done(Ok(mut result))), Some(stopping)) => {
                amend(&mut result, stopped(stopping.signal, "stopped"));
                return Ok(result);
            }
            (Ok(Event::Done(result)), None) => return result,
            (Ok(Event::Signal(signal)), None) => {
                crate::output::note("stopping; a second signal stops at once");
                stopping = Some(Stopping::now(signal, grace));
                cancel.cancel();
            }
            (Ok(Event::Signal(_)), Some(stopping)) if stopping.since.elapsed() < SAME_REQUEST => {}
            (Ok(Event::Signal(signal)), Some(_)) => return Err(stopped(signal, "stopped at once")),
            (Err(RecvTimeoutError::Timeout), Some(stopping)) => {
                return Err(stopped(stopping.signal, "stopped at the end of the grace, before the work had ended"));
            }
            (Err(_), _) => return Err(defect()),
        }
    }
}

/// A stop under way.
struct Stopping {
    signal: i32,
    since: Instant,
    deadline: Instant,
}

impl Stopping {
    fn now(signal: i32, grace: Duration) -> Self {
        let since = Instant::now();
        // A grace beyond what the clock can hold is as good as a year.
        let deadline = since.checked_add(grace).unwrap_or_else(|| since + Duration::from_secs(365 * 24 * 3600));
        Self { signal, since, deadline }
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
    use signal_hook::low_level::raise;

    use super::*;

    const GRACE: Duration = Duration::from_secs(60);

    /// Work that ends when it is cancelled, or never.
    fn work(cancel: &Cancel, heeds: bool) -> impl FnOnce() -> Result<(), Failure> + Send + 'static {
        let cancel = cancel.clone();
        move || {
            while !(heeds && cancel.is_cancelled()) {
                thread::sleep(Duration::from_millis(5));
            }
            Err(Failure::new(Exit::Temporary, "cancelled"))
        }
    }

    fn raise_later(signals: Vec<(u64, i32)>) -> thread::JoinHandle<()> {
        thread::spawn(move || {
            for (after_ms, signal) in signals {
                thread::sleep(Duration::from_millis(after_ms));
                raise(signal).unwrap();
            }
        })
    }

    // One test: signals reach the whole process.
    #[test]
    fn results_panics_and_signals() {
        let cancel = Cancel::new();
        assert_eq!(supervise(&cancel, GRACE, || Ok(7), |_, _| ()).unwrap(), 7);
        let failed = supervise::<()>(&cancel, GRACE, || Err(Failure::new(Exit::Data, "bad")), |(), _| ());
        assert_eq!(failed.unwrap_err().exit, Exit::Data);
        let panicked = supervise::<()>(&cancel, GRACE, || panic!("expected in this test"), |(), _| ());
        assert_eq!(panicked.unwrap_err().exit, Exit::Internal);
        assert!(!cancel.is_cancelled());

        // The first signal cancels; a twin right behind it changes nothing.
        let sender = raise_later(vec![(100, SIGTERM), (20, SIGTERM)]);
        let failure = supervise(&cancel, GRACE, work(&cancel, true), |(), _| ()).unwrap_err();
        assert!(cancel.is_cancelled());
        assert_eq!((failure.exit, failure.message.starts_with("stopped on SIGTERM")), (Exit::Signal(SIGTERM), true));
        sender.join().unwrap();

        // What was finished before it is kept, with the signal beside it.
        let cancel = Cancel::new();
        let sender = raise_later(vec![(100, SIGTERM)]);
        let seen = cancel.clone();
        let half_done = move || {
            while !seen.is_cancelled() {
                thread::sleep(Duration::from_millis(5));
            }
            Ok(vec![Exit::Success])
        };
        let kept = supervise(&cancel, GRACE, half_done, |exits, failure| exits.push(failure.exit)).unwrap();
        assert_eq!(kept, [Exit::Success, Exit::Signal(SIGTERM)]);
        sender.join().unwrap();

        // A second one, later, does not wait for work that does not heed the first.
        let cancel = Cancel::new();
        let sender = raise_later(vec![(100, SIGINT), (400, SIGINT)]);
        let start = Instant::now();
        let failure = supervise(&cancel, GRACE, work(&cancel, false), |(), _| ()).unwrap_err();
        assert_eq!((failure.exit, failure.message.starts_with("stopped at once")), (Exit::Signal(SIGINT), true));
        assert!(start.elapsed() < GRACE / 2);
        sender.join().unwrap();

        // Nor does the end of the grace.
        let cancel = Cancel::new();
        let sender = raise_later(vec![(100, SIGINT)]);
        let failure = supervise(&cancel, Duration::from_millis(50), work(&cancel, false), |(), _| ()).unwrap_err();
        assert_eq!((failure.exit, failure.message.contains("end of the grace")), (Exit::Signal(SIGINT), true));
        sender.join().unwrap();
    }
}

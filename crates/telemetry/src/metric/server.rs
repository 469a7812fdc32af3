//! `/metrics` over HTTP: one kind of request, one kind of answer, a connection each.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Exposition;
use crate::TelemetryError;

/// Connections that are answered at a time; the kernel keeps some more waiting, and refuses what is beyond that.
const ANSWERED_AT_A_TIME: usize = 2;
/// A request is a line and a few headers.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// A connection ends after this long, whatever it does.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(5);
/// What a refused client still sends is taken for this long, so that it gets to read why.
const LINGER: Duration = Duration::from_millis(200);
/// Time between two clearings of the histograms' raw observations.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Default)]
struct State {
    stopped: bool,
    /// What each thread is answering, so that a stop does not wait for a slow client.
    open: [Option<TcpStream>; ANSWERED_AT_A_TIME],
}

struct Shared {
    listener: TcpListener,
    exposition: Exposition,
    state: Mutex<State>,
    stopping: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is valid after any interruption.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, slot: usize) {
        loop {
            let accepted = self.listener.accept();
            let mut state = self.lock();
            if state.stopped {
                return;
            }
            match accepted {
                Ok((stream, _)) => {
                    state.open[slot] = stream.try_clone().ok();
                    drop(state);
                    // A client that went away or stalled is its own affair.
                    drop(answer(stream, &self.exposition));
                    self.lock().open[slot] = None;
                }
                // A connection that was reset in the queue, or no descriptor for the moment: never a busy loop.
                Err(_) => drop(self.wait(state, Duration::from_millis(50))),
            }
        }
    }

    fn upkeep(&self) {
        let mut state = self.lock();
        while !state.stopped {
            drop(state);
            self.exposition.upkeep();
            state = self.wait(self.lock(), UPKEEP_INTERVAL);
        }
    }

    /// Waits for a stop, at most so long.
    fn wait<'a>(&self, mut state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        let end = Instant::now() + time;
        while !state.stopped {
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else { break };
            state = self.stopping.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }
}

/// Serves a page of metrics until it is dropped.
pub struct MetricsServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for MetricsServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl MetricsServer {
    /// Listens on `address` (port 0: one that is free) and answers `GET /metrics`. There is no protection: whoever reaches the address
    /// can read, so it should be one of the machine or of a network of its own.
    ///
    /// # Errors
    /// [`TelemetryError::Listen`] when the address is taken or not of this machine, [`TelemetryError::Thread`].
    pub fn start(address: SocketAddr, exposition: Exposition) -> Result<Self, TelemetryError> {
        let listen = |source| TelemetryError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let shared = Arc::new(Shared { listener, exposition, state: Mutex::default(), stopping: Condvar::new() });
        let mut server = Self { shared, address, threads: Vec::new() };
        for slot in 0..ANSWERED_AT_A_TIME {
            server.spawn(format!("metrics-{slot}"), move |shared| shared.serve(slot))?;
        }
        server.spawn("metrics-upkeep".to_owned(), Shared::upkeep)?;
        Ok(server)
    }

    fn spawn(&mut self, name: String, work: impl FnOnce(&Shared) + Send + 'static) -> Result<(), TelemetryError> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name(name).spawn(move || work(&shared)).map_err(TelemetryError::Thread)?;
        self.threads.push(thread);
        Ok(())
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stopped = true;
        for stream in state.open.iter().flatten() {
            drop(stream.shutdown(Shutdown::Both));
        }
        drop(state);
        self.shared.stopping.notify_all();
        // Wakes the threads that wait for a connection: on Linux, accepting on a socket that was shut down fails at once.
        let _ = nix::sys::socket::shutdown(self.shared.listener.as_raw_fd(), nix::sys::socket::Shutdown::Both);
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing more to say.
            drop(thread.join());
        }
    }
}

/// A status line, and whether the page is the answer.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Page { body: bool },
    Refused(&'static str, &'static str),
}

/// Decides by the first line of a request.
fn judge(head: &[u8]) -> Answer {
    const BAD: Answer = Answer::Refused("400 Bad Request", "this is not an HTTP/1 request\n");
    let Some(line) = head.split(|byte| *byte == b'\n').next().and_then(|line| std::str::from_utf8(line).ok()) else { return BAD };
    let mut words = line.trim_end_matches('\r').split(' ');
    let (Some(method), Some(target), Some(version), None) = (words.next(), words.next(), words.next(), words.next()) else { return BAD };
    if !version.starts_with("HTTP/1.") {
        return BAD;
    }
    let path = target.split('?').next().unwrap_or_default();
    match (method, path) {
        ("GET", "/metrics") => Answer::Page { body: true },
        ("HEAD", "/metrics") => Answer::Page { body: false },
        (_, "/metrics") => Answer::Refused("405 Method Not Allowed", "only GET and HEAD\n"),
        _ => Answer::Refused("404 Not Found", "metrics are at /metrics\n"),
    }
}

fn answer(mut stream: TcpStream, exposition: &Exposition) -> io::Result<()> {
    let end = Instant::now() + CONNECTION_TIME_MAX;
    let answer = match read_head(&mut stream, end)? {
        Some(head) => judge(&head),
        None => Answer::Refused("431 Request Header Fields Too Large", "the request is too long\n"),
    };
    let (status, page, body) = match answer {
        Answer::Page { body } => ("200 OK", exposition.page(), body),
        Answer::Refused(status, why) => (status, why.to_owned(), true),
    };
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let mut response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        page.len()
    );
    if body {
        response.push_str(&page);
    }
    write_until(&mut stream, response.as_bytes(), end)?;
    stream.shutdown(Shutdown::Write)?;
    // Closing on unread bytes would reset the connection, and the client could lose the answer.
    let linger = end.min(Instant::now() + LINGER);
    let mut rest = [0; 1024];
    while stream.set_read_timeout(left(linger)).is_ok() && stream.read(&mut rest).is_ok_and(|count| count > 0) {}
    Ok(())
}

/// What is left until `end`; a timeout of nothing at all is refused by the system, so that is an error there.
fn left(end: Instant) -> Option<Duration> {
    Some(end.saturating_duration_since(Instant::now()))
}

/// Reads to the blank line after the headers; `None` when there are too many.
fn read_head(stream: &mut TcpStream, end: Instant) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        stream.set_read_timeout(left(end))?;
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&chunk[..count]);
        if head.windows(4).any(|four| four == b"\r\n\r\n") || head.windows(2).any(|two| two == b"\n\n") {
            return Ok(Some(head));
        }
        if head.len() > REQUEST_BYTES_MAX {
            return Ok(None);
        }
    }
}

fn write_until(stream: &mut TcpStream, mut bytes: &[u8], end: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(left(end))?;
        match stream.write(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_page_is_there() {
        for request in ["GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "GET /metrics?x=1 HTTP/1.0\r\n\r\n", "GET /metrics HTTP/1.1\n\n"] {
            assert_eq!(judge(request.as_bytes()), Answer::Page { body: true }, "{request:?}");
        }
        assert_eq!(judge(b"HEAD /metrics HTTP/1.1\r\n\r\n"), Answer::Page { body: false });
        for (request, status) in [
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("GET /metrics/.. HTTP/1.1\r\n\r\n", "404"),
            ("GET /metrics\r\n\r\n", "400"),
            ("GET /metrics HTTP/2.0\r\n\r\n", "400"),
            ("\r\n\r\n", "400"),
            ("GET  /metrics HTTP/1.1\r\n\r\n", "400"),
        ] {
            assert!(matches!(judge(request.as_bytes()), Answer::Refused(found, _) if found.starts_with(status)), "{request:?}");
        }
        assert!(matches!(judge(b"\xff\xfe /metrics HTTP/1.1\r\n\r\n"), Answer::Refused(..)));
    }

    proptest::proptest! {
        #[test]
        fn no_request_breaks_it(head in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            // Whatever gets the page asked for it.
            if let Answer::Page { .. } = judge(&head) {
                proptest::prop_assert!(head.starts_with(b"GET /metrics") || head.starts_with(b"HEAD /metrics"));
            }
        }

        #[test]
        fn what_follows_the_first_line_does_not_count(rest in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let request = [b"GET /metrics HTTP/1.1\r\n".as_slice(), &rest].concat();
            proptest::prop_assert_eq!(judge(&request), Answer::Page { body: true });
        }
    }
}

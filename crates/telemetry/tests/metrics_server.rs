//! The page as a client gets it, and clients that do not behave.
#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use telemetry::{Exposition, MetricsServer, TelemetryError, proof_completed, zero_proofs};

fn send(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.filter(|t| std::fs::read_to_string(t.as_ref().unwrap().path().join("comm")).is_ok_and(|c| c.starts_with("metrics-"))).count()
}

/// One test: the recorder is the process's.
#[test]
fn the_page_is_served_until_the_server_is_dropped() {
    let exposition = Exposition::install().unwrap();
    zero_proofs(&["fatal"]);
    proof_completed();
    let server = MetricsServer::start("127.0.0.1:0".parse().unwrap(), exposition).unwrap();
    let address = server.address();
    assert_ne!(address.port(), 0);

    let answer = send(address, b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", page.len())), "{head}");
    assert!(page.contains("proofmill_proofs_completed_total 1\n") && page.contains("process_threads "), "{page}");
    let bare = send(address, b"HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(bare.starts_with("HTTP/1.1 200 OK\r\n") && bare.ends_with("\r\n\r\n"), "{bare}");
    assert!(send(address, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    let post = send(address, b"POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
    assert!(post.starts_with("HTTP/1.1 405 ") && post.contains("\r\nAllow: GET, HEAD\r\n"), "{post}");
    assert!(send(address, &[b'a'; 9000]).starts_with("HTTP/1.1 431 "));

    // More clients than are answered at a time, of which one says nothing at all.
    let silent = TcpStream::connect(address).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert!(send(address, b"GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 ")));
        }
    });

    // The address is taken.
    let taken = std::net::TcpListener::bind(address).unwrap_err();
    assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);

    // A stop waits for no client.
    let stopping = Instant::now();
    drop(server);
    assert!(stopping.elapsed() < Duration::from_secs(4), "the silent client held the stop up");
    assert_eq!(threads(), 0);
    drop(silent);
    assert!(TcpStream::connect(address).is_err());

    let error = Exposition::install().unwrap_err();
    assert!(matches!(error, TelemetryError::AlreadyRecording), "{error}");
}

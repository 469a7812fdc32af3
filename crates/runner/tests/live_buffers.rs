//! `prove --buffers`: what is in flight, while it is in flight. A set-up holds buffers within seconds, so no proof has to end here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it unwraps")]

mod support;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use nix::pty::{Winsize, openpty};

use support::{Place, bench_data};

/// Ends the command when the test has seen enough, or failed.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn a_terminal_gets_a_live_table() {
    let place = Place::new();
    let terminal = openpty(&Winsize { ws_row: 40, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 }, None).unwrap();
    let mut command = place.command();
    command.args(["prove", "--buffers"]).arg(bench_data("porep-2kib/c1.json")).env("TERM", "xterm");
    let child = Ended(command.stdout(Stdio::null()).stderr(terminal.slave).spawn().unwrap());
    // The command's own copy of the slave, or reading would not end with the child.
    drop(command);
    let (mut screen, mut shown) = (File::from(terminal.master), String::new());
    let mut chunk = [0; 4096];
    // The set-up's buffers, in the stage that has them, below what is used of the budget.
    while !["buffers", "setup", "staging", " x1", "host: "].iter().all(|word| shown.contains(word)) {
        match screen.read(&mut chunk) {
            Ok(count) if count > 0 => shown.push_str(&String::from_utf8_lossy(&chunk[..count])),
            ended => panic!("{ended:?} before the table had the buffers of the set-up: {shown}"),
        }
    }
    assert!(!shown.contains("buffers in flight"), "a terminal gets no log lines besides: {shown}");
    drop(child);
}

#[test]
fn without_a_terminal_there_are_lines_for_programs() {
    let place = Place::new();
    let mut command = place.command();
    command.args(["prove", "--buffers", "--buffers-interval", "100ms"]).arg(bench_data("porep-2kib/c1.json"));
    let mut child = Ended(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(child.0.stderr.take().unwrap()).lines();
    let mut all = Vec::new();
    let (spaces, cells) = loop {
        let line = lines.next().unwrap_or_else(|| panic!("no line has the buffers of the set-up: {all:?}")).unwrap();
        if let Some((_, fields)) = line.split_once("buffers in flight spaces=") {
            let (spaces, cells) = fields.split_once(" cells=").unwrap();
            let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            if line.contains("\"staging\"") {
                break (parse(spaces), parse(cells));
            }
        }
        all.push(line);
    };
    let of_host = cells.as_array().unwrap().iter().filter(|cell| cell["space"] == "host");
    let sum: u64 = of_host.map(|cell| cell["bytes"].as_u64().unwrap()).sum();
    assert_eq!(spaces["host"]["used_bytes"], sum, "{cells}");
    assert!(sum > 0 && spaces["host"]["budget_bytes"].as_u64().unwrap() >= sum);
}

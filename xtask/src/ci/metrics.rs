//! What Prometheus's own tool says: of a page that the program serves, of the alert rules, of the expressions of the dashboard.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value as Json, json};

use super::smoke::proofmill_variables;
use crate::repository::{Repository, run as run_command, spelled};

const C1: &str = "bench-data/porep-2kib/c1.json";
const RULES: &str = "deploy/prometheus/proofmill.rules.yml";
const RULE_TESTS: &str = "deploy/prometheus/proofmill.rules.test.yml";
const DASHBOARD: &str = "deploy/grafana/proofmill.json";

/// What the program says on standard error before anything else.
const SERVING: &str = "proofmill: metrics are at http://";
/// The first set-up step holds a buffer within seconds.
const FIRST_BUFFER_TIME_MAX: Duration = Duration::from_secs(120);

/// Checks the rules, the dashboard and a page.
pub(super) fn run(repository: &Repository) -> Result<()> {
    let version = repository.output("promtool", ["--version"]);
    version.context("promtool is not installed: install Debian's package `prometheus`, or see .ci/run, which unpacks it")?;
    run_command(Command::new("promtool").current_dir(repository.root()).args(["check", "rules", RULES]))?;
    run_command(Command::new("promtool").current_dir(repository.root()).args(["test", "rules", RULE_TESTS]))?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    check_dashboard(repository, folder.path())?;
    check_page(&served_page(repository, folder.path())?)
}

/// Puts the dashboard's expressions into a file of rules, which is what promtool reads.
fn check_dashboard(repository: &Repository, folder: &Path) -> Result<()> {
    let text = repository.read(DASHBOARD)?.with_context(|| format!("{DASHBOARD} is no text"))?.text;
    let dashboard: Json = serde_json::from_str(&text).with_context(|| format!("{DASHBOARD} is no JSON"))?;
    let rules = rules_of(&dashboard);
    ensure!(!rules.is_empty(), "{DASHBOARD} has no expressions");
    let file = folder.join("dashboard.rules.json");
    // JSON is YAML too.
    std::fs::write(&file, json!({ "groups": [{ "name": "dashboard", "rules": rules }] }).to_string())?;
    run_command(Command::new("promtool").args(["check", "rules"]).arg(&file))
}

/// A recording rule for each expression, its variables replaced by values they could have.
fn rules_of(dashboard: &Json) -> Vec<Json> {
    let panels = dashboard["panels"].as_array().into_iter().flatten();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let expressions = targets.filter_map(|target| target["expr"].as_str());
    expressions
        .enumerate()
        .map(|(number, expression)| {
            let expression = expression.replace("$__rate_interval", "1m").replace("$job", ".*").replace("$instance", ".*");
            json!({ "record": format!("panel:{number}"), "expr": expression })
        })
        .collect()
}

/// Starts a proof in a data folder of its own and takes a page as soon as it has a buffer on it.
fn served_page(repository: &Repository, folder: &Path) -> Result<String> {
    run_command(repository.cargo().args(["build", "--release", "--package", "runner"]))?;
    let mut command = Command::new(repository.target().join("release/proofmill"));
    command.current_dir(repository.root()).args(["prove", C1, "--metrics-addr", "127.0.0.1:0"]);
    proofmill_variables(&mut command, &folder.join("data"));
    println!("$ {}", spelled(&command));
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().context("cannot start proofmill")?;
    let mut child = KilledOnDrop(child);
    let mut stderr = BufReader::new(child.0.stderr.take().context("standard error is not piped")?);
    let mut line = String::new();
    stderr.read_line(&mut line)?;
    let address = line.trim().strip_prefix(SERVING).and_then(|rest| rest.strip_suffix("/metrics"));
    let address: SocketAddr = address.with_context(|| format!("expected {SERVING:?}, found {line:?}"))?.parse()?;
    let deadline = Instant::now() + FIRST_BUFFER_TIME_MAX;
    loop {
        let page = scrape(address)?;
        if page.contains("proofmill_buffer_bytes{") {
            return Ok(page);
        }
        ensure!(Instant::now() < deadline, "no buffer on the page within {} s", FIRST_BUFFER_TIME_MAX.as_secs());
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The page has what is needed; the proof need not end.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn scrape(address: SocketAddr) -> Result<String> {
    let mut stream = TcpStream::connect(address).with_context(|| format!("nobody serves metrics at {address}"))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: proofmill\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, page)) if head.starts_with("HTTP/1.1 200 ") => Ok(page.to_owned()),
        _ => bail!("expected a page, found {answer:?}"),
    }
}

fn check_page(page: &str) -> Result<()> {
    println!("$ promtool check metrics < (a page of {} bytes)", page.len());
    let mut child = Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).spawn().context("cannot start promtool")?;
    // Taken, so that it is closed at the end of the statement.
    child.stdin.take().context("standard input is not piped")?.write_all(page.as_bytes())?;
    let status = child.wait()?;
    ensure!(status.success(), "promtool check metrics failed ({status})");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::rules_of;

    #[test]
    fn every_expression_becomes_a_rule_without_variables() {
        let dashboard = json!({ "panels": [
            { "type": "row" },
            { "targets": [{ "expr": "rate(a{job=~\"$job\"}[$__rate_interval])" }, { "expr": "b" }] },
            { "targets": [{ "expr": "c{instance=~\"$instance\"}" }] },
        ] });
        let expected = [
            json!({ "record": "panel:0", "expr": "rate(a{job=~\".*\"}[1m])" }),
            json!({ "record": "panel:1", "expr": "b" }),
            json!({ "record": "panel:2", "expr": "c{instance=~\".*\"}" }),
        ];
        assert_eq!(rules_of(&dashboard), expected);
    }
}

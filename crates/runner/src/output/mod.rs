//! What the user sees: one report on standard output, notes and progress on standard error.

mod table;

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

pub(crate) use table::Table;

use crate::config::OutputFormat;
use crate::exit::{Exit, Failure};

/// Version of the JSON objects; raised when a field changes its meaning or goes.
const JSON_VERSION: u32 = 1;

/// What a command found out, both for people and for programs.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// For standard output.
    pub(crate) text: String,
    /// For standard error, after the work (text output only).
    pub(crate) aside: String,
    /// The fields of the JSON object besides `version` and `command`.
    pub(crate) fields: Map<String, Json>,
}

impl Report {
    /// A report with the fields of a JSON object.
    pub(crate) fn new(text: impl Into<String>, fields: Json) -> Self {
        let fields = match fields {
            Json::Object(fields) => fields,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        Self { text: text.into(), aside: String::new(), fields }
    }
}

/// Puts the outcome of a command on standard output and standard error, and says what the process returns.
pub(crate) fn present(command: &str, format: OutputFormat, result: Result<Report, Failure>) -> Exit {
    let result = result.and_then(|report| match format {
        OutputFormat::Text => Ok((report.text, report.aside)),
        OutputFormat::Json => object(command, report.fields).map(|text| (text, String::new())),
    });
    let (exit, text, aside) = match result {
        Ok((text, aside)) => (Exit::Success, text, aside),
        Err(failure) => {
            let error = json!({ "exit_code": failure.exit.code(), "message": failure.message });
            let text = match format {
                OutputFormat::Text => String::new(),
                OutputFormat::Json => object(command, Map::from_iter([("error".to_owned(), error)])).unwrap_or_default(),
            };
            (failure.exit, text, failure_lines(&failure))
        }
    };
    let written = write_stdout(text.as_bytes());
    write_stderr(&aside);
    match written {
        Ok(()) => exit,
        Err(failure) => {
            write_stderr(&failure_lines(&failure));
            if exit == Exit::Success { failure.exit } else { exit }
        }
    }
}

fn failure_lines(failure: &Failure) -> String {
    format!("proofmill: {}\n", failure.message)
}

/// The one object on standard output.
#[derive(Serialize)]
struct Envelope<'a> {
    version: u32,
    command: &'a str,
    #[serde(flatten)]
    fields: Map<String, Json>,
}

fn object(command: &str, fields: Map<String, Json>) -> Result<String, Failure> {
    let mut text = serde_json::to_string(&Envelope { version: JSON_VERSION, command, fields })
        .map_err(|error| Failure::new(Exit::Internal, format!("the report cannot be written as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// Writes to standard output. A reader that has gone (`| head -1`) has all it wanted, so that is no failure.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::writing("standard output".as_ref(), &error)),
        _ => Ok(()),
    }
}

/// Writes to standard error. There is nowhere left to say that this failed.
fn write_stderr(text: &str) {
    drop(io::stderr().lock().write_all(text.as_bytes()));
}

/// One line for the user on standard error, now.
pub(crate) fn note(text: &str) {
    write_stderr(&format!("proofmill: {text}\n"));
}

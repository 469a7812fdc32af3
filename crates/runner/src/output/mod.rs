//! What the user sees: one report on standard output, notes and progress on standard error.

mod file;
mod progress;
mod summary;
mod table;

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

pub(crate) use file::{OutFile, create_folder};
pub(crate) use progress::{Bar, Bars};
pub(crate) use summary::{Parameters, Steps, Summary};
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
    /// True when the JSON object is what a person wants too, for instance to keep it in a file.
    is_document: bool,
    /// What failed although the rest was done; the first one decides the exit code.
    pub(crate) failures: Vec<Failure>,
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
        Self { text: text.into(), aside: String::new(), failures: Vec::new(), is_document: false, fields }
    }

    /// A report that is a JSON object whatever the output.
    pub(crate) fn document(fields: Json) -> Self {
        Self { is_document: true, ..Self::new(String::new(), fields) }
    }
}

/// Puts the outcome of a command on standard output and standard error, and says what the process returns.
pub(crate) fn present(command: &str, format: OutputFormat, result: Result<Report, Failure>) -> Exit {
    let result = result.and_then(|report| {
        let exit = report.failures.first().map_or(Exit::Success, |failure| failure.exit);
        let failures: String = report.failures.iter().map(failure_lines).collect();
        match format {
            OutputFormat::Text if !report.is_document => Ok((exit, report.text, report.aside + &failures)),
            _ => object(command, report.fields).map(|text| (exit, text, failures)),
        }
    });
    let (exit, text, aside) = match result {
        Ok(presented) => presented,
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

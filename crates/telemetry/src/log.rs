//! Tracing on stderr.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::TelemetryError;

/// The environment variable that sets the filter when no flag does.
pub const LOG_VARIABLE: &str = "PROOFMILL_LOG";

const FILTER_DEFAULT: &str = "info";

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Text when stderr is a terminal, JSON lines otherwise.
    #[default]
    Auto,
    /// One compact line of text an event, coloured on a terminal unless `NO_COLOR` is set.
    Text,
    /// One JSON object an event, the event's fields at its top level.
    Json,
}

/// What is logged and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// A level (`debug`) or directives (`info,proofmill=trace`). `None`: [`LOG_VARIABLE`], else `info`.
    pub filter: Option<String>,
    /// How lines look.
    pub format: LogFormat,
}

/// Sets logging up for the whole process, on stderr.
///
/// # Errors
/// [`TelemetryError::Filter`], [`TelemetryError::AlreadyInstalled`].
pub fn init(options: &LogOptions) -> Result<(), TelemetryError> {
    init_with_writer(options, std::io::stderr)
}

/// [`init`] with another way to stderr, for instance one that moves progress bars aside for each line.
///
/// # Errors
/// [`TelemetryError::Filter`], [`TelemetryError::AlreadyInstalled`].
pub fn init_with_writer<W>(options: &LogOptions, writer: W) -> Result<(), TelemetryError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let surroundings = Surroundings {
        variable: std::env::var(LOG_VARIABLE).ok(),
        terminal: std::io::stderr().is_terminal(),
        no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
    };
    subscriber(options, &surroundings, writer)?.try_init().map_err(|_| TelemetryError::AlreadyInstalled)
}

struct Surroundings {
    variable: Option<String>,
    terminal: bool,
    no_color: bool,
}

fn filter(options: &LogOptions, variable: Option<&str>) -> Result<EnvFilter, TelemetryError> {
    let (origin, given) = match (&options.filter, variable) {
        (Some(flag), _) => ("the log flag", flag.as_str()),
        (None, Some(variable)) if !variable.is_empty() => (LOG_VARIABLE, variable),
        (None, _) => ("the default", FILTER_DEFAULT),
    };
    let refused = |reason: String| TelemetryError::Filter { origin, given: given.to_owned(), reason };
    let filter = EnvFilter::builder().parse(given).map_err(|error| refused(error.to_string()))?;
    // A misspelt level parses as the name of a target, which would silently switch everything else off.
    let bare_names = given.split(',').map(str::trim).filter(|part| part.chars().all(|c| c.is_ascii_alphanumeric()));
    let levels = ["off", "error", "warn", "info", "debug", "trace"];
    match bare_names.into_iter().find(|name| !levels.iter().any(|level| level.eq_ignore_ascii_case(name))) {
        None => Ok(filter),
        Some(name) => Err(refused(format!("{name:?} is no level"))),
    }
}

type BoxedSubscriber = Box<dyn tracing::Subscriber + Send + Sync>;

fn subscriber<W>(options: &LogOptions, surroundings: &Surroundings, writer: W) -> Result<BoxedSubscriber, TelemetryError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = filter(options, surroundings.variable.as_deref())?;
    let json = match options.format {
        LogFormat::Auto => !surroundings.terminal,
        LogFormat::Text => false,
        LogFormat::Json => true,
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    Ok(if json {
        Box::new(builder.json().flatten_event(true).finish())
    } else {
        Box::new(builder.compact().with_ansi(surroundings.terminal && !surroundings.no_color).finish())
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, flag: Option<&str>, variable: Option<&str>, terminal: bool, no_color: bool) -> String {
        let lines = Lines::default();
        let options = LogOptions { filter: flag.map(str::to_owned), format };
        let surroundings = Surroundings { variable: variable.map(str::to_owned), terminal, no_color };
        let writer = lines.clone();
        let subscriber = subscriber(&options, &surroundings, move || writer.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(partition = 3, stage = "ntt", "stage done");
            tracing::debug!("a detail");
        });
        String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn json_lines_have_the_fields_at_the_top() {
        let text = logged(LogFormat::Auto, None, None, false, false);
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 1, "{text}");
        assert_eq!((&lines[0]["partition"], &lines[0]["stage"], &lines[0]["level"]), (&3.into(), &"ntt".into(), &"INFO".into()));
        assert_eq!(lines[0]["message"], "stage done");
        assert!(lines[0]["timestamp"].is_string());
    }

    #[test]
    fn a_terminal_gets_text_and_colour_unless_told_otherwise() {
        let text = logged(LogFormat::Auto, None, None, true, true);
        assert!(
            text.contains("stage done") && text.contains("partition=3") && !text.contains('\u{1b}') && text.lines().count() == 1,
            "{text}"
        );
        assert!(logged(LogFormat::Auto, None, None, true, false).contains('\u{1b}'));
        assert!(!logged(LogFormat::Text, None, None, false, false).contains('\u{1b}'));
        assert!(logged(LogFormat::Json, None, None, true, false).starts_with('{'));
    }

    #[test]
    fn a_flag_wins_over_the_variable() {
        assert!(logged(LogFormat::Text, None, Some("debug"), false, false).contains("a detail"));
        assert!(!logged(LogFormat::Text, Some("info"), Some("debug"), false, false).contains("a detail"));
        assert!(logged(LogFormat::Text, Some("error"), None, false, false).is_empty());
        assert!(logged(LogFormat::Text, None, Some(""), false, false).contains("stage done"));
        let module = format!("off,{}=debug", module_path!());
        assert!(logged(LogFormat::Text, Some(&module), None, false, false).contains("a detail"));
    }

    #[test]
    fn a_bad_filter_names_its_origin() {
        for (flag, variable, origin) in
            [(Some("x=loud"), None, "flag"), (None, Some("verbose"), LOG_VARIABLE), (Some("info,nonsense"), None, "flag")]
        {
            let options = LogOptions { filter: flag.map(str::to_owned), format: LogFormat::Text };
            let error = filter(&options, variable).unwrap_err().to_string();
            assert!(error.contains(origin) && error.contains(flag.or(variable).unwrap()), "{error}");
        }
    }

    #[test]
    fn a_second_set_up_is_refused() {
        // The global subscriber is this test's alone: the others use one of their own thread.
        let options = LogOptions { filter: Some("off".to_owned()), format: LogFormat::Text };
        init(&options).unwrap();
        assert!(matches!(init(&options), Err(TelemetryError::AlreadyInstalled)));
    }
}

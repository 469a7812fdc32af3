//! Exit codes (sysexits) and the one error type of the commands: a sentence and its code.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use groth16_srs::SrsError;
use pipeline_stage::{AcquireError, Classified, ErrorClass};

/// What the process tells its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All was done.
    Success,
    /// The command line is wrong.
    Usage,
    /// The input is wrong: a C1 file, a proof that does not verify, parameters that are damaged.
    Data,
    /// An input file is missing or cannot be opened.
    NoInput,
    /// Something that is needed is not there: parameters, memory within the budget.
    Unavailable,
    /// A defect of this program.
    Internal,
    /// An output file or folder cannot be made.
    CannotCreate,
    /// Reading or writing failed half-way, a full disk among other reasons.
    Io,
    /// The same command may succeed when tried again.
    Temporary,
    /// The system denies access.
    Permission,
    /// The configuration is wrong.
    Config,
    /// Stopped by this signal.
    Signal(i32),
}

impl Exit {
    /// Every code but the signals', with what it means, for `--help` and the documentation.
    pub(crate) const TABLE: [(Self, &'static str); 11] = [
        (Self::Success, "done"),
        (Self::Usage, "wrong command line"),
        (Self::Data, "wrong input: C1 file, proof that does not verify, damaged parameters"),
        (Self::NoInput, "an input file is missing or cannot be opened"),
        (Self::Unavailable, "something needed is not there: parameters, memory within the budget"),
        (Self::Internal, "a defect of proofmill"),
        (Self::CannotCreate, "an output file or folder cannot be made"),
        (Self::Io, "reading or writing failed, a full disk for instance"),
        (Self::Temporary, "try again later"),
        (Self::Permission, "the system denies access"),
        (Self::Config, "wrong configuration file or environment variable"),
    ];

    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Usage => 64,
            Self::Data => 65,
            Self::NoInput => 66,
            Self::Unavailable => 69,
            Self::Internal => 70,
            Self::CannotCreate => 73,
            Self::Io => 74,
            Self::Temporary => 75,
            Self::Permission => 77,
            Self::Config => 78,
            Self::Signal(number) => 128u8.saturating_add(u8::try_from(number).unwrap_or(0)),
        }
    }

    /// The table as text for `--help`.
    pub(crate) fn help() -> String {
        let mut text = String::from("Exit codes:\n");
        for (exit, meaning) in Self::TABLE {
            text.push_str(&format!("  {:>3}  {meaning}\n", exit.code()));
        }
        text.push_str("  129, 130, 143  stopped by a hang-up, by Ctrl-C, by a request to terminate\n");
        text
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command did not do its work: one sentence (what, expected, found, where, what to do) and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The code.
    pub(crate) exit: Exit,
    /// The sentence, without the program's name and without a final newline.
    pub(crate) message: String,
    /// True when the work was given up on request; the signal then decides the code.
    pub(crate) cancelled: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), cancelled: false }
    }

    /// A failure to open or read an input file.
    pub(crate) fn reading(path: &Path, error: &io::Error) -> Self {
        let exit = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => Exit::NoInput,
            io::ErrorKind::PermissionDenied => Exit::Permission,
            _ => Exit::Io,
        };
        Self::new(exit, format!("{}: cannot be read: {}", path.display(), reason(error)))
    }

    /// A failure to make an output file or folder.
    pub(crate) fn creating(path: &Path, error: &io::Error) -> Self {
        let exit = match error.kind() {
            io::ErrorKind::PermissionDenied => Exit::Permission,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Exit::Io,
            _ => Exit::CannotCreate,
        };
        Self::new(exit, format!("{}: cannot be created: {}", path.display(), reason(error)))
    }

    /// A failure to write an output file.
    pub(crate) fn writing(path: &Path, error: &io::Error) -> Self {
        Self::new(Exit::Io, format!("{}: cannot be written: {}", path.display(), reason(error)))
    }

    /// An error of one of the prover's parts, where `subject` says what was worked on (a file, a circuit). `fatal` is the code when the
    /// error is neither the system's, nor the memory budget's, nor temporary.
    pub(crate) fn from_part(subject: impl fmt::Display, error: &dyn Classified, fatal: Exit) -> Self {
        let message = format!("{subject}: {}", sentence(error));
        match error.class() {
            ErrorClass::Cancelled => Self { exit: Exit::Temporary, message, cancelled: true },
            class => Self::new(exit_of(error, class, fatal), message),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}

/// The code of an error: the system's own reasons first, then what the part says about it.
fn exit_of(error: &(dyn Error + 'static), class: ErrorClass, fatal: Exit) -> Exit {
    let mut cause = Some(error);
    while let Some(link) = cause {
        if let Some(failure) = link.downcast_ref::<Failure>() {
            return failure.exit;
        }
        if let Some(io) = link.downcast_ref::<io::Error>() {
            return match io.kind() {
                io::ErrorKind::PermissionDenied => Exit::Permission,
                io::ErrorKind::NotFound => Exit::NoInput,
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => Exit::CannotCreate,
                // Wrapped errors of a format carry no number of the system.
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => fatal,
                _ => Exit::Io,
            };
        }
        if let Some(SrsError::NoSpace { .. }) = link.downcast_ref::<SrsError>() {
            return Exit::Io;
        }
        if let Some(memory) = link.downcast_ref::<AcquireError>() {
            return match memory {
                AcquireError::WouldBlock { .. } => Exit::Temporary,
                _ => Exit::Unavailable,
            };
        }
        cause = link.source();
    }
    if class == ErrorClass::Retryable { Exit::Temporary } else { fatal }
}

/// An error and its causes as one sentence; a cause that the message repeats already is left out.
pub(crate) fn sentence(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(link) = cause {
        let more = link.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = link.source();
    }
    text
}

/// The system's reason without its number and what may follow it (the random name of an unfinished file): "No space left on device".
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the section could not be had")]
    struct Outer {
        #[source]
        cause: io::Error,
        class: ErrorClass,
    }
    impl Classified for Outer {
        fn class(&self) -> ErrorClass {
            self.class
        }
    }

    #[test]
    fn the_systems_reason_decides_before_the_parts_class() {
        let outer = |kind, class| Outer { cause: io::Error::new(kind, "because"), class };
        let exit = |kind, class| Failure::from_part("x", &outer(kind, class), Exit::Data).exit;
        assert_eq!(exit(io::ErrorKind::PermissionDenied, ErrorClass::Fatal), Exit::Permission);
        assert_eq!(exit(io::ErrorKind::StorageFull, ErrorClass::Retryable), Exit::Io);
        assert_eq!(exit(io::ErrorKind::InvalidData, ErrorClass::Fatal), Exit::Data);
        assert_eq!(exit(io::ErrorKind::UnexpectedEof, ErrorClass::Retryable), Exit::Data);
        let given_up = Failure::from_part("x", &outer(io::ErrorKind::Other, ErrorClass::Cancelled), Exit::Data);
        assert!(given_up.cancelled);
        assert_eq!(given_up.message, "x: the section could not be had: because");
    }

    #[test]
    fn a_budget_that_is_too_small_is_unavailable() {
        let error = AcquireError::ExceedsBudget {
            space: pipeline_stage::Space::Host,
            class: "witness",
            stage: "synth",
            needed: 2,
            budget: 1,
            held: 0,
        };
        assert_eq!(Failure::from_part("a", &error, Exit::Data).exit, Exit::Unavailable);
        assert_eq!(exit_of(&error, ErrorClass::Fatal, Exit::Internal), Exit::Unavailable);
        // Every part hands it on in an error of its own, some through several.
        let backend = || prover_backend::BackendError::from(error.clone());
        let synth = || circuit_synth::SynthError::from(error.clone());
        let wrapped: [Box<dyn Classified>; 9] = [
            Box::new(backend()),
            Box::new(synth()),
            Box::new(circuit_synth::SynthError::from(backend())),
            Box::new(SrsError::from(error.clone())),
            Box::new(SrsError::from(backend())),
            Box::new(filecoin_circuits::CircuitError::from(synth())),
            Box::new(groth16_pipeline::QuotientError::from(synth())),
            Box::new(groth16_pipeline::EngineError::from(error.clone())),
            Box::new(crate::porep::SectorError::from(filecoin_circuits::CircuitError::from(error.clone()))),
        ];
        for error in wrapped {
            let failure = Failure::from_part("a", error.as_ref(), Exit::Internal);
            assert_eq!(failure.exit, Exit::Unavailable, "{error:?}");
            assert_eq!(failure.message.matches("2 bytes").count(), 1, "{failure}");
        }
        let failure = Failure::new(Exit::Permission, "unreadable");
        assert_eq!(Failure::from_part("a", &crate::porep::SectorError::Input(failure), Exit::Data).exit, Exit::Permission);
    }

    #[test]
    fn a_disk_that_is_too_small_is_like_one_that_is_full() {
        let error = SrsError::NoSpace { folder: "/srv".into(), needed: 2, available: 1 };
        let failure = Failure::from_part("set-up", &error, Exit::Internal);
        assert_eq!(
            (failure.exit, failure.message.as_str()),
            (Exit::Io, "set-up: /srv: the key needs 2 bytes, 1 are free; free some space or keep keys elsewhere")
        );
    }

    #[test]
    fn signals_have_the_shells_codes() {
        assert_eq!([1, 2, 15].map(|n| Exit::Signal(n).code()), [129, 130, 143]);
        assert!(Exit::help().contains("  65  wrong input"));
    }

    #[test]
    fn the_readme_has_the_same_table() {
        for (exit, meaning) in Exit::TABLE {
            let row = format!("| {} | {meaning} |", exit.code());
            assert!(include_str!("../README.md").contains(&row), "{row}");
        }
    }

    #[test]
    fn reasons_lose_their_number() {
        assert_eq!(reason(&io::Error::from_raw_os_error(28)), "No space left on device");
    }
}

//! Values by key, each with its source; later layers replace earlier ones.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

use super::keys::{CONFIG_VARIABLE, KEYS, Key, nearest};
use super::value::Value;
use super::{Environment, Setting};
use crate::exit::{Exit, Failure};

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Built in.
    Default,
    /// A line of the file.
    File(PathBuf, usize),
    /// An environment variable.
    Environment(&'static str),
    /// A flag.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// What the command line says about settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlagValues {
    /// `--config`.
    pub(crate) config: Option<PathBuf>,
    /// Key and value of each flag given.
    pub(crate) values: Vec<(&'static str, OsString)>,
}

#[derive(Debug, Default)]
pub(super) struct Layers(BTreeMap<&'static str, (OsString, Source)>);

impl Layers {
    /// Takes a value over, once it has one of the allowed forms.
    pub(super) fn put(&mut self, key: &'static Key, text: OsString, source: Source) -> Result<(), Failure> {
        (key.check)(&text).map_err(|why| bad_value(key, &text, &source, why.as_deref()))?;
        self.0.insert(key.name, (text, source));
        Ok(())
    }

    pub(super) fn add_environment(&mut self, environment: &Environment) -> Result<(), Failure> {
        for (name, value) in &environment.variables {
            let Some(name) = name.to_str().filter(|name| name.starts_with("PROOFMILL_") && *name != CONFIG_VARIABLE) else { continue };
            let Some(key) = KEYS.iter().find(|key| key.variable == name) else {
                let names = || KEYS.iter().map(|key| key.variable).chain([CONFIG_VARIABLE]);
                let meant = match nearest(name, names()) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
                };
                return Err(Failure::new(Exit::Config, format!("environment variable {name} is no setting of proofmill: {meant}")));
            };
            self.put(key, value.clone(), Source::Environment(key.variable))?;
        }
        Ok(())
    }

    pub(super) fn add_flags(&mut self, flags: &FlagValues) -> Result<(), Failure> {
        for (name, value) in &flags.values {
            if let Some(key) = KEYS.iter().find(|key| key.name == *name) {
                self.put(key, value.clone(), Source::Flag(format!("--{}", name.replace('_', "-"))))?;
            }
        }
        Ok(())
    }

    /// The value of a key. Every value was checked when it was put in, so none is refused here.
    pub(super) fn get<T: Value>(&self, name: &str) -> Option<Setting<T>> {
        let (text, source) = self.0.get(name)?;
        T::parse_os(text).ok().map(|value| Setting { value, source: source.clone() })
    }

    pub(super) fn get_or<T: Value>(&self, name: &str, default: T) -> Setting<T> {
        self.get(name).unwrap_or(Setting { value: default, source: Source::Default })
    }
}

/// The refusal of a value: where, which key, what was found, why, what is allowed.
pub(super) fn bad_value(key: &Key, text: &OsStr, source: &Source, why: Option<&str>) -> Failure {
    let exit = if matches!(source, Source::Flag(_)) { Exit::Usage } else { Exit::Config };
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    let at = match source {
        Source::File(..) => format!("{source}: {}", key.name),
        _ => source.to_string(),
    };
    Failure::new(exit, format!("{at}: {:?} is not allowed{why}: expected {}", text.to_string_lossy(), key.forms))
}

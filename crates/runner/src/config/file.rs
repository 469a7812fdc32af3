//! The configuration file.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Environment;
use super::keys::{CONFIG_VARIABLE, KEYS, Key, TomlType, nearest};
use super::layers::{FlagValues, Layers, Source, bad_value};
use super::value::resolve_path;
use crate::exit::{Exit, Failure};
use crate::paths::UserFolders;

/// No configuration is larger.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A file, and whether it must be there.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) path: PathBuf,
    required: bool,
}

/// The file to read: `--config`, the environment's, or the user's default one, which may be absent.
pub(super) fn locate(flags: &FlagValues, environment: &Environment, folders: &UserFolders) -> Option<Located> {
    let named = flags.config.clone().or_else(|| environment.get(CONFIG_VARIABLE).map(PathBuf::from));
    match named {
        Some(path) => Some(Located { path, required: true }),
        None => folders.config_file().map(|path| Located { path, required: false }),
    }
}

/// Reads the file into the layers; false when an optional file is absent.
///
/// # Errors
/// [`Exit::Config`] for what the file says, and what reading it may give.
pub(super) fn read(located: &Located, folders: &UserFolders, layers: &mut Layers) -> Result<bool, Failure> {
    let path = &located.path;
    let text = match read_text(path) {
        Ok(text) => text,
        Err(error) if !located.required && error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(Failure::new(Exit::Config, format!("{}: {error}", path.display())));
        }
        Err(error) => return Err(Failure::reading(path, &error)),
    };
    apply(path, &text, folders, layers)?;
    Ok(true)
}

fn read_text(path: &Path) -> io::Result<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a configuration file has at most {FILE_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is not valid UTF-8"))
    })
}

fn apply(path: &Path, text: &str, folders: &UserFolders, layers: &mut Layers) -> Result<(), Failure> {
    let line_of = |offset: usize| 1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|b| **b == b'\n').count();
    let fail = |offset: usize, what: String| Failure::new(Exit::Config, format!("{}:{}: {what}", path.display(), line_of(offset)));
    let table = DeTable::parse(text).map_err(|error| {
        fail(error.span().map_or(0, |span| span.start), format!("not valid TOML: {}", error.message().replace('\n', ", ")))
    })?;
    // In the order of the file, so that the first mistake is the one that is named.
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    for (name, value) in entries {
        let Some(key) = KEYS.iter().find(|key| key.name == name.get_ref().as_ref()) else {
            let names = || KEYS.iter().map(|key| key.name);
            let meant = match nearest(name.get_ref(), names()) {
                Some(meant) => format!("did you mean {meant}?"),
                None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(fail(name.span().start, format!("unknown key {:?}: {meant}", name.get_ref())));
        };
        let source = Source::File(path.to_owned(), line_of(value.span().start));
        let text = value_text(key, value, path, folders).map_err(|(found, why)| bad_value(key, &found, &source, Some(&why)))?;
        layers.put(key, text, source)?;
    }
    Ok(())
}

/// The value as text, when it has the type of its key; otherwise what was found and why it is not allowed.
fn value_text(key: &Key, value: &Spanned<DeValue<'_>>, path: &Path, folders: &UserFolders) -> Result<OsString, (OsString, String)> {
    let value = value.get_ref();
    let found = || -> OsString {
        match value {
            DeValue::String(text) => text.as_ref().into(),
            DeValue::Integer(number) => number.as_str().into(),
            DeValue::Float(number) => number.as_str().into(),
            DeValue::Boolean(flag) => flag.to_string().into(),
            other => other.type_str().into(),
        }
    };
    match (key.toml, value) {
        (TomlType::Path, DeValue::String(text)) if !text.is_empty() => {
            let folder = path.parent().unwrap_or(Path::new(""));
            resolve_path(text, folder, folders.home()).map(OsString::from).map_err(|why| (found(), why))
        }
        (TomlType::Path | TomlType::Text | TomlType::TextOrInteger, DeValue::String(_))
        | (TomlType::TextOrInteger, DeValue::Integer(_))
        | (TomlType::Boolean, DeValue::Boolean(_)) => Ok(found()),
        (wanted, other) => {
            let wanted = match wanted {
                TomlType::Path | TomlType::Text => "a string in quotes",
                TomlType::TextOrInteger => "an integer or a string in quotes",
                TomlType::Boolean => "a boolean without quotes",
            };
            Err((found(), format!("it is of type {}, not {wanted}", other.type_str())))
        }
    }
}

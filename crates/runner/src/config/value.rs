//! The values a setting can have, how they are written, and how they are refused.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A value that a setting can have. There is one way to write each, whether in a file, the environment or a flag.
pub(crate) trait Value: Sized {
    /// The allowed forms, in words, for error messages and `--help`.
    const FORMS: &'static str;

    /// Reads the value exactly as it stands: no blanks are trimmed.
    ///
    /// # Errors
    /// What is wrong with it, or nothing when there is no more to say than the allowed forms.
    fn parse(text: &str) -> Result<Self, Option<String>>;

    /// Reads a value that need not be Unicode; only paths may differ from [`parse`](Value::parse).
    fn parse_os(text: &OsStr) -> Result<Self, Option<String>> {
        Self::parse(text.to_str().ok_or_else(|| Some("it is not valid Unicode".to_owned()))?)
    }

    /// The value as it would be written.
    fn show(&self) -> String;
}

impl Value for PathBuf {
    const FORMS: &'static str = "a path, for instance \"/var/lib/proofmill\"";
    fn parse(text: &str) -> Result<Self, Option<String>> {
        Self::parse_os(OsStr::new(text))
    }
    fn parse_os(text: &OsStr) -> Result<Self, Option<String>> {
        if text.is_empty() {
            return Err(Some("it is empty".to_owned()));
        }
        Ok(Self::from(text))
    }
    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl Value for bool {
    const FORMS: &'static str = "true or false";
    fn parse(text: &str) -> Result<Self, Option<String>> {
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(None),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// Units of sizes, largest first.
const SIZE_UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

impl Value for Size {
    const FORMS: &'static str = "a whole number and B, KiB, MiB, GiB or TiB without blanks, for instance \"24GiB\"";
    fn parse(text: &str) -> Result<Self, Option<String>> {
        let (number, unit) = split_unit(text)?;
        let Some((_, shift)) = SIZE_UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(Some(if unit.is_empty() { "the unit is missing".to_owned() } else { format!("\"{unit}\" is not a unit of size") }));
        };
        match number.checked_mul(1 << shift) {
            Some(bytes) if bytes > 0 => Ok(Self(bytes)),
            Some(_) => Err(Some("it must be more than nothing".to_owned())),
            None => Err(Some("it is more than 2^64 bytes".to_owned())),
        }
    }
    fn show(&self) -> String {
        let (unit, shift) = SIZE_UNITS.into_iter().find(|(_, shift)| self.0 > 0 && self.0.is_multiple_of(1 << shift)).unwrap_or(("B", 0));
        format!("{}{unit}", self.0 >> shift)
    }
}

/// How much host memory the large buffers may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryBudget {
    /// What the machine and the control group leave, less a margin.
    Auto,
    /// So many bytes.
    Bytes(u64),
}

impl Value for MemoryBudget {
    const FORMS: &'static str = "\"auto\", or a whole number and B, KiB, MiB, GiB or TiB without blanks, for instance \"24GiB\"";
    fn parse(text: &str) -> Result<Self, Option<String>> {
        if text == "auto" { Ok(Self::Auto) } else { Size::parse(text).map(|size| Self::Bytes(size.0)) }
    }
    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Bytes(bytes) => Size(*bytes).show(),
        }
    }
}

/// How many threads work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// One for each core this process may use.
    Auto,
    /// So many.
    Count(usize),
}

impl Threads {
    /// The largest number accepted.
    const COUNT_MAX: usize = 4096;
}

impl Value for Threads {
    const FORMS: &'static str = "\"auto\", or a whole number from 1 to 4096";
    fn parse(text: &str) -> Result<Self, Option<String>> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        match whole_number(text).and_then(|n| usize::try_from(n).ok()) {
            Some(n) if (1..=Self::COUNT_MAX).contains(&n) => Ok(Self::Count(n)),
            _ => Err(None),
        }
    }
    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Count(n) => n.to_string(),
        }
    }
}

impl Value for Duration {
    const FORMS: &'static str = "a whole number and ms, s, min or h without blanks, for instance \"30s\"";
    fn parse(text: &str) -> Result<Self, Option<String>> {
        let (number, unit) = split_unit(text)?;
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "min" => 60_000,
            "h" => 3_600_000,
            "" => return Err(Some("the unit is missing".to_owned())),
            _ => return Err(Some(format!("\"{unit}\" is not a unit of time"))),
        };
        number.checked_mul(millis).map(Self::from_millis).ok_or_else(|| Some("it is too long".to_owned()))
    }
    fn show(&self) -> String {
        let millis = self.as_millis();
        match [("h", 3_600_000), ("min", 60_000), ("s", 1_000)].into_iter().find(|(_, unit)| millis > 0 && millis.is_multiple_of(*unit)) {
            Some((name, unit)) => format!("{}{name}", millis / unit),
            None => format!("{millis}ms"),
        }
    }
}

/// Declares a setting that is one of a few words.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $forms:literal { $($(#[$vmeta:meta])* $variant:ident => $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$vmeta])* $variant),+ }
        impl Value for $name {
            const FORMS: &'static str = $forms;
            fn parse(text: &str) -> Result<Self, Option<String>> {
                match text { $($text => Ok(Self::$variant),)+ _ => Err(None) }
            }
            fn show(&self) -> String {
                match self { $(Self::$variant => $text),+ }.to_owned()
            }
        }
    };
}

words! {
    /// What is put on standard output.
    OutputFormat, "text or json" {
        /// For people.
        Text => "text",
        /// One object with a version.
        Json => "json",
    }
}

words! {
    /// Whether progress bars are drawn on standard error.
    Progress, "auto, always or never" {
        /// When standard error is a terminal.
        Auto => "auto",
        /// Always.
        Always => "always",
        /// Never.
        Never => "never",
    }
}

words! {
    /// How much is logged to standard error.
    LogLevel, "off, error, warn, info, debug or trace" {
        /// Nothing.
        Off => "off",
        /// What failed.
        Error => "error",
        /// What an operator should look at.
        Warn => "warn",
        /// What happens.
        Info => "info",
        /// How it happens.
        Debug => "debug",
        /// Everything.
        Trace => "trace",
    }
}

/// A number as people write it: digits only, no sign, no leading zero.
fn whole_number(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

/// Splits "24GiB" into 24 and "GiB".
fn split_unit(text: &str) -> Result<(u64, &str), Option<String>> {
    if text.chars().any(char::is_whitespace) {
        return Err(Some("it has a blank".to_owned()));
    }
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number = whole_number(number).ok_or_else(|| Some("it does not begin with a whole number".to_owned()))?;
    Ok((number, unit))
}

/// Bytes for people: three digits and a binary unit.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((unit, shift)) = SIZE_UNITS.into_iter().find(|(_, shift)| *shift > 0 && self.0 >> shift > 0) else {
            return f.pad(&format!("{} B", self.0));
        };
        let value = self.0 as f64 / (1u64 << shift) as f64;
        let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
        f.pad(&format!("{value:.digits$} {unit}"))
    }
}

/// A value of the file is relative to the file's folder; `~/` is the home folder.
pub(crate) fn resolve_path(text: &str, folder: &Path, home: Option<&Path>) -> Result<PathBuf, String> {
    match text.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)).ok_or_else(|| "HOME is not set, so \"~/\" means nothing".to_owned()),
        None => Ok(folder.join(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact() {
        for (text, bytes) in [("1B", 1), ("2KiB", 2048), ("24GiB", 24 << 30), ("1TiB", 1 << 40)] {
            assert_eq!(Size::parse(text), Ok(Size(bytes)));
            assert_eq!(Size(bytes).show(), text);
        }
        for (text, reason) in [
            ("50GB ", "blank"),
            (" 50GiB", "blank"),
            ("50 GiB", "blank"),
            ("50GB", "\"GB\" is not a unit"),
            ("50gib", "\"gib\" is not a unit"),
            ("50", "unit is missing"),
            ("GiB", "whole number"),
            ("-1GiB", "whole number"),
            ("1.5GiB", "not a unit"),
            ("01GiB", "whole number"),
            ("0GiB", "more than nothing"),
            ("16777216TiB", "more than 2^64"),
            ("99999999999999999999GiB", "whole number"),
            ("", "whole number"),
        ] {
            let found = Size::parse(text).unwrap_err().unwrap();
            assert!(found.contains(reason), "{text:?}: {found}");
        }
    }

    #[test]
    fn durations_need_a_unit() {
        for (text, millis) in [("250ms", 250), ("30s", 30_000), ("5min", 300_000), ("2h", 7_200_000), ("0ms", 0)] {
            assert_eq!(Duration::parse(text), Ok(Duration::from_millis(millis)));
            assert_eq!(Duration::from_millis(millis).show(), text);
        }
        for text in ["30", "30 s", "30sec", "s", "-1s", "1.5s", "18446744073709551615h"] {
            assert!(Duration::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn words_and_counts_are_exact() {
        assert_eq!(Threads::parse("8"), Ok(Threads::Count(8)));
        for text in ["0", "4097", "08", "+8", "8 ", "many"] {
            assert!(Threads::parse(text).is_err(), "{text}");
        }
        assert_eq!(MemoryBudget::parse("auto"), Ok(MemoryBudget::Auto));
        assert!(MemoryBudget::parse("Auto").is_err());
        assert_eq!(OutputFormat::parse("json"), Ok(OutputFormat::Json));
        assert_eq!(LogLevel::parse("warning"), Err(None));
        assert_eq!(bool::parse("yes"), Err(None));
    }

    #[test]
    fn bytes_for_people() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.50 KiB"), (10 << 20, "10.0 MiB"), (155 << 20, "155 MiB"), (4 << 40, "4.00 TiB")]
        {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn paths_of_a_file_are_relative_to_it() {
        let resolve = |text, home| resolve_path(text, Path::new("/etc/proofmill"), home);
        assert_eq!(resolve("params", None), Ok(PathBuf::from("/etc/proofmill/params")));
        assert_eq!(resolve("/srv/params", None), Ok(PathBuf::from("/srv/params")));
        assert_eq!(resolve("~/params", Some(Path::new("/home/ada"))), Ok(PathBuf::from("/home/ada/params")));
        assert!(resolve("~/params", None).is_err());
    }
}

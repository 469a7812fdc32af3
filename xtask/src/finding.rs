//! What a check found.

use std::fmt;

/// One thing that must not be, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// File from the root of the repository, or the name of a crate.
    pub(crate) place: String,
    /// Line, from 1, where there is one.
    pub(crate) line: Option<usize>,
    /// What is wrong and what to do.
    pub(crate) message: String,
}

impl Finding {
    /// A finding about a whole file or crate.
    pub(crate) fn whole(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), line: None, message: message.into() }
    }

    /// A finding at a line, from 1.
    pub(crate) fn at(place: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self { place: place.into(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.place, self.message),
            None => write!(f, "{}: {}", self.place, self.message),
        }
    }
}

/// Prints the findings of a check, sorted; any is an error.
pub(crate) fn report(check: &str, mut findings: Vec<Finding>) -> anyhow::Result<()> {
    findings.sort();
    findings.dedup();
    for finding in &findings {
        println!("{finding}");
    }
    anyhow::ensure!(findings.is_empty(), "{check}: {} finding{}", findings.len(), if findings.len() == 1 { "" } else { "s" });
    Ok(())
}

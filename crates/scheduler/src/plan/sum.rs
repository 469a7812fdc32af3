//! Rows and sums of a plan.

use buffer_accounting::Label;
use serde::Serialize;
use serde::ser::Serializer;

/// So many buffers of a class at a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<C, S> {
    /// What the buffers are.
    pub class: C,
    /// Who holds them.
    pub stage: S,
    /// What they hold, in words.
    pub what: String,
    /// How many of them live at a time, at most.
    pub count: u64,
    /// Bytes of each, at most.
    pub bytes_each: u64,
    /// Why so many and so large.
    pub why: String,
}

impl<C, S> Row<C, S> {
    /// Bytes of all of them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.bytes_each)
    }
}

/// A part of a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<C, S> {
    /// A row.
    Row(Row<C, S>),
    /// A sum within the sum.
    Sum(Sum<C, S>),
}

/// Rows that are added up, and the limit that all of them together have, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum<C, S> {
    what: String,
    why: String,
    limit: Option<u64>,
    set_aside_for: Option<S>,
    parts: Vec<Part<C, S>>,
}

impl<C: Label, S: Label> Sum<C, S> {
    /// An empty sum: what is added up, and why it is bounded as it is.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), limit: None, set_aside_for: None, parts: Vec::new() }
    }

    /// Never more than so many bytes together, though each row may reach its own bound at some time.
    #[must_use]
    pub fn limited_to(self, bytes: u64) -> Self {
        Self { limit: Some(self.limit.map_or(bytes, |limit| limit.min(bytes))), ..self }
    }

    /// The bytes are set aside in one step under this stage's name, and the buffers are drawn from them.
    #[must_use]
    pub fn set_aside_for(self, stage: S) -> Self {
        Self { set_aside_for: Some(stage), ..self }
    }

    /// Adds a row. One without bytes is left out.
    #[must_use]
    pub fn row(mut self, row: Row<C, S>) -> Self {
        if row.bytes() > 0 {
            self.parts.push(Part::Row(row));
        }
        self
    }

    /// Adds a sum. One without bytes is left out.
    #[must_use]
    pub fn sum(mut self, sum: Self) -> Self {
        if sum.bytes() > 0 {
            self.parts.push(Part::Sum(sum));
        }
        self
    }

    /// What is added up.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Why it is bounded as it is.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }

    /// The limit of all parts together.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The stage that the bytes are set aside for.
    #[must_use]
    pub fn is_set_aside_for(&self) -> Option<S> {
        self.set_aside_for
    }

    /// The parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[Part<C, S>] {
        &self.parts
    }

    /// Bytes at most.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.at_most(|_| true)
    }

    /// Bytes at most of the rows that are kept.
    pub(super) fn at_most(&self, keep: impl Fn(&Row<C, S>) -> bool + Copy) -> u64 {
        let bytes = self.parts.iter().fold(0u64, |bytes, part| {
            bytes.saturating_add(match part {
                Part::Row(row) if keep(row) => row.bytes(),
                Part::Row(_) => 0,
                Part::Sum(sum) => sum.at_most(keep),
            })
        });
        self.limit.map_or(bytes, |limit| bytes.min(limit))
    }

    pub(super) fn rows(&self) -> Vec<&Row<C, S>> {
        let mut rows = Vec::new();
        for part in &self.parts {
            match part {
                Part::Row(row) => rows.push(row),
                Part::Sum(sum) => rows.extend(sum.rows()),
            }
        }
        rows
    }
}

#[derive(Serialize)]
struct RowFields<'a> {
    what: &'a str,
    class: &'static str,
    stage: &'static str,
    count: u64,
    bytes_each: u64,
    bytes: u64,
    why: &'a str,
}

impl<C: Label, S: Label> Serialize for Row<C, S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let (class, stage) = (self.class.name(), self.stage.name());
        RowFields { what: &self.what, class, stage, count: self.count, bytes_each: self.bytes_each, bytes: self.bytes(), why: &self.why }
            .serialize(serializer)
    }
}

impl<C: Label, S: Label> Serialize for Part<C, S> {
    /// A row or a sum as it is; a sum has `parts`.
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        match self {
            Self::Row(row) => row.serialize(serializer),
            Self::Sum(sum) => sum.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
#[serde(bound = "")]
struct SumFields<'a, C: Label, S: Label> {
    what: &'a str,
    why: &'a str,
    limit_bytes: Option<u64>,
    set_aside_for: Option<&'static str>,
    bytes: u64,
    parts: &'a [Part<C, S>],
}

impl<C: Label, S: Label> Serialize for Sum<C, S> {
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        SumFields {
            what: &self.what,
            why: &self.why,
            limit_bytes: self.limit,
            set_aside_for: self.set_aside_for.map(S::name),
            bytes: self.bytes(),
            parts: &self.parts,
        }
        .serialize(serializer)
    }
}

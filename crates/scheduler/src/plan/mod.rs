//! The memory plan: what a pipeline holds at most, as a commented sum.
//!
//! A [`Plan`] is a tree. Its leaves are [`Row`]s: so many buffers of a class at a stage, how large each is, and why so many. A [`Sum`] adds
//! rows up, and may have a limit of its own: buffers that share bytes set aside never hold more than those, whatever the sum of what each
//! place can hold by itself. Every bound that a plan gives, for a space, a class, a stage or a cell of both, is the tree added up over the
//! rows in question with each limit applied on the way.
//!
//! A [`Ladder`] is the plans that can be chosen from, the least one first, and [`Ladder::fit`] compares them with a budget.

mod ladder;
mod sum;
mod table;

pub use ladder::{Fit, Ladder, Wish};
pub use sum::{Part, Row, Sum};

use buffer_accounting::{Label, Space};
use serde::Serialize;
use serde::ser::Serializer;

/// What a pipeline holds at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<C, S> {
    sums: Vec<(Space, Sum<C, S>)>,
    reserved: C,
}

impl<C: Label, S: Label> Plan<C, S> {
    /// An empty plan. `reserved` is the class that bytes have which are set aside and not yet drawn.
    #[must_use]
    pub fn new(reserved: C) -> Self {
        Self { sums: Vec::new(), reserved }
    }

    /// Adds a sum. One without bytes is left out.
    pub fn add(&mut self, space: Space, sum: Sum<C, S>) {
        if sum.bytes() > 0 {
            self.sums.push((space, sum));
        }
    }

    /// The sums, each with the space its bytes live in.
    #[must_use]
    pub fn sums(&self) -> &[(Space, Sum<C, S>)] {
        &self.sums
    }

    /// Every row with its space, in order.
    pub fn rows(&self) -> impl Iterator<Item = (Space, &Row<C, S>)> {
        self.sums.iter().flat_map(|(space, sum)| sum.rows().into_iter().map(|row| (*space, row)))
    }

    /// The spaces, each once, in order of their first sum.
    #[must_use]
    pub fn spaces(&self) -> Vec<Space> {
        let mut spaces = Vec::new();
        for (space, _) in &self.sums {
            if !spaces.contains(space) {
                spaces.push(*space);
            }
        }
        spaces
    }

    fn at_most(&self, space: Space, keep: impl Fn(&Row<C, S>) -> bool + Copy) -> u64 {
        let of_space = self.sums.iter().filter(|(other, _)| *other == space);
        of_space.fold(0, |bytes, (_, sum)| bytes.saturating_add(sum.at_most(keep)))
    }

    /// Bytes of a space at most.
    #[must_use]
    pub fn total(&self, space: Space) -> u64 {
        self.at_most(space, |_| true)
    }

    /// Bytes of a class at most, over all its stages. For the class of what is set aside: everything that is set aside.
    #[must_use]
    pub fn class(&self, space: Space, class: C) -> u64 {
        let rows = self.at_most(space, |row| row.class == class);
        if class == self.reserved { rows.saturating_add(self.set_aside(space)) } else { rows }
    }

    /// Bytes of the buffers at a stage at most.
    #[must_use]
    pub fn stage(&self, space: Space, stage: S) -> u64 {
        self.at_most(space, |row| row.stage == stage)
    }

    /// Bytes of a class at a stage at most.
    #[must_use]
    pub fn cell(&self, space: Space, class: C, stage: S) -> u64 {
        let rows = self.at_most(space, |row| row.class == class && row.stage == stage);
        if class == self.reserved { rows.saturating_add(self.set_aside_for(space, stage)) } else { rows }
    }

    /// Bytes that are set aside in one step for a stage, to be drawn from by its buffers.
    #[must_use]
    pub fn set_aside_for(&self, space: Space, stage: S) -> u64 {
        self.sums.iter().filter(|(other, sum)| *other == space && sum.is_set_aside_for() == Some(stage)).map(|(_, sum)| sum.bytes()).sum()
    }

    /// Bytes of the sums of this name that are set aside.
    #[must_use]
    pub fn set_aside_as(&self, space: Space, what: &str) -> u64 {
        let named = |sum: &Sum<C, S>| sum.what() == what && sum.is_set_aside_for().is_some();
        self.sums.iter().filter(|(other, sum)| *other == space && named(sum)).map(|(_, sum)| sum.bytes()).sum()
    }

    /// Bytes that are set aside for all stages together.
    #[must_use]
    pub fn set_aside(&self, space: Space) -> u64 {
        self.sums.iter().filter(|(other, sum)| *other == space && sum.is_set_aside_for().is_some()).map(|(_, sum)| sum.bytes()).sum()
    }
}

/// Labels are written by their names, spaces as they are shown.
#[derive(Serialize)]
struct SpaceTotal {
    space: String,
    bytes: u64,
}

#[derive(Serialize)]
struct LabelTotal {
    space: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'static str>,
    bytes: u64,
}

#[derive(Serialize)]
#[serde(bound = "")]
struct SumOfSpace<'a, C: Label, S: Label> {
    space: String,
    #[serde(flatten)]
    sum: &'a Sum<C, S>,
}

#[derive(Serialize)]
#[serde(bound = "")]
struct Whole<'a, C: Label, S: Label> {
    sums: Vec<SumOfSpace<'a, C, S>>,
    spaces: Vec<SpaceTotal>,
    classes: Vec<LabelTotal>,
    stages: Vec<LabelTotal>,
}

impl<C: Label, S: Label> Serialize for Plan<C, S> {
    /// `sums` (the tree), then the bounds of `spaces`, `classes` and `stages`; all bytes are whole numbers.
    fn serialize<T: Serializer>(&self, serializer: T) -> Result<T::Ok, T::Error> {
        let spaces = self.spaces();
        let total = |space: Space, class: Option<C>, stage: Option<S>, bytes: u64| {
            (bytes > 0).then(|| LabelTotal { space: space.to_string(), class: class.map(C::name), stage: stage.map(S::name), bytes })
        };
        let of_space = |space: &Space| {
            let space = *space;
            C::ALL.iter().filter_map(move |&class| total(space, Some(class), None, self.class(space, class)))
        };
        let at_stages = |space: &Space| {
            let space = *space;
            S::ALL.iter().filter_map(move |&stage| total(space, None, Some(stage), self.stage(space, stage)))
        };
        Whole {
            sums: self.sums.iter().map(|(space, sum)| SumOfSpace { space: space.to_string(), sum }).collect(),
            spaces: spaces.iter().map(|space| SpaceTotal { space: space.to_string(), bytes: self.total(*space) }).collect(),
            classes: spaces.iter().flat_map(of_space).collect(),
            stages: spaces.iter().flat_map(at_stages).collect(),
        }
        .serialize(serializer)
    }
}

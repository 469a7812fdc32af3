//! Closed label sets: the user crate brings its own classes and stages.

use std::fmt;

/// One member of a closed set of labels, known at compile time so that metrics have bounded label values.
///
/// Implement it with [`labels!`](crate::labels).
pub trait Label: Copy + Eq + fmt::Debug + Send + Sync + 'static {
    /// Every member, in the order of [`index`](Label::index).
    const ALL: &'static [Self];
    /// Position in [`ALL`](Label::ALL).
    fn index(self) -> usize;
    /// The name used in metrics, logs and tables.
    fn name(self) -> &'static str;
}

/// Declares an enum that implements [`Label`]: `labels! { pub enum Class { Tile => "tile" } }`.
#[macro_export]
macro_rules! labels {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$vmeta:meta])* $variant:ident => $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $name {
            $(#[doc = concat!("`", $text, "`")] $(#[$vmeta])* $variant),+
        }
        impl $crate::Label for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            fn index(self) -> usize {
                self as usize
            }
            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }
        }
    };
}

/// Where bytes live. Each space has a budget of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Anonymous memory of the process.
    Host,
    /// File-backed pages the kernel may drop.
    Mapped,
    /// Page-locked host memory a device can read.
    Pinned,
    /// Memory of the device with this stable index.
    Device(u16),
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Mapped => f.write_str("mapped"),
            Self::Pinned => f.write_str("pinned"),
            Self::Device(n) => write!(f, "device{n}"),
        }
    }
}

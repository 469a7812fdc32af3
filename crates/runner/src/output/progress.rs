//! Progress bars on standard error, and a way past them for everything else that is written there.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::config;

/// The bars of this process. Clones are the same bars.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    all: MultiProgress,
    visible: bool,
}

impl Bars {
    /// Bars that are drawn as configured; otherwise everything here does nothing.
    pub(crate) fn new(wanted: config::Progress) -> Self {
        let visible = match wanted {
            config::Progress::Always => true,
            config::Progress::Never => false,
            config::Progress::Auto => io::stderr().is_terminal(),
        };
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self { all: MultiProgress::with_draw_target(target), visible }
    }

    /// A bar for something without a known length.
    pub(crate) fn spinner(&self, what: &str) -> Bar {
        let bar = self.add(ProgressBar::new_spinner(), "{spinner} {prefix}  {elapsed} {msg}", what);
        if self.visible {
            bar.0.enable_steady_tick(Duration::from_millis(200));
        }
        bar
    }

    /// A bar for so many bytes; the length may be set later.
    pub(crate) fn bytes(&self, what: &str) -> Bar {
        self.add(ProgressBar::new(0), "{prefix}  [{bar:30}] {binary_bytes}/{binary_total_bytes}  {elapsed} {msg}", what)
    }

    /// A bar for so many items.
    pub(crate) fn items(&self, what: &str, count: u64) -> Bar {
        self.add(ProgressBar::new(count), "{prefix}  [{bar:30}] {pos}/{len}  {elapsed} {msg}", what)
    }

    /// Text of several lines that is drawn anew each time it is shown.
    pub(crate) fn text(&self) -> Bar {
        self.add(ProgressBar::new_spinner(), "{msg}", "")
    }

    fn add(&self, bar: ProgressBar, template: &str, what: &str) -> Bar {
        // The templates are constants of this module; a style is only decoration.
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Bar(self.all.add(bar.with_style(style).with_prefix(what.to_owned())))
    }

    /// Whether anybody sees them.
    pub(crate) fn are_visible(&self) -> bool {
        self.visible
    }

    /// A writer to standard error that moves the bars aside.
    pub(crate) fn stderr(&self) -> AsideWriter {
        AsideWriter(self.all.clone())
    }
}

/// One bar, gone when dropped.
#[derive(Debug)]
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// So much of so much is done.
    pub(crate) fn set(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }

    /// Shows this text.
    pub(crate) fn show(&self, text: String) {
        self.0.set_message(text);
    }

    /// What is being worked on.
    pub(crate) fn step(&self, step: &str) {
        self.0.set_message(step.to_owned());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Writes to standard error between two drawings of the bars.
#[derive(Clone, Debug)]
pub(crate) struct AsideWriter(MultiProgress);

impl Write for AsideWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.suspend(|| io::stderr().lock().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_bars_cost_nothing_and_break_nothing() {
        let bars = Bars::new(config::Progress::Never);
        let bar = bars.bytes("set-up");
        bar.set(3, 10);
        bar.step("h");
        let items = bars.items("partitions", 2);
        assert_eq!((bar.0.position(), bar.0.length(), items.0.length()), (3, Some(10), Some(2)));
        drop((bar, items, bars.spinner("compile")));
        assert_eq!(bars.stderr().write(b"").unwrap(), 0);
    }
}

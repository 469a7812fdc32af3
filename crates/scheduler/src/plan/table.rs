//! A plan as text.

use std::fmt;

use buffer_accounting::{Label, Space};

use super::{Part, Plan, Row, Sum};

/// Bytes as people read them: three digits and a binary unit.
fn readable(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // Rounded to 1024.00 is one of the next unit.
    while value >= 1023.995 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

/// One line: the cells before the comment, and the comment.
struct Line {
    cells: [String; 6],
    why: String,
}

impl Line {
    fn of_row<C: Label, S: Label>(row: &Row<C, S>, depth: usize) -> Self {
        let cells = [
            format!("{:indent$}{}", "", row.what, indent = 2 * depth),
            row.class.name().to_owned(),
            row.stage.name().to_owned(),
            row.count.to_string(),
            readable(row.bytes_each),
            readable(row.bytes()),
        ];
        Self { cells, why: row.why.clone() }
    }

    fn of_sum<C: Label, S: Label>(sum: &Sum<C, S>, depth: usize) -> Self {
        let what = format!("{:indent$}{}", "", sum.what(), indent = 2 * depth);
        let bound = if sum.limit().is_some() { "together" } else { "sum" };
        let cells = [what, String::new(), String::new(), String::new(), bound.to_owned(), readable(sum.bytes())];
        Self { cells, why: sum.why().to_owned() }
    }
}

fn add_lines<C: Label, S: Label>(sum: &Sum<C, S>, depth: usize, lines: &mut Vec<Line>) {
    lines.push(Line::of_sum(sum, depth));
    for part in sum.parts() {
        match part {
            Part::Row(row) => lines.push(Line::of_row(row, depth + 1)),
            Part::Sum(inner) => add_lines(inner, depth + 1, lines),
        }
    }
}

impl<C: Label, S: Label> Plan<C, S> {
    fn table(&self, space: Space) -> Vec<Line> {
        let heading = [format!("{space} memory"), "class".into(), "stage".into(), "count".into(), "each".into(), "at most".into()];
        let mut lines = vec![Line { cells: heading, why: "why".to_owned() }];
        for (_, sum) in self.sums().iter().filter(|(other, _)| *other == space) {
            add_lines(sum, 0, &mut lines);
        }
        let blank = String::new;
        lines.push(Line { cells: ["total".into(), blank(), blank(), blank(), blank(), readable(self.total(space))], why: blank() });
        lines
    }

    /// Bounds by label, those of nothing left out.
    fn totals(&self, space: Space) -> [(&'static str, Vec<(&'static str, u64)>); 2] {
        let classes = C::ALL.iter().map(|&class| (class.name(), self.class(space, class))).filter(|(_, bytes)| *bytes > 0).collect();
        let stages = S::ALL.iter().map(|&stage| (stage.name(), self.stage(space, stage))).filter(|(_, bytes)| *bytes > 0).collect();
        [("by class", classes), ("by stage", stages)]
    }
}

impl<C: Label, S: Label> fmt::Display for Plan<C, S> {
    /// A table for each space, a line a row with its comment at the end, and the bounds by class and by stage below it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, space) in self.spaces().into_iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            let lines = self.table(space);
            let widths: [usize; 6] = std::array::from_fn(|c| lines.iter().map(|line| line.cells[c].chars().count()).max().unwrap_or(0));
            for Line { cells, why } in &lines {
                let mut text = String::new();
                for (c, (cell, width)) in cells.iter().zip(widths).enumerate() {
                    // Three columns of text, three of numbers.
                    text.push_str(&if c < 3 { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") });
                }
                writeln!(f, "{}", format!("{text}{why}").trim_end())?;
            }
            for (title, totals) in self.totals(space) {
                let listed: Vec<_> = totals.iter().map(|(name, bytes)| format!("{name} {}", readable(*bytes))).collect();
                writeln!(f, "{title}: {}", listed.join(", "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn sizes_have_three_digits_and_a_unit() {
        assert_eq!([0, 1023, 1024, 1 << 20, 3 << 30].map(readable), ["0 B", "1023 B", "1.00 KiB", "1.00 MiB", "3.00 GiB"]);
        assert_eq!(readable((1 << 20) - 1), "1.00 MiB");
        assert_eq!(readable(u64::MAX), "16384.00 PiB");
    }
}

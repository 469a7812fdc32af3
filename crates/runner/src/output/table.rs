//! Plain tables: columns as wide as their widest cell, numbers to the right.

use std::fmt;

/// A table with a heading; the first column is text, the others are numbers.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self { rows: vec![headings.map(str::to_owned).to_vec()] }
    }

    /// A table with as many columns as there are headings.
    pub(crate) fn of(headings: impl IntoIterator<Item = String>) -> Self {
        Self { rows: vec![headings.into_iter().collect()] }
    }

    /// Adds a row of any length; what is missing at its end is blank.
    pub(crate) fn add(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    /// True without rows below the heading.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|c| self.rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0))
            .collect();
        for row in &self.rows {
            let mut line = String::new();
            for (c, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if c == 0 {
                    line.push_str(&format!("{cell:<width$}"));
                } else {
                    line.push_str(&format!("  {cell:>width$}"));
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["stage", "time"]);
        assert!(table.is_empty());
        table.row(["synth".to_owned(), "1.25 s".to_owned()]);
        table.row(["msm".to_owned(), "10.00 s".to_owned()]);
        assert_eq!(table.to_string(), "stage     time\nsynth   1.25 s\nmsm    10.00 s\n");
    }
}

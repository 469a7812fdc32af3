//! What is in flight, and in which stage: as a table for people, as a line for logs.

use buffer_accounting::{Label, Snapshot};
use pipeline_stage::{Class, StageName};
use serde_json::{Map, Value as Json, json};

use crate::config::Bytes;
use crate::output::Table;

/// The target of the log lines.
pub(super) const LOG_TARGET: &str = "buffers";

type Books = Snapshot<Class, StageName>;

/// One row a class (and space, but for host memory), one column a stage that holds something now, each cell bytes and buffers; below it
/// what is used of each budget.
pub(super) fn table(books: &Books) -> String {
    let held: Vec<_> = books.cells().filter(|(.., cell)| cell.bytes > 0 || cell.buffers > 0).collect();
    let stages: Vec<StageName> = StageName::ALL.iter().copied().filter(|stage| held.iter().any(|(_, _, by, _)| by == stage)).collect();
    let headings = std::iter::once("buffers").chain(stages.iter().map(|stage| stage.name())).map(str::to_owned);
    let mut table = Table::of(headings);
    for usage in books.spaces() {
        for &class in Class::ALL {
            let row: Vec<_> = held.iter().filter(|(space, of, ..)| *space == usage.space && *of == class).collect();
            if row.is_empty() {
                continue;
            }
            let name = match usage.space {
                pipeline_stage::Space::Host => class.name().to_owned(),
                space => format!("{} ({space})", class.name()),
            };
            let cells = stages.iter().map(|stage| {
                let cell = row.iter().find(|(_, _, by, _)| by == stage);
                cell.map_or_else(String::new, |(.., cell)| format!("{} x{}", Bytes(cell.bytes), cell.buffers))
            });
            table.add(std::iter::once(name).chain(cells));
        }
    }
    let mut text = table.to_string();
    for usage in books.spaces() {
        let of = if usage.budget < u64::MAX { format!(" of {}", Bytes(usage.budget)) } else { String::new() };
        let waiting = if usage.waiting > 0 { format!(", {} waiting", usage.waiting) } else { String::new() };
        text.push_str(&format!("{}: {}{of}, at most {}{waiting}\n", usage.space, Bytes(usage.in_use), Bytes(usage.peak)));
    }
    text.truncate(text.trim_end().len());
    text
}

/// One structured line: the budget of each space, and each cell that holds something.
pub(super) fn log(books: &Books) {
    let (spaces, cells) = fields(books);
    tracing::info!(target: LOG_TARGET, spaces = %spaces, cells = %cells, "buffers in flight");
}

/// By space: budget, use, peak and waiters. By space, class and stage: bytes and buffers.
fn fields(books: &Books) -> (Json, Json) {
    let spaces = books.spaces().iter().map(|usage| {
        let budget = (usage.budget < u64::MAX).then_some(usage.budget);
        let books = json!({ "used_bytes": usage.in_use, "peak_bytes": usage.peak, "budget_bytes": budget, "waiters": usage.waiting });
        (usage.space.to_string(), books)
    });
    let cells = books.cells().filter(|(.., cell)| cell.bytes > 0 || cell.buffers > 0).map(|(space, class, stage, cell)| {
        json!({ "space": space.to_string(), "class": class.name(), "stage": stage.name(), "bytes": cell.bytes, "buffers": cell.buffers })
    });
    (Json::Object(Map::from_iter(spaces)), Json::Array(cells.collect()))
}

#[cfg(test)]
mod tests {
    use pipeline_stage::{Ledger, Request, Space};

    use super::*;

    fn ledger() -> Ledger {
        Ledger::new(&[(Space::Host, 1 << 30), (Space::Mapped, u64::MAX)])
    }

    fn request(space: Space, class: Class, stage: StageName, bytes: u64) -> Request {
        Request { space, class, stage, bytes }
    }

    #[test]
    fn the_table_says_what_is_in_flight_and_where() {
        let ledger = ledger();
        let hold = |space, class, stage, bytes| ledger.try_acquire(request(space, class, stage, bytes)).unwrap();
        let held = [
            hold(Space::Host, Class::Witness, StageName::QueuedNtt, 2 << 20),
            hold(Space::Host, Class::Witness, StageName::QueuedNtt, 2 << 20),
            hold(Space::Host, Class::Witness, StageName::Ntt, 2 << 20),
            hold(Space::Host, Class::HPoly, StageName::Msm, 128 << 20),
            hold(Space::Mapped, Class::SrsSection, StageName::Setup, 1 << 30),
        ];
        drop(hold(Space::Host, Class::Staging, StageName::Setup, 5));
        let expected = "\
buffers                queued_ntt          ntt         msm        setup
witness               4.00 MiB x2  2.00 MiB x1
h_poly                                          128 MiB x1
srs_section (mapped)                                        1.00 GiB x1
host: 134 MiB of 1.00 GiB, at most 134 MiB
mapped: 1.00 GiB, at most 1.00 GiB";
        assert_eq!(table(&ledger.snapshot()), expected);
        drop(held);
        assert!(table(&ledger.snapshot()).starts_with("buffers\nhost: 0 B of"));
    }

    #[test]
    fn the_line_has_the_same_figures_for_programs() {
        let ledger = ledger();
        let held = ledger.try_acquire(request(Space::Host, Class::Witness, StageName::Synth, 4096)).unwrap();
        let (spaces, cells) = fields(&ledger.snapshot());
        assert_eq!(spaces["host"], json!({ "used_bytes": 4096, "peak_bytes": 4096, "budget_bytes": 1 << 30, "waiters": 0 }));
        assert_eq!(spaces["mapped"]["budget_bytes"], Json::Null);
        assert_eq!(cells, json!([{ "space": "host", "class": "witness", "stage": "synth", "bytes": 4096, "buffers": 1 }]));
        drop(held);
        assert_eq!(fields(&ledger.snapshot()).1, json!([]));
    }
}

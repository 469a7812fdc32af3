//! Rules on Rust sources.

use super::code::{has_word, without_comments_and_literals};
use crate::finding::Finding;
use crate::levels::UNSAFE_FENCE;
use crate::repository::SourceFile;

/// A file reads in one sitting.
const LINES_MAX: usize = 600;

/// A file has at most [`LINES_MAX`] lines.
pub(super) fn length(file: &SourceFile) -> Vec<Finding> {
    let lines = file.text.lines().count();
    let message = format!("has {lines} lines, more than {LINES_MAX}: a file is one idea, split it by ideas");
    if is_rust(file) && lines > LINES_MAX { vec![Finding::whole(&file.path, message)] } else { Vec::new() }
}

/// Nothing says that it is unfinished. The words are put together here so that this file passes its own check.
pub(super) fn unfinished(file: &SourceFile) -> Vec<Finding> {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];
    let macros = [concat!("to", "do!"), concat!("unimpl", "emented!")];
    let mut findings = Vec::new();
    let code = if is_rust(file) { without_comments_and_literals(&file.text) } else { String::new() };
    for (number, line) in file.text.lines().enumerate() {
        for mark in marks.iter().filter(|mark| has_word(line, mark)) {
            findings.push(Finding::at(&file.path, number + 1, format!("{mark}: finish it, or say what is so and why")));
        }
    }
    for (number, line) in code.lines().enumerate() {
        for name in macros.iter().filter(|name| line.contains(*name)) {
            findings.push(Finding::at(&file.path, number + 1, format!("{name} is a stub: write the code or a typed error")));
        }
    }
    findings
}

/// `unsafe` is written only where the fence says.
pub(super) fn unsafe_outside_the_fence(file: &SourceFile) -> Vec<Finding> {
    if !is_rust(file) || UNSAFE_FENCE.iter().any(|(place, _)| file.path.starts_with(place)) {
        return Vec::new();
    }
    let code = without_comments_and_literals(&file.text);
    let lines = code.lines().enumerate().filter(|(_, line)| has_word(line, "unsafe"));
    let message = "unsafe outside its fence: use a crate that is inside, or extend the fence in xtask/src/levels.rs with a reason";
    lines.map(|(number, _)| Finding::at(&file.path, number + 1, message)).collect()
}

/// Every place inside the fence has some `unsafe`; one without is taken out, so that the fence stays as small as it can be.
pub(super) fn stale_fence(files: &[SourceFile]) -> Vec<Finding> {
    let used = |place: &str| {
        let inside = files.iter().filter(|file| is_rust(file) && file.path.starts_with(place));
        inside.into_iter().any(|file| has_word(&without_comments_and_literals(&file.text), "unsafe"))
    };
    let message = "is inside the unsafe fence and has no unsafe: take it out of xtask/src/levels.rs";
    UNSAFE_FENCE.iter().filter(|(place, _)| !used(place)).map(|(place, _)| Finding::whole(*place, message)).collect()
}

fn is_rust(file: &SourceFile) -> bool {
    file.path.ends_with(".rs")
}

#[cfg(test)]
mod tests {
    use super::{LINES_MAX, length, stale_fence, unfinished, unsafe_outside_the_fence};
    use crate::levels::UNSAFE_FENCE;
    use crate::repository::SourceFile;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(length(&file("a.rs", &"\n".repeat(LINES_MAX))), []);
        assert_eq!(length(&file("a.rs", &"\n".repeat(LINES_MAX + 1))).len(), 1);
        assert_eq!(length(&file("a.md", &"\n".repeat(LINES_MAX + 1))), []);
    }

    #[test]
    fn marks_of_unfinished_work_are_found_with_their_line() {
        let text = format!("fn f() {{\n    {}()\n}} // {}: later\n", concat!("to", "do!"), concat!("FIX", "ME"));
        let found: Vec<_> = unfinished(&file("a.rs", &text)).iter().map(|finding| finding.line).collect();
        assert_eq!(found, [Some(3), Some(2)]);
        assert_eq!(unfinished(&file("a.md", concat!("a HA", "CKATHON"))), []);
        assert_eq!(unfinished(&file("a.md", concat!("a HA", "CK"))).len(), 1);
    }

    #[test]
    fn unsafe_is_found_in_code_outside_the_fence_only() {
        let text = "#![forbid(unsafe_code)] // unsafe\nlet s = \"unsafe\";\nunsafe { f() }\n";
        let found = unsafe_outside_the_fence(&file("crates/scheduler/src/lib.rs", text));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [Some(3)]);
        assert_eq!(unsafe_outside_the_fence(&file("crates/bls12-381-layout/src/plain.rs", text)), []);
    }

    #[test]
    fn a_fence_around_nothing_is_found() {
        let used: Vec<_> = UNSAFE_FENCE.iter().map(|(place, _)| file(&format!("{place}/a.rs"), "unsafe { f() }\n")).collect();
        assert_eq!(stale_fence(&used), []);
        assert_eq!(stale_fence(&used[1..]).len(), 1);
        assert_eq!(stale_fence(&[]).len(), UNSAFE_FENCE.len());
    }
}

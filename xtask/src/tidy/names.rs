//! Rules on the names of files and folders.

use crate::finding::Finding;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "misc"];

/// Finds files and folders with a name that says nothing.
pub(super) fn check(paths: &[String]) -> Vec<Finding> {
    let says_nothing = |part: &str| EMPTY_NAMES.contains(&part.split('.').next().unwrap_or(part));
    let message = "has a name that says nothing: name it after the idea inside";
    paths.iter().filter(|path| path.split('/').any(says_nothing)).map(|path| Finding::whole(path, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn folders_and_files_are_found_and_longer_names_are_not() {
        let paths = ["a/utils/b.rs", "a/helpers.rs", "tests/common/mod.rs", "a/commonality.rs", "misc.md"].map(str::to_owned);
        let found: Vec<_> = check(&paths).into_iter().map(|finding| finding.place).collect();
        assert_eq!(found, ["a/utils/b.rs", "a/helpers.rs", "tests/common/mod.rs", "misc.md"]);
    }
}

//! Rust text as words, and without its comments and literals.

/// Whether `word` is in the text and no part of a longer word.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(part_of_word) && !text[at + word.len()..].chars().next().is_some_and(part_of_word)
    })
}

/// Replaces comments, strings and characters by spaces; lines stay where they are.
pub(super) fn without_comments_and_literals(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = end_of_token(&chars, at);
        match end {
            Some(end) => out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' })),
            None => out.push(chars[at]),
        }
        at = end.unwrap_or(at + 1);
    }
    out
}

/// One past the comment or literal that starts at `at`, if one does.
fn end_of_token(chars: &[char], at: usize) -> Option<usize> {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => Some(find(chars, at, |c| c == '\n').unwrap_or(chars.len())),
        '/' if next == Some('*') => Some(end_of_block_comment(chars, at)),
        '"' => Some(end_of_string(chars, at)),
        'r' if !continues_a_word(chars, at) => end_of_raw_string(chars, at),
        '\'' => end_of_char(chars, at),
        _ => None,
    }
}

fn find(chars: &[char], from: usize, wanted: impl Fn(char) -> bool) -> Option<usize> {
    (from..chars.len()).find(|&i| wanted(chars[i]))
}

fn end_of_block_comment(chars: &[char], at: usize) -> usize {
    let (mut depth, mut i) = (0usize, at);
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                i += 1;
                continue;
            }
        }
        i += 2;
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

fn end_of_string(chars: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    (i + 1).min(chars.len())
}

/// Whether the letter at `at` belongs to a longer word, the `b` of a byte string apart.
fn continues_a_word(chars: &[char], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map(|i| chars[i]).is_some_and(|c| c.is_alphanumeric() || c == '_');
    before(1) && (chars[at - 1] != 'b' || before(2))
}

fn end_of_raw_string(chars: &[char], at: usize) -> Option<usize> {
    let quote = find(chars, at + 1, |c| c != '#')?;
    if chars[quote] != '"' {
        return None;
    }
    let hashes = quote - at - 1;
    let closes = |i: &usize| chars[*i] == '"' && chars[i + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
    Some((quote + 1..chars.len()).find(closes).map_or(chars.len(), |close| close + 1 + hashes))
}

/// A character literal; `None` for a lifetime.
fn end_of_char(chars: &[char], at: usize) -> Option<usize> {
    if chars.get(at + 1) == Some(&'\\') {
        return find(chars, at + 3, |c| c == '\'').map(|close| close + 1);
    }
    (chars.get(at + 2) == Some(&'\'')).then_some(at + 3)
}

#[cfg(test)]
mod tests {
    use super::{has_word, without_comments_and_literals};

    #[test]
    fn code_stays_and_the_rest_goes() {
        for (input, expected) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("f(\"x\\\"y\") + g", "f(      ) + g"),
            ("r#\"a \"quoted\" b\"# + c", "                  + c"),
            ("br\"x\" c", "b     c"),
            ("'a' + '\\'' + '\\u{41}'", "    +      +         "),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            ("for r in rows", "for r in rows"),
            ("let s = \"two\nlines\";", "let s =     \n      ;"),
        ] {
            assert_eq!(without_comments_and_literals(input), expected, "of {input:?}");
        }
    }

    #[test]
    fn what_never_ends_reaches_the_end() {
        for input in ["\"open", "/* open", "r#\"open\"", "// open", "\"\\"] {
            assert_eq!(without_comments_and_literals(input).trim(), "", "of {input:?}");
        }
    }

    #[test]
    fn a_word_is_no_part_of_another() {
        assert!(has_word("a unsafe{", "unsafe") && has_word("unsafe", "unsafe"));
        assert!(!has_word("unsafe_code unsafer xunsafe", "unsafe"));
    }
}

//! The line of a text that shows why it was found.

use std::collections::VecDeque;

use super::query::{Query, Sign};
use super::token::words;
use crate::limits::SEARCH_PHRASE_TOKENS_MAX;
use crate::text::is_deceptive;

/// Marks an end at which text was left out.
const CUT: char = '…';

/// Gives an excerpt of one line around the first match, of at most `chars_max` characters.
///
/// White space is collapsed; control and invisible characters count as white space, so that an
/// excerpt is as harmless as a label (S6). Without a match it is the beginning of the text.
pub fn snippet(text: &str, query: &Query, chars_max: usize) -> String {
    let text = text.trim();
    let start = first_match(text, query).unwrap_or(0);
    let (before, after) = text.split_at_checked(start).unwrap_or(("", text));
    let before: Vec<char> = collapsed(before.chars().rev(), chars_max).collect();
    let after: Vec<char> = collapsed(after.chars(), chars_max).collect();
    let lead_max = (chars_max / 3).max(chars_max.saturating_sub(after.len()));
    let lead = cut(before, lead_max);
    let tail = cut(after, chars_max.saturating_sub(lead.len()));
    lead.into_iter().rev().chain(tail).collect()
}

/// Finds the byte offset of the first place at which a term that must be there begins.
///
/// Reads no more words beyond it than a phrase can have.
fn first_match(text: &str, query: &Query) -> Option<usize> {
    let mut ahead = words(text);
    let mut window = VecDeque::new();
    window.extend(ahead.by_ref().take(SEARCH_PHRASE_TOKENS_MAX));
    loop {
        let begins = query.terms.iter().any(|term| {
            let places = window.iter().map(|word| Some(word.token.as_str()));
            term.sign == Sign::Must && term.begins(places)
        });
        let first = window.pop_front()?;
        if begins {
            return Some(first.start);
        }
        window.extend(ahead.next());
    }
}

/// Gives one character more than `chars_max`, so that a cut shows, with white space collapsed.
///
/// White space at the end is left out.
fn collapsed(chars: impl Iterator<Item = char>, chars_max: usize) -> impl Iterator<Item = char> {
    let is_blank = |c: char| c.is_whitespace() || c.is_control() || is_deceptive(c);
    let mut after_blank = false;
    let visible = chars.flat_map(move |c| {
        let now_blank = is_blank(c);
        let gap = (after_blank && !now_blank).then_some(' ');
        after_blank = now_blank;
        gap.into_iter().chain((!now_blank).then_some(c))
    });
    visible.take(chars_max.saturating_add(1))
}

/// Shortens to `chars_max` characters, the last of which says that something was cut.
fn cut(mut chars: Vec<char>, chars_max: usize) -> Vec<char> {
    if chars.len() > chars_max {
        chars.truncate(chars_max);
        if let Some(last) = chars.last_mut() {
            *last = CUT;
        }
    }
    chars
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str, query: &str, chars_max: usize) -> String {
        snippet(
            text,
            &Query::parse(query).expect("the query is good"),
            chars_max,
        )
    }

    #[test]
    fn the_first_match_is_shown_with_its_surroundings() {
        let text = "one two three four five six seven eight nine ten";
        for (query, expected) in [
            ("one", "one two three four …"),
            ("five", "…four five six seve…"),
            ("\"five six\" -one", "…four five six seve…"),
            ("eig*", "…even eight nine ten"),
            ("TEN", "…even eight nine ten"),
            ("absent", "one two three four …"),
            ("subject:three", "… two three four fi…"),
            ("from:Blue", "one two three four …"),
        ] {
            assert_eq!(shown(text, query, 20), expected, "{query}");
        }
        assert_eq!(shown(text, "nine", 48), text);
        assert_eq!(shown(text, "nine", usize::MAX), text);
    }

    #[test]
    fn it_is_one_clean_line() {
        let text = "\n a\t\tb\r\n\u{1b}[2Jc\0\u{202e}d\u{2028}e \u{301} \n";
        assert_eq!(shown(text, "zz", 99), "a b [2Jc d e \u{301}");
        assert_eq!(shown(text, "e", 99), "a b [2Jc d e \u{301}");
        assert_eq!(shown("\0\n", "a", 9), "");
        assert_eq!(shown("", "a", 9), "");
    }

    #[test]
    fn emoji_are_cut_between_characters() {
        let text = "🙂👩‍👧é 🙂find🙂 👩‍👧한🙂";
        for chars_max in 0..text.chars().count() {
            let line = shown(text, "find", chars_max);
            assert!(line.chars().count() <= chars_max, "{line}");
            assert!(line.contains('…') || chars_max == 0, "{line}");
        }
        assert_eq!(shown(text, "find", 99), text);
    }

    #[test]
    fn a_match_beyond_the_index_is_not_looked_for() {
        let text = format!("{}late", "a ".repeat(10_000));
        assert_eq!(shown(&text, "late", 5), "a a …");
        let text = format!("{}find it", "a ".repeat(9_990));
        assert_eq!(shown(&text, "\"find it\"", 12), "…a a find it");
        let marks = format!("{}find", "\u{301}".repeat(100_000));
        assert!(shown(&marks, "find", 9).ends_with("find"));
    }

    proptest! {
        #[test]
        fn it_never_grows_too_long(text in any::<String>(), word in "[a-z]", chars_max in 0_usize..60) {
            let line = shown(&text, &word, chars_max);
            prop_assert!(line.chars().count() <= chars_max);
            prop_assert!(!line.contains(char::is_control) && !line.contains("  "));
        }

        #[test]
        fn a_match_is_in_it(text in "[a-c🙂é \n.-]{0,80}", word in "[a-c]{1,2}", chars_max in 6_usize..60) {
            let query = Query::parse(&word).expect("the query is good");
            let line = snippet(&text, &query, chars_max);
            prop_assert!(!query.matches("", &text) || line.contains(&word), "{}", line);
        }
    }
}

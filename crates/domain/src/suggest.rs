//! Guesses which known name a writer meant by one that is not known.

use std::cmp::min;

/// Longest name, in characters, that is compared at all.
const LONGEST: usize = 64;

/// Fewest characters that make a shared beginning count as a likeness.
const PREFIX: usize = 3;

/// Stands for a cell outside the table, larger than any real distance.
const FAR: usize = 4 * LONGEST;

/// Finds the candidate that `wanted` is most plausibly a slip for.
///
/// Letter case is ignored. A candidate is plausible if at most a third of its letters (and at
/// least one) were dropped, added, changed or swapped with a neighbour, or if one name begins
/// with the other and the shorter has three characters or more. The nearest plausible candidate
/// wins, the first of equals. Names of more than 64 characters are never alike.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(wanted)?;
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let Some(distance) = folded(candidate).and_then(|name| likeness(&wanted, &name)) else {
            continue;
        };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Lower-cases a name into characters; none if it is empty or too long to compare.
fn folded(name: &str) -> Option<Vec<char>> {
    let letters = name.chars().flat_map(char::to_lowercase);
    let folded: Vec<char> = letters.take(LONGEST + 1).collect();
    (!folded.is_empty() && folded.len() <= LONGEST).then_some(folded)
}

/// Gives the distance of two names if it is small enough for a slip.
fn likeness(a: &[char], b: &[char]) -> Option<usize> {
    let longer = a.len().max(b.len());
    let shorter = a.len().min(b.len());
    let distance = distance(a, b);
    let slip = distance <= (longer / 3).max(1) && distance < longer;
    let begins = shorter >= PREFIX && (a.starts_with(b) || b.starts_with(a));
    (slip || begins).then_some(distance)
}

/// Counts the letters dropped, added, changed or swapped with a neighbour between two names.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut last_x = None;
    for (i, &x) in a.iter().enumerate() {
        let mut left = i + 1;
        let mut row = vec![left];
        let mut last_y = None;
        for (j, &y) in b.iter().enumerate() {
            let changed = at(&above, j) + usize::from(x != y);
            let mut cost = min(changed, min(left, at(&above, j + 1)) + 1);
            if last_x == Some(y) && last_y == Some(x) {
                cost = min(cost, at(&before, j.wrapping_sub(1)) + 1);
            }
            row.push(cost);
            left = cost;
            last_y = Some(y);
        }
        before = std::mem::replace(&mut above, row);
        last_x = Some(x);
    }
    above.last().copied().unwrap_or(FAR)
}

/// Reads one cell of a row.
fn at(row: &[usize], column: usize) -> usize {
    row.get(column).copied().unwrap_or(FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [&str; 6] = ["project", "agent", "to", "cc", "body_md", "thread_id"];

    fn gap(a: &str, b: &str) -> usize {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        distance(&chars(a), &chars(b))
    }

    #[test]
    fn distance_counts_each_kind_of_slip() {
        assert_eq!(gap("", ""), 0);
        assert_eq!(gap("", "abc"), 3);
        assert_eq!(gap("abc", ""), 3);
        assert_eq!(gap("abc", "abc"), 0);
        assert_eq!(gap("abc", "ac"), 1);
        assert_eq!(gap("ac", "abc"), 1);
        assert_eq!(gap("abc", "axc"), 1);
        assert_eq!(gap("abc", "acb"), 1);
        assert_eq!(gap("abc", "bac"), 1);
        assert_eq!(gap("kitten", "sitting"), 3);
        assert_eq!(gap("ca", "abc"), 3);
    }

    #[test]
    fn plausible_slips_are_found() {
        for (wanted, meant) in [
            ("projct", "project"),
            ("porject", "project"),
            ("PROJECT", "project"),
            ("proj", "project"),
            ("project_key", "project"),
            ("agnet", "agent"),
            ("ot", "to"),
            ("bodyMd", "body_md"),
            ("threadId", "thread_id"),
            ("c", "cc"),
        ] {
            assert_eq!(nearest(wanted, FIELDS), Some(meant), "{wanted}");
        }
    }

    #[test]
    fn implausible_names_find_nothing() {
        for wanted in ["", "x", "zz", "sender", "pr", "subject_line"] {
            assert_eq!(nearest(wanted, FIELDS), None, "{wanted}");
        }
        assert_eq!(nearest("a", ["b"]), None);
        assert_eq!(nearest("project", []), None);
    }

    #[test]
    fn the_nearest_wins_and_the_first_of_equals() {
        assert_eq!(nearest("warn", ["warm", "warn"]), Some("warn"));
        assert_eq!(nearest("bat", ["cat", "hat"]), Some("cat"));
        assert_eq!(nearest("bat", ["hat", "cat"]), Some("hat"));
    }

    #[test]
    fn long_names_are_never_compared() {
        let (fits, long) = ("a".repeat(64), "a".repeat(65));
        assert_eq!(nearest(&fits, [fits.as_str()]), Some(fits.as_str()));
        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert_eq!(nearest(&fits, [long.as_str()]), None);
        assert_eq!(nearest(&"a".repeat(10_000_000), ["a"]), None);
    }
}

//! Patterns made to be slow: each of these must simply end (F12 S4).

use super::super::alphabet::Alphabet;
use super::super::branches;
use super::super::piece::Piece;
use super::{Pattern, pattern};

#[test]
fn patterns_made_to_be_slow_are_answered() {
    let bombs: Vec<Pattern> = [
        "**/a/".repeat(8).trim_end_matches('/').to_owned(),
        format!("{}b", "**/a/".repeat(8)),
        format!("{}[b]", "**/a/".repeat(7)),
        format!("{}**", "**/a/".repeat(8)),
        "{a,b}".repeat(16),
        format!("{}c", "{a,b}".repeat(16)),
        "{a,aa}".repeat(16),
        "{,a}".repeat(16),
        format!("{}b", "*a".repeat(16)),
        format!("{}b*", "*a".repeat(15)),
        format!("{}b", "{*a,*aa}".repeat(8)),
        format!("{}/**", "{a,b}/".repeat(8)),
        format!("**/{{{}}}", vec!["a"; 31].join(",")),
        format!(
            "[!{}]*",
            ('\u{100}'..='\u{164}').step_by(2).collect::<String>()
        ),
        format!("{}{}", "[!-\u{10ffff}]".repeat(8), "{a*,b}".repeat(8)),
        "a/".repeat(64),
        format!("**/{}/**", "a/".repeat(62).trim_end_matches('/')),
    ]
    .iter()
    .map(|text| pattern(text))
    .collect();
    for (left, right) in bombs
        .iter()
        .flat_map(|left| bombs.iter().map(move |right| (left, right)))
    {
        assert_eq!(left.overlaps(right), right.overlaps(left), "{left} {right}"); // F12 S4
        assert_eq!(
            left.folded().overlaps(&right.folded()),
            left.overlaps(right)
        );
    }
    assert!(bombs.iter().all(|bomb| bomb.overlaps(bomb)));
    let [doubled, odd] = ["{a,aa}".repeat(16), format!("{}b", "a".repeat(20))];
    assert!(!pattern(&doubled).overlaps(&pattern(&format!("{odd}*"))));
}

/// The sets of places take several words for these.
#[test]
fn long_segments_with_alternatives_are_compared_to_their_end() {
    let name = |count: usize, end: &str| format!("{}{end}", "ab".repeat(count));
    for count in [10, 20, 30, 31, 32, 33, 60, 100] {
        let forked = pattern(&format!("{{x,}}{}", name(count, "{c,d}")));
        assert!(forked.overlaps(&pattern(&name(count, "d")))); // F12
        assert!(forked.overlaps(&pattern(&name(count, "?"))));
        assert!(forked.overlaps(&pattern(&format!("*{}", name(1, "[c-z]")))));
        assert!(!forked.overlaps(&pattern(&name(count, "e"))));
        assert!(!forked.overlaps(&pattern(&name(count - 1, "?"))));
        assert!(!forked.overlaps(&pattern(&format!("{{y,}}{}", name(count, "{e,f}")))));
    }
}

#[test]
fn alternatives_have_no_empty_name_in_common() {
    let [empty, star] = [Piece::Choice(vec![vec![]]), Piece::Star].map(|piece| [piece]);
    assert!(!branches::meet(&empty, &star, Alphabet::Exact)); // F12
    assert!(!branches::meet(&star, &empty, Alphabet::Exact));
    assert!(branches::meet(&star, &star, Alphabet::Exact));
}

#[test]
fn huge_texts_are_refused_at_once() {
    for unit in ["**/a/", "{a,b}", "[", "\\", "a", "é", "*", "/"] {
        assert!(
            Pattern::parse(&unit.repeat(65_536 / unit.len())).is_err(),
            "{unit}"
        ); // S4
        assert!(
            Pattern::literal(&unit.repeat(65_536 / unit.len())).is_err(),
            "{unit}"
        );
    }
}

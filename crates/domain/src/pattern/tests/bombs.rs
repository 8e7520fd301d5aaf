//! Patterns made to be slow: each of these must simply end (F12 S4).

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

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use super::*;

fn cut(text: &str) -> Vec<String> {
    tokens(text).collect()
}

#[test]
fn tokens_are_runs_of_letters_and_digits() {
    for (text, expected) in [
        ("", ""),
        ("TKT-123 foo.bar a_b", "tkt 123 foo bar a b"),
        ("C++ NEAR(a*) ^ \"x:y\"", "c near a x y"),
        ("cafe\u{301}s CAFÉS", "cafes cafes"),
        ("\u{301} a \u{301}b", "a b"),
        ("a🙂b 👩‍👩‍👧 1️⃣", "a b 1"),
        ("שלום world\0\u{202e}x", "שלום world x"),
        ("½ ﷺ", "1 2 صلى الله عليه وسلم"),
        ("한국어 \u{1112}\u{1161}\u{11ab}", "한국어 한"),
    ] {
        assert_eq!(cut(text).join(" "), expected, "{text:?}");
    }
}

/// Every character there is, so that no exception in the tables surprises an index.
#[test]
fn composed_equals_decomposed_and_cutting_again_changes_nothing() {
    for c in '\0'..=char::MAX {
        let once = cut(&c.to_string());
        assert_eq!(cut(&c.nfd().collect::<String>()), once, "{c:?}");
        assert_eq!(cut(&once.join(" ")), once, "{c:?}");
    }
}

#[test]
fn a_token_is_cut_between_characters() {
    assert_eq!(cut(&"x".repeat(1_000_000)), ["x".repeat(64)]);
    for lead in 0..4 {
        let token = cut(&format!("{}{}z", "x".repeat(lead), "\u{10400}".repeat(20)));
        assert_eq!(
            token,
            [format!(
                "{}{}",
                "x".repeat(lead),
                "\u{10428}".repeat((64 - lead) / 4)
            )]
        );
    }
    assert_eq!(cut(&format!("{}한a", "x".repeat(62))), ["x".repeat(62)]);
}

#[test]
fn only_the_first_ten_thousand_are_read() {
    let text = "a ".repeat(20_000);
    assert_eq!(tokens(&text).count(), 10_000);
    assert_eq!(indexed("", &text)[1].len(), 10_000);
    let marks = "\u{301}".repeat(500_000);
    assert_eq!(cut(&format!("a{marks}b{marks}")), ["ab"]);
}

#[test]
fn a_token_is_indexed_at_256_places_and_the_others_count() {
    let [_, places] = indexed("", &format!("{}b a", "a ".repeat(300)));
    let expected = [vec![Some("a"); 256], vec![None; 44], vec![Some("b"), None]].concat();
    assert!(places.iter().map(Indexed::token).eq(expected));
}

proptest! {
    #[test]
    fn a_token_is_the_only_token_of_itself(text in any::<String>()) {
        for token in tokens(&text) {
            prop_assert!(token.len() <= 64 && !token.is_empty());
            prop_assert_eq!(cut(&token), [token]);
        }
    }

    #[test]
    fn spelling_does_not_matter(text in "[\\PC가-힣à-žΑ-ώа-я]{0,40}") {
        let composed: String = text.nfc().collect();
        let decomposed: String = text.nfd().collect();
        prop_assert_eq!(cut(&composed), cut(&decomposed));
    }

    #[test]
    fn case_does_not_matter(text in "[a-zA-Z0-9 ßẞıİςσΣà-žÀ-ŽΑ-Ωα-ωа-яА-Я-]{0,40}") {
        prop_assert_eq!(cut(&text.to_uppercase()), cut(&text));
        prop_assert_eq!(cut(&text.to_lowercase()), cut(&text));
    }

    #[test]
    fn words_start_where_they_say(text in any::<String>()) {
        for word in words(&text) {
            let rest = text.get(word.start..).unwrap_or_default();
            let found = tokens(rest).any(|token| token == word.token);
            prop_assert!(found, "{:?} in {:?}", word, rest);
        }
    }
}

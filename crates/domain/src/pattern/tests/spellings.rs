//! Every pattern has one text.

use proptest::prelude::*;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::{Pattern, pattern};

#[test]
fn spellings_of_one_pattern_have_one_text() {
    for (text, canonical) in [
        ("a/", "a"),
        ("./a", "a"),
        ("a//b/./c/.", "a/b/c"),
        ("src/*/", "src/*/"),
        ("src/*//", "src/*/"),
        ("src/*/.", "src/*/"),
        ("a/**/", "a/**"),
        ("**/", "**"),
        ("**/**", "**"),
        ("a/**/./**//**/b", "a/**/b"),
        ("**/*/", "**/*/"),
        ("\\]\\,\\!", "],!"),
        ("{\\,,b}", "{\\,,b}"),
        ("\\*\\?\\[\\{\\}\\\\", "\\*\\?\\[\\{\\}\\\\"),
        ("[cab]", "[a-c]"),
        ("[ba]", "[ab]"),
        ("[a-b]", "[ab]"),
        ("[aaa]", "[a]"),
        ("[a-cb-z0-9]", "[0-9a-z]"),
        ("[!z-z]", "[!z]"),
        ("[a-]", "[\\-a]"),
        ("[a^!]", "[\\!\\^a]"),
        ("[\\]\\[]", "[\\[\\]]"),
        ("[.0]", "[.-0]"),
        ("[~\u{a0}]", "[~-\u{a0}]"),
        ("[\u{d7ff}\u{e000}]", "[\u{d7ff}-\u{e000}]"),
        ("{b,a,b}", "{a,b}"),
        ("{b,}", "{,b}"),
        ("{[ba],?*}x", "{?*,[ab]}x"),
        ("*?", "?*"),
        ("*?*?", "??*"),
        ("e\u{301}", "é"),
        ("[e\u{301}]", "[é]"),
        ("[\u{301}e]", "[e\\\u{301}]"),
        ("[\u{323}\u{301}]", "[\\\u{301}\\\u{323}]"),
        ("[\u{11a8}\u{ac00}]", "[\\\u{11a8}\u{ac00}]"),
        ("\u{212b}", "å".to_uppercase().as_str()),
    ] {
        assert_eq!(pattern(text).as_str(), canonical, "{text:?}"); // F12
        assert_eq!(pattern(canonical).as_str(), canonical, "{text:?}");
    }
}

#[test]
fn a_path_is_the_pattern_with_its_metacharacters_escaped() {
    for (path, text, clean) in [
        (
            "app/[id]/page.tsx",
            "app/\\[id]/page.tsx",
            "app/[id]/page.tsx",
        ),
        ("./a//b/", "a/b", "a/b"),
        ("a*b?c{d}", "a\\*b\\?c\\{d\\}", "a*b?c{d}"),
        ("a\\b", "a\\\\b", "a\\b"),
        ("a,b!]", "a,b!]", "a,b!]"),
        ("e\u{301}", "é", "é"),
    ] {
        let literal = Pattern::literal(path).expect(path);
        assert_eq!(
            (literal.as_str(), literal.path().as_deref()),
            (text, Some(clean))
        ); // F12
        assert_eq!(pattern(text), literal);
    }
    assert_eq!(pattern("src/*.rs").path(), None);
    assert!(
        !Pattern::literal("app/[id]")
            .expect("path")
            .overlaps(&pattern("app/i"))
    );
    assert!(
        Pattern::literal("app/[id]")
            .expect("path")
            .overlaps(&pattern("app/\\[*"))
    );
}

#[test]
fn no_character_becomes_a_metacharacter_by_being_normalised() {
    let metas = "*?[]{},!\\-^/.~:";
    for c in '\u{80}'..=char::MAX {
        assert!(
            !c.nfc().any(|c| metas.contains(c)),
            "{}",
            c.escape_unicode()
        );
    }
    for (meta, c) in metas
        .chars()
        .flat_map(|meta| ('\u{80}'..='\u{3fff}').map(move |c| (meta, c)))
    {
        assert_eq!(unicode_normalization::char::compose(meta, c), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8_192))]

    #[test]
    fn the_canonical_text_of_any_pattern_is_read_as_the_same_pattern(
        text in "([a-cA-C*?/.,!^~: -]|\\[!?|\\]|\\{|\\}|\\\\|\\[[!a-cA-Z-]{1,4}\\]|\\{[ab,*?]{0,4}\\}|\
                 [\u{301}\u{323}\u{345}eé\u{212b}ßẞİςΣ\u{1fb3}\u{1100}\u{1161}\u{11a8}\u{ac00}]){1,12}"
    ) {
        let Ok(read) = Pattern::parse(&text) else {
            return Ok(());
        };
        prop_assert!(is_nfc(read.as_str()));
        prop_assert_eq!(Pattern::parse(read.as_str()), Ok(read.clone())); // F12
        prop_assert_eq!(read.overlaps(&read), read.overlaps(&pattern("**")));
        let folded = read.folded();
        prop_assert!(is_nfc(folded.as_str()));
        prop_assert_eq!(Pattern::parse(folded.as_str()), Ok(folded.clone()));
        prop_assert_eq!(folded.folded(), folded.clone());
        prop_assert_eq!(folded.overlaps(&folded), folded.overlaps(&pattern("**").folded()));
    }

    #[test]
    fn any_path_is_read_as_itself(path in "[a-c*?/.,!^{}\\[\\]\\\\:é\u{301}-]{1,16}") {
        let Ok(literal) = Pattern::literal(&path) else {
            return Ok(());
        };
        prop_assert_eq!(Pattern::parse(literal.as_str()), Ok(literal.clone())); // F12
        let clean = literal.path().unwrap_or_default();
        prop_assert_eq!(Pattern::literal(&clean), Ok(literal.clone()));
        prop_assert!(literal.overlaps(&literal) && literal.overlaps(&pattern("**")));
    }
}

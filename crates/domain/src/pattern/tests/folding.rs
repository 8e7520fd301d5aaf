//! Projects without regard to case.

use unicode_normalization::UnicodeNormalization;

use super::super::alphabet::Alphabet;
use super::super::fold::{LAST, folded};
use super::{Pattern, pattern};

#[test]
fn folding_is_lower_case_of_upper_case_in_full() {
    for (text, canonical) in [
        ("README.md", "readme.md"),
        ("Straße", "strasse"),
        ("STRAẞE", "strasse"),
        ("ΣΑΣ", "σασ"),
        ("σας", "σασ"),
        ("É", "é"),
        ("E\u{301}", "é"),
        ("ǰ", "ǰ"),
        ("J\u{30c}", "ǰ"),
        ("İ", "i\u{307}"),
        ("ﬁ", "fi"),
        ("\u{1fb3}", "αι"),
        ("\u{13a0}", "\u{ab70}"),
        ("[A-C]", "[a-c]"),
        ("[!A-C]", "[!a-c]"),
        ("[A-z]", "[\\[-z]"),
        ("[@\\[]", "[@\\[]"),
        ("[Ā-ă]", "[ā-ă]"),
        ("[āă]", "[ā-ă]"),
        ("[Kk\u{212a}]", "[k]"),
        ("[ßa]", "[a]"),
        ("[ß]", "[! -\u{10ffff}]"),
        ("[!ß]", "[ -\u{10ffff}]"),
        ("[!-\u{10ffff}]", "[!-\u{10ffff}]"),
        ("{A,a,B}*", "{a,b}*"),
        ("A\\*", "a\\*"),
    ] {
        let (text, canonical) = (pattern(text), pattern(canonical));
        assert_eq!(text.folded(), canonical, "{text}"); // F12
        assert_eq!(canonical.folded(), canonical);
    }
}

#[test]
fn only_characters_that_folded_names_hold_make_classes_meet() {
    for (left, right, answer) in [
        ("[A-Z]", "q", true),
        ("[!a-z]", "[A-Z]", false),
        ("[!a-z]", "[! -@\\[-\u{10ffff}]", false), // nothing but A to Z
        ("[! -@\\[-\u{10ffff}]", "**", false),
        ("[!1a-z]", "[! -02-@\\[-\u{10ffff}]", false), // 1, and A to Z again
        ("[!2a-z]", "[! -02-@\\[-\u{10ffff}]", true),
        ("[!ß]", "[!a]", true),
        ("[\u{21}-\u{10ffff}]", "É", true),
        ("*.RS", "lib.rs", true),
        ("SRC", "src/a", true),
        ("[Ω]", "ω", true),
        ("[\u{2126}]", "ω", true),
    ] {
        let [left, right] = [left, right].map(|text| pattern(text).folded());
        assert_eq!(left.overlaps(&right), answer, "{left} {right}"); // F12
        assert_eq!(right.overlaps(&left), answer, "{right} {left}");
    }
    assert!(pattern("[!a-z]").overlaps(&pattern("[! -@\\[-\u{10ffff}]")));
}

#[test]
fn folding_never_fails_even_if_the_name_grows() {
    let name = "\u{587}".repeat(127);
    let folded = Pattern::literal(&name)
        .expect("a name of 254 bytes")
        .folded();
    assert_eq!(folded.path().map(|path| path.len()), Some(508)); // F12
}

/// Folding a text makes characters compose that did not before; none of these folds again.
#[test]
fn what_folded_characters_compose_to_is_its_own_folding() {
    let is_folded = |c: char| folded(&c.to_string()).chars().eq([c]);
    for c in '\0'..=LAST {
        let once = folded(&c.nfc().collect::<String>());
        assert_eq!(folded(&once), once, "{}", c.escape_unicode());
        if c.nfc().eq([c]) && c.nfd().all(is_folded) {
            assert!(is_folded(c), "{}", c.escape_unicode());
        }
        let is_member = Alphabet::Folded.has_any((u32::from(c), u32::from(c)));
        let is_of_names = !c.is_control() && c != '/' && c.nfc().eq([c]);
        assert_eq!(
            is_member,
            is_of_names && is_folded(c),
            "{}",
            c.escape_unicode()
        );
    }
}

#[test]
fn beyond_the_table_nothing_folds() {
    let next = char::from_u32(u32::from(LAST) + 1).expect("a character");
    for c in next..=char::MAX {
        let is_caseless = c.to_uppercase().eq([c]) && c.to_lowercase().eq([c]);
        assert!(is_caseless && c.nfc().eq([c]), "{}", c.escape_unicode());
    }
}

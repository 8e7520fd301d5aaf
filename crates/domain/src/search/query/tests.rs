use proptest::prelude::*;

use super::*;
use crate::search::tokens;

fn finds(query: &str, subject: &str, body: &str) -> bool {
    Query::parse(query)
        .expect("the query is good")
        .matches(subject, body)
}

#[test]
fn every_term_must_hold() {
    let found = |query| {
        finds(
            query,
            "Release notes",
            "See TKT-123 in Café.rs, NEAR the end",
        )
    };
    for query in [
        "release cafe",
        "CAFÉ",
        "tkt-123",
        "\"tkt 123\"",
        "TKT.123",
        "near",
        "caf*",
        "tkt-12*",
        "subject:release",
        "subject:\"release notes\"",
        "subject:rel*",
        "see -absent",
        "see -subject:see",
        "see -\"123 tkt\"",
        "from:Blue",
        "from:Blue -absent",
    ] {
        assert!(found(query), "{query}");
    }
    for query in [
        "release absent",
        "\"tkt in\"",
        "123-tkt",
        "caf",
        "subject:see",
        "subject:\"notes see\"",
        "\"notes see\"",
        "see -release",
        "see -rel*",
        "see -subject:notes",
        "from:Blue -see",
    ] {
        assert!(!found(query), "{query}");
    }
}

#[test]
fn what_is_not_indexed_is_not_found() {
    let body = format!("{}last", "a ".repeat(300));
    assert!(finds("last a", "", &body));
    assert!(!finds("\"a last\"", "", &body));
    assert!(finds("\"a a\" -\"a last\"", "", &body));
    assert!(!finds("late", "", &format!("{}late", "a ".repeat(10_000))));
    let long = "x".repeat(100);
    assert!(finds(&long, "", &"x".repeat(80)));
}

proptest! {
    #[test]
    fn a_text_is_found_by_each_of_its_tokens(text in any::<String>()) {
        for token in tokens(&text).filter(|token| token.len() <= 64) {
            prop_assert!(finds(&token, "", &text));
            let begin: String = token.chars().take(3).collect();
            if begin.chars().count() > 1 {
                let query = format!("{begin}*");
                prop_assert!(finds(&query, "", &text));
            }
        }
    }

    #[test]
    fn a_text_is_found_by_itself_as_a_phrase(text in "[a-zéß한½ﷺ .\u{301}🙂-]{1,20}") {
        let query = Query::parse(&format!("\"{text}\""));
        prop_assume!(tokens(&text).next().is_some() && tokens(&text).count() <= 32);
        prop_assert!(query.expect("it holds a word").matches(&text, ""));
    }

    #[test]
    fn must_not_is_the_opposite_of_must(word in "[ab]{1,2}", body in "[ab ]{0,8}") {
        let found = finds(&word, "", &body);
        prop_assert_eq!(finds(&format!("from:A -{word}"), "", &body), !found);
    }
}

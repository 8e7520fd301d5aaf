//! Search: the same matches on both engines, and nothing raw reaches either.

use std::collections::BTreeSet;

use comity_domain::search::Query;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// Texts with what tokenizers disagree about.
const TEXTS: [(&str, &str); 12] = [
    ("TKT-123 is open", "foo.bar() fails in src/auth/mod.rs"),
    ("café olé", "CAFÉ with é and é"),
    ("C++ and C#", "a-b a_b a.b NEAR(x y)"),
    ("NOT OR AND", "the word not is a word"),
    ("日本語 のテスト", "Straße STRASSE strasse"),
    ("emoji 🦦 otter", "zero\u{200b}width soft\u{ad}hyphen"),
    ("quote \" here", "back\\slash 'single' \"double\""),
    ("one two three", "three two one two three"),
    ("x1y2", "100 1000 10.5 1e9"),
    (
        "long",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa tail",
    ),
    ("subject only", "nothing"),
    ("nothing", "subject only"),
];

fn found(team: &Team, who: &Actor, query: &str) -> BTreeSet<String> {
    let page = team
        .call(who, "search", &json!({ "query": query, "limit": 500 }))
        .unwrap();
    let items = page["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["subject"].as_str().unwrap().to_owned())
        .collect()
}

/// What must be found, by the reference of the grammar.
fn expected(query: &str) -> BTreeSet<String> {
    let query = Query::parse(query).unwrap();
    let texts = TEXTS
        .iter()
        .filter(|(subject, body)| query.matches(subject, body));
    texts.map(|(subject, _)| (*subject).to_owned()).collect()
}

fn filled(engine: Engine) -> Team {
    let team = Team::new(engine);
    for (subject, body) in TEXTS {
        team.send(
            &team.blue,
            &json!({ "to": ["Green"], "subject": subject, "body": body }),
        )
        .unwrap();
    }
    team
}

both_engines! {
    // S8
    fn words_phrases_prefixes_and_refusals_match_as_the_grammar_says(engine) {
        let team = filled(engine);
        for query in [
            "TKT-123", "tkt", "123", "foo.bar", "\"foo bar\"", "bar foo", "cafe", "café", "CAFE ole", "c", "c++",
            "a-b", "\"x", "NEAR", "near*", "not", "subject:not", "word -near", "strasse", "straße", "日本語",
            "otter", "\"two three\"", "\"three two\"", "\"one two\" -\"two one\"", "10*", "100", "subject:subject",
            "nothing -subject:nothing", "-subject:long tail", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "(one) OR two", "one AND nosuch", "auth", "mod.rs", "src/auth*", "from:Blue -nothing", "from:blue -two -\"foo bar\"", "from:Blue -subject:nothing cafe",
        ] {
            assert_eq!(found(&team, &team.green, query), expected(query), "{query}");
            let newest = team.call(&team.green, "search", &json!({ "query": query, "order": "newest", "limit": 500 })).unwrap();
            assert_eq!(newest["items"].as_array().unwrap().len(), expected(query).len(), "{query}");
        }
        for refused in ["", " ", "*", "-a", "a*", "()", "\"\"", &"a ".repeat(600)] {
            let error = team.call(&team.green, "search", &json!({ "query": refused })).unwrap_err();
            assert_eq!(error.to_json()["field"], "query", "{refused:?}");
        }
    }

    // S8, S9: whatever is typed is words
    fn hostile_queries_find_what_the_grammar_says_or_are_refused(engine) {
        let team = filled(engine);
        let alphabet = prop::sample::select(vec![
            "\"", "*", "-", ":", "(", ")", "'", "\\", "^", "+", "~", "NEAR", "OR", "AND", "NOT", "subject", "subject:", " from:Blue ", " -", "from:Blue ", " -",
            " ", " ", "two", "three", "café", "tkt-1", "a.b", "&", "|", "!", "<->", "$1", "?1", ";--", "\u{e000}", "é", "🦦",
        ]);
        let words = prop::collection::vec(alphabet, 1..8).prop_map(|parts| parts.concat());
        let mut runner = TestRunner::new(Config { cases: 150, failure_persistence: None, ..Config::default() });
        runner.run(&words, |query| {
            if Query::parse(&query).is_ok() {
                // Everything is from Blue, so naming it changes nothing.
                prop_assert_eq!(found(&team, &team.green, &query), expected(&query));
            } else {
                let error = team.call(&team.green, "search", &json!({ "query": query })).unwrap_err();
                prop_assert_eq!(error.code().word, "invalid");
            }
            Ok(())
        }).unwrap();
    }

    // S20: what one may not read one cannot find
    fn each_finds_its_own_mail_and_the_operator_all(engine) {
        let team = filled(engine);
        assert_eq!(found(&team, &team.blue, "nothing").len(), 2);
        assert_eq!(found(&team, &team.red, "nothing").len(), 0);
        assert_eq!(found(&team, &Actor::OPERATOR, "nothing").len(), 2);
        assert_eq!(found(&team, &team.green, "from:Blue nothing").len(), 2);
        assert_eq!(found(&team, &team.green, "from:operator nothing").len(), 0);
        assert_eq!(found(&team, &team.green, "from:blue").len(), TEXTS.len());
        let hits = team.call(&team.green, "search", &json!({ "query": "mod.rs" })).unwrap();
        assert_eq!(hits["items"][0]["snippet"], "foo.bar() fails in src/auth/mod.rs");
        assert!(hits["items"][0].get("body").is_none());
        let paged = |after: &Value| team.call(&team.green, "search", &json!({
            "query": "from:Blue", "order": "newest", "limit": 5, "after": after,
        })).unwrap();
        let (mut seen, mut after) = (0, json!("0"));
        while !after.is_null() {
            let page = paged(&after);
            seen += page["items"].as_array().unwrap().len();
            after = page["next"].clone();
        }
        assert_eq!(seen, TEXTS.len());
        assert_eq!(code(team.call(&team.red, "search", &json!({ "query": "a b", "agent": "Green" }))), "forbidden");
        let others = team.call(&Actor::OPERATOR, "search", &json!({ "query": "nothing", "agent": "Red", "project": "web" })).unwrap();
        assert_eq!(others["items"], json!([]));
    }

    // C1: the index is part of the transaction, and doctor sees when it is not
    fn a_tampered_index_is_seen(engine) {
        let mut team = filled(engine);
        let tampered = match engine {
            Engine::Sqlite => "insert into message_text (rowid, subject, body) values (99, 'x', 'y')",
            Engine::Postgres => "update message_text set tokens = 'x:1' where message_id = 3",
        };
        team.kit.shell(tampered).unwrap();
        let findings = team.kit.doctor();
        let words = findings.checks.iter().find(|check| check.name == "words").unwrap();
        assert!(!findings.ok && !words.ok, "{findings:?}");
        team.kit.expect_damage();
    }
}

use proptest::prelude::*;

use super::*;

/// Writes a query in the form that names every part, or the rule it breaks.
fn read(text: &str) -> String {
    match parse(text) {
        Ok(query) => query.to_string(),
        Err(rule) => format!("! {rule}"),
    }
}

#[test]
fn the_grammar() {
    for (text, expected) in [
        ("  Hello\tWORLD ", "hello world"),
        ("\"a phrase\" b", "a.phrase b"),
        ("\"open quote", "open.quote"),
        ("\"x", "x"),
        ("a -b -\"c d\"", "a -b -c.d"),
        ("wo* -de* fo.ba*", "wo* -de* fo.ba*"),
        ("from:Blue", "from:Blue"),
        ("x FROM:Operator", "from:operator x"),
        ("from:\"a-b\"x", "from:a-b x"),
        ("subject:a Subject:\"b c\"", "subject:a subject:b.c"),
        ("subject:ab* -subject:c", "subject:ab* -subject:c"),
        ("foo\"bar baz\"qux", "foo bar.baz qux"),
        ("from:Blue -b", "from:Blue -b"),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn the_parts_of_a_term() {
    let query = parse("from:Blue -Subject:foo.BA*").expect("it is good");
    let term = Term {
        tokens: vec!["foo".to_owned(), "ba".to_owned()],
        prefix: true,
        field: Field::Subject,
        sign: Sign::MustNot,
    };
    assert_eq!(query.terms, [term]);
    assert_eq!(query.from.as_deref(), Some("Blue"));
}

#[test]
fn all_else_is_text() {
    for (text, expected) in [
        ("a-b", "a.b"), // S8
        ("C++", "c"),
        ("NEAR(a b, 3) AND NOT c OR d", "near.a b 3 and not c or d"),
        ("(x)", "x"),
        ("x * ^ : () -", "x"),
        (
            "TKT-123 foo.bar a:b ^c {d} e+f",
            "tkt.123 foo.bar a.b c d e.f",
        ),
        ("body:a subject:b:c", "body.a subject:b.c"),
        ("--release -- x", "release x"),
        ("foo.* **bar** a*b \"c*\" \"d\"*", "foo bar a.b c d"),
        ("*ab*", "ab*"),
        ("'; drop table--", "drop table"),
        ("x\0y 🙂", "x.y"),
        ("subject: a", "a"),
        ("ab\u{301}*", "ab*"),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn the_rules() {
    let empty = "! must hold a word to look for";
    let negative = "! must hold a word to look for, not only words to leave out";
    let short = "! must have at least 2 letters or digits before `*`";
    for (text, expected) in [
        ("", empty),
        (" \"\" \"", empty),
        ("* () ^ - -- -* subject:", empty),
        ("🙂 \u{301}", empty),
        ("-a", negative),
        ("-a -\"b c\" -subject:d *", negative),
        ("a*", short),
        ("x -foo.b*", short),
        ("from:a from:b", "! must name one sender, not several"),
        ("-from:a b", "! must not hold a `-` before `from:`"),
        (
            "from:system",
            "! must name an agent or `operator` after `from:`: `system` is reserved",
        ),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
    for text in ["from:", "from: a", "from:Blü", "from:a:b", "from:\"a b\""] {
        let rule = read(text);
        assert!(
            rule.starts_with("! must name an agent or `operator`"),
            "{rule}"
        );
    }
}

#[test]
fn the_bounds() {
    let words = |count| vec!["ab"; count];
    assert!(parse(&words(32).join(" ")).is_ok());
    assert_eq!(read(&words(33).join(" ")), "! must hold at most 32 terms");
    let phrase = "! must hold at most 32 words in a phrase";
    assert!(parse(&words(32).join("-")).is_ok());
    assert_eq!(read(&words(33).join("-")), phrase);
    assert_eq!(read(&format!("\"{}", words(33).join(" "))), phrase);
    assert!(parse(&"x".repeat(1_024)).is_ok());
    assert_eq!(
        read(&"x".repeat(1_025)),
        "! must be at most 1024 bytes, not 1025"
    );
    assert_eq!(read(&"\u{23a}".repeat(512)), "\u{2c65}".repeat(21));
    let longest = vec![vec!["a"; 16].join("-"); 32].join(" ");
    assert_eq!(read(&longest), longest.replace('-', "."));
    let grown = vec!["\u{fdfa}"; 32].join(" ");
    assert!(read(&grown).starts_with("! must be at most 1024 bytes, not "));
}

/// Pieces that meet in every order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\"", "-", "*", " ", ":", ".", "(", ")", "a", "Bc", "é", "ß", "\u{301}", "½", "ﷺ", "한",
        "🙂", "\u{130}", "ς", "from:", "subject:", "Blue", "operator", " NEAR ", "+", "\0",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    #[test]
    fn a_query_is_written_so_that_it_reads_the_same(text in pieces()) {
        if let Ok(query) = parse(&text) {
            prop_assert_eq!(parse(&query.to_string()), Ok(query));
        }
    }

    #[test]
    fn any_text_is_a_query_or_breaks_a_rule(text in any::<String>()) {
        match parse(&text) {
            Ok(query) => {
                prop_assert!(query.terms.iter().all(|term| !term.tokens.is_empty()));
                prop_assert_eq!(parse(&query.to_string()), Ok(query));
            }
            Err(rule) => prop_assert!(rule.starts_with("must ")),
        }
    }
}

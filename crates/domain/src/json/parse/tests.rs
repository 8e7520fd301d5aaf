use std::time::{Duration, Instant};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn refusal(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    match parse(bytes) {
        Ok(value) => panic!("{} was taken for {value}", String::from_utf8_lossy(bytes)),
        Err(NotJson { message }) => message,
    }
}

fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

#[test]
fn plain_json_is_taken() {
    for (text, value) in [
        ("null", json!(null)),
        (" true\r\n\t", json!(true)),
        ("18446744073709551615", json!(u64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("1.5e3", json!(1500.0)),
        ("1e-999", json!(0.0)),
        (r#""\ud83d\ude00\u0001\/""#, json!("😀\u{1}/")),
        (
            r#"{"a":{"a":[{"a":1},{"a":2}]},"b":[],"":{}}"#,
            json!({"a":{"a":[{"a":1},{"a":2}]},"b":[],"":{}}),
        ),
    ] {
        assert_eq!(parse(text.as_bytes()), Ok(value), "{text}");
    }
}

#[test]
fn minus_zero_stays_a_double() {
    let value = parse(b"-0").unwrap();
    assert_eq!(value.as_i64(), None);
    assert!(
        value
            .as_f64()
            .is_some_and(|zero| zero == 0.0 && zero.is_sign_negative())
    );
    assert_eq!(value.to_string(), "-0.0");
}

#[test]
fn a_key_given_twice_is_refused_at_any_level() {
    let expected = "the key \"a\" occurs twice in one object at line 1 column 10";
    assert_eq!(refusal(r#"{"a":1,"a":1}"#), expected);
    let expected = "the key \"a\" occurs twice in one object at line 2 column 21";
    assert_eq!(
        refusal("{\"x\":[1,\n{\"y\":{\"a\":1,\"b\":2,\"a\":3}}]}"),
        expected
    );
    let expected = "the key \"a\" occurs twice in one object at line 1 column 15";
    assert_eq!(refusal(r#"{"a":1,"\u0061":1}"#), expected);
    let key = "k\u{1b}".repeat(1_000);
    let twice = format!("{{{key}:1,{key}:2}}", key = json!(key));
    let message = refusal(twice);
    assert!(
        message.starts_with("the key \"k\\u{1b}k\\u{1b}"),
        "{message}"
    );
    assert!(message.chars().count() < 150, "{message}");
}

#[test]
fn a_key_cannot_forge_the_place() {
    let message = refusal(r#"{"x at line 9 column 9":1,"x at line 9 column 9":1}"#);
    let expected =
        "the key \"x at line 9 column 9\" occurs twice in one object at line 1 column 48";
    assert_eq!(message, expected);
}

#[test]
fn numbers_out_of_range_are_refused() {
    assert_eq!(refusal("1e999"), "number out of range at line 1 column 5");
    assert_eq!(
        refusal("[-1e999]"),
        "number out of range at line 1 column 7"
    );
    assert_eq!(
        refusal("1".repeat(400)),
        "number out of range at line 1 column 400"
    );
    for text in [
        "NaN",
        "Infinity",
        "-Infinity",
        "+1",
        "01",
        ".5",
        "1.",
        "0x10",
        "1e",
        "-",
    ] {
        refusal(text);
    }
}

#[test]
fn depth_is_limited_cleanly() {
    assert!(parse(nested(127).as_bytes()).is_ok());
    let expected = "recursion limit exceeded at line 1 column 128";
    assert_eq!(refusal(nested(128)), expected);
    assert_eq!(refusal("[".repeat(100_000)), expected);
    assert_eq!(refusal(nested(100_000)), expected);
    let expected = "recursion limit exceeded at line 1 column 636";
    assert_eq!(refusal(r#"{"a":"#.repeat(100_000)), expected);
}

#[test]
fn nul_is_refused_in_strings_and_keys() {
    let nul = "the character NUL (\\u0000) is not allowed";
    assert_eq!(refusal(r#""a\u0000""#), format!("{nul} at line 1 column 9"));
    assert_eq!(
        refusal(r#"{"x":["\u0000"]}"#),
        format!("{nul} at line 1 column 14")
    );
    assert_eq!(
        refusal(r#"{"a\u0000":1}"#),
        format!("{nul} at line 1 column 10")
    );
    let raw = "control character (\\u0000-\\u001F) found while parsing a string";
    assert_eq!(refusal("\"a\0\""), format!("{raw} at line 1 column 3"));
    assert_eq!(refusal("1\0"), "trailing characters at line 1 column 2");
}

#[test]
fn surrogates_must_come_in_pairs() {
    for (text, expected) in [
        (
            r#""\ud800""#,
            "unexpected end of hex escape at line 1 column 8",
        ),
        (
            r#""\udc00""#,
            "lone leading surrogate in hex escape at line 1 column 7",
        ),
        (
            r#""\ud800\ud800""#,
            "lone leading surrogate in hex escape at line 1 column 13",
        ),
        (
            r#"{"\udfff":1}"#,
            "lone leading surrogate in hex escape at line 1 column 8",
        ),
    ] {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn only_plain_utf8_is_taken() {
    let mark = "a byte order mark is not part of JSON at line 1 column 1";
    assert_eq!(refusal("\u{feff}{}"), mark);
    let invalid = "the bytes are not UTF-8 at line";
    assert_eq!(refusal(b"\xff\xfe{\0}\0"), format!("{invalid} 1 column 1"));
    assert_eq!(
        refusal(b"{\n\"a\": \"\xc3\x28\"}"),
        format!("{invalid} 2 column 7")
    );
    assert_eq!(
        refusal(b"\"\xed\xa0\x80\""),
        format!("{invalid} 1 column 2")
    );
    assert_eq!(refusal(b"\"\xc0\x80\""), format!("{invalid} 1 column 2"));
}

#[test]
fn empty_cut_and_trailing_texts_are_refused() {
    let empty = "the text is empty, where a JSON value is expected at line 1 column 1";
    assert_eq!(refusal(""), empty);
    assert_eq!(refusal(" \r\n"), empty);
    for (text, expected) in [
        ("{\"a\":", "EOF while parsing a value at line 1 column 5"),
        ("[1", "EOF while parsing a list at line 1 column 2"),
        ("\"a", "EOF while parsing a string at line 1 column 2"),
        ("{} {}", "trailing characters at line 1 column 4"),
        ("{}\nx", "trailing characters at line 2 column 1"),
        ("[1,]", "trailing comma at line 1 column 4"),
        ("{\"a\":1,}", "trailing comma at line 1 column 8"),
        ("{a:1}", "key must be a string at line 1 column 2"),
        ("{'a':1}", "key must be a string at line 1 column 2"),
        ("// x\n1", "expected value at line 1 column 1"),
        (
            "\"\t\"",
            "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 2",
        ),
    ] {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn values_are_counted_at_every_level() {
    let array = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
    assert!(parse(array(MAX_VALUES - 1).as_bytes()).is_ok());
    let message = refusal(array(MAX_VALUES));
    assert!(
        message.starts_with("there are more than 100000 values at line 1 column "),
        "{message}"
    );
    let pairs = |pairs: usize| format!("[{}0]", r#"{"a":[]},"#.repeat(pairs));
    assert!(parse(pairs(49_999).as_bytes()).is_ok());
    assert!(refusal(pairs(50_000)).starts_with("there are more than 100000 values"));
}

#[test]
fn large_strings_are_fast() {
    let start = Instant::now();
    for text in ["x".repeat(10_000_000), "é\\n".repeat(2_500_000)] {
        let value = parse(format!("{{\"a\":\"{text}\"}}").as_bytes()).unwrap();
        assert!(value["a"].as_str().unwrap().len() >= 7_500_000);
    }
    refusal(format!("\"{}\\u0000\"", "x".repeat(10_000_000)));
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn the_error_shows_its_message() {
    assert_eq!(parse(b"[").unwrap_err().to_string(), refusal("["));
}

/// Any value without NUL, with doubles that a few digits write exactly.
fn values() -> impl Strategy<Value = Value> {
    let text = || any::<String>().prop_map(|text| text.replace('\0', "0"));
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            btree_map(text(), inner, 0..8).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn written_values_are_read_back(value in values()) {
        let compact = serde_json::to_vec(&value).unwrap();
        prop_assert_eq!(parse(&compact), Ok(value.clone()));
        let pretty = serde_json::to_vec_pretty(&value).unwrap();
        prop_assert_eq!(parse(&pretty), Ok(value));
    }

    #[test]
    fn whatever_is_taken_serde_json_takes_too(bytes in vec(any::<u8>(), 0..64)) {
        if let Ok(value) = parse(&bytes) {
            prop_assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), value);
        }
    }

    #[test]
    fn json_like_noise_never_panics(text in r#"[\[\]{}:,"\\0-9eE.+\-aunl ]{0,64}"#) {
        if let Ok(value) = parse(text.as_bytes()) {
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }
}

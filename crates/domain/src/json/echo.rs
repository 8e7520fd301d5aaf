//! Shows pieces of a request inside error texts: short, printable and unambiguous.

use serde::de::Unexpected;
use serde_json::Value;

/// Most characters of a sender's text that one error text repeats.
const MAX_ECHO: usize = 64;

/// Most characters kept of a rule that a type's own decoding wrote.
const MAX_RULE: usize = 400;

/// Shows a text as a JSON-like string.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text, MAX_ECHO, Some('"')))
}

/// Shows a text as a name between backticks.
pub(super) fn named(text: &str) -> String {
    format!("`{}`", escaped(text, MAX_ECHO, Some('`')))
}

/// Lists names between backticks, separated by commas.
pub(super) fn names(list: &[&str]) -> String {
    let shown: Vec<String> = list.iter().map(|name| named(name)).collect();
    shown.join(", ")
}

/// Says which of some names a value must be.
pub(super) fn one_of(list: &[&str]) -> String {
    match list {
        [] => "a value of a kind that has none".to_owned(),
        [only] => named(only),
        _ => format!("one of {}", names(list)),
    }
}

/// Makes a rule that may hold a sender's text printable and short.
pub(super) fn rule(text: &str) -> String {
    escaped(text, MAX_RULE, None)
}

/// Shows a key as a step of a path: plain if it is a simple name, else as `["key"]`.
pub(super) fn step(key: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@' | ':' | '/');
    let short = key.chars().take(MAX_ECHO + 1).count() <= MAX_ECHO;
    if !key.is_empty() && short && key.chars().all(plain) {
        key.to_owned()
    } else {
        format!("[{}]", quoted(key))
    }
}

/// Says what a sender wrote instead of what was expected.
pub(super) fn found(unexpected: Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(number) => format!("the number {number}"),
        Unexpected::Signed(number) => format!("the number {number}"),
        Unexpected::Float(number) => format!("the number {number:?}"),
        Unexpected::Char(c) => format!("the string {}", quoted(c.encode_utf8(&mut [0; 4]))),
        Unexpected::Str(text) => format!("the string {}", quoted(text)),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "an array".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        other => rule(&other.to_string()),
    }
}

/// Classifies a value for [`found`].
pub(super) fn kind(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), _, _) => Unexpected::Unsigned(number),
            (_, Some(number), _) => Unexpected::Signed(number),
            (_, _, Some(number)) => Unexpected::Float(number),
            _ => Unexpected::Other("a number"),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

/// Says in JSON's words what a type expects; serde's stock texts speak of Rust's types.
pub(super) fn expected(text: &str) -> String {
    let words = match text {
        "i8" => "a whole number from -128 to 127",
        "i16" => "a whole number from -32768 to 32767",
        "i32" => "a whole number from -2147483648 to 2147483647",
        "i64" | "isize" => "a whole number from -9223372036854775808 to 9223372036854775807",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 to 18446744073709551615",
        "i128" | "u128" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a map" => "an object",
        "a sequence" => "an array",
        "unit" => "null",
        _ if text.starts_with("a nonzero ") => "a whole number other than 0",
        _ if text.starts_with("struct ") => "an object",
        _ => text,
    };
    words.to_owned()
}

/// Escapes what does not print, and `quote`, and cuts the outcome at `most` characters.
fn escaped(text: &str, most: usize, quote: Option<char>) -> String {
    let mut shown = String::new();
    let mut length = 0;
    for c in text.chars() {
        let piece = if quote.is_some_and(|quote| c == quote || c == '\\') {
            format!("\\{c}")
        } else if matches!(c, '\'' | '"' | '\\') {
            c.to_string()
        } else {
            c.escape_debug().to_string()
        };
        length += piece.chars().count();
        if length > most {
            shown.push('…');
            break;
        }
        shown.push_str(&piece);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes_are_printable_and_short() {
        assert_eq!(quoted("a\"b\\c'd`"), r#""a\"b\\c'd`""#);
        assert_eq!(named("a\"b`"), r#"`a"b\``"#);
        assert_eq!(quoted("\n\t\u{7}\u{9b}\0"), r#""\n\t\u{7}\u{9b}\0""#);
        assert_eq!(
            quoted("\u{202e}\u{200b}\u{2028}"),
            r#""\u{202e}\u{200b}\u{2028}""#
        );
        assert_eq!(quoted("naïve 日本"), "\"naïve 日本\"");
        assert_eq!(quoted(&"é".repeat(64)), format!("\"{}\"", "é".repeat(64)));
        assert_eq!(quoted(&"é".repeat(65)), format!("\"{}…\"", "é".repeat(64)));
        assert_eq!(
            quoted(&"\u{7}".repeat(99)),
            format!("\"{}…\"", "\\u{7}".repeat(12))
        );
        assert_eq!(
            rule("say \"it's\" \\ \u{1b}[0m"),
            "say \"it's\" \\ \\u{1b}[0m"
        );
        assert_eq!(rule(&"x".repeat(9_000)).chars().count(), 401);
    }

    #[test]
    fn steps_are_plain_only_for_simple_names() {
        for plain in ["a", "thread_id", "x-y", "@id", "日本", "Ab9"] {
            assert_eq!(step(plain), plain);
        }
        assert_eq!(step(""), r#"[""]"#);
        assert_eq!(step("a.b"), r#"["a.b"]"#);
        assert_eq!(step("[3]"), r#"["[3]"]"#);
        assert_eq!(step("a\nb"), r#"["a\nb"]"#);
        assert_eq!(step(&"k".repeat(65)), format!("[\"{}…\"]", "k".repeat(64)));
    }
}

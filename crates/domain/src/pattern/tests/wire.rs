//! Patterns and paths in JSON.

use serde_json::{from_value, json, to_value};

use super::Pattern;
use crate::pattern::LiteralPath;

#[test]
fn a_pattern_is_a_string_in_canonical_form() {
    let read: Pattern = from_value(json!("./src//{b,a}/")).expect("a pattern");
    assert_eq!(to_value(&read).expect("a string"), json!("src/{a,b}/"));
    let refusal = from_value::<Pattern>(json!("../a")).map_err(|error| error.to_string());
    let rule = "must not leave the project: `..` is not allowed";
    assert_eq!(refusal, Err(rule.to_owned())); // F12
    assert!(from_value::<Pattern>(json!(7)).is_err());
}

#[test]
fn a_literal_path_is_a_string_without_escapes() {
    let read: LiteralPath = from_value(json!("./app/[id]/page.tsx")).expect("a path");
    assert_eq!(
        to_value(&read).expect("a string"),
        json!("app/[id]/page.tsx")
    );
    assert_eq!(read.to_string(), "app/[id]/page.tsx");
    assert_eq!(read.pattern().as_str(), "app/\\[id]/page.tsx"); // F12
    assert!(from_value::<LiteralPath>(json!("/etc")).is_err());
}

//! Somebody else's words, indented: what begins at the margin is ours, so they cannot pass for ours,
//! nor for the end of a message (S23).

use serde_json::Value;

use super::field::{field, list};
use super::harmless::harmless;

/// The body line by line, indented; where it was not asked for, its beginning.
pub(super) fn words(message: &Value) -> Vec<String> {
    let text = |name| message.get(name).and_then(Value::as_str);
    set_in(text("body").or_else(|| text("preview")).unwrap_or_default())
}

/// A text line by line, indented.
pub(super) fn set_in(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let line = line.replace('\t', "    ");
        format!("  {}", harmless(&line)).trim_end().to_owned()
    };
    text.trim_end().lines().map(line).collect()
}

/// What a message carries, a line for each.
pub(super) fn carried(message: &Value) -> impl Iterator<Item = String> {
    list(message, "attachments").iter().map(|one| {
        let (name, bytes) = (field(one, "name"), field(one, "bytes"));
        format!(
            "attached    {name}, {bytes} bytes, {}",
            field(one, "sha256")
        )
    })
}

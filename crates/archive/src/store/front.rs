//! A file with front matter that any text survives, then a body as it is.
//!
//! Every value is JSON on one line, so no text can end the head or forge a field; the head says how
//! long the body is, whatever that looks like (S11).

use std::fmt::Write as _;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Writes a file: field by field, in the order of the type, and the body.
pub(super) fn write(head: &impl Serialize, body: &str) -> serde_json::Result<String> {
    let mut text = "---\n".to_owned();
    let fields: Fields = serde_json::from_str(&serde_json::to_string(head)?)?;
    for (name, value) in fields.0 {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}: {value}");
    }
    text.push_str("---\n\n");
    text.push_str(body);
    text.push('\n');
    Ok(text)
}

/// Reads a file's head and body; nothing if it is none.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Option<(T, String)> {
    let head = text.strip_prefix("---\n")?;
    let (head, body) = head.split_once("\n---\n\n")?;
    let mut fields = Map::new();
    for line in head.lines() {
        let (name, value) = line.split_once(": ")?;
        fields.insert(name.to_owned(), serde_json::from_str(value).ok()?);
    }
    let head = serde_json::from_value(Value::Object(fields)).ok()?;
    Some((head, body.strip_suffix('\n')?.to_owned()))
}

/// Fields in the order they were written.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> serde::de::Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

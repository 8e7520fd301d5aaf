//! Turns bytes into a JSON value and refuses whatever readers could understand differently.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::echo;

/// Most values, counted at every level, that one JSON text may hold.
pub const MAX_VALUES: usize = 100_000;

/// Says why bytes are not acceptable JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotJson {
    /// What is wrong and where, by line and column; columns count bytes.
    pub message: String,
}

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NotJson {}

/// Parses one JSON text strictly.
///
/// Refused are texts that are not UTF-8 or begin with a byte order mark, text after the value,
/// arrays and objects nested 128 deep or deeper, more than [`MAX_VALUES`] values, numbers too
/// large for a double, keys that occur twice in one object, and the character NUL in any string
/// or key.
pub fn parse(bytes: &[u8]) -> Result<Value, NotJson> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(fault) => return Err(not_utf8(bytes, fault.valid_up_to())),
    };
    if text.trim_ascii().is_empty() {
        let message =
            "the text is empty, where a JSON value is expected at line 1 column 1".to_owned();
        return Err(NotJson { message });
    }
    if text.starts_with('\u{feff}') {
        let message = "a byte order mark is not part of JSON at line 1 column 1".to_owned();
        return Err(NotJson { message });
    }
    let left = Cell::new(MAX_VALUES);
    let mut reader = serde_json::Deserializer::from_str(text);
    let parsed = Strict { left: &left }.deserialize(&mut reader);
    let ended = parsed.and_then(|value| reader.end().map(|()| value));
    ended.map_err(|fault| NotJson {
        message: fault.to_string(),
    })
}

/// Says where the bytes stop being UTF-8.
fn not_utf8(bytes: &[u8], valid: usize) -> NotJson {
    let (mut line, mut column) = (1_usize, 1_usize);
    for byte in bytes.iter().take(valid) {
        if *byte == b'\n' {
            (line, column) = (line + 1, 1);
        } else {
            column += 1;
        }
    }
    let message = format!("the bytes are not UTF-8 at line {line} column {column}");
    NotJson { message }
}

/// Builds a value while it checks what serde's own value type lets pass.
#[derive(Clone, Copy)]
struct Strict<'c> {
    /// How many more values the text may hold.
    left: &'c Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        let Some(left) = self.left.get().checked_sub(1) else {
            let message = format!("there are more than {MAX_VALUES} values");
            return Err(de::Error::custom(message));
        };
        self.left.set(left);
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        let number = Number::from_f64(number).map(Value::Number);
        number.ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        without_nul(text)?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            without_nul(&key)?;
            if object.contains_key(&key) {
                let key = echo::quoted(&key);
                let message = format!("the key {key} occurs twice in one object");
                return Err(de::Error::custom(message));
            }
            object.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}

/// Refuses the character NUL, which databases and C libraries cut texts at.
fn without_nul<E: de::Error>(text: &str) -> Result<(), E> {
    if text.contains('\0') {
        return Err(E::custom("the character NUL (\\u0000) is not allowed"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

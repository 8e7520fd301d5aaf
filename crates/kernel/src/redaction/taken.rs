//! What a redaction took out, as it may stand in answers that are kept off the log.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::store::StoreError;

/// What was taken out of a payload, member by member.
///
/// An answer names things as the payload does. So a value is replaced only where it has the same name
/// there: `1` and `new` are words that somebody wrote in one place, and a version or a state in others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken(Vec<Member>);

/// Members whose value is whatever somebody wrote, names and all: it goes as a whole or not at all.
const FREE: [&str; 4] = ["data", "metadata", "result", "value"];

/// Tells whether the names inside a member are somebody's own.
fn is_free(name: &str) -> bool {
    FREE.contains(&name)
}

/// A member that was taken out, and what stands there instead.
#[derive(Clone, Debug, PartialEq)]
struct Member {
    name: String,
    was: Value,
    left: Value,
}

impl Taken {
    /// Compares a payload with what is left of it.
    pub(super) fn between(payload: &Map<String, Value>, remnant: &Map<String, Value>) -> Self {
        let mut taken = Self::default();
        for (name, one) in payload {
            taken.compare(name, one, remnant.get(name).unwrap_or(&Value::Null));
        }
        taken
    }

    fn compare(&mut self, name: &str, payload: &Value, remnant: &Value) {
        match (payload, remnant) {
            (same, left) if same == left => {}
            (Value::Object(fields), Value::Object(left))
                if !is_free(name) && fields.keys().all(|name| left.contains_key(name)) =>
            {
                for (name, one) in fields {
                    self.compare(name, one, left.get(name).unwrap_or(&Value::Null));
                }
            }
            (Value::Array(items), Value::Array(left))
                if !is_free(name) && items.len() == left.len() =>
            {
                for (one, left) in items.iter().zip(left) {
                    self.compare(name, one, left);
                }
            }
            (was, left) => self.0.push(Member {
                name: name.to_owned(),
                was: was.clone(),
                left: left.clone(),
            }),
        }
    }

    /// Returns texts of which every answer that holds some of it has one; nothing if such texts are not
    /// known, because not all of it is text.
    pub(crate) fn signs(&self) -> Option<BTreeSet<String>> {
        let written = |member: &Member| match &member.was {
            text @ Value::String(_) => serde_json::to_string(text).ok(),
            _ => None,
        };
        self.0.iter().map(written).collect()
    }

    /// Takes the same out of an answer; nothing if it is not in it. What comes out is an answer still.
    pub(crate) fn out_of(&self, answer: &str) -> Result<Option<String>, StoreError> {
        let is_named = |member: &Member| answer.contains(&format!("\"{}\":", member.name));
        if !self.0.iter().any(is_named) {
            return Ok(None);
        }
        let shape = |_| StoreError::Shape("a first answer");
        let mut value: Value = serde_json::from_str(answer).map_err(shape)?;
        if !self.replace("", &mut value) {
            return Ok(None);
        }
        serde_json::to_string(&value).map(Some).map_err(shape)
    }

    /// Replaces a value, or what is in it; tells whether something was.
    fn replace(&self, name: &str, value: &mut Value) -> bool {
        let mut members = self.0.iter();
        let found = members.find(|member| member.name == name && member.was == *value);
        if let Some(member) = found {
            value.clone_from(&member.left);
            return true;
        }
        let mut any = false;
        match value {
            _ if is_free(name) => {}
            Value::Object(fields) => {
                for (name, value) in fields {
                    any |= self.replace(name, value);
                }
            }
            Value::Array(items) => {
                for item in items {
                    any |= self.replace(name, item);
                }
            }
            _ => {}
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn taken() -> Taken {
        let payload = json!({
            "id": 3, "body": "a", "metadata": { "k": 1 }, "list": [{ "name": "n" }], "value": 1,
            "gone": "g",
        });
        let remnant = json!({
            "id": 3, "body": "x", "metadata": { "x": true }, "list": [{ "name": "x" }], "value": "x",
        });
        Taken::between(payload.as_object().unwrap(), remnant.as_object().unwrap())
    }

    #[test]
    fn what_was_taken_out_is_found_wherever_it_was() {
        let member = |name: &str, was, left| Member {
            name: name.to_owned(),
            was,
            left,
        };
        assert_eq!(
            taken().0,
            [
                member("body", json!("a"), json!("x")),
                member("gone", json!("g"), json!(null)),
                member("name", json!("n"), json!("x")),
                member("metadata", json!({ "k": 1 }), json!({ "x": true })),
                member("value", json!(1), json!("x")),
            ]
        );
    }

    // C2
    #[test]
    fn an_answer_loses_what_has_the_same_name_and_nothing_else() {
        let answer = json!({
            "id": 1, "name": ["n", "m"], "title": "a", "k": 1, "version": 12,
            "deep": [{ "body": "a", "value": 1, "metadata": { "k": 1 } }, { "body": "ab", "value": 12 }],
        });
        let left = taken().out_of(&answer.to_string()).unwrap().unwrap();
        let left: Value = serde_json::from_str(&left).unwrap();
        assert_eq!(
            left,
            json!({
                "id": 1, "name": ["x", "m"], "title": "a", "k": 1, "version": 12,
                "deep": [{ "body": "x", "value": "x", "metadata": { "x": true } }, { "body": "ab", "value": 12 }],
            })
        );
        let other = json!({ "id": 1, "title": "a", "value": 2, "body": null });
        assert_eq!(taken().out_of(&other.to_string()).unwrap(), None);
    }
}

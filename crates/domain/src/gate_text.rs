//! The gates of a run as they are stored: text of which a step is read when it is looked at.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::value::RawValue;

use crate::gate::{Gates, Rule, Transition};

/// Gates that were checked, written down.
///
/// A long chain has hundreds of checks, and a run that moves is asked for those of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateText(String);

impl GateText {
    /// Writes gates down.
    pub fn new(gates: &Gates) -> Result<Self, serde_json::Error> {
        serde_json::to_string(gates).map(Self)
    }

    /// Takes text that [`GateText::new`] wrote.
    pub const fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// Returns what is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the checks of a step; none if it is not there.
    pub fn of(&self, step: &Transition) -> Result<Vec<Rule>, serde_json::Error> {
        // A phase is a plain word, and a quotation mark inside a string is escaped: this is found
        // where the step is a key, and nowhere else.
        let key = format!("\"{step}\":");
        let Some((_, rest)) = self.0.split_once(&key) else {
            return Ok(Vec::new());
        };
        let mut values = serde_json::Deserializer::from_str(rest).into_iter();
        values.next().unwrap_or_else(|| Ok(Vec::new()))
    }
}

impl Serialize for GateText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for GateText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&Gates::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for GateText {
    fn schema_name() -> Cow<'static, str> {
        Gates::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        Gates::schema_id()
    }

    fn inline_schema() -> bool {
        Gates::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Gates::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> Transition {
        serde_json::from_value(text.into()).unwrap()
    }

    #[test]
    fn a_step_has_the_checks_that_the_whole_says() {
        let gates: Gates = serde_json::from_str(
            r#"{"a->b":[{"check":"artifact_exists","phase":"a","kind":"b->c"},
                        {"check":"artifact_exists","phase":"a","kind":"\"b->c\":[] \\\"b->c\\\":"}],
                "b->c":[{"check":"approval","role":"operator","tier":"soft"}],
                "c->d":[], "aa->b":[{"check":"verdict_exists"}]}"#,
        )
        .unwrap();
        let text = GateText::new(&gates).unwrap();
        for step in ["a->b", "b->c", "c->d", "aa->b"].map(step) {
            assert_eq!(text.of(&step).unwrap(), gates.of(&step), "{step}");
        }
        assert_eq!(text.of(&step("d->e")).unwrap(), []);
    }

    #[test]
    fn it_is_shown_and_read_as_gates_are() {
        let gates = Gates::standard();
        let text = GateText::new(&gates).unwrap();
        let shown = serde_json::to_string(&text).unwrap();
        assert_eq!(shown, serde_json::to_string(&gates).unwrap());
        assert_eq!(serde_json::from_str::<GateText>(&shown).unwrap(), text);
        let value = serde_json::to_value(&text).unwrap();
        assert_eq!(value, serde_json::to_value(&gates).unwrap());
        assert_eq!(serde_json::from_value::<GateText>(value).unwrap(), text);
    }

    #[test]
    fn damaged_text_is_no_gate() {
        let text = GateText::from_stored(r#"{"a->b":[{"check":"no"#.to_owned());
        assert!(text.of(&step("a->b")).is_err());
        assert!(serde_json::to_string(&text).is_err());
    }
}

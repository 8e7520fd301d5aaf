//! What a request says of a value that may be absent: nothing, that it goes, or what it becomes.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A change of a value that may be absent; a field that is left out keeps it, `null` clears it.
///
/// A field of this type is marked `#[serde(default, skip_serializing_if = "Change::is_keep")]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change<T> {
    /// Nothing is said.
    #[default]
    Keep,
    /// It goes.
    Clear,
    /// It becomes this.
    To(T),
}

impl<T> Change<T> {
    /// Tells whether nothing is said.
    pub const fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }

    /// Returns the value after the change.
    pub fn applied_to(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Keep => before,
            Self::Clear => None,
            Self::To(value) => Some(value),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Clear, Self::To))
    }
}

impl<T: Serialize> Serialize for Change<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Keep | Self::Clear => serializer.serialize_none(),
            Self::To(value) => value.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Change<T> {
    fn schema_name() -> Cow<'static, str> {
        Option::<T>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Form {
        #[serde(default, skip_serializing_if = "Change::is_keep")]
        limit: Change<i64>,
    }

    #[test]
    fn nothing_null_and_a_value_are_three_things() {
        for (text, limit, after) in [
            ("{}", Change::Keep, Some(1)),
            (r#"{"limit":null}"#, Change::Clear, None),
            (r#"{"limit":7}"#, Change::To(7), Some(7)),
        ] {
            let form: Form = serde_json::from_str(text).unwrap();
            assert_eq!(form, Form { limit });
            assert_eq!(limit.applied_to(Some(1)), after);
            assert_eq!(serde_json::to_string(&form).unwrap(), text);
        }
    }
}

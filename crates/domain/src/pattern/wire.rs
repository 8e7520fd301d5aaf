//! Patterns and paths in requests and answers.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::canonical::{Pattern, TEXT_BYTES_MAX};
use crate::limits::PATH_BYTES_MAX;

/// A path that is taken as it is, without metacharacters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LiteralPath(Pattern);

impl LiteralPath {
    /// Returns the pattern that covers the path and everything below it.
    pub fn pattern(&self) -> &Pattern {
        &self.0
    }
}

impl fmt::Display for LiteralPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.path().unwrap_or_default())
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for LiteralPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for LiteralPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = Pattern::literal(&String::deserialize(deserializer)?);
        path.map(Self).map_err(de::Error::custom)
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// The bound is that of a path with every character escaped, so it refuses nothing that is good.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": TEXT_BYTES_MAX })
    }
}

impl JsonSchema for LiteralPath {
    fn schema_name() -> Cow<'static, str> {
        "LiteralPath".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": PATH_BYTES_MAX })
    }
}

//! Vectors and the names of their spaces in JSON.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{COMPONENT_BYTES, Embedding, narrow};
use crate::limits::{EMBEDDING_DIMENSION_MAX, MODEL_ID_BYTES_MAX};

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Characters of the longest vector in base64.
const BASE64_CHARS_MAX: usize = (EMBEDDING_DIMENSION_MAX * COMPONENT_BYTES).div_ceil(3) * 4;

impl Embedding {
    /// Writes the bytes in base64.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.to_le_bytes())
    }

    /// Reads base64 of `f32`, little-endian, in either alphabet; the error is the rule it breaks.
    pub fn from_base64(text: &str) -> Result<Self, String> {
        if text.len() > BASE64_CHARS_MAX {
            return Err(format!(
                "must hold at most {EMBEDDING_DIMENSION_MAX} numbers"
            ));
        }
        let is_safe = text.contains(['-', '_']);
        let engine = if is_safe { &URL_SAFE } else { &STANDARD };
        let Ok(bytes) = engine.decode(text) else {
            return Err("must be base64 of 32-bit little-endian numbers".to_owned());
        };
        Self::from_le_bytes(&bytes, bytes.len() / COMPONENT_BYTES)
    }
}

/// Written in base64, as events keep it.
impl Serialize for Embedding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_base64())
    }
}

/// Read from an array of numbers, or from base64.
impl<'de> Deserialize<'de> for Embedding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Embedding;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of numbers, or base64 of 32-bit little-endian numbers")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Embedding, E> {
        Embedding::from_base64(text).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Embedding, A::Error> {
        let mut components = Vec::new();
        while let Some(number) = numbers.next_element::<f64>()? {
            if components.len() == EMBEDDING_DIMENSION_MAX {
                let rule = format!("must hold at most {EMBEDDING_DIMENSION_MAX} numbers");
                return Err(de::Error::custom(rule));
            }
            // What is too large becomes infinite here, and is refused below.
            components.push(narrow(number));
        }
        Embedding::new(components).map_err(de::Error::custom)
    }
}

impl JsonSchema for Embedding {
    fn schema_name() -> Cow<'static, str> {
        "Embedding".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["array", "string"],
            "items": { "type": "number" },
            "minItems": 1,
            "maxItems": EMBEDDING_DIMENSION_MAX,
            "maxLength": BASE64_CHARS_MAX,
        })
    }
}

/// A vector as it fits into a line: base64 alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PackedEmbedding(pub Embedding);

impl<'de> Deserialize<'de> for PackedEmbedding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let embedding = Embedding::from_base64(&text).map_err(de::Error::custom)?;
        Ok(Self(embedding))
    }
}

impl JsonSchema for PackedEmbedding {
    fn schema_name() -> Cow<'static, str> {
        "PackedEmbedding".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 6, "maxLength": BASE64_CHARS_MAX })
    }
}

/// The name of a space of vectors: who made them, as `hashed-1` or `acme/small@2`.
///
/// Vectors of different names are never compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ModelId(String);

impl ModelId {
    /// Checks a name; the error is the rule it breaks.
    pub fn parse(text: impl Into<String>) -> Result<Self, String> {
        let text = text.into();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._/:@+-".contains(c);
        if text.is_empty() || text.len() > MODEL_ID_BYTES_MAX || !text.chars().all(allowed) {
            return Err(format!(
                "must be 1 to {MODEL_ID_BYTES_MAX} letters, digits and `. _ / : @ + -`"
            ));
        }
        Ok(Self(text))
    }

    /// Takes a name that is known to be good.
    pub(super) fn known(name: &'static str) -> Self {
        Self(name.to_owned())
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ModelId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for ModelId {
    fn schema_name() -> Cow<'static, str> {
        "ModelId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[A-Za-z0-9._/:@+-]+$",
            "minLength": 1,
            "maxLength": MODEL_ID_BYTES_MAX,
        })
    }
}

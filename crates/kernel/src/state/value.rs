//! A value as it is saved: its one form as JSON, and the hash of it.

use std::sync::OnceLock;

use comity_domain::Sha256Hex;
use comity_domain::limits::{STATE_DEPTH_MAX, STATE_INLINE_BYTES_MAX, STATE_VALUE_BYTES_MAX};
use comity_domain::state::depth;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::event::Content;
use crate::error::Error;

/// Any JSON value, `null` among them.
///
/// It is kept without spaces and with the keys of objects in order: the same data are the same
/// bytes, whoever wrote them.
#[derive(Clone, Debug)]
pub struct Given {
    value: Value,
    /// What is written of it, made before the transaction.
    form: OnceLock<Form>,
}

/// What is written of a value.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// It as JSON.
    pub(super) text: String,
    /// The hash of that, if it is large.
    pub(super) sha256: Option<Sha256Hex>,
}

impl Given {
    /// Takes a value.
    pub const fn new(value: Value) -> Self {
        Self {
            value,
            form: OnceLock::new(),
        }
    }

    /// Refuses what is too large or too deep.
    pub(super) fn check(&self) -> Result<(), Error> {
        let bytes = self.form().text.len();
        if bytes > STATE_VALUE_BYTES_MAX {
            let rule =
                format!("must be at most {STATE_VALUE_BYTES_MAX} bytes as JSON, not {bytes}");
            return Err(Error::invalid("value", rule));
        }
        if depth(&self.value) > STATE_DEPTH_MAX {
            let rule = format!("must be at most {STATE_DEPTH_MAX} arrays and objects deep");
            return Err(Error::invalid("value", rule));
        }
        Ok(())
    }

    /// Returns what is written of it.
    pub(super) fn form(&self) -> &Form {
        self.form.get_or_init(|| {
            let text = self.value.to_string();
            let large = text.len() > STATE_INLINE_BYTES_MAX;
            let sha256 = large.then(|| Sha256Hex::new(Sha256::digest(&text).into()));
            Form { text, sha256 }
        })
    }

    /// Returns what an event says of it.
    pub(super) fn content(&self) -> Content {
        match self.form().sha256 {
            Some(sha256) => Content::Sha256(sha256),
            None => Content::Value(self.value.clone()),
        }
    }
}

impl Serialize for Given {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::new)
    }
}

impl JsonSchema for Given {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Given".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

//! Mail: whom a message is for, how much it matters, and who may write to whom.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::limits::PROJECT_KEY_BYTES_MAX;
use crate::token::{from_hex, to_hex};
use crate::words::words;
use crate::{AgentId, AgentName, Line};

words! {
    /// How much a message matters.
    Importance {
        /// It can wait.
        Low = "low",
        /// As most do.
        Normal = "normal",
        /// Before others.
        High = "high",
        /// Before everything.
        Urgent = "urgent",
    }
}

words! {
    /// How a recipient is named in a message.
    Delivery {
        /// It is meant for them.
        To = "to",
        /// For their information.
        Cc = "cc",
        /// Unknown to the other recipients.
        Bcc = "bcc",
    }
}

words! {
    /// Who may write to an agent.
    ContactPolicy {
        /// Everybody in reach.
        Open = "open",
        /// Approved senders, repliers in a thread, operators.
        Contacts = "contacts",
        /// Operators only.
        Closed = "closed",
    }
}

/// Whom a message is for, as the sender writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `*`: every agent of the project that was heard of lately.
    Everybody,
    /// `operator`: the person.
    Operator,
    /// A number.
    Id(AgentId),
    /// A name of the project at hand.
    Name(AgentName),
    /// `name@project`: a name of another project, given by key or slug.
    Elsewhere(AgentName, Line<PROJECT_KEY_BYTES_MAX>),
}

impl Address {
    /// Reads an address; the error is the rule it breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Everybody);
        }
        if text.eq_ignore_ascii_case("operator") {
            return Ok(Self::Operator);
        }
        if let Some((name, project)) = text.split_once('@') {
            return Ok(Self::Elsewhere(
                AgentName::parse(name)?,
                Line::parse(project)?,
            ));
        }
        match text.parse::<i64>() {
            Ok(id) if id > 0 => Ok(Self::Id(AgentId::new(id))),
            // A name holds a letter, so digits alone can only be a number.
            _ => AgentName::parse(text).map(Self::Name),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everybody => f.write_str("*"),
            Self::Operator => f.write_str("operator"),
            Self::Id(id) => id.fmt(f),
            Self::Name(name) => name.fmt(f),
            Self::Elsewhere(name, project) => write!(f, "{name}@{project}"),
        }
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => text,
            serde_json::Value::Number(number) => number.to_string(),
            _ => return Err(de::Error::custom("must be a name, a number or `*`")),
        };
        Self::parse(&text).map_err(de::Error::custom)
    }
}

impl JsonSchema for Address {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1 })
    }
}

/// The SHA-256 of some bytes, as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Hex([u8; 32]);

impl Sha256Hex {
    /// Takes a hash.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the hash.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Sha256Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl Serialize for Sha256Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_hex(&String::deserialize(deserializer)?)
            .map(Self)
            .ok_or_else(|| de::Error::custom("must be 64 lower-case hexadecimal digits"))
    }
}

impl JsonSchema for Sha256Hex {
    fn schema_name() -> Cow<'static, str> {
        "Sha256".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let shown = |text: &str| Address::parse(text).map(|address| address.to_string());
        for text in ["*", "operator", "7", "Blue", "Blue@web", "Blue@/srv/my.app"] {
            assert_eq!(shown(text).as_deref(), Ok(text));
        }
        assert_eq!(Address::parse("Operator"), Ok(Address::Operator));
        for refused in [
            "",
            "0",
            "-1",
            "a b",
            "@web",
            "Blue@",
            "*@web",
            "Blue\n",
            "operator@web",
        ] {
            assert!(Address::parse(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn importance_has_an_order() {
        assert!(Importance::Low < Importance::Normal && Importance::High < Importance::Urgent);
        assert!(Delivery::To < Delivery::Cc && Delivery::Cc < Delivery::Bcc);
    }
}

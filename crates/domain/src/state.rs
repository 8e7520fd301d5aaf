//! The names of what agents keep between turns: scopes, and keys in them.

use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use crate::agent_name::AgentName;
use crate::limits::{SCOPE_BYTES_MAX, STATE_KEY_BYTES_MAX};
use crate::text::Line;

/// What the scopes of agents begin with.
const AGENT: &str = "agent";

/// A scope: one that everybody in the project shares, or an agent's own, `agent/<name>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ScopeName(String);

/// The key of something kept; slashes are part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct StateKey(String);

impl ScopeName {
    /// Checks a scope; the error is the rule it breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        must_be_path::<SCOPE_BYTES_MAX>(text)?;
        let scope = Self(text.to_owned());
        let first = text.split('/').next().unwrap_or_default();
        if first.eq_ignore_ascii_case(AGENT) && scope.agent().is_none() {
            return Err("must be `agent/` and an agent's name, or begin otherwise".to_owned());
        }
        Ok(scope)
    }

    /// Returns the scope that is an agent's own.
    pub fn of(agent: &str) -> Self {
        Self(format!("{AGENT}/{agent}"))
    }

    /// Returns the agent whose own it is; a shared one is nobody's.
    pub fn agent(&self) -> Option<AgentName> {
        let (first, name) = self.0.split_once('/')?;
        let name = (first == AGENT).then(|| AgentName::parse(name))?;
        name.ok()
    }
}

impl StateKey {
    /// Checks a key; the error is the rule it breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        must_be_path::<STATE_KEY_BYTES_MAX>(text)?;
        Ok(Self(text.to_owned()))
    }
}

/// One visible line whose parts between slashes are names: no client, proxy or shell may take it
/// for another.
fn must_be_path<const MAX: usize>(text: &str) -> Result<(), String> {
    Line::<MAX>::parse(text)?;
    if text.trim() != text {
        return Err("must not begin or end with a space".to_owned());
    }
    match text
        .split('/')
        .find(|part| matches!(*part, "" | "." | ".."))
    {
        Some("") => Err("must not have an empty part between slashes".to_owned()),
        Some(part) => Err(format!("must not have the part `{part}` between slashes")),
        None => Ok(()),
    }
}

/// Tells how deep arrays and objects are inside each other: 0 for a plain value.
pub fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut left = vec![(value, 0)];
    while let Some((value, around)) = left.pop() {
        deepest = deepest.max(around);
        match value {
            Value::Array(items) => {
                deepest = deepest.max(around + 1);
                left.extend(items.iter().map(|item| (item, around + 1)));
            }
            Value::Object(fields) => {
                deepest = deepest.max(around + 1);
                left.extend(fields.values().map(|item| (item, around + 1)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    deepest
}

macro_rules! path_text {
    ($name:ident, $max:ident) => {
        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "minLength": 1, "maxLength": $max })
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    };
}

path_text!(ScopeName, SCOPE_BYTES_MAX);
path_text!(StateKey, STATE_KEY_BYTES_MAX);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // S6 S7 S10
    #[test]
    fn a_key_is_a_line_whose_parts_are_names() {
        for good in ["plan", "a/b/c", "été 2", "..a", "a..", ".hidden", "..."] {
            assert!(StateKey::parse(good).is_ok(), "{good}");
        }
        for refused in [
            "",
            " ",
            " a",
            "a ",
            "/",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/../b",
            "./a",
            "a\0b",
            "a\nb",
            "a\u{202e}b",
            "a\u{1b}[2J",
        ] {
            assert!(StateKey::parse(refused).is_err(), "{refused:?}");
        }
        assert!(StateKey::parse(&"k".repeat(STATE_KEY_BYTES_MAX)).is_ok());
        assert!(StateKey::parse(&"k".repeat(STATE_KEY_BYTES_MAX + 1)).is_err());
    }

    // E1
    #[test]
    fn a_scope_is_shared_or_an_agents_own() {
        assert_eq!(ScopeName::parse("build/cache").unwrap().agent(), None);
        let own = ScopeName::parse("agent/Blue").unwrap();
        assert_eq!(own.agent(), AgentName::parse("Blue").ok());
        assert_eq!(ScopeName::of("Blue"), own);
        for refused in [
            "agent",
            "agent/",
            "agent/a/b",
            "Agent/Blue",
            "AGENT",
            "agent/a b",
        ] {
            assert!(ScopeName::parse(refused).is_err(), "{refused:?}");
        }
        for shared in ["agents", "agentic/x", "x/agent"] {
            assert!(ScopeName::parse(shared).is_ok(), "{shared:?}");
        }
    }

    #[test]
    fn depth_counts_what_is_around_the_innermost_value() {
        assert_eq!(depth(&json!(1)), 0);
        assert_eq!(depth(&json!([])), 1);
        assert_eq!(depth(&json!({ "a": [1, { "b": 2 }] })), 3);
    }
}

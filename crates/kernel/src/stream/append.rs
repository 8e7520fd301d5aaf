//! Appends an event to a stream.

use comity_domain::limits::{CUSTOM_BYTES_MAX, STREAMS_MAX};
use comity_domain::{CustomKind, PlainName};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use super::event::CustomAppended;
use super::table::{self, Stream};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::project::table::{self as project_table, ProjectRef};
use crate::tx::WriteTx;

/// Appends an event of your own kind to a stream of your own; the first one makes the stream.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendEvent {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The stream's name.
    pub stream: PlainName,
    /// The kind of event: `custom.` and a word of yours.
    pub kind: CustomKind,
    /// What it says: any object, up to 64 KiB.
    #[serde(default)]
    pub payload: Map<String, Value>,
    /// The version that the stream must have: a number, `none` if there must be no such stream,
    /// or `any`.
    #[serde(default)]
    pub expected_version: Expected,
}

/// Which version a writer expects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// Whatever it is.
    #[default]
    Any,
    /// None: there is no such stream yet.
    None,
    /// This one.
    Exact(i64),
}

/// The stream and its new event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppendAnswer {
    /// The stream as it is now.
    pub stream: Stream,
    /// The number of the event within the stream.
    pub version: i64,
}

impl Command for AppendEvent {
    const NAME: &'static str = "append_event";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = AppendAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<AppendAnswer, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        if serde_json::to_string(&self.payload)?.len() > CUSTOM_BYTES_MAX {
            let rule = format!("must be at most {CUSTOM_BYTES_MAX} bytes of JSON");
            return Err(Error::invalid("payload", rule).into());
        }
        let found = table::by_name(tx, project.id, &self.stream)?;
        let present = found.as_ref().map_or(0, |stream| stream.version);
        self.expected_version.must_be(present)?;
        let id = match &found {
            Some(stream) => stream.id,
            None if table::count(tx, project.id)? >= STREAMS_MAX => {
                return Err(Error::LimitExceeded {
                    what: "the number of streams of a project",
                    limit: STREAMS_MAX.unsigned_abs(),
                }
                .into());
            }
            None => table::next_id(tx)?,
        };
        tx.hit("stream.after_check")?;
        tx.emit(CustomAppended {
            id,
            project: project.id,
            stream: self.stream.to_string(),
            version: present + 1,
            data: self.payload.clone(),
            kind: self.kind.to_string(),
        })?;
        let stream = table::by_name(tx, project.id, &self.stream)?
            .ok_or_else(|| Error::internal(Impossible("a stream vanished as it grew")))?;
        Ok(AppendAnswer {
            version: stream.version,
            stream,
        })
    }
}

impl Expected {
    fn must_be(self, present: i64) -> Result<(), Error> {
        let expected = match self {
            Self::Any => return Ok(()),
            Self::None => 0,
            Self::Exact(version) => version,
        };
        if expected == present {
            return Ok(());
        }
        Err(Error::VersionConflict { expected, present })
    }
}

impl Serialize for Expected {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Any => serializer.serialize_str("any"),
            Self::None => serializer.serialize_str("none"),
            Self::Exact(version) => serializer.serialize_i64(*version),
        }
    }
}

impl<'de> Deserialize<'de> for Expected {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const RULE: &str = "must be a version from 0 on, `none` or `any`";
        match Value::deserialize(deserializer)? {
            Value::String(word) if word == "any" => Ok(Self::Any),
            Value::String(word) if word == "none" => Ok(Self::None),
            Value::Number(number) => match number.as_i64() {
                Some(version @ 0..) => Ok(Self::Exact(version)),
                _ => Err(de::Error::custom(RULE)),
            },
            _ => Err(de::Error::custom(RULE)),
        }
    }
}

impl JsonSchema for Expected {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Expected".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"], "minimum": 0, "pattern": "^(any|none)$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I2
    #[test]
    fn an_expected_version_is_a_number_or_one_of_two_words() {
        for (text, expected) in [
            ("3", Expected::Exact(3)),
            ("\"none\"", Expected::None),
            ("\"any\"", Expected::Any),
        ] {
            assert_eq!(serde_json::from_str::<Expected>(text).unwrap(), expected);
            assert_eq!(serde_json::to_string(&expected).unwrap(), text);
        }
        for bad in ["-1", "1.5", "\"3\"", "\"exact\"", "null", "[]"] {
            assert!(serde_json::from_str::<Expected>(bad).is_err(), "{bad}");
        }
    }
}

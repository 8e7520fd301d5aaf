//! Which events somebody wants: said once, checked once, and matched by one function.
//!
//! A [`Wanted`] is what a caller says, by names; a [`Filter`] is what it comes to, by numbers. The
//! feeds, the list of events, consumers and hooks all take the same.

use std::borrow::Cow;
use std::collections::BTreeSet;

use comity_domain::limits::{FILTER_KINDS_MAX, LABEL_BYTES_MAX};
use comity_domain::suggest::nearest;
use comity_domain::{CustomKind, Line, ProjectId, RunId};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::entry::Entry;
use crate::actor::Actor;
use crate::agent::{AgentRef, table as agent_table};
use crate::error::Error;
use crate::log::{Event, SubjectKind};
use crate::project::{ProjectRef, table as project_table};
use crate::run::table as run_table;
use crate::tx::Read;

/// Every kind of the callers' own streams.
const EVERY_CUSTOM: &str = "custom.*";

/// Which events are wanted; what is left out does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Only events of this project: its key or slug.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Only events of this run.
    #[serde(default)]
    pub run: Option<RunId>,
    /// Only events of these kinds; `custom.*` means all of the callers' own.
    #[serde(default)]
    pub kinds: BTreeSet<String>,
    /// Only events about this: `{"type":"run","id":7}` or `run:7`.
    #[serde(default)]
    pub subject: Option<About>,
    /// Only what they did: `operator`, `system`, `agent:7`, or an agent's name or number.
    #[serde(default)]
    pub actor: Option<ActorRef>,
}

/// Who did something, as a filter names them.
pub type ActorRef = Line<LABEL_BYTES_MAX>;

/// What an event is about, as a filter names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct About {
    /// The kind of entity.
    #[serde(rename = "type")]
    pub kind: SubjectKind,
    /// Its number.
    pub id: i64,
}

/// Which events are wanted, by numbers: what is stored and what is matched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Filter {
    /// Only events of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// Only events of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Only events of these kinds; none means all.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub kinds: BTreeSet<String>,
    /// Only events about this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<About>,
    /// Only what they did, as events name them; without a number, all of that sort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
}

impl Wanted {
    /// Checks what is wanted, and finds what is named.
    pub fn resolve(&self, read: &mut impl Read, actor: &Actor) -> Result<Filter, Error> {
        if self.kinds.len() > FILTER_KINDS_MAX {
            let rule = format!("must be at most {FILTER_KINDS_MAX}");
            return Err(Error::invalid("kinds", rule));
        }
        for kind in &self.kinds {
            must_be_a_kind(kind)?;
        }
        let project = match &self.project {
            Some(_) => Some(project_table::resolve(read, actor, self.project.as_ref())?.id),
            None => None,
        };
        let run = match self.run {
            Some(run) => Some(run_table::visible(read, actor, run)?.id),
            None => None,
        };
        let by = match &self.actor {
            Some(named) => Some(who(read, actor, project, named)?),
            None => None,
        };
        Ok(Filter {
            project,
            run,
            kinds: self.kinds.clone(),
            subject: self.subject.clone(),
            actor: by,
        })
    }
}

impl Filter {
    /// Tells whether an event is wanted.
    pub fn matches(&self, entry: &Entry) -> bool {
        let project = self.project;
        let run = self.run;
        project.is_none_or(|project| entry.project() == Some(project))
            && run.is_none_or(|run| entry.run() == Some(run))
            && (self.kinds.is_empty() || self.names(entry.kind()))
            && self.subject.as_ref().is_none_or(|about| about.is(entry))
            && self
                .actor
                .as_ref()
                .is_none_or(|by| is_by(entry.actor(), by))
    }

    fn names(&self, kind: &str) -> bool {
        self.kinds.contains(kind)
            || (CustomKind::is_meant(kind) && self.kinds.contains(EVERY_CUSTOM))
    }
}

impl About {
    fn is(&self, entry: &Entry) -> bool {
        entry.subject() == (self.kind.as_str(), self.id)
    }

    /// Reads `run:7`; the error is the rule it breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (kind, id) = text.split_once(':').ok_or("must look like `run:7`")?;
        let id = id.parse().map_err(|_| "must look like `run:7`")?;
        Self::new(kind, id)
    }

    fn new(kind: &str, id: i64) -> Result<Self, String> {
        let known = SubjectKind::ALL.iter();
        let Some(kind) = known.copied().find(|known| known.as_str() == kind) else {
            let words = SubjectKind::ALL.iter().map(|known| known.as_str());
            let near = did_you_mean(nearest(kind, words));
            return Err(format!("must be about a kind of entity{near}"));
        };
        if id < 1 {
            return Err("must name a positive number".to_owned());
        }
        Ok(Self { kind, id })
    }
}

impl<'de> Deserialize<'de> for About {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const SHAPE: &str = "must be `{\"type\":\"run\",\"id\":7}` or `run:7`";
        let about = match Value::deserialize(deserializer)? {
            Value::String(text) => Self::parse(&text),
            Value::Object(fields) if fields.len() == 2 => {
                let kind = fields.get("type").and_then(Value::as_str);
                let id = fields.get("id").and_then(Value::as_i64);
                match (kind, id) {
                    (Some(kind), Some(id)) => Self::new(kind, id),
                    _ => Err(SHAPE.to_owned()),
                }
            }
            _ => Err(SHAPE.to_owned()),
        };
        about.map_err(de::Error::custom)
    }
}

impl JsonSchema for About {
    fn schema_name() -> Cow<'static, str> {
        "About".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["object", "string"],
            "pattern": "^[a-z_]+:[0-9]+$",
            "properties": {
                "type": { "type": "string" },
                "id": { "type": "integer", "minimum": 1 },
            },
            "required": ["type", "id"],
            "additionalProperties": false,
        })
    }
}

/// Finds how events name somebody.
fn who(
    read: &mut impl Read,
    actor: &Actor,
    project: Option<ProjectId>,
    named: &ActorRef,
) -> Result<String, Error> {
    const SORTS: [&str; 4] = ["operator", "agent", "observer", "system"];
    let (sort, number) = match named.split_once(':') {
        Some((sort, number)) => (sort, Some(number)),
        None => (&**named, None),
    };
    if SORTS.contains(&sort) {
        return match number.map(str::parse::<i64>) {
            None => Ok(sort.to_owned()),
            Some(Ok(number)) => Ok(format!("{sort}:{number}")),
            Some(Err(_)) => Err(Error::invalid(
                "actor",
                "must have a number behind the colon",
            )),
        };
    }
    let agent: AgentRef = serde_json::from_value(Value::from(&**named)).map_err(|_| {
        let rule = "must be `operator`, `system`, `agent:7`, or an agent's name or number";
        Error::invalid("actor", rule)
    })?;
    let agent = agent_table::resolve(read, actor, project, &agent)?;
    Ok(format!("agent:{}", agent.id))
}

/// Tells whether somebody is meant; without a number, all of that sort are.
fn is_by(actor: &str, wanted: &str) -> bool {
    let rest = actor.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || (!wanted.contains(':') && rest.starts_with(':')))
}

fn must_be_a_kind(kind: &str) -> Result<(), Error> {
    let every = kind == EVERY_CUSTOM;
    if Event::KINDS.contains(&kind) || every || CustomKind::parse(kind).is_ok() {
        return Ok(());
    }
    let near = did_you_mean(nearest(kind, Event::KINDS.iter().copied()));
    Err(Error::invalid(
        "kinds",
        format!("must be kinds of events{near}"),
    ))
}

fn did_you_mean(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_without_a_number_means_all_of_it() {
        assert!(is_by("operator", "operator"));
        assert!(is_by("operator:5", "operator"));
        assert!(is_by("agent:7", "agent:7"));
        assert!(is_by("agent:7", "agent"));
        for (actor, wanted) in [
            ("agent:70", "agent:7"),
            ("agent:7", "agent:70"),
            ("operators", "operator"),
            ("system", "operator"),
        ] {
            assert!(!is_by(actor, wanted), "{actor} {wanted}");
        }
    }

    // I4
    #[test]
    fn a_subject_has_a_kind_and_a_number() {
        let run: About = serde_json::from_str("\"run:7\"").unwrap();
        assert_eq!(
            run,
            serde_json::from_str(r#"{"type":"run","id":7}"#).unwrap()
        );
        assert_eq!(
            serde_json::to_string(&run).unwrap(),
            r#"{"type":"run","id":7}"#
        );
        for bad in [
            "7",
            "\"run\"",
            "\"run:x\"",
            "\"run:0\"",
            "\"rum:7\"",
            r#"{"type":"run"}"#,
            r#"{"type":"run","id":"7"}"#,
            r#"{"type":"run","id":7,"x":1}"#,
        ] {
            assert!(serde_json::from_str::<About>(bad).is_err(), "{bad}");
        }
        let rule = About::parse("rum:7").unwrap_err();
        assert_eq!(rule, "must be about a kind of entity; did you mean `run`?");
    }

    #[test]
    fn a_stored_filter_is_read_back() {
        for text in [
            "{}",
            r#"{"project":1,"run":2,"kinds":["custom.*","run_created"],"subject":{"type":"run","id":2},"actor":"agent:3"}"#,
        ] {
            let filter: Filter = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&filter).unwrap(), text);
        }
    }
}

//! An event of the log with who may see it, and how it is shown.

use comity_domain::token::to_hex;
use comity_domain::{AgentId, ProjectId, RunId, Seq, Timestamp, TokenId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::sight::{Sight, View, Vision};
use super::table::Hidden;
use crate::error::Error;
use crate::log::{Event, Recorded};

/// What is written on the outside of mail, and of state.
const HEAD: [&str; 15] = [
    "id",
    "project",
    "thread",
    "from",
    "by",
    "recipients",
    "subject",
    "importance",
    "scope",
    "owner",
    "entry",
    "key",
    "keys",
    "version",
    "bytes",
];

/// An event of the log with who may see it.
#[derive(Clone, Debug)]
pub struct Entry {
    recorded: Recorded,
    redacted: bool,
    vision: Vision,
    revokes: Option<TokenId>,
}

/// An event as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ShownEvent<'a> {
    /// Its place in the log.
    pub seq: Seq,
    /// When it happened.
    pub at: Timestamp,
    /// The version of its payload.
    pub v: i64,
    /// Its kind.
    pub kind: &'a str,
    /// The number of the project it belongs to.
    pub project: Option<ProjectId>,
    /// Who did it.
    pub actor: &'a str,
    /// What it is about.
    pub subject: ShownSubject<'a>,
    /// The run it belongs to.
    pub run: Option<i64>,
    /// The caller's own id.
    pub correlation: Option<&'a str>,
    /// The SHA-256 of its whole payload; null for those who see a part of it, who could guess the
    /// rest by it.
    pub payload_sha256: Option<String>,
    /// What happened, as far as the caller may know; null once redacted.
    pub payload: Option<Value>,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ShownSubject<'a> {
    /// The kind of entity.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// Its number.
    pub id: i64,
}

impl Entry {
    /// Finds out who may see an event.
    pub(super) fn new(recorded: Recorded, hidden: &Hidden) -> Self {
        let event = read(&recorded);
        let revokes = match &event {
            Some(Event::TokenRevoked(revoked)) => Some(revoked.id),
            _ => None,
        };
        Self {
            vision: Vision::of(event.as_ref(), hidden),
            redacted: recorded.is_redacted(),
            recorded,
            revokes,
        }
    }

    /// Returns its place in the log.
    pub const fn seq(&self) -> Seq {
        self.recorded.seq
    }

    /// Returns its kind.
    pub fn kind(&self) -> &str {
        &self.recorded.kind
    }

    /// Returns the project it belongs to.
    pub const fn project(&self) -> Option<ProjectId> {
        self.recorded.project
    }

    /// Returns the run it belongs to.
    pub fn run(&self) -> Option<RunId> {
        self.recorded.run.map(RunId::new)
    }

    /// Returns who did it, as the log names them.
    pub fn actor(&self) -> &str {
        &self.recorded.actor
    }

    /// Returns what it is about: the kind of entity and its number.
    pub fn subject(&self) -> (&str, i64) {
        (&self.recorded.subject_type, self.recorded.subject_id)
    }

    /// Returns the token that is good no more from here on.
    pub const fn revokes(&self) -> Option<TokenId> {
        self.revokes
    }

    /// Reads what happened; `None` where this program cannot.
    pub(super) fn event(&self) -> Option<Event> {
        read(&self.recorded)
    }

    /// Returns how many bytes its payload has.
    pub fn bytes(&self) -> usize {
        self.recorded.payload.as_ref().map_or(0, String::len)
    }

    /// Forgets the payload; who may see the event stays known.
    #[must_use]
    pub fn without_payload(mut self) -> Self {
        self.recorded.payload = None;
        self
    }

    /// Tells how much of it is seen, if any.
    pub fn view(&self, sight: Sight) -> Option<View> {
        self.vision.view(sight)
    }

    /// Shows as much as the view allows.
    pub fn show(&self, view: View) -> Result<ShownEvent<'_>, Error> {
        let recorded = &self.recorded;
        let payload = match &recorded.payload {
            // What is left of it is for the fold alone.
            Some(_) if self.redacted => None,
            Some(payload) => Some(shown(serde_json::from_str(payload)?, view)),
            None => None,
        };
        Ok(ShownEvent {
            seq: recorded.seq,
            at: recorded.at,
            v: recorded.v,
            kind: &recorded.kind,
            project: recorded.project,
            actor: &recorded.actor,
            subject: ShownSubject {
                kind: &recorded.subject_type,
                id: recorded.subject_id,
            },
            run: recorded.run,
            correlation: recorded.correlation.as_deref(),
            payload_sha256: match view {
                View::Whole => Some(to_hex(&recorded.payload_sha256)),
                View::Received { .. } | View::Head => None,
            },
            payload: payload.map(|payload| self.without_secrets(payload)),
        })
    }

    /// Writes down what the view allows, as one line of JSON.
    pub fn json(&self, view: View) -> Result<String, Error> {
        Ok(serde_json::to_string(&self.show(view)?)?)
    }

    /// Takes the hash of a token out: nobody needs it, and it is half of a secret (S18).
    fn without_secrets(&self, mut payload: Value) -> Value {
        if let ("token_created", Value::Object(fields)) = (self.kind(), &mut payload) {
            fields.remove("sha256");
        }
        payload
    }
}

fn read(recorded: &Recorded) -> Option<Event> {
    let payload = recorded.payload.as_deref()?;
    Event::read(&recorded.kind, recorded.v, payload)?.ok()
}

fn shown(mut payload: Value, view: View) -> Value {
    if let Value::Object(fields) = &mut payload {
        match view {
            View::Whole => {}
            View::Received { bcc } => keep_bcc(fields, bcc),
            View::Head => {
                fields.retain(|name, _| HEAD.contains(&name.as_str()));
                keep_bcc(fields, None);
            }
        }
    }
    payload
}

/// Leaves of the bcc recipients only this one.
fn keep_bcc(fields: &mut Map<String, Value>, own: Option<AgentId>) {
    let own = own.map(|own| Value::from(own.get()));
    if let Some(Value::Array(recipients)) = fields.get_mut("recipients") {
        recipients.retain(|one| {
            let is_bcc = one.get("delivery").and_then(Value::as_str) == Some("bcc");
            !is_bcc || (own.is_some() && one.get("agent") == own.as_ref())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::line::payload_hash;

    fn entry(kind: &str, payload: &str) -> Entry {
        let recorded = Recorded {
            seq: Seq::new(7),
            at: Timestamp::from_micros(1),
            v: 1,
            kind: kind.into(),
            project: Some(ProjectId::new(2)),
            actor: "operator".into(),
            subject_type: "token".into(),
            subject_id: 3,
            run: None,
            correlation: None,
            payload_sha256: payload_hash(payload),
            payload: Some(payload.into()),
            hash: [0; 32],
        };
        Entry::new(recorded, &Hidden::new())
    }

    #[test]
    fn an_event_has_its_keys_in_a_fixed_order_and_no_secrets() {
        let payload =
            r#"{"id":3,"role":"observer","project":null,"agent":null,"name":"wall","sha256":"ab"}"#;
        let shown = entry("token_created", payload).json(View::Whole).unwrap();
        let hash = to_hex(&payload_hash(payload));
        assert_eq!(
            shown,
            "{\"seq\":7,\"at\":\"1970-01-01T00:00:00.000001Z\",\"v\":1,\"kind\":\"token_created\",\
             \"project\":2,\"actor\":\"operator\",\"subject\":{\"type\":\"token\",\"id\":3},\
             \"run\":null,\"correlation\":null,\"payload_sha256\":\""
                .to_owned()
                + &hash
                + "\",\"payload\":{\"agent\":null,\"id\":3,\"name\":\"wall\",\"project\":null,\
                   \"role\":\"observer\"}}"
        );
    }

    // S20: what cannot be read may be anybody's
    #[test]
    fn an_unknown_event_is_for_operators_alone() {
        let project = ProjectId::new(2);
        for unknown in [
            entry("from_the_future", "{}"),
            entry("project_updated", "{}"),
            entry("message_sent", "{}").without_payload(),
        ] {
            assert_eq!(unknown.view(Sight::Operator), Some(View::Whole));
            assert_eq!(unknown.view(Sight::Observer { project: None }), None);
            let agent = AgentId::new(1);
            assert_eq!(unknown.view(Sight::Agent { agent, project }), None);
        }
    }
}

//! The exact text of an event that is chained.

use comity_domain::token::to_hex;
use comity_domain::{ProjectId, Seq, Timestamp};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::event::Subject;

/// The chained part of an event; its JSON, with the keys in this order, is the line.
#[derive(Clone, Debug, Serialize)]
pub struct Envelope<'a> {
    /// The sequence number.
    pub seq: Seq,
    /// The wall time of its transaction.
    pub at: Timestamp,
    /// The version of its payload.
    pub v: i64,
    /// Its kind.
    pub kind: &'a str,
    /// The project it belongs to.
    pub project: Option<ProjectId>,
    /// Who did it.
    pub actor: &'a str,
    /// What it is about.
    pub subject: Named<'a>,
    /// The run it belongs to.
    pub run: Option<i64>,
    /// The caller's own id.
    pub correlation: Option<&'a str>,
    /// The SHA-256 of its payload, in hex digits.
    pub payload_sha256: &'a str,
}

/// A subject as the line names it; the kind is a word, so that old lines outlive the enum.
#[derive(Clone, Debug, Serialize)]
pub struct Named<'a> {
    /// The kind of entity.
    #[serde(rename = "type")]
    pub kind: &'a str,
    /// Its id.
    pub id: i64,
}

impl From<Subject> for Named<'static> {
    fn from(subject: Subject) -> Self {
        Self {
            kind: subject.kind.as_str(),
            id: subject.id,
        }
    }
}

/// An event as the log holds it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The sequence number.
    pub seq: Seq,
    /// The wall time of its transaction.
    pub at: Timestamp,
    /// The version of its payload.
    pub v: i64,
    /// Its kind.
    pub kind: String,
    /// The project it belongs to.
    pub project: Option<ProjectId>,
    /// Who did it.
    pub actor: String,
    /// The kind of entity it is about.
    pub subject_type: String,
    /// The entity it is about.
    pub subject_id: i64,
    /// The run it belongs to.
    pub run: Option<i64>,
    /// The caller's own id.
    pub correlation: Option<String>,
    /// The SHA-256 of its payload.
    pub payload_sha256: [u8; 32],
    /// Its payload; what is left of it once redacted.
    pub payload: Option<String>,
    /// The chain's hash here.
    pub hash: [u8; 32],
}

impl Recorded {
    /// Tells whether the payload is not the one that was chained: something was taken out of it.
    pub fn is_redacted(&self) -> bool {
        let payload = self.payload.as_deref();
        payload.is_none_or(|payload| payload_hash(payload) != self.payload_sha256)
    }

    /// Renders the line that was chained.
    pub fn line(&self) -> serde_json::Result<String> {
        serde_json::to_string(&Envelope {
            seq: self.seq,
            at: self.at,
            v: self.v,
            kind: &self.kind,
            project: self.project,
            actor: &self.actor,
            subject: Named {
                kind: &self.subject_type,
                id: self.subject_id,
            },
            run: self.run,
            correlation: self.correlation.as_deref(),
            payload_sha256: &to_hex(&self.payload_sha256),
        })
    }
}

/// Links a line to the chain: SHA-256 of the previous hash and the line.
pub fn link(previous: &[u8; 32], line: &str) -> [u8; 32] {
    Sha256::new()
        .chain_update(previous)
        .chain_update(line)
        .finalize()
        .into()
}

/// Hashes a payload.
pub fn payload_hash(payload: &str) -> [u8; 32] {
    Sha256::digest(payload).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    // I1: the bytes are for ever; a change here breaks every chain there is.
    #[test]
    fn the_line_has_its_keys_in_a_fixed_order() {
        let recorded = Recorded {
            seq: Seq::new(7),
            at: Timestamp::from_micros(1),
            v: 1,
            kind: "agent_registered".into(),
            project: Some(ProjectId::new(2)),
            actor: "operator".into(),
            subject_type: "agent".into(),
            subject_id: 3,
            run: None,
            correlation: Some("a\"b".into()),
            payload_sha256: payload_hash("{}"),
            payload: Some("{}".into()),
            hash: [0; 32],
        };
        let line = recorded.line().unwrap();
        assert_eq!(
            line,
            "{\"seq\":7,\"at\":\"1970-01-01T00:00:00.000001Z\",\"v\":1,\"kind\":\"agent_registered\",\
             \"project\":2,\"actor\":\"operator\",\"subject\":{\"type\":\"agent\",\"id\":3},\"run\":null,\
             \"correlation\":\"a\\\"b\",\"payload_sha256\":\
             \"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\"}"
        );
        assert_eq!(
            to_hex(&link(&[0; 32], &line)),
            to_hex(&Sha256::digest([&[0; 32], line.as_bytes()].concat()))
        );
    }
}

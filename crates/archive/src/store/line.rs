//! The log as the archive holds it: one event a line, byte for byte what was chained.

use comity_domain::Timestamp;
use comity_domain::token::{from_hex, to_hex};
use comity_domain::{ProjectId, Seq};
use comity_kernel::log::Recorded;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::error::ArchiveError;

/// An event with everything that is needed to write it into a log again.
#[derive(Serialize, Deserialize)]
pub(super) struct Written<'a> {
    /// The line that was chained, as it was.
    #[serde(borrow)]
    event: &'a RawValue,
    /// The payload, as it was; null once redacted.
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    /// The chain's hash here.
    hash: &'a str,
}

/// The chained line, as far as it is a line of ours.
#[derive(Deserialize)]
struct Chained {
    seq: i64,
    at: Timestamp,
    v: i64,
    kind: String,
    project: Option<i64>,
    actor: String,
    subject: Named,
    run: Option<i64>,
    correlation: Option<String>,
    payload_sha256: String,
}

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "type")]
    kind: String,
    id: i64,
}

/// Writes events, one a line.
pub(super) fn write(events: &[Recorded]) -> Result<Vec<u8>, ArchiveError> {
    let mut lines = Vec::new();
    for event in events {
        let unwritable = |_| ArchiveError::Unwritable { seq: event.seq };
        let line = RawValue::from_string(event.line().map_err(unwritable)?).map_err(unwritable)?;
        let payload = event.payload.clone().map(RawValue::from_string);
        let payload = payload.transpose().map_err(unwritable)?;
        let written = Written {
            event: &line,
            payload: payload.as_deref(),
            hash: &to_hex(&event.hash),
        };
        serde_json::to_writer(&mut lines, &written).map_err(unwritable)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// Reads one line back.
pub(super) fn read(line: &str) -> Option<Recorded> {
    let written: Written<'_> = serde_json::from_str(line).ok()?;
    let chained: Chained = serde_json::from_str(written.event.get()).ok()?;
    let recorded = Recorded {
        seq: Seq::new(chained.seq),
        at: chained.at,
        v: chained.v,
        kind: chained.kind,
        project: chained.project.map(ProjectId::new),
        actor: chained.actor,
        subject_type: chained.subject.kind,
        subject_id: chained.subject.id,
        run: chained.run,
        correlation: chained.correlation,
        payload_sha256: from_hex(&chained.payload_sha256)?,
        payload: written.payload.map(|payload| payload.get().to_owned()),
        hash: from_hex(written.hash)?,
    };
    // What was chained must come out again to the byte, or the chain would not hold.
    (recorded.line().ok()? == written.event.get()).then_some(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    // D2 D11: the same bytes, there and back
    #[test]
    fn an_event_is_read_as_it_was_written() {
        let event = Recorded {
            seq: Seq::new(7),
            at: Timestamp::from_micros(1_792_080_000_000_001),
            v: 1,
            kind: "message_sent".into(),
            project: Some(ProjectId::new(2)),
            actor: "agent:3".into(),
            subject_type: "message".into(),
            subject_id: 9,
            run: None,
            correlation: Some("a \"quoted\"\u{1f9a6} one".into()),
            payload_sha256: [7; 32],
            payload: Some("{\"body\":\"two\\nlines\", \"n\":1.50}".into()),
            hash: [9; 32],
        };
        let redacted = Recorded {
            seq: Seq::new(8),
            payload: None,
            ..event.clone()
        };
        let text = String::from_utf8(write(&[event.clone(), redacted]).unwrap()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        let back = read(lines[0]).unwrap();
        assert_eq!(format!("{back:?}"), format!("{event:?}"));
        assert_eq!(read(lines[1]).unwrap().payload, None);
        assert!(read("{}").is_none() && read("").is_none());
    }
}

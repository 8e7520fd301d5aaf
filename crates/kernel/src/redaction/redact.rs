//! Takes what somebody wrote out of an event.

use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{Seq, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::EventRedacted;
use super::spot::{Blanked, Redacted};
use super::table::{self, Redaction};
use super::taken::Taken;
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::event::pruned;
use crate::log::table::at;
use crate::log::{Event, Recorded, Subject};
use crate::params;
use crate::store::Row;
use crate::tx::{Read as _, WriteTx};

/// Takes what somebody wrote out of an event, for ever: out of its payload and out of whatever was
/// made of it. Numbers, names and states stay, and so does the chain. Copies are events of their own;
/// only the vectors of a discovery go with it, whenever they came.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedactEvent {
    /// The event's place in the log.
    pub seq: Seq,
    /// Why; it stays in the log, so it must not repeat what is taken out.
    pub reason: Text<TASK_BYTES_MAX>,
}

/// The event has no words any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RedactedEvent {
    /// The redaction.
    pub redaction: Redaction,
}

impl Command for RedactEvent {
    const NAME: &'static str = "redact";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = RedactedEvent;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RedactedEvent, Stop> {
        if self.seq <= Seq::ZERO {
            return Err(Error::invalid("seq", "must be at least 1").into());
        }
        if let Some(redaction) = table::by_event(tx, self.seq)? {
            return Ok(RedactedEvent { redaction });
        }
        // What only the archive has is out of reach, until it is restored.
        pruned::must_be_left(tx, self.seq)?;
        let recorded = at(tx, self.seq)?.ok_or_else(|| Error::not_found("event", &self.seq))?;
        let (event, redacted) = parted(&recorded)?;
        must_not_be_at_work(tx, &event)?;
        tx.shred()?;
        self.take_out(tx, &recorded, &event, &redacted)?;
        for seq in table::came_later(tx, &event)? {
            self.take_out_vector(tx, seq)?;
        }
        let redaction = table::by_event(tx, self.seq)?
            .ok_or_else(|| Error::internal(Impossible("a redaction vanished as it was made")))?;
        Ok(RedactedEvent { redaction })
    }
}

impl RedactEvent {
    /// Takes what somebody wrote out of one event.
    fn take_out(
        &self,
        tx: &mut WriteTx<'_, '_>,
        recorded: &Recorded,
        event: &Event,
        redacted: &Redacted,
    ) -> Result<(), Error> {
        let remnant = redacted.remnant.payload()?;
        let blanked = still_there(tx, recorded.seq, redacted)?;
        tx.emit(EventRedacted {
            id: recorded.seq,
            kind: recorded.kind.clone(),
            about: event.inner().subject(),
            project: recorded.project,
            reason: self.reason.to_string(),
            remnant: remnant.clone(),
            blanked,
        })?;
        let payload = recorded.payload.as_deref().unwrap_or_default();
        let taken = Taken::between(
            &serde_json::from_str(payload)?,
            &serde_json::from_str(&remnant)?,
        );
        tx.forget_copies(recorded.seq, &taken)?;
        Ok(())
    }

    /// Takes out a vector that came after the discovery, even one that says no more than its remnant.
    fn take_out_vector(&self, tx: &mut WriteTx<'_, '_>, seq: Seq) -> Result<(), Error> {
        let missing = || Error::internal(Impossible("a vector without its event"));
        let recorded = at(tx, seq)?.ok_or_else(missing)?;
        let event = read(&recorded)?;
        let redacted = event.inner().redacted().ok_or_else(missing)?;
        self.take_out(tx, &recorded, &event, &redacted)
    }
}

/// Reads an event, if it is of a kind that is known.
fn read(recorded: &Recorded) -> Result<Event, Error> {
    let (kind, v) = (&recorded.kind, recorded.v);
    let payload = recorded.payload.as_deref().unwrap_or_default();
    let event = Event::read(kind, v, payload).ok_or_else(|| {
        let rule = format!("is of kind `{kind}`, version {v}, which this program does not know");
        Error::invalid("seq", rule)
    })?;
    Ok(event?)
}

/// Parts an event from what somebody wrote, or says why that cannot be.
fn parted(recorded: &Recorded) -> Result<(Event, Redacted), Error> {
    let refused = |rule: String| Error::invalid("seq", rule);
    let kind = &recorded.kind;
    if kind == EventRedacted::KIND {
        return Err(refused("is a redaction itself, which stays".to_owned()));
    }
    let event = read(recorded)?;
    let redacted = event.inner().redacted();
    let Some(redacted) = redacted.filter(|redacted| redacted.remnant != event) else {
        return Err(refused(format!(
            "is of kind `{kind}` and holds nothing that can be taken out: {}",
            instead(&event.inner().subject())
        )));
    };
    Ok((event, redacted))
}

/// Says what to do about an event without words.
const fn instead(about: &Subject) -> &'static str {
    use crate::log::SubjectKind;
    match about.kind {
        SubjectKind::Token => "revoke the token",
        _ => "names, numbers and patterns stay; redact the event with the text",
    }
}

/// Refuses to take out what is still used: a hook without its address tells nobody.
fn must_not_be_at_work(tx: &mut WriteTx<'_, '_>, event: &Event) -> Result<(), Error> {
    let Event::HookAdded(added) = event else {
        return Ok(());
    };
    let live = tx.row(
        "select id from hook where id = ?1 and removed_at is null",
        params![added.id],
        Row::take::<i64>,
    )?;
    match live {
        Some(id) => Err(Error::invalid(
            "seq",
            format!("is where hook {id} was added, which is still told of events: remove it first"),
        )),
        None => Ok(()),
    }
}

/// Finds the rows that still say what the event said.
fn still_there(
    tx: &mut WriteTx<'_, '_>,
    seq: Seq,
    redacted: &Redacted,
) -> Result<Vec<Blanked>, Error> {
    let mut blanked = Vec::new();
    for (place, was) in &redacted.texts {
        let place = place.of_event(seq);
        if place.now(tx)?.as_ref() == Some(was) {
            blanked.push(place);
        }
    }
    Ok(blanked)
}

//! The index of words follows a redaction: the old words go, those of the remnant come.

use comity_domain::MessageId;

use super::event::EventRedacted;
use super::spot::{Key, Spot};
use crate::params;
use crate::store::search::{Indexing, Words};
use crate::store::{Session, StoreError};

/// Applies a redaction, and says what became of a message's words.
pub(crate) fn around(
    session: &mut dyn Session,
    redacted: &EventRedacted,
    apply: impl FnOnce(&mut dyn Session) -> Result<(), StoreError>,
) -> Result<Option<Indexing>, StoreError> {
    let Some(message) = message_of(redacted) else {
        apply(session)?;
        return Ok(None);
    };
    let old = words_of(session, message)?;
    apply(session)?;
    let new = words_of(session, message)?;
    Ok(old
        .zip(new)
        .map(|(old, new)| Indexing::Replaced { old, new }))
}

/// Returns the message whose words are taken out.
fn message_of(redacted: &EventRedacted) -> Option<MessageId> {
    redacted
        .blanked
        .iter()
        .find_map(|blanked| match (blanked.at, &blanked.key) {
            (Spot::MessageSubject | Spot::MessageBody, Key::Number(id)) => {
                Some(MessageId::new(*id))
            }
            _ => None,
        })
}

fn words_of(session: &mut dyn Session, id: MessageId) -> Result<Option<Words>, StoreError> {
    let mut words = None;
    session.each(
        "select subject, body from message where id = ?1",
        params![id],
        &mut |mut row| {
            let (subject, body): (String, String) = (row.take()?, row.take()?);
            words = Some(Words::of(id.get(), &subject, &body));
            Ok(())
        },
    )?;
    Ok(words)
}

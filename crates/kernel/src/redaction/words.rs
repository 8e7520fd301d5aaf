//! The index of words follows a redaction: the old words go, those of the remnant come.

use super::event::EventRedacted;
use super::spot::{Key, Spot};
use crate::params;
use crate::store::search::{Cut, Indexing, Kind, Words};
use crate::store::{Session, StoreError};

/// Applies a redaction, and says what became of the words of a message or discovery.
pub(crate) fn around(
    session: &mut dyn Session,
    redacted: &EventRedacted,
    apply: impl FnOnce(&mut dyn Session) -> Result<(), StoreError>,
) -> Result<Option<Indexing>, StoreError> {
    let Some((of, id)) = indexed(redacted) else {
        apply(session)?;
        return Ok(None);
    };
    let old = words_of(session, of, id)?;
    apply(session)?;
    let new = words_of(session, of, id)?;
    Ok(old
        .zip(new)
        .map(|(old, new)| Indexing::Replaced { old, new }))
}

/// Returns whose words are taken out.
fn indexed(redacted: &EventRedacted) -> Option<(Kind, i64)> {
    let mut blanked = redacted.blanked.iter();
    blanked.find_map(|blanked| match (blanked.at, &blanked.key) {
        (Spot::MessageSubject | Spot::MessageBody, Key::Number(id)) => Some((Kind::Message, *id)),
        (Spot::DiscoveryTitle | Spot::DiscoverySummary, Key::Number(id)) => {
            Some((Kind::Discovery, *id))
        }
        _ => None,
    })
}

fn words_of(session: &mut dyn Session, of: Kind, id: i64) -> Result<Option<Words>, StoreError> {
    let sql = match of {
        Kind::Message => "select subject, body from message where id = ?1",
        Kind::Discovery => "select title, summary from discovery where id = ?1",
    };
    let mut words = None;
    session.each(sql, params![id], &mut |mut row| {
        let (subject, body): (String, String) = (row.take()?, row.take()?);
        words = Some(Words::new(of, id, Cut::of(&subject, &body)));
        Ok(())
    })?;
    Ok(words)
}

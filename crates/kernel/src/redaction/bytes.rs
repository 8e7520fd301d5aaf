//! The bytes that only redacted events named: they go with the words. They are off the log.

use super::event::EventRedacted;
use crate::params;
use crate::store::{Rows, Session, StoreError};

type Hash = [u8; 32];

/// Applies a redaction, and drops the bytes that its event named and no other event names.
pub(crate) fn around(
    session: &mut dyn Session,
    redacted: &EventRedacted,
    apply: impl FnOnce(&mut dyn Session) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let named = named_by(session, redacted)?;
    apply(session)?;
    for sha256 in &named {
        if is_named(session, sha256)? {
            continue;
        }
        for sql in [
            "delete from blob_owner where sha256 = ?1",
            "delete from blob where sha256 = ?1",
        ] {
            session.write(sql, params![sha256], Rows::Any)?;
        }
    }
    Ok(())
}

/// Returns what an event names before it is redacted: a large value of state, or attachments.
fn named_by(session: &mut dyn Session, redacted: &EventRedacted) -> Result<Vec<Hash>, StoreError> {
    let (sql, id) = match redacted.kind.as_str() {
        "state_saved" => (
            "select sha256 from state_blob where seq = ?1",
            redacted.id.get(),
        ),
        "message_sent" => (
            "select sha256 from message_attachment where message_id = ?1",
            redacted.about.id,
        ),
        _ => return Ok(Vec::new()),
    };
    let mut named = Vec::new();
    session.each(sql, params![id], &mut |mut row| {
        named.push(row.take()?);
        Ok(())
    })?;
    Ok(named)
}

/// Tells whether an event names bytes that was not redacted; it may be pruned.
pub(crate) fn is_named(
    session: &mut (impl Session + ?Sized),
    sha256: &Hash,
) -> Result<bool, StoreError> {
    let mut found = false;
    session.each(
        "select 1 from message_attachment a where a.sha256 = ?1 and not exists (
            select 1 from redaction r where r.subject_type = 'message'
                and r.subject_id = a.message_id and r.kind = 'message_sent')
         union all select 1 from state_blob where sha256 = ?1
         limit 1",
        params![sha256],
        &mut |_| {
            found = true;
            Ok(())
        },
    )?;
    Ok(found)
}

//! Replays a log into another database: state is the fold of the log.

use comity_domain::limits::LOG_PAGE;
use comity_domain::token::to_hex;
use comity_domain::{LeaseTime, Seq};

use super::chain::Chain;
use super::event::{Event, Place, Tables};
use super::line::{Envelope, Named, Recorded};
use super::table;
use crate::checkpoint::{self, History, history};
use crate::error::Error;
use crate::redaction::{bytes, words};
use crate::store::search::{Indexing, Words};
use crate::store::{CommitError, Session, WriteEngine};
use crate::tx::Read;

/// Appends events to a database that holds all before them, and applies them: one transaction.
///
/// The same function rebuilds a lost database, moves one between engines and proves that the
/// tables are what the log says.
///
/// `lease` is the lease clock's mark where the events come from: the target's must not be behind.
pub fn replay(
    target: &mut dyn WriteEngine,
    events: &[Recorded],
    lease: Option<LeaseTime>,
) -> Result<(), Error> {
    let head = target.begin()?;
    let done = append_and_apply(target, events).and_then(|()| {
        let Some(last) = events.last() else {
            return Ok(head.seq);
        };
        let lease = lease
            .unwrap_or(LeaseTime::from_micros(0))
            .max(LeaseTime::from_micros(head.lease_us));
        table::move_head(
            target,
            last.seq,
            &last.hash,
            lease,
            head.anchor_us,
            &head.anchor_of,
        )?;
        target.settle()?;
        Ok(last.seq)
    });
    match done {
        Ok(seq) => target.commit(seq).map_err(|error| match error {
            CommitError::RolledBack(error) => error.into(),
            CommitError::Indeterminate(_) => Error::Indeterminate,
        }),
        Err(error) => {
            target.rollback();
            Err(error)
        }
    }
}

/// Appends events inside the open transaction, and applies them.
pub(crate) fn append_and_apply(
    target: &mut dyn WriteEngine,
    events: &[Recorded],
) -> Result<(), Error> {
    for recorded in events {
        let payload = recorded.payload.as_deref().ok_or_else(|| Error::Damaged {
            what: format!("event {} has lost its payload", recorded.seq),
        })?;
        let payload_sha256 = to_hex(&recorded.payload_sha256);
        let envelope = Envelope {
            seq: recorded.seq,
            at: recorded.at,
            v: recorded.v,
            kind: &recorded.kind,
            project: recorded.project,
            actor: &recorded.actor,
            subject: Named {
                kind: &recorded.subject_type,
                id: recorded.subject_id,
            },
            run: recorded.run,
            correlation: recorded.correlation.as_deref(),
            payload_sha256: &payload_sha256,
        };
        table::append(
            target,
            &envelope,
            &recorded.payload_sha256,
            payload,
            &recorded.hash,
        )?;
        let event =
            Event::read(&recorded.kind, recorded.v, payload).ok_or_else(|| Error::Damaged {
                what: format!(
                    "event {} is of a kind this program does not know",
                    recorded.seq
                ),
            })??;
        let place = Place {
            seq: recorded.seq,
            at: recorded.at,
        };
        let apply =
            |session: &mut dyn Session| event.inner().apply(place, &mut Tables::new(session));
        let indexing = if let Event::EventRedacted(redacted) = &event {
            let apply = |session: &mut dyn Session| bytes::around(session, redacted, apply);
            words::around(target, redacted, apply)?
        } else {
            apply(target)?;
            Words::said_in(&event, None).map(Indexing::Added)
        };
        if let Some(indexing) = indexing {
            indexing.write(target)?;
        }
    }
    Ok(target.settle()?)
}

/// Hands over the whole log page by page, its chain verified on the way: what was pruned from the
/// history, the rest from the database.
pub fn pages(
    read: &mut impl Read,
    head: Seq,
    history: Option<&dyn History>,
    mut visit: impl FnMut(&[Recorded]) -> Result<(), Error>,
) -> Result<Chain, Error> {
    let pruned_to = checkpoint::table::pruned_to(read)?;
    let mut chain = match pruned_to {
        Seq::ZERO => Chain::from_start(),
        _ => history::follow(
            history::must_be_there(history, pruned_to)?,
            pruned_to,
            &mut visit,
        )?,
    };
    while chain.seq() < head {
        let page = table::bounded_page(read, chain.seq(), LOG_PAGE)?;
        if page.is_empty() {
            break;
        }
        for event in &page {
            chain
                .follow(event)
                .map_err(|what| Error::Damaged { what })?;
        }
        visit(&page)?;
    }
    Ok(chain)
}

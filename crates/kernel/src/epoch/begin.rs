//! Begins a new epoch in a database that nobody serves.

use comity_domain::Seq;
use comity_domain::limits::EPOCH_GAP;

use super::event::EpochBegun;
use super::standing::Standing;
use crate::actor::Actor;
use crate::error::Error;
use crate::log::line::{link, payload_hash};
use crate::log::table::move_head;
use crate::log::{Apply as _, Event, Recorded, fold};
use crate::options::{Opened, Options};
use crate::store::migrate::fresh_epoch;
use crate::store::{CommitError, Head};

/// What an archive knows of the end that a database has lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostEnd {
    /// Where the database stands.
    pub standing: Standing,
    /// The archive's epoch.
    pub epoch: String,
    /// The last event of the archive.
    pub through: Seq,
    /// The largest number of anything in what was lost.
    pub largest: i64,
}

/// Begins a new epoch above everything that is in the database or in what it lost, and returns the
/// epoch's first event.
///
/// What was answered and not even archived is above the archive's end too, so a gap is left.
pub fn begin_epoch(options: &Options, lost: &LostEnd) -> Result<Seq, Error> {
    let pruned_to = lost.standing.pruned_to;
    if pruned_to > Seq::ZERO {
        return Err(Error::Unusable {
            what: format!(
                "the events up to {pruned_to} are in the archive alone, which a new epoch would \
                 leave: restore the database from it instead"
            ),
        });
    }
    let mut writer = Opened::new(options)?.writer;
    let head = writer.begin()?;
    let begun = first_event(options, &head, lost).and_then(|first| {
        let reading = options.ambient.clock.read(head.server_us);
        fold::append_and_apply(&mut *writer, std::slice::from_ref(&first))?;
        move_head(
            &mut *writer,
            first.seq,
            &first.hash,
            reading.lease(&head),
            reading.tick_us,
            &reading.tick_of,
        )?;
        writer.settle()?;
        Ok(first.seq)
    });
    let seq = match begun {
        Ok(seq) => seq,
        Err(error) => {
            writer.rollback();
            return Err(error);
        }
    };
    let committed = writer.commit(seq).map_err(|error| match error {
        CommitError::RolledBack(error) => error.into(),
        CommitError::Indeterminate(_) => Error::Indeterminate,
    });
    committed.map(|()| seq)
}

fn first_event(options: &Options, head: &Head, lost: &LostEnd) -> Result<Recorded, Error> {
    if head.epoch != lost.standing.epoch {
        return Err(Error::Busy {
            reason: "another server has begun a new epoch meanwhile".to_owned(),
        });
    }
    let used = head.seq.get().max(lost.through.get()).max(lost.largest);
    let seq = Seq::new(used.saturating_add(EPOCH_GAP));
    let begun = EpochBegun {
        id: seq,
        epoch: fresh_epoch(&options.ambient),
        before: head.epoch.clone(),
        after: head.seq,
        lost_epoch: lost.epoch.clone(),
        lost_through: lost.through,
    };
    let subject = begun.subject();
    let event = Event::from(begun);
    let payload = event.payload()?;
    let mut first = Recorded {
        seq,
        at: options.ambient.clock.read(head.server_us).wall,
        v: event.version(),
        kind: event.kind().to_owned(),
        project: None,
        actor: Actor::OPERATOR.to_string(),
        subject_type: subject.kind.as_str().to_owned(),
        subject_id: subject.id,
        run: None,
        correlation: None,
        payload_sha256: payload_hash(&payload),
        payload: Some(payload),
        hash: [0; 32],
    };
    first.hash = link(&head.hash, &first.line()?);
    Ok(first)
}

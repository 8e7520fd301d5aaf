//! The part of the log that is in the archive alone.

use comity_domain::Seq;
use comity_domain::token::to_hex;

use super::table::Checkpoint;
use crate::ambient::Ambient;
use crate::archive::ArchiveId;
use crate::doctor::tip_of;
use crate::error::Error;
use crate::log::chain::Chain;
use crate::log::state_hash::state_hash;
use crate::log::{Recorded, fold};
use crate::memory::Memory;
use crate::store::WriteEngine as _;
use crate::store::migrate::{MIGRATIONS, migrate_sqlite};
use crate::store::sqlite::SqliteWriter;
use crate::tx::Snapshot;

/// Reads the log from its first event on, wherever the database's own begins.
pub trait History: Send + Sync {
    /// Returns what tells the archive from others, so that its position can be looked up.
    fn archive(&self) -> Result<ArchiveId, Error>;

    /// Hands over the events from the first to this one, in order, some at a time.
    ///
    /// It checks nothing: whoever reads follows the chain.
    fn pages(&self, through: Seq, visit: Visit<'_>) -> Result<(), Error>;
}

/// Takes some events in.
pub type Visit<'a> = &'a mut dyn FnMut(&[Recorded]) -> Result<(), Error>;

/// Returns the history, or says why nothing before an event can be read.
pub(crate) fn must_be_there(
    history: Option<&dyn History>,
    through: Seq,
) -> Result<&dyn History, Error> {
    history.ok_or_else(|| Error::Unusable {
        what: format!(
            "the events up to {through} are in the archive alone, and there is no archive here"
        ),
    })
}

/// Follows the chain of a history, and hands its events over on the way.
pub(crate) fn follow(
    history: &dyn History,
    through: Seq,
    visit: Visit<'_>,
) -> Result<Chain, Error> {
    let damaged = |what| Error::Damaged {
        what: format!("in the archive {what}"),
    };
    let mut chain = Chain::from_start();
    history.pages(through, &mut |page| {
        for event in page {
            chain.follow(event).map_err(damaged)?;
        }
        visit(page)
    })?;
    chain.is_whole().map_err(damaged)?;
    if chain.seq() != through {
        return Err(Error::Unusable {
            what: format!(
                "the archive goes to event {}, the log was pruned up to {through}: put the archive \
                 back that was here then",
                chain.seq()
            ),
        });
    }
    Ok(chain)
}

/// Folds a history up to an event in a database of its own, and says what it comes to.
pub(crate) fn checkpoint_at(
    history: &dyn History,
    through: Seq,
    schema: i64,
    ambient: &Ambient,
) -> Result<Checkpoint, Error> {
    let mut scratch = SqliteWriter::scratch()?;
    migrate_sqlite(&scratch, MIGRATIONS, ambient, None)?;
    let chain = follow(history, through, &mut |page| {
        fold::replay(&mut scratch, page, None)
    })?;
    Ok(Checkpoint {
        through,
        hash: *chain.hash(),
        state_hash: state_of(&mut scratch)?,
        schema,
    })
}

/// Hashes the tables of a database that was folded.
pub(crate) fn state_of(folded: &mut SqliteWriter) -> Result<String, Error> {
    let head = folded.begin()?;
    let memory = Memory::default();
    let hash = state_hash(&mut Snapshot::unserved(
        &mut *folded,
        &memory,
        tip_of(&head),
    ));
    folded.rollback();
    Ok(hash?)
}

impl Checkpoint {
    /// Refuses another chain, or other tables where they can be compared.
    pub(crate) fn must_be(&self, found: &Self) -> Result<(), Error> {
        let through = self.through;
        if self.hash != found.hash {
            let (hash, other) = (to_hex(&self.hash), to_hex(&found.hash));
            return Err(Error::Damaged {
                what: format!(
                    "the chain's hash at event {through} is {other} in the archive, {hash} by the \
                     checkpoint"
                ),
            });
        }
        if self.schema == found.schema && self.state_hash != found.state_hash {
            let (hash, other) = (&self.state_hash, &found.state_hash);
            return Err(Error::Damaged {
                what: format!(
                    "the archive folds to {other} at event {through}, the checkpoint says {hash}"
                ),
            });
        }
        Ok(())
    }
}

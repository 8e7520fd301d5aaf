//! Where archives stand: read, and written as upkeep.

use comity_domain::limits::LABEL_BYTES_MAX;
use comity_domain::{Line, Seq, Timestamp};

use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::params;
use crate::query::Query;
use crate::store::job::Upkeep;
use crate::store::{Row, Rows, StoreError};
use crate::tx::{Read, Snapshot, UpkeepTx};

/// What tells one archive of a workspace from another; it is made with the repository.
pub type ArchiveId = Line<LABEL_BYTES_MAX>;

/// Asks how far an archive has come, as the database knows.
#[derive(Clone, Debug)]
pub struct ArchivePosition {
    /// The archive.
    pub archive: ArchiveId,
}

/// How far an archive has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The last event that is in it.
    pub through: Seq,
    /// When that was noted.
    pub moved_at: Timestamp,
}

impl Query for ArchivePosition {
    const NAME: &'static str = "archive_position";
    const WHO: &'static [Party] = &[];
    type Answer = Option<Position>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Option<Position>, Error> {
        Ok(position(snapshot, &self.archive)?)
    }
}

pub(crate) fn position(
    read: &mut impl Read,
    archive: &str,
) -> Result<Option<Position>, StoreError> {
    read.row(
        "select through, moved_at from archive where id = ?1",
        params![archive],
        |row| {
            Ok(Position {
                through: row.take()?,
                moved_at: row.take()?,
            })
        },
    )
}

/// Asks how the commits of an archive were cut, after one that ended here.
#[derive(Clone, Debug)]
pub struct ArchiveCuts {
    /// The archive.
    pub archive: ArchiveId,
    /// Where the last known one ended.
    pub after: Seq,
    /// How many at most.
    pub limit: i64,
}

impl Query for ArchiveCuts {
    const NAME: &'static str = "archive_cuts";
    const WHO: &'static [Party] = &[];
    type Answer = Vec<Seq>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Vec<Seq>, Error> {
        Ok(snapshot.rows(
            "select last_seq from archive_commit where archive_id = ?1 and last_seq > ?2
             order by last_seq limit cast(?3 as bigint)",
            params![&*self.archive, self.after, self.limit],
            Row::take,
        )?)
    }
}

/// Notes that an archive has come further.
#[derive(Clone, Debug)]
pub(crate) struct Moved {
    pub(crate) archive: ArchiveId,
    /// The first event of the commit, and the last.
    pub(crate) first: Seq,
    pub(crate) through: Seq,
    /// The last event that was committed when the commit's events were read; zero if nobody knows.
    pub(crate) read_at: Seq,
    /// What of it could not be written, and why.
    pub(crate) quarantined: Vec<NotWritten>,
}

/// Notes that an archive was made anew, and holds nothing that was redacted before.
#[derive(Clone, Debug)]
pub(crate) struct MadeAnew {
    pub(crate) archive: ArchiveId,
    /// The last event that was known when it was begun.
    pub(crate) clean_to: Seq,
}

impl Upkeep for MadeAnew {
    fn run(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
        tx.write(
            "update archive set clean_to = ?2 where id = ?1 and clean_to < ?2",
            params![&*self.archive, self.clean_to],
            Rows::Any,
        )
    }
}

/// A file that could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotWritten {
    /// The event it belongs to.
    pub seq: Seq,
    /// Its path in the archive.
    pub path: String,
    /// Why not.
    pub reason: String,
}

impl Upkeep for Moved {
    fn run(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
        let at = tx.now().at;
        tx.write(
            "insert into archive (id, through, moved_at) values (?1, ?2, ?3)
             on conflict (id) do update set through = excluded.through, moved_at = excluded.moved_at
             where archive.through <= excluded.through",
            params![&*self.archive, self.through, at],
            Rows::Any,
        )?;
        self.stay_clean(tx)?;
        if self.first <= self.through {
            tx.write(
                "insert into archive_commit (archive_id, last_seq, first_seq) values (?1, ?2, ?3)
                 on conflict (archive_id, last_seq) do nothing",
                params![&*self.archive, self.through, self.first],
                Rows::Any,
            )?;
        }
        for one in &self.quarantined {
            tx.write(
                "insert into quarantine (archive_id, seq, path, reason, added_at)
                 values (?1, ?2, ?3, ?4, ?5)
                 on conflict (archive_id, seq, path) do update set reason = excluded.reason",
                params![&*self.archive, one.seq, &one.path, &one.reason, at],
                Rows::Any,
            )?;
        }
        Ok(())
    }
}

impl Moved {
    /// What was redacted before it was read never came into the archive: unless an older commit has
    /// the words of something, nothing that was redacted by then is in it.
    fn stay_clean(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
        tx.write(
            "update archive set clean_to = ?2 where id = ?1 and clean_to < ?2
             and not exists (select 1 from redaction where id < ?3
                and redacted_seq > archive.clean_to and redacted_seq <= ?2)",
            params![&*self.archive, self.read_at, self.first],
            Rows::Any,
        )
    }
}

/// Notes that something left the quarantine.
#[derive(Clone, Debug)]
pub(crate) struct Freed {
    pub(crate) archive: ArchiveId,
    pub(crate) seq: Seq,
    pub(crate) path: String,
}

impl Upkeep for Freed {
    fn run(&self, tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
        tx.write(
            "delete from quarantine where archive_id = ?1 and seq = ?2 and path = ?3",
            params![&*self.archive, self.seq, &self.path],
            Rows::Any,
        )
    }
}

//! Where a database stands, as an archive is compared with it.

use comity_domain::Seq;

use crate::actor::{Actor, Party};
use crate::checkpoint::table::{self as checkpoint, pruned_to};
use crate::error::Error;
use crate::event::pruned;
use crate::params;
use crate::query::Query;
use crate::store::Row;
use crate::tx::{Read, Snapshot};

/// Asks where the log ends, and which epochs were left.
#[derive(Clone, Copy, Debug)]
pub struct AskStanding;

/// Where the log ends, and which epochs were left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The epoch.
    pub epoch: String,
    /// The last event.
    pub seq: Seq,
    /// The chain's hash there.
    pub hash: [u8; 32],
    /// Up to where the log was pruned: the archive alone has that part.
    pub pruned_to: Seq,
    /// Epochs that were left, each with the first number that is not of it any more.
    left: Vec<(String, Seq)>,
}

impl Standing {
    /// Returns the first number that is not of an epoch any more, if that was left.
    pub fn left(&self, epoch: &str) -> Option<Seq> {
        let mut left = self.left.iter();
        left.find(|(name, _)| name == epoch).map(|(_, end)| *end)
    }
}

impl Query for AskStanding {
    const NAME: &'static str = "standing";
    const WHO: &'static [Party] = &[];
    type Answer = Standing;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Standing, Error> {
        let epoch = snapshot.one("select epoch from log_head", &[], Row::take)?;
        // Of an epoch that was left more than once, the first end counts.
        let left = snapshot.rows(
            "select name_before, id from epoch union all select lost_name, id from epoch
             order by 2",
            &[],
            |row| Ok((row.take()?, row.take()?)),
        )?;
        Ok(Standing {
            epoch,
            seq: snapshot.head(),
            hash: *snapshot.hash(),
            pruned_to: pruned_to(snapshot)?,
            left,
        })
    }
}

/// Asks what the chain's hash is at an event; of one that was pruned only a checkpoint knows.
#[derive(Clone, Copy, Debug)]
pub struct LinkAt {
    /// The event.
    pub seq: Seq,
}

impl Query for LinkAt {
    const NAME: &'static str = "link_at";
    const WHO: &'static [Party] = &[];
    type Answer = Option<[u8; 32]>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error> {
        let sql = "select hash from event where seq = ?1";
        let link = snapshot.row(sql, params![self.seq], Row::take)?;
        if link.is_some() {
            return Ok(link);
        }
        if let Some(checkpoint) = checkpoint::at(snapshot, self.seq)? {
            return Ok(Some(checkpoint.hash));
        }
        pruned::must_be_left(snapshot, self.seq)?;
        Ok(None)
    }
}

//! An independent judge of leases: reads the whole log and says whether it can be true (Q3).
//!
//! It knows the events and nothing else of the product: `glob` is its own reader and matcher of
//! patterns, `meet` looks for a path that two of them cover, and `history` follows the log. At no
//! grant is a lease of another active that overlaps it, one of them exclusive (F1); nobody holds
//! the same twice (F6); a fence is the number of its event (F14); a lease ends once, and expires
//! neither early nor unnoticed by whoever renews or releases it (F9, F15).

use comity_kernel::actor::Party;
use comity_kernel::store::{Row as Stored, StoreError};
use comity_kernel::tx::{Read as _, Snapshot};
use comity_kernel::{Actor, Error, Kernel, Query, params};

pub mod glob;
pub mod history;
pub mod meet;

pub use history::{End, Entry, History, Lease, Want};

/// How many events or rows are read at a time.
const PAGE: i64 = 5_000;

/// Follows the log to its end; says what cannot be, if something is so.
pub fn follow(kernel: &Kernel, history: &mut History, from: i64) -> Result<i64, String> {
    let mut from = from;
    loop {
        let page = kernel.query(Actor::OPERATOR, Events { after: from });
        let page = page.wait().map_err(|error| error.to_string())?.answer;
        let Some(last) = page.last() else {
            return Ok(from);
        };
        from = last.seq;
        for entry in &page {
            history.take(entry)?;
        }
    }
}

/// Reads the whole log of a database that nobody writes to, judges it, and compares the rows with
/// what it comes to.
pub fn judge(kernel: &Kernel) -> Result<History, String> {
    let mut history = History::default();
    follow(kernel, &mut history, 0)?;
    compare_rows(kernel, &history)?;
    Ok(history)
}

/// Compares every row with what the log says of it (F14, F15).
pub fn compare_rows(kernel: &Kernel, history: &History) -> Result<(), String> {
    let (mut after, mut count) = (0, 0);
    loop {
        let page = kernel.query(Actor::OPERATOR, Rows { after });
        let page = page.wait().map_err(|error| error.to_string())?.answer;
        let Some((last, _)) = page.last() else {
            break;
        };
        after = *last;
        for (id, row) in page {
            count += 1;
            let lease = history.leases().get(&id);
            let lease = lease.ok_or(format!("row {id} is of no grant"))?;
            if *lease != row.at(lease) {
                return Err(format!("row {id} is {row:?}, the log says {lease:?}"));
            }
        }
    }
    if count != history.leases().len() {
        let granted = history.leases().len();
        return Err(format!("{count} rows for {granted} leases"));
    }
    Ok(())
}

/// Events that concern leases, after a number.
struct Events {
    after: i64,
}

impl Query for Events {
    const NAME: &'static str = "lease_events";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Vec<Entry>;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Vec<Entry>, Error> {
        Ok(snapshot.rows(
            "select seq, kind, coalesce(payload, '') from event where seq > ?1
             and kind in ('project_created', 'project_updated', 'files_reserved', 'lock_acquired',
                'lease_renewed', 'lease_released', 'lease_forced', 'lease_retired', 'lease_expired')
             order by seq limit cast(?2 as bigint)",
            params![self.after, PAGE],
            |row| {
                Ok(Entry {
                    seq: row.take()?,
                    kind: row.take()?,
                    payload: row.take()?,
                })
            },
        )?)
    }
}

/// Rows of leases, after a number.
struct Rows {
    after: i64,
}

/// A row, as far as the log says it.
#[derive(Clone, Debug)]
struct Kept {
    project: i64,
    agent: Option<i64>,
    kind: String,
    exclusive: i64,
    fence: i64,
    granted: i64,
    expires: i64,
    ended: Option<(i64, String)>,
}

impl Kept {
    /// Puts the row as the checker would, with what only the log knows taken from it.
    fn at(&self, lease: &Lease) -> Lease {
        let words = ["released", "forced", "retired", "expired"];
        let ended = self.ended.as_ref().and_then(|(seq, how)| {
            let how = words.into_iter().find(|word| word == how)?;
            Some(End { seq: *seq, how })
        });
        Lease {
            project: self.project,
            agent: self.agent,
            is_lock: self.kind == "lock",
            exclusive: self.exclusive == 1,
            fence: self.fence,
            granted: self.granted,
            expires: self.expires,
            ended,
            ..lease.clone()
        }
    }
}

impl Query for Rows {
    const NAME: &'static str = "lease_rows";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Vec<(i64, Kept)>;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error> {
        Ok(snapshot.rows(
            "select id, project_id, agent_id, kind, exclusive, fence, created_lease_us,
                expires_lease_us, ended_seq, ended
             from reservation where id > ?1 order by id limit cast(?2 as bigint)",
            params![self.after, PAGE],
            kept,
        )?)
    }
}

fn kept(row: &mut Stored) -> Result<(i64, Kept), StoreError> {
    let id = row.take()?;
    let kept = Kept {
        project: row.take()?,
        agent: row.take()?,
        kind: row.take()?,
        exclusive: row.take()?,
        fence: row.take()?,
        granted: row.take()?,
        expires: row.take()?,
        ended: {
            let (seq, how): (Option<i64>, Option<String>) = (row.take()?, row.take()?);
            seq.zip(how)
        },
    };
    Ok((id, kept))
}

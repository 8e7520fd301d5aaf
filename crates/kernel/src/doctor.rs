//! Verifies a database: chain, fold, revisions, soundness. It never repairs.

pub(crate) mod surroundings;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use comity_domain::limits::CHAIN_LINKS_AT_START;
use comity_domain::{LeaseTime, Seq, token};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::ambient::Ambient;
use crate::checkpoint::history::{self, History};
use crate::checkpoint::{Checkpoint, table as checkpoint};
use crate::dispatch::audit as work;
use crate::error::{Error, with_causes};
use crate::gate::audit as audit_gates;
use crate::log::chain::Chain;
use crate::log::state_hash::state_hash;
use crate::log::{SubjectKind, fold, table};
use crate::memory::Memory;
use crate::params;
use crate::reservation::audit;
use crate::store::migrate::{MIGRATIONS, migrate_sqlite};
use crate::store::search::{Cut, Kind, Words};
use crate::store::sqlite::{SqliteFile, SqliteWriter};
use crate::store::{Head, ReadEngine, Row, Session, StoreError, WriteEngine};
use crate::tx::{Read, Snapshot, Tip};

/// Verifies the whole database and repairs nothing.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Doctor {}

/// Copies the database into a new file and proves the copy.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// The file's name; a numbered one beside it if it exists.
    #[serde(default)]
    pub to: Option<PathBuf>,
}

/// Where the copy is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BackupMade {
    /// The file.
    pub backup: String,
}

/// What a doctor found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Findings {
    /// Whether every check passed.
    pub ok: bool,
    /// The hash over everything the log projects.
    pub state_hash: String,
    /// The sequence number it was taken at.
    pub seq: Seq,
    /// The checks, one by one.
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// What was checked.
    pub name: &'static str,
    /// Whether it passed.
    pub ok: bool,
    /// What was found.
    pub detail: String,
}

impl Findings {
    /// Adds what else was looked at.
    pub(crate) fn add(&mut self, checks: Vec<Check>) {
        self.checks.extend(checks);
        self.ok = self.checks.iter().all(|check| check.ok);
    }
}

impl Check {
    /// Makes a finding of damage; whatever else goes wrong is a failure to look.
    fn new(name: &'static str, found: Result<String, Error>) -> Result<Self, Error> {
        let (ok, detail) = match found {
            Ok(detail) => (true, detail),
            Err(Error::Damaged { what }) => (false, what),
            Err(error) => return Err(error),
        };
        Ok(Self { name, ok, detail })
    }
}

/// Examines a snapshot of a database; the log is folded into a database in memory.
pub(crate) fn examine(
    engine: &mut dyn ReadEngine,
    ambient: &Ambient,
    history: Option<&dyn History>,
    more: Vec<Check>,
) -> Result<Findings, Error> {
    let head = engine.begin()?;
    let findings = examine_snapshot(&mut *engine, &head, (ambient, history), more);
    engine.end();
    findings
}

fn examine_snapshot(
    engine: &mut dyn ReadEngine,
    head: &Head,
    around: (&Ambient, Option<&dyn History>),
    more: Vec<Check>,
) -> Result<Findings, Error> {
    let memory = Memory::default();
    let mut snapshot = Snapshot::unserved(&mut *engine, &memory, tip_of(head));
    let found = state_hash(&mut snapshot)?;
    let followed = follow_and_fold(&mut snapshot, head, around)?;
    let fold = followed.folded.and_then(|folded| {
        if folded == found {
            return Ok("the tables are what the log says".to_owned());
        }
        Err(Error::Damaged {
            what: format!("the tables hash to {found}, the log folds to {folded}"),
        })
    });
    let mut checks = more;
    checks.push(Check::new("chain", followed.chain)?);
    checks.push(Check::new("fold", fold)?);
    checks.push(Check::new("gates", followed.gates)?);
    checks.push(Check::new("revisions", followed.revisions)?);
    if let Some(checkpoint) = followed.checkpoint {
        checks.push(Check::new("checkpoint", checkpoint)?);
    }
    checks.push(Check::new("words", words(&mut snapshot))?);
    checks.push(Check::new("blobs", blobs(&mut snapshot))?);
    checks.push(Check::new("work", work::kept_twice(&mut snapshot))?);
    let mark = LeaseTime::from_micros(head.lease_us);
    checks.push(Check::new("leases", audit::overlaps(&mut snapshot, mark))?);
    Ok(Findings {
        ok: checks.iter().all(|check| check.ok),
        state_hash: found,
        seq: head.seq,
        checks,
    })
}

/// What the log was found to be, read from its start.
struct Followed {
    chain: Result<String, Error>,
    /// What it folds to.
    folded: Result<String, Error>,
    /// Whether every run moved on what was so at that moment.
    gates: Result<String, Error>,
    /// Whether each revision is the number of its events.
    revisions: Result<String, Error>,
    /// Whether the archive comes to what the checkpoint says, if the log was pruned.
    checkpoint: Option<Result<String, Error>>,
}

/// Follows the chain, and folds the log as far as it can be folded into a hash.
fn follow_and_fold(
    snapshot: &mut Snapshot<'_>,
    head: &Head,
    (ambient, history): (&Ambient, Option<&dyn History>),
) -> Result<Followed, Error> {
    let mut scratch = SqliteWriter::scratch()?;
    migrate_sqlite(&scratch, MIGRATIONS, ambient, None)?;
    let mut fold = Ok(());
    let mut gates = Ok(0);
    let pruned_to = checkpoint::pruned_to(snapshot)?;
    let known = checkpoint::at(snapshot, pruned_to)?;
    let mut met = (pruned_to > Seq::ZERO).then(|| {
        Err(Error::Damaged {
            what: no_checkpoint(pruned_to),
        })
    });
    let chain = fold::pages(snapshot, head.seq, history, |page| {
        for part in audit_gates::parts(page) {
            gates = audit_gates::before(&mut scratch, part, gates.clone())?;
            if fold.is_ok() {
                // What a sound log cannot do to empty tables, a damaged one did.
                fold = fold::replay(&mut scratch, part, None).map_err(|error| Error::Damaged {
                    what: with_causes(&error),
                });
            }
        }
        let last = page.last().filter(|last| last.seq == pruned_to);
        if let (Some(last), Some(known)) = (last, &known) {
            met = Some(meets(known, &mut scratch, last.hash, head.schema));
        }
        Ok(())
    });
    if let Err(Error::Unusable { what }) = &chain {
        return Ok(Followed::only_in_the_archive(pruned_to, what));
    }
    let chained = chain.and_then(|chain| {
        let ends = chain.ends_at(head.seq, &head.hash);
        ends.map_err(|what| Error::Damaged { what })?;
        Ok(format!("{} events", chain.events()))
    });
    scratch.begin()?;
    let memory = Memory::default();
    let mut folded = Snapshot::unserved(&mut scratch, &memory, tip_of(head));
    Ok(Followed {
        chain: chained,
        // What was pruned is counted where all of it is.
        revisions: match pruned_to {
            Seq::ZERO => revisions(snapshot),
            _ => revisions(&mut folded),
        },
        folded: fold.and_then(|()| Ok(state_hash(&mut folded)?)),
        gates: gates.map(|steps| format!("{steps} were right when a run met them")),
        checkpoint: met,
    })
}

/// Compares what the archive came to with what the checkpoint says.
fn meets(
    known: &Checkpoint,
    folded: &mut SqliteWriter,
    hash: [u8; 32],
    now: i64,
) -> Result<String, Error> {
    let through = known.through;
    let found = Checkpoint {
        hash,
        state_hash: history::state_of(folded)?,
        ..known.clone()
    };
    if known.schema == now {
        known.must_be(&found)?;
        return Ok(format!(
            "the archive comes to what it says at event {through}"
        ));
    }
    let found = Checkpoint {
        schema: now,
        ..found
    };
    known.must_be(&found)?;
    Ok(format!(
        "the archive's chain comes to it at event {through}; its tables were of schema {}, which are \
         not compared",
        known.schema
    ))
}

fn no_checkpoint(pruned_to: Seq) -> String {
    format!("the log was pruned up to event {pruned_to}, and no checkpoint says what that came to")
}

impl Followed {
    /// Says what cannot be examined without the archive, and what to do.
    fn only_in_the_archive(pruned_to: Seq, why: &str) -> Self {
        let cannot = || {
            Err(Error::Damaged {
                what: format!(
                    "the events up to {pruned_to} cannot be examined: {why}; put the archive's \
                     repository back in its place, then look again"
                ),
            })
        };
        Self {
            chain: cannot(),
            folded: cannot(),
            gates: cannot(),
            revisions: cannot(),
            checkpoint: Some(cannot()),
        }
    }
}

/// Finds a row of a table whose revision is not the number of its events.
///
/// One sum and no join: without statistics PostgreSQL joins row by row, and takes minutes where this
/// takes a second.
macro_rules! uncounted {
    ($table:literal) => {
        concat!(
            "select id from (select id, revision as events, 1 as is_row from ",
            $table,
            " union all
                select subject_id, -count(*), 0 from event where subject_type = ?1
                group by subject_id) counted
             group by id having max(is_row) = 1 and sum(events) <> 0 limit 1"
        )
    };
}

/// Compares the indexes of words with the messages and discoveries, word by word.
fn words(snapshot: &mut Snapshot<'_>) -> Result<String, Error> {
    let messages = indexed(snapshot, Kind::Message)?;
    let discoveries = indexed(snapshot, Kind::Discovery)?;
    Ok(match discoveries {
        0 => format!("{messages} messages are indexed word by word"),
        _ => format!("{messages} messages and {discoveries} discoveries are indexed word by word"),
    })
}

/// Compares one index of words with what has them; answers how many those are.
fn indexed(snapshot: &mut Snapshot<'_>, of: Kind) -> Result<usize, Error> {
    let (sql, what) = match of {
        Kind::Message => (
            "select id, subject, body from message where id > ?1 order by id limit 500",
            "the index of words does not hold what the messages say",
        ),
        Kind::Discovery => (
            "select id, title, summary from discovery where id > ?1 order by id limit 500",
            "the index of words does not hold what the discoveries say",
        ),
    };
    let (mut expected, mut after, mut texts) = (0_u128, 0, 0);
    loop {
        let page = snapshot.rows(sql, params![after], |row| {
            let id: i64 = row.take()?;
            Ok((id, row.take::<String>()?, row.take::<String>()?))
        })?;
        let Some((last, _, _)) = page.last() else {
            break;
        };
        after = *last;
        texts += page.len();
        for (id, subject, body) in &page {
            let words = Words::new(of, *id, Cut::of(subject, body));
            expected = expected.wrapping_add(snapshot.sum_of_words(&words));
        }
    }
    if snapshot.sum_of_index(of)? == expected {
        return Ok(texts);
    }
    Err(Error::Damaged {
        what: what.to_owned(),
    })
}

/// Compares kept bytes with the hashes they are kept under.
fn blobs(snapshot: &mut Snapshot<'_>) -> Result<String, Error> {
    let hashes = snapshot.rows("select sha256 from blob", &[], Row::take::<[u8; 32]>)?;
    for hash in &hashes {
        let sql = "select bytes from blob where sha256 = ?1";
        let bytes = snapshot.one(sql, params![hash], Row::take::<Vec<u8>>)?;
        let found: [u8; 32] = Sha256::digest(&bytes).into();
        if found != *hash {
            return Err(Error::Damaged {
                what: format!("the bytes under {} have another hash", token::to_hex(hash)),
            });
        }
    }
    Ok(format!("{} are what their hashes say", hashes.len()))
}

/// Compares every entity's revision with the number of its events (C1).
fn revisions(read: &mut impl Read) -> Result<String, Error> {
    for &kind in SubjectKind::ALL {
        let sql = match kind {
            SubjectKind::Project => uncounted!("project"),
            SubjectKind::Agent => uncounted!("agent"),
            SubjectKind::Token => uncounted!("token"),
            SubjectKind::Message => uncounted!("message"),
            SubjectKind::Contact => uncounted!("contact"),
            SubjectKind::Reservation => audit::WRONG_ENDS,
            SubjectKind::ReleaseRequest => uncounted!("release_request"),
            SubjectKind::Hook => uncounted!("hook"),
            SubjectKind::Sentinel => uncounted!("sentinel"),
            SubjectKind::StateScope => uncounted!("state_scope"),
            SubjectKind::Run => uncounted!("run"),
            SubjectKind::Dispatch => uncounted!("dispatch"),
            SubjectKind::Discovery => uncounted!("discovery"),
            SubjectKind::InterestProfile => uncounted!("interest_profile"),
            SubjectKind::Stream => uncounted!("stream"),
            SubjectKind::Consumer => uncounted!("consumer"),
            SubjectKind::Epoch => uncounted!("epoch"),
            SubjectKind::Redaction => uncounted!("redaction"),
            SubjectKind::Checkpoint => uncounted!("checkpoint"),
        };
        let wrong = read.row(sql, params![kind.as_str()], Row::take::<i64>)?;
        if let Some(id) = wrong {
            return Err(Error::Damaged {
                what: format!(
                    "the revision of {} {id} is not the number of its events",
                    kind.as_str()
                ),
            });
        }
    }
    Ok("each is the number of its events".to_owned())
}

/// Links that are read at once: so few need no new memory for each of them.
const LINKS_AT_ONCE: i64 = 100;

/// Checks at start what can be checked quickly: the head, and the last links of the chain (A12).
pub(crate) fn examine_tail(engine: &mut dyn ReadEngine, links: i64) -> Result<Head, StoreError> {
    let head = engine.begin()?;
    let followed = follow_tail(&mut *engine, &head, links);
    engine.end();
    followed.map(|()| head)
}

/// Checks before the first write what is checked at a start, and that it is the database that was read
/// from so far.
pub(crate) fn examine_before_writing(
    session: &mut dyn Session,
    head: &Head,
    read: &Head,
) -> Result<(), StoreError> {
    if (head.schema, &head.epoch) != (read.schema, &read.epoch) {
        // The writer refuses it, and says which of the two it is.
        return Ok(());
    }
    let memory = Memory::default();
    let mut snapshot = Snapshot::unserved(session, &memory, tip_of(head));
    if read.seq > checkpoint::pruned_to(&mut snapshot)? {
        let known = table::at(&mut snapshot, read.seq)?;
        if known.is_none_or(|event| event.hash != read.hash) {
            let what = format!(
                "event {} is not the one that was there before: another database took its place",
                read.seq
            );
            return Err(StoreError::Damaged(Arc::new(Broken(what))));
        }
    }
    follow_tail(session, head, CHAIN_LINKS_AT_START)
}

/// Follows the last links of the chain up to the head.
fn follow_tail(session: &mut dyn Session, head: &Head, links: i64) -> Result<(), StoreError> {
    let memory = Memory::default();
    let mut snapshot = Snapshot::unserved(session, &memory, tip_of(head));
    let damaged = |what| StoreError::Damaged(Arc::new(Broken(what)));
    let from = Seq::new(head.seq.get() - links - 1);
    // The oldest link read is taken on trust, unless it is the first; all behind it are verified.
    let mut chain = (from.get() < 0).then(Chain::from_start);
    let (mut after, mut left) = (from, links + 2);
    let pruned_to = checkpoint::pruned_to(&mut snapshot)?;
    if pruned_to > Seq::ZERO && from < pruned_to {
        let known = checkpoint::at(&mut snapshot, pruned_to)?;
        let known = known.ok_or_else(|| damaged(no_checkpoint(pruned_to)))?;
        chain = Some(Chain::behind_checkpoint(pruned_to, known.hash));
        after = pruned_to;
    }
    loop {
        let page = table::bounded_page(&mut snapshot, after, left.min(LINKS_AT_ONCE))?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        left -= i64::try_from(page.len()).unwrap_or(left);
        for event in &page {
            match &mut chain {
                None => chain = Some(Chain::behind(event)),
                Some(chain) => chain.follow(event).map_err(damaged)?,
            }
        }
    }
    let Some(chain) = chain else {
        return Err(damaged(format!(
            "the head says {}, the log is empty",
            head.seq
        )));
    };
    chain.ends_at(head.seq, &head.hash).map_err(damaged)
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Broken(String);

/// Examines a finished copy of a SQLite database.
pub(crate) fn examine_copy(
    copy: &SqliteFile,
    ambient: &Ambient,
    history: Option<&dyn History>,
) -> Result<Findings, Error> {
    let mut reader = copy.open_reader(Duration::MAX)?;
    let sound = |sql: &str, name: &str| {
        let answer: String = reader
            .connection()
            .query_row(sql, [], |row| row.get(0))
            .map_err(crate::store::sqlite::classify)?;
        match answer.as_str() {
            "ok" => Ok(format!("{name} found nothing")),
            _ => Err(Error::Damaged { what: answer }),
        }
    };
    let checks = vec![
        Check::new(
            "integrity",
            sound("pragma integrity_check(1)", "integrity_check"),
        )?,
        Check::new("references", references(reader.connection()))?,
    ];
    examine(&mut reader, ambient, history, checks)
}

fn references(conn: &rusqlite::Connection) -> Result<String, Error> {
    let dangling = conn
        .prepare("pragma foreign_key_check")
        .and_then(|mut check| check.exists([]))
        .map_err(crate::store::sqlite::classify)?;
    if dangling {
        return Err(Error::Damaged {
            what: "a row refers to one that is not there".to_owned(),
        });
    }
    Ok("every reference has its row".to_owned())
}

pub(crate) const fn tip_of(head: &Head) -> Tip {
    Tip {
        seq: head.seq,
        hash: head.hash,
    }
}

/// Names a fresh file beside others, for a copy that is looked at and removed.
pub(crate) fn scratch_name(ambient: &Ambient) -> String {
    format!("doctor-{}.db", token::to_hex(&ambient.random::<8>()))
}

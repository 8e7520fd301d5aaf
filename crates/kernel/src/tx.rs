//! The three kinds of transaction, and the reading they share.
//!
//! A [`WriteTx`] decides and emits, a [`Snapshot`] only reads, an `UpkeepTx` writes what is off
//! the log and cannot emit. Whatever a decision reads it reads through [`Read`], so the same
//! function serves the command that acts and the query that only asks.

use std::time::Duration;

use comity_domain::limits::{ANSWERS_PAGE, EVENTS_PER_COMMAND_MAX, SEARCH_US_MAX};
use comity_domain::search::Query;
use comity_domain::token::to_hex;
use comity_domain::{LeaseTime, Seq, Sha256Hex, Timestamp};

use crate::actor::{Actor, Correlation};
use crate::ambient::{Ambient, Now};
use crate::consumer::cursor::CursorRow;
use crate::error::Error;
use crate::hook::cursor::{Keep, keep};
use crate::log::line::payload_hash;
use crate::log::{self, Envelope, Event, Place, Tables, link};
use crate::memory::Memory;
use crate::params;
use crate::presence::Presence;
use crate::redaction::{Taken, bytes, words};
use crate::store::search::{self, Cut, DiscoveryFilter, Indexing, Kind, SearchFilter, Words};
use crate::store::{Param, Row, Rows, Session, StoreError, Visit};

/// Reads rows as of one moment.
pub trait Read {
    /// Runs a statement and hands over its rows one by one.
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError>;

    /// Returns the times of the transaction.
    fn now(&self) -> Now;

    /// Returns the last sequence number that is visible here.
    fn head(&self) -> Seq;

    /// Returns the last sequence number that is committed: of what the running batch has done,
    /// memory knows nothing.
    fn committed(&self) -> Seq {
        self.head()
    }

    /// Returns what the process keeps in memory.
    fn memory(&self) -> &Memory;

    /// Returns who was heard of lately.
    fn presence(&self) -> &Presence {
        &self.memory().presence
    }

    /// Collects rows.
    fn rows<T>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        mut map: impl FnMut(&mut Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError>
    where
        Self: Sized,
    {
        let mut rows = Vec::new();
        self.each(sql, params, &mut |mut row| {
            rows.push(map(&mut row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Returns the first row, if there is one.
    fn row<T>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        map: impl FnMut(&mut Row) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError>
    where
        Self: Sized,
    {
        Ok(self.rows(sql, params, map)?.into_iter().next())
    }

    /// Returns the row that is always there, such as a count.
    fn one<T>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        map: impl FnMut(&mut Row) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>
    where
        Self: Sized,
    {
        self.row(sql, params, map)?
            .ok_or(StoreError::Shape("a row"))
    }
}

/// Where the log stands inside a running batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tip {
    pub(crate) seq: Seq,
    pub(crate) hash: [u8; 32],
}

/// What all commands of a batch share.
pub(crate) struct Batch<'a> {
    pub(crate) session: &'a mut dyn Session,
    pub(crate) ambient: &'a Ambient,
    pub(crate) memory: &'a Memory,
    pub(crate) now: Now,
    pub(crate) tip: Tip,
    /// Where the log stood when the transaction began.
    pub(crate) begun: Seq,
    /// The first failed statement of the command: whatever the command says, it failed (A6, L4).
    pub(crate) broken: Option<StoreError>,
    /// Whether anything was written that a COMMIT must make durable.
    pub(crate) dirty: bool,
    /// What the command said, to be indexed with the whole batch.
    pub(crate) words: Vec<Indexing>,
}

impl Batch<'_> {
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError> {
        self.guard(|session| session.each(sql, params, visit))
    }

    pub(crate) fn write(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        rows: Rows,
    ) -> Result<(), StoreError> {
        self.dirty = true;
        self.guard(|session| session.write(sql, params, rows))
    }

    /// Runs statements unless one failed before: after an error nothing more is tried.
    fn guard(
        &mut self,
        run: impl FnOnce(&mut dyn Session) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        run(self.session).inspect_err(|error| self.broken = Some(error.clone()))
    }
}

/// The transaction of a command: it reads, decides and emits.
pub struct WriteTx<'a, 'b> {
    batch: &'a mut Batch<'b>,
    actor: &'a Actor,
    correlation: Option<&'a Correlation>,
    emitted: u32,
    /// The words of the next message, where they were cut before the transaction.
    cut: Option<Cut>,
}

impl<'a, 'b> WriteTx<'a, 'b> {
    pub(crate) fn new(
        batch: &'a mut Batch<'b>,
        actor: &'a Actor,
        correlation: Option<&'a Correlation>,
    ) -> Self {
        Self {
            batch,
            actor,
            correlation,
            emitted: 0,
            cut: None,
        }
    }

    /// Returns who acts.
    pub fn actor(&self) -> &Actor {
        self.actor
    }

    /// Returns fresh random bytes.
    pub fn random<const N: usize>(&self) -> [u8; N] {
        self.batch.ambient.random()
    }

    /// Gives a test its moment between two steps of a decision.
    pub(crate) fn hit(&self, failpoint: &'static str) -> Result<(), StoreError> {
        self.batch.ambient.failpoints.hit(failpoint)
    }

    /// Takes the words of the next message, which then need not be cut again.
    pub(crate) fn use_words(&mut self, cut: Option<Cut>) {
        self.cut = cut;
    }

    /// Keeps bytes by their hash, off the log; what names the hash is on it.
    pub(crate) fn keep_blob(
        &mut self,
        sha256: &Sha256Hex,
        bytes: &[u8],
        owner: &str,
    ) -> Result<(), StoreError> {
        let at = self.batch.now.at;
        self.batch.write(
            "insert into blob (sha256, bytes, added_at) values (?1, ?2, ?3)
             on conflict (sha256) do nothing",
            params![sha256.bytes(), bytes, at],
            Rows::Any,
        )?;
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        self.batch.write(
            "insert into blob_owner (owner, sha256, bytes) values (?1, ?2, ?3)
             on conflict (owner, sha256) do nothing",
            params![owner, sha256.bytes(), size],
            Rows::Any,
        )
    }

    /// Makes the transaction leave no trace of what it overwrites, as far as the engine can.
    pub(crate) fn shred(&mut self) -> Result<(), StoreError> {
        self.batch.guard(|session| session.shred())
    }

    /// Takes what was redacted out of what is off the log: first answers since the event, the names
    /// of its files, and what hooks said of it.
    pub(crate) fn forget_copies(&mut self, seq: Seq, taken: &Taken) -> Result<(), StoreError> {
        self.forget_answers(seq, taken)?;
        for sql in [
            "delete from quarantine where seq = ?1",
            "update hook_delivery set last_error = null where seq = ?1 and last_error is not null",
        ] {
            self.batch.write(sql, params![seq], Rows::Any)?;
        }
        Ok(())
    }

    /// Takes what was redacted out of first answers. The database looks for its texts, so that others
    /// need not be read.
    fn forget_answers(&mut self, seq: Seq, taken: &Taken) -> Result<(), StoreError> {
        let Some(signs) = taken.signs() else {
            return self.forget_answers_with(None, seq, taken);
        };
        for sign in &signs {
            self.forget_answers_with(Some(sign), seq, taken)?;
        }
        Ok(())
    }

    /// Takes it out of those that hold a text, or out of all, so many at a time.
    fn forget_answers_with(
        &mut self,
        sign: Option<&str>,
        seq: Seq,
        taken: &Taken,
    ) -> Result<(), StoreError> {
        let mut last = [String::new(), String::new(), String::new()];
        loop {
            let [credential, operation, key] = &last;
            let page = self.rows(
                "select credential, operation, key, answer from idempotency
                 where seq >= ?1 and (credential, operation, key) > (?2, ?3, ?4)
                     and (cast(?6 as text) is null
                         or replace(answer, cast(?6 as text), '') <> answer)
                 order by credential, operation, key limit ?5",
                params![seq, credential, operation, key, ANSWERS_PAGE, sign],
                |row| {
                    let key: [String; 3] = [row.take()?, row.take()?, row.take()?];
                    Ok((key, taken.out_of(&row.take::<String>()?)?))
                },
            )?;
            for ([credential, operation, key], left) in &page {
                let Some(left) = left else { continue };
                self.batch.write(
                    "update idempotency set answer = ?4
                     where credential = ?1 and operation = ?2 and key = ?3",
                    params![credential, operation, key, left],
                    Rows::Exactly(1),
                )?;
            }
            let is_last = page.len() < usize::try_from(ANSWERS_PAGE).unwrap_or(usize::MAX);
            match page.into_iter().next_back() {
                Some((key, _)) if !is_last => last = key,
                _ => return Ok(()),
            }
        }
    }

    /// Lets the log begin behind an event that a checkpoint covers; the events go afterwards.
    pub(crate) fn pruned_to(&mut self, through: Seq) -> Result<(), StoreError> {
        let sql = "update log_head set pruned_to = ?1";
        self.batch.write(sql, params![through], Rows::Exactly(1))
    }

    /// Keeps where a hook stands, off the log; that there is one is on it.
    pub(crate) fn keep_hook(&mut self, kept: &Keep<'_>) -> Result<(), StoreError> {
        keep(self.batch, kept)
    }

    /// Keeps how far a consumer has come, off the log; that there is one is on it.
    pub(crate) fn keep_cursor(&mut self, cursor: &CursorRow) -> Result<(), StoreError> {
        let now = self.batch.now;
        self.batch.write(
            "insert into consumer_cursor
                (consumer_id, placed_seq, seq, document, acked_at, seen_at, seen_lease_us)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             on conflict (consumer_id) do update
             set placed_seq = excluded.placed_seq, seq = excluded.seq,
                 document = excluded.document, acked_at = excluded.acked_at,
                 seen_at = excluded.seen_at, seen_lease_us = excluded.seen_lease_us",
            params![
                cursor.consumer,
                cursor.placed,
                cursor.seq,
                &cursor.document,
                cursor.acked_at,
                now.at,
                now.lease,
            ],
            Rows::Exactly(1),
        )
    }

    /// Appends an event to the log and applies it to the tables: the only way to change them.
    pub fn emit(&mut self, event: impl Into<Event>) -> Result<Seq, Error> {
        if self.emitted == EVENTS_PER_COMMAND_MAX {
            return Err(Error::LimitExceeded {
                what: "the number of events of one command",
                limit: EVENTS_PER_COMMAND_MAX.into(),
            });
        }
        let event = event.into();
        let payload = event.payload()?;
        let payload_sha256 = payload_hash(&payload);
        let actor = self.actor.to_string();
        let place = Place {
            seq: self.batch.tip.seq.next(),
            at: self.batch.now.at,
        };
        let envelope = Envelope {
            seq: place.seq,
            at: place.at,
            v: event.version(),
            kind: event.kind(),
            project: event.inner().project(),
            actor: &actor,
            subject: event.inner().subject().into(),
            run: event.inner().run().map(comity_domain::RunId::get),
            correlation: self.correlation.map(|correlation| &**correlation),
            payload_sha256: &to_hex(&payload_sha256),
        };
        let hash = link(&self.batch.tip.hash, &serde_json::to_string(&envelope)?);
        self.batch.dirty = true;
        let mut reworded = None;
        self.batch.guard(|session| {
            log::table::append(session, &envelope, &payload_sha256, &payload, &hash)?;
            let apply =
                |session: &mut dyn Session| event.inner().apply(place, &mut Tables::new(session));
            match &event {
                Event::EventRedacted(redacted) => {
                    let apply = |session: &mut dyn Session| bytes::around(session, redacted, apply);
                    reworded = words::around(session, redacted, apply)?;
                    Ok(())
                }
                _ => apply(session),
            }
        })?;
        self.batch.words.extend(reworded);
        self.batch.tip = Tip {
            seq: place.seq,
            hash,
        };
        self.emitted += 1;
        let cut = matches!(event, Event::MessageSent(_)).then(|| self.cut.take());
        let said = Words::said_in(&event, cut.flatten());
        self.batch.words.extend(said.map(Indexing::Added));
        self.batch.ambient.failpoints.hit("command.after_emit")?;
        Ok(place.seq)
    }
}

impl Read for WriteTx<'_, '_> {
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError> {
        self.batch.each(sql, params, visit)
    }

    fn now(&self) -> Now {
        self.batch.now
    }

    fn head(&self) -> Seq {
        self.batch.tip.seq
    }

    fn committed(&self) -> Seq {
        self.batch.begun
    }

    fn memory(&self) -> &Memory {
        self.batch.memory
    }
}

/// The transaction of upkeep: it writes tables that are off the log, and cannot emit.
pub(crate) struct UpkeepTx<'a, 'b> {
    batch: &'a mut Batch<'b>,
}

impl<'a, 'b> UpkeepTx<'a, 'b> {
    pub(crate) fn new(batch: &'a mut Batch<'b>) -> Self {
        Self { batch }
    }

    /// Changes rows of a table that is off the log.
    pub(crate) fn write(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        rows: Rows,
    ) -> Result<(), StoreError> {
        self.batch.write(sql, params, rows)
    }

    /// Gives a test its moment before something is written.
    pub(crate) fn hit(&self, failpoint: &'static str) -> Result<(), StoreError> {
        self.batch.ambient.failpoints.hit(failpoint)
    }

    /// Makes the transaction commit, to prove that it can.
    pub(crate) fn touch(&mut self) {
        self.batch.dirty = true;
    }
}

impl Read for UpkeepTx<'_, '_> {
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError> {
        self.batch.each(sql, params, visit)
    }

    fn now(&self) -> Now {
        self.batch.now
    }

    fn head(&self) -> Seq {
        self.batch.tip.seq
    }

    fn committed(&self) -> Seq {
        self.batch.begun
    }

    fn memory(&self) -> &Memory {
        self.batch.memory
    }
}

/// A read snapshot: everything in it is as of one sequence number.
pub struct Snapshot<'a> {
    session: &'a mut dyn Session,
    memory: &'a Memory,
    now: Now,
    head: Seq,
    hash: [u8; 32],
}

impl<'a> Snapshot<'a> {
    pub(crate) fn new(
        session: &'a mut dyn Session,
        memory: &'a Memory,
        now: Now,
        tip: Tip,
    ) -> Self {
        Self {
            session,
            memory,
            now,
            head: tip.seq,
            hash: tip.hash,
        }
    }

    /// Opens the tables of a database that nobody serves: a copy, or one being folded.
    pub(crate) fn unserved(session: &'a mut dyn Session, memory: &'a Memory, tip: Tip) -> Self {
        let now = Now {
            at: Timestamp::from_micros(0),
            lease: LeaseTime::from_micros(0),
        };
        Self::new(session, memory, now, tip)
    }

    /// Finds the numbers of messages by their words, within the time a search may take (S5).
    pub(crate) fn search(
        &mut self,
        query: &Query,
        filter: &SearchFilter,
    ) -> Result<Vec<i64>, StoreError> {
        self.session.hurry(Duration::from_micros(SEARCH_US_MAX))?;
        search::find(self.session, query, filter)
    }

    /// Finds the numbers of discoveries, by their words if there are any, within the time a search
    /// may take.
    pub(crate) fn search_discoveries(
        &mut self,
        query: Option<&Query>,
        filter: &DiscoveryFilter,
        limit: i64,
    ) -> Result<Vec<i64>, StoreError> {
        self.session.hurry(Duration::from_micros(SEARCH_US_MAX))?;
        search::find_discoveries(self.session, query, filter, limit)
    }

    /// Sums up what an index of words holds.
    pub(crate) fn sum_of_index(&mut self, of: Kind) -> Result<u128, StoreError> {
        self.session.full_text().sum(self.session, of)
    }

    /// Sums up what the index of words must hold of one text.
    pub(crate) fn sum_of_words(&self, words: &Words) -> u128 {
        self.session.full_text().expected(words)
    }

    /// Returns the chain's hash at the head.
    pub fn hash(&self) -> &[u8; 32] {
        &self.hash
    }
}

impl Read for Snapshot<'_> {
    fn each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        visit: Visit<'_>,
    ) -> Result<(), StoreError> {
        self.session.each(sql, params, visit)
    }

    fn now(&self) -> Now {
        self.now
    }

    fn head(&self) -> Seq {
        self.head
    }

    fn memory(&self) -> &Memory {
        self.memory
    }
}

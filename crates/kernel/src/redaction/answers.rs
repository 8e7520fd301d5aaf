//! First answers that are kept under idempotency keys: how those with some words are found again.
//!
//! Each member that may hold somebody's words is kept beside its answer as a number. So a redaction
//! reads the answers that hold what it takes out, however many others there are.

use std::collections::BTreeSet;

use comity_domain::Seq;
use comity_domain::limits::{ANSWER_WORDS_MAX, ANSWERS_PAGE};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::taken::{Taken, is_free};
use crate::params;
use crate::store::{Row, Rows, StoreError};
use crate::tx::{Batch, UpkeepTx};

/// What payloads and answers call the members that hold what somebody wrote. A redaction that takes
/// out another one looks through all answers.
const NAMES: [&str; 23] = [
    "body",
    "command",
    "content",
    "data",
    "embedding",
    "goal",
    "metadata",
    "name",
    "note",
    "path",
    "progress",
    "prompt",
    "reason",
    "ref",
    "result",
    "subject",
    "summary",
    "task",
    "title",
    "topic",
    "url",
    "value",
    "vector",
];

/// How many numbers of events the answers of a block share. A redaction looks into each block, and all
/// blocks but the newest are at rest.
const BLOCK: i64 = 256;

const fn block_of(seq: Seq) -> i64 {
    seq.get().div_euclid(BLOCK)
}

/// A first answer on its way to where it is kept.
pub(crate) struct FirstAnswer<'a> {
    pub(crate) credential: &'a str,
    pub(crate) operation: &'static str,
    pub(crate) key: &'a str,
    pub(crate) request_sha256: &'a [u8; 32],
    pub(crate) answer: &'a str,
    pub(crate) seq: Seq,
}

impl FirstAnswer<'_> {
    /// Keeps it, and where its words are; one with very many words is looked through instead.
    pub(crate) fn keep(&self, batch: &mut Batch<'_>) -> Result<(), StoreError> {
        let lease = batch.now.lease;
        let words = Some(words_of(self.answer)?).filter(|words| words.len() <= ANSWER_WORDS_MAX);
        batch.write(
            "insert into idempotency
                (credential, operation, key, request_sha256, answer, seq, lease_us, words_kept)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             on conflict (credential, operation, key) do update
             set request_sha256 = excluded.request_sha256, answer = excluded.answer,
                 seq = excluded.seq, lease_us = excluded.lease_us,
                 words_kept = excluded.words_kept",
            params![
                self.credential,
                self.operation,
                self.key,
                self.request_sha256,
                self.answer,
                self.seq,
                lease,
                words.is_some(),
            ],
            Rows::Exactly(1),
        )?;
        let words: Vec<_> = words.unwrap_or_default().into_iter().collect();
        // Most answers have so few: one statement keeps them, and one word twice is one word.
        for few in words.chunks(4) {
            let nth = |at: usize| few.get(at).or(few.first()).copied();
            batch.write(
                "insert into answer_word (block, word, credential, operation, key)
                 values (?1, ?2, ?6, ?7, ?8), (?1, ?3, ?6, ?7, ?8),
                     (?1, ?4, ?6, ?7, ?8), (?1, ?5, ?6, ?7, ?8)
                 on conflict (block, word, credential, operation, key) do nothing",
                params![
                    block_of(self.seq),
                    nth(0),
                    nth(1),
                    nth(2),
                    nth(3),
                    self.credential,
                    self.operation,
                    self.key,
                ],
                Rows::Any,
            )?;
        }
        Ok(())
    }
}

/// Returns the words of an answer, as numbers.
fn words_of(answer: &str) -> Result<BTreeSet<i64>, StoreError> {
    let value = serde_json::from_str(answer).map_err(|_| StoreError::Shape("a first answer"))?;
    let mut words = BTreeSet::new();
    gather("", &value, &mut words)?;
    Ok(words)
}

/// Gathers what a redaction may replace, wherever it would look.
fn gather(name: &str, value: &Value, words: &mut BTreeSet<i64>) -> Result<(), StoreError> {
    words.extend(word(name, value)?);
    match value {
        _ if is_free(name) => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                gather(name, value, words)?;
            }
        }
        Value::Array(items) => {
            for item in items {
                gather(name, item, words)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Returns the number of a member, if its name and value are of those that are kept.
fn word(name: &str, value: &Value) -> Result<Option<i64>, StoreError> {
    let says_nothing = match value {
        Value::Null | Value::Bool(_) => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    if says_nothing || NAMES.binary_search(&name).is_err() {
        return Ok(None);
    }
    let text = serde_json::to_string(value).map_err(|_| StoreError::Shape("a first answer"))?;
    let mut hash = Sha256::new();
    hash.update(name);
    hash.update([0]);
    hash.update(text);
    let hash: [u8; 32] = hash.finalize().into();
    Ok(hash.first_chunk().map(|first| i64::from_be_bytes(*first)))
}

/// Takes what was redacted out of the first answers since an event.
pub(crate) fn forget(batch: &mut Batch<'_>, seq: Seq, taken: &Taken) -> Result<(), StoreError> {
    let mut words = BTreeSet::new();
    for (name, was) in taken.members() {
        match word(name, was)? {
            Some(word) => words.insert(word),
            None => return Among::All.forget(batch, seq, taken),
        };
    }
    for word in words {
        for block in blocks(batch, block_of(seq), word)? {
            Among::Holding(block, word).forget(batch, seq, taken)?;
        }
    }
    Among::Wordless.forget(batch, seq, taken)
}

/// Returns the blocks from one on that hold a word: it is looked for in each, and nothing else is read.
fn blocks(batch: &mut Batch<'_>, first: i64, word: i64) -> Result<Vec<i64>, StoreError> {
    let mut blocks = Vec::new();
    batch.each(
        "with recursive b (block) as (
             select min(block) from answer_word where block >= ?1
             union all
             select (select min(block) from answer_word where block > b.block) from b
             where b.block is not null)
         select b.block from b where exists (
             select 1 from answer_word w where w.block = b.block and w.word = ?2)",
        params![first, word],
        &mut |mut row| {
            blocks.push(row.take()?);
            Ok(())
        },
    )?;
    Ok(blocks)
}

/// The credential, the operation and the key of an answer.
type Key = [String; 3];

/// Among which answers is looked.
#[derive(Clone, Copy)]
enum Among {
    All,
    /// Those whose words are not kept.
    Wordless,
    /// Those of a block that hold a word.
    Holding(i64, i64),
}

impl Among {
    /// Takes what was redacted out of these, so many at a time.
    fn forget(self, batch: &mut Batch<'_>, seq: Seq, taken: &Taken) -> Result<(), StoreError> {
        let mut last = Key::default();
        loop {
            let page = self.page(batch, seq, &last)?;
            for (key, answer) in &page {
                let left = taken.out_of(answer)?;
                if let Some(left) = &left {
                    replace(batch, key, left)?;
                }
                self.forget_word(batch, key, left.as_ref().unwrap_or(answer))?;
            }
            let is_last = page.len() < usize::try_from(ANSWERS_PAGE).unwrap_or(usize::MAX);
            match page.into_iter().next_back() {
                Some((key, _)) if !is_last => last = key,
                _ => return Ok(()),
            }
        }
    }

    fn page(
        self,
        batch: &mut Batch<'_>,
        seq: Seq,
        [credential, operation, key]: &Key,
    ) -> Result<Vec<(Key, String)>, StoreError> {
        let mut page = Vec::new();
        let mut visit = |mut row: Row| {
            let key = [row.take()?, row.take()?, row.take()?];
            page.push((key, row.take()?));
            Ok(())
        };
        match self {
            Self::All => batch.each(
                "select credential, operation, key, answer from idempotency
                 where seq >= ?1 and (credential, operation, key) > (?2, ?3, ?4)
                 order by credential, operation, key limit ?5",
                params![seq, credential, operation, key, ANSWERS_PAGE],
                &mut visit,
            ),
            Self::Wordless => batch.each(
                "select credential, operation, key, answer from idempotency
                 where words_kept = 0 and seq >= ?1
                     and (credential, operation, key) > (?2, ?3, ?4)
                 order by credential, operation, key limit ?5",
                params![seq, credential, operation, key, ANSWERS_PAGE],
                &mut visit,
            ),
            Self::Holding(block, word) => batch.each(
                "select w.credential, w.operation, w.key, i.answer from answer_word w
                 join idempotency i on i.credential = w.credential
                     and i.operation = w.operation and i.key = w.key
                 where w.block = ?6 and w.word = ?7 and i.seq >= ?1
                     and (w.credential, w.operation, w.key) > (?2, ?3, ?4)
                 order by w.credential, w.operation, w.key limit ?5",
                params![seq, credential, operation, key, ANSWERS_PAGE, block, word],
                &mut visit,
            ),
        }?;
        Ok(page)
    }

    /// Forgets that an answer held a word, if it does no longer: a short word can be guessed by it.
    fn forget_word(
        self,
        batch: &mut Batch<'_>,
        [credential, operation, key]: &Key,
        answer: &str,
    ) -> Result<(), StoreError> {
        match self {
            Self::Holding(block, word) if !words_of(answer)?.contains(&word) => batch.write(
                "delete from answer_word where block = ?1 and word = ?2
                 and credential = ?3 and operation = ?4 and key = ?5",
                params![block, word, credential, operation, key],
                Rows::Exactly(1),
            ),
            _ => Ok(()),
        }
    }
}

fn replace(
    batch: &mut Batch<'_>,
    [credential, operation, key]: &Key,
    answer: &str,
) -> Result<(), StoreError> {
    batch.write(
        "update idempotency set answer = ?4
         where credential = ?1 and operation = ?2 and key = ?3",
        params![credential, operation, key, answer],
        Rows::Exactly(1),
    )
}

/// Forgets the words of blocks of which there is no answer any more; the oldest answers are those with
/// the lowest numbers.
pub(crate) fn tidy_words(tx: &mut UpkeepTx<'_, '_>) -> Result<(), StoreError> {
    tx.write(
        "delete from answer_word where block < (
             select coalesce(min(seq) / ?1, ?2) from idempotency
             where lease_us = (select min(lease_us) from idempotency))",
        params![BLOCK, i64::MAX],
        Rows::Any,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_in_order() {
        assert!(NAMES.is_sorted());
    }
}

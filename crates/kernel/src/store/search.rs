//! Full text: what both engines are asked, and the words they index.
//!
//! The tokens are ours, so both find the same. What a user wrote never reaches an engine raw: it is
//! parsed into tokens, and each engine's file writes those in its own notation.

use std::sync::Arc;

use comity_domain::search::{Indexed, Query, Sign, indexed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Session, StoreError};
use crate::params;

/// Which hits come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ranking {
    /// The best.
    #[default]
    Rank,
    /// The newest.
    Newest,
}

/// Which messages may be found, beside having the words.
#[derive(Clone, Debug)]
pub(crate) struct SearchFilter {
    pub(crate) project: Option<i64>,
    /// The box of a party to the message; 0 is the operator's.
    pub(crate) party: Option<i64>,
    /// The box of the sender; 0 is the operator's.
    pub(crate) from: Option<i64>,
    pub(crate) thread: Option<i64>,
    pub(crate) from_time: i64,
    pub(crate) until_time: i64,
    pub(crate) ranking: Ranking,
    pub(crate) before: i64,
    pub(crate) limit: i64,
}

/// A message's words, place by place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    subject: Arc<[Indexed]>,
    body: Arc<[Indexed]>,
}

impl Cut {
    /// Cuts a subject and a body into words.
    pub(crate) fn of(subject: &str, body: &str) -> Self {
        let [subject, body] = indexed(subject, body);
        Self {
            subject: subject.into(),
            body: body.into(),
        }
    }
}

/// The words of one message, place by place.
#[derive(Clone, Debug)]
pub struct Words {
    /// The message's number.
    pub id: i64,
    /// Its subject.
    pub subject: Arc<[Indexed]>,
    /// Its body.
    pub body: Arc<[Indexed]>,
}

impl Words {
    pub(crate) fn of(id: i64, subject: &str, body: &str) -> Self {
        Self::new(id, Cut::of(subject, body))
    }

    pub(crate) fn new(id: i64, cut: Cut) -> Self {
        let Cut { subject, body } = cut;
        Self { id, subject, body }
    }
}

/// What is to be done about the words of a message.
#[derive(Clone, Debug)]
pub enum Indexing {
    /// They are new.
    Added(Words),
    /// Others stand in their place.
    Replaced {
        /// Those that are in the index.
        old: Words,
        /// Those that should be.
        new: Words,
    },
}

impl Indexing {
    /// Brings the index up to date.
    pub(crate) fn write(&self, session: &mut dyn Session) -> Result<(), StoreError> {
        let text = session.full_text();
        match self {
            Self::Added(words) => text.add(session, words),
            Self::Replaced { old, new } => {
                text.remove(session, old)?;
                text.add(session, new)
            }
        }
    }
}

/// An engine's statements that find numbers of messages.
///
/// Parameters of each: the query in the engine's notation, project, party, sender, thread, from
/// time, until time, before which message, how many.
pub struct Statements {
    /// By their words, the best first.
    pub(super) ranked: &'static str,
    /// By their words, the newest first.
    pub(super) newest: &'static str,
    /// Without some words, the newest first.
    pub(super) without: &'static str,
}

/// An engine's full text.
pub trait FullText: Sync {
    /// Writes the terms of a query that looks for some word.
    fn notation(&self, query: &Query) -> String;

    /// Writes the terms of a query that only refuses, any of which leaves a message out.
    fn refused(&self, query: &Query) -> String;

    /// Returns the statements that find numbers of messages.
    fn statements(&self) -> &'static Statements;

    /// Sums up everything the index holds, in any order.
    fn sum(&self, session: &mut dyn Session) -> Result<u128, StoreError>;

    /// Sums up what the index must hold of a message.
    fn expected(&self, words: &Words) -> u128;

    /// Indexes the words of a message.
    fn add(&self, session: &mut dyn Session, words: &Words) -> Result<(), StoreError>;

    /// Takes the words of a message out of the index; they must be those that are in it.
    fn remove(&self, session: &mut dyn Session, words: &Words) -> Result<(), StoreError>;
}

/// Hashes one word at one place of a message, so that the hashes of an index can be summed up.
pub(super) fn place(message: i64, place: &str, token: &str) -> u128 {
    let hash: [u8; 32] = Sha256::digest(format!("{message} {place} {token}")).into();
    hash.iter()
        .take(16)
        .fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

/// What a filter says, for every statement; `m` is the message.
macro_rules! search_filter {
    () => {
        " and (cast(?2 as bigint) is null or m.project_id = ?2)
          and (cast(?3 as bigint) is null or coalesce(m.sender_id, 0) = ?3 or exists (
              select 1 from recipient r where r.message_id = m.id and r.agent_id = ?3))
          and (cast(?4 as bigint) is null or coalesce(m.sender_id, 0) = ?4)
          and (cast(?5 as bigint) is null or m.thread_id = ?5)
          and m.created_at >= cast(?6 as bigint) and m.created_at < cast(?7 as bigint)
          and m.id < cast(?8 as bigint) "
    };
}

pub(super) use search_filter;

/// A query that names a sender and no words needs no index of words.
const BY_SENDER: &str = concat!(
    "select m.id from message m where cast(?1 as text) = ''",
    search_filter!(),
    "order by m.id desc limit cast(?9 as bigint)"
);

/// Finds the numbers of messages.
pub(crate) fn find(
    session: &mut dyn Session,
    query: &Query,
    filter: &SearchFilter,
) -> Result<Vec<i64>, StoreError> {
    let text = session.full_text();
    let statements = text.statements();
    let ordered = match filter.ranking {
        Ranking::Rank => statements.ranked,
        Ranking::Newest => statements.newest,
    };
    let looks_for = query.terms.iter().any(|term| term.sign == Sign::Must);
    let (notation, sql) = match (query.terms.is_empty(), looks_for) {
        (true, _) => (String::new(), BY_SENDER),
        (false, true) => (text.notation(query), ordered),
        (false, false) => (text.refused(query), statements.without),
    };
    let mut found = Vec::new();
    session.each(
        sql,
        params![
            &notation,
            filter.project,
            filter.party,
            filter.from,
            filter.thread,
            filter.from_time,
            filter.until_time,
            filter.before,
            filter.limit,
        ],
        &mut |mut row| {
            found.push(row.take()?);
            Ok(())
        },
    )?;
    Ok(found)
}

//! Full text: what both engines are asked, and the words they index.
//!
//! The tokens are ours, so both find the same. What a user wrote never reaches an engine raw: it is
//! parsed into tokens, and each engine's file writes those in its own notation.

use std::sync::Arc;

use comity_domain::search::{Indexed, Query, Sign, indexed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Param, Session, StoreError};
use crate::log::Event;
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

/// Which discoveries may be found, beside having the words.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiscoveryFilter {
    pub(crate) project: Option<i64>,
    pub(crate) source: Option<String>,
    pub(crate) state: Option<&'static str>,
    pub(crate) tier: Option<&'static str>,
    pub(crate) min_score: Option<f64>,
}

/// What has words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Messages, by subject and body.
    Message,
    /// Discoveries, by title and summary.
    Discovery,
}

/// The words of a text with a headline, place by place.
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

/// The words of one message or discovery, place by place.
#[derive(Clone, Debug)]
pub struct Words {
    /// What has them.
    pub of: Kind,
    /// Its number.
    pub id: i64,
    /// Its subject or title.
    pub subject: Arc<[Indexed]>,
    /// Its body or summary.
    pub body: Arc<[Indexed]>,
}

impl Words {
    pub(crate) fn new(of: Kind, id: i64, cut: Cut) -> Self {
        let Cut { subject, body } = cut;
        Self {
            of,
            id,
            subject,
            body,
        }
    }

    /// Returns the words that an event brings, if it brings any; `cut` are they, where they were
    /// cut before.
    pub(crate) fn said_in(event: &Event, cut: Option<Cut>) -> Option<Self> {
        let (of, id, subject, body) = match event {
            Event::MessageSent(sent) => (Kind::Message, sent.id.get(), &sent.subject, &sent.body),
            Event::DiscoverySubmitted(found) => (
                Kind::Discovery,
                found.id.get(),
                &found.title,
                &found.summary,
            ),
            _ => return None,
        };
        let cut = cut.unwrap_or_else(|| Cut::of(subject, body));
        Some(Self::new(of, id, cut))
    }
}

/// What is to be done about words.
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

/// An engine's statements that find numbers of discoveries.
///
/// Parameters of each: the query in the engine's notation, project, source, state, tier, least
/// score, how many.
pub struct DiscoveryStatements {
    /// By their words, the best first.
    pub(super) ranked: &'static str,
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

    /// Returns the statements that find numbers of discoveries.
    fn discoveries(&self) -> &'static DiscoveryStatements;

    /// Sums up everything an index holds, in any order.
    fn sum(&self, session: &mut dyn Session, of: Kind) -> Result<u128, StoreError>;

    /// Sums up what the index must hold of one text.
    fn expected(&self, words: &Words) -> u128;

    /// Indexes the words of a text.
    fn add(&self, session: &mut dyn Session, words: &Words) -> Result<(), StoreError>;

    /// Takes the words of a message out of the index; they must be those that are in it.
    fn remove(&self, session: &mut dyn Session, words: &Words) -> Result<(), StoreError>;
}

/// Hashes one word at one place of a text, so that the hashes of an index can be summed up.
pub(super) fn place(id: i64, place: &str, token: &str) -> u128 {
    let hash: [u8; 32] = Sha256::digest(format!("{id} {place} {token}")).into();
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

/// What a filter says, for every statement; `d` is the discovery.
macro_rules! discovery_filter {
    () => {
        " and (cast(?2 as bigint) is null or d.project_id = ?2)
          and (cast(?3 as text) is null or d.source = ?3)
          and (cast(?4 as text) is null or d.state = ?4)
          and (cast(?5 as text) is null or d.tier = ?5)
          and (cast(?6 as double precision) is null or d.score >= ?6) "
    };
}

pub(super) use discovery_filter;

/// A query that names a sender and no words needs no index of words.
const BY_SENDER: &str = concat!(
    "select m.id from message m where cast(?1 as text) = ''",
    search_filter!(),
    "order by m.id desc limit cast(?9 as bigint)"
);

/// The numbers of all discoveries that a filter lets through.
const FILTERED: &str = concat!(
    "select d.id from discovery d where cast(?1 as text) = ''",
    discovery_filter!(),
    "order by d.id limit cast(?7 as bigint)"
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
    let (notation, sql) = if query.terms.is_empty() {
        (String::new(), BY_SENDER)
    } else {
        written(text, query, (ordered, statements.without))
    };
    let wanted = params![
        &notation,
        filter.project,
        filter.party,
        filter.from,
        filter.thread,
        filter.from_time,
        filter.until_time,
        filter.before,
        filter.limit,
    ];
    numbers(session, sql, wanted)
}

/// Finds the numbers of discoveries by their words, or of all that the filter lets through.
pub(crate) fn find_discoveries(
    session: &mut dyn Session,
    query: Option<&Query>,
    filter: &DiscoveryFilter,
    limit: i64,
) -> Result<Vec<i64>, StoreError> {
    let text = session.full_text();
    let statements = text.discoveries();
    let (notation, sql) = match query {
        None => (String::new(), FILTERED),
        Some(query) => written(text, query, (statements.ranked, statements.without)),
    };
    let wanted = params![
        &notation,
        filter.project,
        filter.source.as_deref(),
        filter.state,
        filter.tier,
        filter.min_score,
        limit,
    ];
    numbers(session, sql, wanted)
}

/// Writes a query in the engine's notation, for the statement that finds words or for the one that
/// only refuses some.
fn written(
    text: &dyn FullText,
    query: &Query,
    (finds, refuses): (&'static str, &'static str),
) -> (String, &'static str) {
    if query.terms.iter().any(|term| term.sign == Sign::Must) {
        (text.notation(query), finds)
    } else {
        (text.refused(query), refuses)
    }
}

fn numbers(
    session: &mut dyn Session,
    sql: &'static str,
    wanted: &[Param<'_>],
) -> Result<Vec<i64>, StoreError> {
    let mut found = Vec::new();
    session.each(sql, wanted, &mut |mut row| {
        found.push(row.take()?);
        Ok(())
    })?;
    Ok(found)
}

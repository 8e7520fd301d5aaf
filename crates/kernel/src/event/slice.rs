//! Reads what a caller follows of the log, a page at a time.

use std::sync::Arc;

use comity_domain::Seq;
use comity_domain::limits::PAGE_MAX;

use super::entry::Entry;
use super::look::look;
use super::sight::View;
use super::watch::Watch;
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::tx::Snapshot;

/// Asks for the next events after a place in the log, of those that are followed.
///
/// The caller's credential is looked at in the snapshot that answers.
#[derive(Clone, Debug)]
pub struct ReadSlice {
    /// What is followed.
    pub watch: Arc<Watch>,
    /// The place, exclusive.
    pub since: Seq,
}

/// A part of the log as somebody sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// What is seen of it, in order.
    pub told: Vec<Told>,
    /// How far it goes, seen or not.
    pub through: Seq,
    /// Whether the log goes on behind it.
    pub more: bool,
}

/// One event, written down for somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its place in the log.
    pub seq: Seq,
    /// Its kind.
    pub kind: Arc<str>,
    /// The event as one line of JSON.
    pub json: Arc<str>,
}

impl Query for ReadSlice {
    const NAME: &'static str = "events";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Slice;

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Slice, Error> {
        let looked = look(snapshot, &self.watch, self.since, PAGE_MAX as usize)?;
        let tell = |(entry, view): &(Entry, View)| {
            Ok(Told {
                seq: entry.seq(),
                kind: entry.kind().into(),
                json: entry.json(*view)?.into(),
            })
        };
        Ok(Slice {
            told: looked.seen.iter().map(tell).collect::<Result<_, Error>>()?,
            through: looked.through,
            more: looked.more,
        })
    }
}

//! What is in the way of a lease: the one function that reserving, checking and the guard share.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use comity_domain::limits::GUARD_PATHS_SHOWN_MAX;
use comity_domain::{AgentId, Pattern, ProjectId, ReservationId, Seq, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::index;
use super::table::{self, Lease};
use crate::agent::table as agent_table;
use crate::store::StoreError;
use crate::tx::Read;

/// Characters of a reason that a conflict shows.
const REASON_CHARS_SHOWN: usize = 200;

/// A lease or lock that is in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// Its number.
    pub reservation_id: ReservationId,
    /// The holder's number; null for the operator.
    pub agent_id: Option<AgentId>,
    /// The holder's name.
    pub held_by: String,
    /// What it covers; of a lock, its name.
    pub pattern: String,
    /// Whether nobody else may hold the same.
    pub exclusive: bool,
    /// Why it is held; the first 200 characters.
    pub reason: String,
    /// When it ends on the wall clock, for people.
    pub expires_at: Timestamp,
    /// How long it still holds.
    pub ttl_remaining_ms: i64,
    /// Its fence.
    pub fence: Seq,
    /// When its holder was last heard of; null for the operator.
    pub holder_last_seen: Option<Timestamp>,
}

/// What somebody wants to write or to read undisturbed.
pub(super) struct Wanted<'a> {
    pub(super) project: ProjectId,
    /// Whose own leases are not in the way.
    pub(super) holder: Option<AgentId>,
    /// In the form in which they are compared.
    pub(super) patterns: &'a [Pattern],
    /// Whether shared leases of others are in the way too.
    pub(super) exclusive: bool,
}

/// Which of the wanted patterns a lease meets: how many, and the places of the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Met {
    pub(super) count: usize,
    pub(super) first: Vec<usize>,
}

impl Met {
    fn add(&mut self, place: usize) {
        self.count += 1;
        if self.first.len() < GUARD_PATHS_SHOWN_MAX {
            self.first.push(place);
        }
    }
}

/// Finds every active lease that is in the way, in the order of their numbers, and what it meets.
pub(super) fn in_the_way(
    read: &mut impl Read,
    wanted: &Wanted<'_>,
) -> Result<Vec<(Lease, Met)>, StoreError> {
    let patterns = index::of_project(read, wanted.project)?;
    let mut met: BTreeMap<ReservationId, Met> = BTreeMap::new();
    for (place, pattern) in wanted.patterns.iter().enumerate() {
        for id in patterns.overlapping(pattern, wanted.holder) {
            met.entry(id).or_default().add(place);
        }
    }
    let ids: BTreeSet<_> = met.keys().copied().collect();
    let now = read.now().lease;
    let open = table::open_among(read, wanted.project, &ids)?;
    let is_in_the_way = |lease: &Lease| {
        lease.is_active(now)
            && (lease.exclusive || wanted.exclusive)
            && (wanted.holder.is_none() || lease.agent != wanted.holder)
    };
    let in_the_way = open.into_iter().filter(is_in_the_way);
    Ok(in_the_way
        .map(|lease| {
            let places = met.remove(&lease.id).unwrap_or_default();
            (lease, places)
        })
        .collect())
}

/// Shows what is in the way, with when each holder was last heard of.
pub(crate) fn show(read: &mut impl Read, leases: Vec<Lease>) -> Result<Vec<Conflict>, StoreError> {
    let now = read.now().lease;
    let mut seen: HashMap<AgentId, Option<Timestamp>> = HashMap::new();
    for agent in leases.iter().filter_map(|lease| lease.agent) {
        if let Entry::Vacant(unknown) = seen.entry(agent) {
            let found = agent_table::seen_by_id(read, agent)?;
            unknown.insert(found.map(|found| found.last_seen));
        }
    }
    let show = |lease: Lease| Conflict {
        reservation_id: lease.id,
        agent_id: lease.agent,
        holder_last_seen: lease
            .agent
            .and_then(|agent| seen.get(&agent).copied().flatten()),
        expires_at: lease.expires_at(),
        ttl_remaining_ms: lease.remaining_ms(now),
        held_by: lease.held_by,
        pattern: lease.pattern,
        exclusive: lease.exclusive,
        reason: in_short(lease.reason),
        fence: lease.fence,
    };
    Ok(leases.into_iter().map(show).collect())
}

/// Cuts a reason: many leases may be in the way, and each may have much to say.
fn in_short(reason: String) -> String {
    match reason.char_indices().nth(REASON_CHARS_SHOWN) {
        Some((end, _)) => reason.get(..end).unwrap_or_default().to_owned() + "…",
        None => reason,
    }
}

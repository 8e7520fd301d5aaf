//! State: reading rows, and whose scope a caller means.

use comity_domain::{
    AgentId, AgentName, LeaseTime, ProjectId, ScopeName, StateEntryId, StateKey, StateScopeId,
    Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::Ended;
use crate::actor::Actor;
use crate::ambient::Now;
use crate::epoch::next_id;
use crate::error::Error;
use crate::page::After;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// Something that is kept, as callers see it; its value is beside it where it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// Its number.
    pub id: StateEntryId,
    /// Its scope.
    pub scope: String,
    /// Its key.
    pub key: String,
    /// Its version: 1 at first, one more each time the key is saved, whatever happens in between.
    pub version: i64,
    /// How many bytes its value has as JSON without spaces.
    pub bytes: i64,
    /// Who saved it.
    pub saved_by: String,
    /// Who saved it, by number; null for the operator.
    pub agent_id: Option<AgentId>,
    /// When the key was first saved.
    pub created_at: Timestamp,
    /// When this version was saved.
    pub saved_at: Timestamp,
    /// When it ends on the wall clock, for people; null if it does not end by itself.
    pub expires_at: Option<Timestamp>,
    /// How long it is still kept; null if it does not end by itself.
    pub ttl_remaining_ms: Option<i64>,
}

/// A scope that holds something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// Its number.
    pub id: StateScopeId,
    /// Its name.
    pub scope: String,
    /// Whose own it is, by number; null where everybody in the project shares it.
    pub agent_id: Option<AgentId>,
    /// How many keys it holds.
    pub keys: i64,
    /// How many bytes their values have.
    pub bytes: i64,
    /// How many events it has.
    pub revision: i64,
}

/// A scope that a caller may use, whether it holds something or not.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) project: ProjectId,
    /// Its name, an agent's spelt as its owner spells it.
    pub(super) name: ScopeName,
    /// Whose own it is.
    pub(super) owner: Option<AgentId>,
}

/// What a scope holds, with what is due and not written down yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) id: StateScopeId,
    pub(super) keys: i64,
    pub(super) bytes: i64,
}

/// A key that was saved before.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: StateEntryId,
    pub(super) version: i64,
    pub(super) bytes: i64,
    expires: Option<LeaseTime>,
    has_ended: bool,
}

impl Stored {
    /// Tells whether it is there; what has expired is not, written down or not.
    pub(super) fn is_there(&self, now: LeaseTime) -> bool {
        !self.has_ended && !self.is_due(now)
    }

    /// Tells whether its time is up and nobody has written it down.
    pub(super) fn is_due(&self, now: LeaseTime) -> bool {
        !self.has_ended && self.expires.is_some_and(|expires| expires <= now)
    }

    /// Returns its version for who wants to change it; 0 is not there.
    pub(super) fn present(found: Option<&Self>, now: LeaseTime) -> i64 {
        let there = found.filter(|stored| stored.is_there(now));
        there.map_or(0, |stored| stored.version)
    }
}

/// Finds the scope that a caller means. What is another agent's is not found (S20).
pub(super) fn locate(
    read: &mut impl Read,
    actor: &Actor,
    project: ProjectId,
    named: Option<&ScopeName>,
) -> Result<Place, Error> {
    let own = match actor {
        Actor::Agent { agent, .. } => Some(*agent),
        Actor::Operator { .. } | Actor::Observer { .. } | Actor::System => None,
    };
    let shared = |name: &ScopeName| Place {
        project,
        name: name.clone(),
        owner: None,
    };
    let owner = match (named, own) {
        (Some(name), _) => match name.agent() {
            Some(agent) => owner_of(read, project, &agent)?,
            None => return Ok(shared(name)),
        },
        (None, Some(own)) => read.row(
            "select id, name from agent where id = ?1",
            params![own],
            |row| Ok((row.take()?, row.take()?)),
        )?,
        (None, None) => return Err(Error::invalid("scope", "is missing")),
    };
    let seen = owner.filter(|(id, _)| own.is_none_or(|own| own == *id));
    let Some((id, name)) = seen else {
        let name = named.map(ToString::to_string).unwrap_or_default();
        return Err(Error::not_found("scope", &name));
    };
    Ok(Place {
        project,
        name: ScopeName::of(&name),
        owner: Some(id),
    })
}

fn owner_of(
    read: &mut impl Read,
    project: ProjectId,
    name: &AgentName,
) -> Result<Option<(AgentId, String)>, StoreError> {
    read.row(
        "select id, name from agent where project_id = ?1 and name_folded = ?2",
        params![project, &name.folded()],
        |row| Ok((row.take()?, row.take()?)),
    )
}

/// Returns what a scope holds, if anything was ever saved in it.
pub(super) fn held(read: &mut impl Read, place: &Place) -> Result<Option<Held>, StoreError> {
    read.row(
        "select id, keys, bytes from state_scope where project_id = ?1 and name = ?2",
        params![place.project, &*place.name],
        |row| {
            Ok(Held {
                id: row.take()?,
                keys: row.take()?,
                bytes: row.take()?,
            })
        },
    )
}

/// Counts the shared scopes of a project that hold something.
pub(super) fn shared_scopes(read: &mut impl Read, project: ProjectId) -> Result<i64, StoreError> {
    read.one(
        "select count(*) from state_scope
         where project_id = ?1 and agent_id is null and keys > 0",
        params![project],
        Row::take,
    )
}

/// Returns a key that was saved before.
pub(super) fn stored(
    read: &mut impl Read,
    scope: StateScopeId,
    key: &StateKey,
) -> Result<Option<Stored>, StoreError> {
    read.row(
        "select id, version, bytes, expires_lease_us, ended from state_entry
         where scope_id = ?1 and key = ?2",
        params![scope, &**key],
        |row| {
            Ok(Stored {
                id: row.take()?,
                version: row.take()?,
                bytes: row.take()?,
                expires: row.take()?,
                has_ended: row.take::<Option<String>>()?.is_some(),
            })
        },
    )
}

/// What is kept under a key, with its small value or the hash of its large one.
pub(super) struct Kept {
    pub(super) state: State,
    pub(super) value: Option<String>,
    pub(super) sha256: Option<[u8; 32]>,
}

/// Returns what is kept under a key and has not expired.
pub(super) fn kept(
    read: &mut impl Read,
    place: &Place,
    key: &StateKey,
) -> Result<Option<Kept>, StoreError> {
    let now = read.now();
    read.row(
        "select e.id, s.name, e.key, e.version, e.bytes, coalesce(a.name, 'operator'), e.agent_id,
            e.created_at, e.saved_at, e.saved_lease_us, e.expires_lease_us, e.value, e.sha256
         from state_scope s join state_entry e on e.scope_id = s.id
         left join agent a on a.id = e.agent_id
         where s.project_id = ?1 and s.name = ?2 and e.key = ?3 and e.ended is null
             and (e.expires_lease_us is null or e.expires_lease_us > ?4)",
        params![place.project, &*place.name, &**key, now.lease],
        |row| {
            Ok(Kept {
                state: state(row, now)?,
                value: row.take()?,
                sha256: row.take()?,
            })
        },
    )
}

/// Returns the key that a page of a scope begins behind. It must be of that scope: whoever could
/// begin behind any key could find it out by where it falls among the others (S20).
pub(super) fn key_before(
    read: &mut impl Read,
    place: &Place,
    after: After,
) -> Result<String, Error> {
    if after == After::default() {
        return Ok(String::new());
    }
    let key = read.row(
        "select e.key from state_entry e join state_scope s on s.id = e.scope_id
         where e.id = ?1 and s.project_id = ?2 and s.name = ?3",
        params![after.get(), place.project, &*place.name],
        Row::take,
    )?;
    key.ok_or_else(no_such_page)
}

/// Returns the name that a page of scopes begins behind, if the caller may see it (S20).
pub(super) fn scope_before(
    read: &mut impl Read,
    project: ProjectId,
    seen_by: Option<AgentId>,
    after: After,
) -> Result<String, Error> {
    if after == After::default() {
        return Ok(String::new());
    }
    let name = read.row(
        "select name from state_scope
         where id = ?1 and project_id = ?2
             and (agent_id is null or cast(?3 as bigint) is null or agent_id = cast(?3 as bigint))",
        params![after.get(), project, seen_by],
        Row::take,
    )?;
    name.ok_or_else(no_such_page)
}

fn no_such_page() -> Error {
    Error::invalid("after", "must be the `next` of the page before")
}

/// Returns a page of what a scope holds, by key.
pub(super) fn page(
    read: &mut impl Read,
    place: &Place,
    prefix: &str,
    after: &str,
    limit: i64,
) -> Result<Vec<State>, StoreError> {
    let now = read.now();
    let chars = i64::try_from(prefix.chars().count()).unwrap_or(i64::MAX);
    read.rows(
        "select e.id, s.name, e.key, e.version, e.bytes, coalesce(a.name, 'operator'), e.agent_id,
            e.created_at, e.saved_at, e.saved_lease_us, e.expires_lease_us
         from state_scope s join state_entry e on e.scope_id = s.id
         left join agent a on a.id = e.agent_id
         where s.project_id = ?1 and s.name = ?2 and e.ended is null
             and (e.expires_lease_us is null or e.expires_lease_us > ?3)
             and e.key >= ?4 and substr(e.key, 1, cast(cast(?5 as bigint) as integer)) = ?4
             and e.key > ?6
         order by e.key limit cast(?7 as bigint)",
        params![
            place.project,
            &*place.name,
            now.lease,
            prefix,
            chars,
            after,
            limit
        ],
        |row| state(row, now),
    )
}

/// Returns everything that a scope holds, as it is named when it ends.
pub(super) fn all(read: &mut impl Read, scope: StateScopeId) -> Result<Vec<Ended>, StoreError> {
    read.rows(
        "select id, key, version from state_entry where scope_id = ?1 and ended is null
         order by key",
        params![scope],
        ended,
    )
}

/// Returns a page of the scopes that hold something, by name: all, or those that an agent may see.
pub(super) fn scopes(
    read: &mut impl Read,
    project: ProjectId,
    seen_by: Option<AgentId>,
    after: &str,
    limit: i64,
) -> Result<Vec<Scope>, StoreError> {
    let now = read.now().lease;
    read.rows(
        "select s.id, s.name, s.agent_id, s.keys - (
                select count(*) from state_entry e
                where e.scope_id = s.id and e.ended is null and e.expires_lease_us <= ?2),
            s.bytes - (
                select cast(coalesce(sum(e.bytes), 0) as bigint) from state_entry e
                where e.scope_id = s.id and e.ended is null and e.expires_lease_us <= ?2),
            s.revision
         from state_scope s
         where s.project_id = ?1 and s.keys > (
                select count(*) from state_entry e
                where e.scope_id = s.id and e.ended is null and e.expires_lease_us <= ?2)
             and (s.agent_id is null or cast(?3 as bigint) is null
                 or s.agent_id = cast(?3 as bigint))
             and s.name > ?4
         order by s.name limit cast(?5 as bigint)",
        params![project, now, seen_by, after, limit],
        |row| {
            Ok(Scope {
                id: row.take()?,
                scope: row.take()?,
                agent_id: row.take()?,
                keys: row.take()?,
                bytes: row.take()?,
                revision: row.take()?,
            })
        },
    )
}

/// Something whose time is up, and where it was.
pub(super) struct Due {
    pub(super) scope: StateScopeId,
    pub(super) place: Place,
    pub(super) ended: Ended,
}

/// Selects what has expired, the oldest first.
macro_rules! due_where {
    ($where:literal) => {
        concat!(
            "select e.scope_id, s.project_id, s.name, s.agent_id, e.id, e.key, e.version
             from state_entry e join state_scope s on s.id = e.scope_id
             where e.ended is null and e.expires_lease_us <= ?1 ",
            $where,
            " order by e.expires_lease_us, e.id limit cast(?2 as bigint)"
        )
    };
}

/// Where is looked for what has expired.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    All,
    /// The scopes of a project that are shared.
    Project(ProjectId),
    Scope(StateScopeId),
}

/// Returns what has expired and is not written down.
pub(super) fn due(read: &mut impl Read, of: Of, limit: i64) -> Result<Vec<Due>, StoreError> {
    let now = read.now().lease;
    match of {
        Of::All => read.rows(due_where!(""), params![now, limit], due_row),
        Of::Project(project) => read.rows(
            due_where!("and s.project_id = ?3 and s.agent_id is null and s.keys > 0"),
            params![now, limit, project],
            due_row,
        ),
        Of::Scope(scope) => read.rows(
            due_where!("and e.scope_id = ?3"),
            params![now, limit, scope],
            due_row,
        ),
    }
}

fn due_row(row: &mut Row) -> Result<Due, StoreError> {
    Ok(Due {
        scope: row.take()?,
        place: Place {
            project: row.take()?,
            name: row.word(|name| ScopeName::parse(name).ok())?,
            owner: row.take()?,
        },
        ended: ended(row)?,
    })
}

/// Returns the number for the next scope.
pub(super) fn next_scope(read: &mut impl Read) -> Result<StateScopeId, StoreError> {
    read.one(next_id!("state_scope"), &[], Row::take)
}

/// Returns the number for the next key.
pub(super) fn next_entry(read: &mut impl Read) -> Result<StateEntryId, StoreError> {
    read.one(next_id!("state_entry"), &[], Row::take)
}

fn ended(row: &mut Row) -> Result<Ended, StoreError> {
    Ok(Ended {
        entry: row.take()?,
        key: row.take()?,
        version: row.take()?,
    })
}

fn state(row: &mut Row, now: Now) -> Result<State, StoreError> {
    let mut state = State {
        id: row.take()?,
        scope: row.take()?,
        key: row.take()?,
        version: row.take()?,
        bytes: row.take()?,
        saved_by: row.take()?,
        agent_id: row.take()?,
        created_at: row.take()?,
        saved_at: row.take()?,
        expires_at: None,
        ttl_remaining_ms: None,
    };
    let saved: LeaseTime = row.take()?;
    if let Some(expires) = row.take::<Option<LeaseTime>>()? {
        let ttl_us = expires.micros() - saved.micros();
        let at_us = state.saved_at.micros().saturating_add(ttl_us);
        state.expires_at = Some(Timestamp::from_micros(at_us));
        state.ttl_remaining_ms = Some((expires.micros() - now.lease.micros()).max(0) / 1_000);
    }
    Ok(state)
}

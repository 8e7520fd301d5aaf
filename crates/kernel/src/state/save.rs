//! Saves a value under a key.

use comity_domain::limits::{
    STATE_BYTES_MAX, STATE_KEYS_MAX, STATE_SCOPES_MAX, STATE_TTL_US_MAX, STATE_TTL_US_MIN,
    SWEEP_MAX,
};
use comity_domain::{LeaseTime, ProjectId, ScopeName, Span, StateKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::due::{self, expire};
use super::event::{Ended, StateSaved};
use super::table::{self, Due, Held, Of, Place, State, Stored};
use super::value::Given;
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::project::table::{self as project_table, ProjectRef};
use crate::reservation::held;
use crate::tx::{Read, WriteTx};

/// Whoever keeps the bytes of large values: they are in `blob` for the state and nobody else.
pub(crate) const OWNER: &str = "state";

/// Saves a JSON value under a key, for the next turn or for others.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveState {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Where: `agent/<name>` is an agent's own, every other scope is shared by the project. An
    /// agent's own unless given.
    #[serde(default)]
    pub scope: Option<ScopeName>,
    /// The key in the scope.
    pub key: StateKey,
    /// The value: any JSON, up to 1 MiB.
    pub value: Given,
    /// Saves only if this is the version that is there; 0 if nothing may be there.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub expected_version: Option<i64>,
    /// How long it is kept, 1 s to 365 d; for good unless given.
    #[serde(default)]
    pub ttl: Option<Span>,
}

/// What was saved, without the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavedState {
    /// What is kept now.
    pub state: State,
    /// Whether nothing was there before.
    pub created: bool,
}

impl Command for SaveState {
    const NAME: &'static str = "save_state";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = SavedState;

    fn prepare(&self) {
        self.value.form();
    }

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<SavedState, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        self.value.check()?;
        let (now, expires) = (tx.now().lease, self.expires(tx.now().lease)?);
        let place = table::locate(tx, &actor, project.id, self.scope.as_ref())?;
        let held = table::held(tx, &place)?;
        let found = match &held {
            Some(held) => table::stored(tx, held.id, &self.key)?,
            None => None,
        };
        let present = Stored::present(found.as_ref(), now);
        must_be_expected(self.expected_version, present)?;
        let id = match &held {
            Some(held) => held.id,
            None => table::next_scope(tx)?,
        };
        if let Some(due) = found.as_ref().filter(|stored| stored.is_due(now)) {
            let (scope, place) = (id, place.clone());
            let ended = Ended {
                entry: due.id,
                key: self.key.to_string(),
                version: due.version,
            };
            expire(
                tx,
                Due {
                    scope,
                    place,
                    ended,
                },
            )?;
        }
        let bytes = i64::try_from(self.value.form().text.len()).unwrap_or(i64::MAX);
        let there = found.as_ref().filter(|stored| stored.is_there(now));
        must_fit(tx, &place, there.map(|stored| stored.bytes), bytes)?;
        let entry = match &found {
            Some(stored) => stored.id,
            None => table::next_entry(tx)?,
        };
        if let Some(sha256) = &self.value.form().sha256 {
            tx.keep_blob(sha256, self.value.form().text.as_bytes(), OWNER)?;
        }
        tx.emit(StateSaved {
            id,
            project: place.project,
            scope: place.name.to_string(),
            owner: place.owner,
            entry,
            key: self.key.to_string(),
            version: found.as_ref().map_or(0, |stored| stored.version) + 1,
            content: self.value.content(),
            bytes,
            by: held::holder(&actor),
            saved: now,
            expires,
        })?;
        let kept = table::kept(tx, &place, &self.key)?
            .ok_or_else(|| Error::internal(Impossible("a value vanished as it was saved")))?;
        Ok(SavedState {
            state: kept.state,
            created: present == 0,
        })
    }
}

impl SaveState {
    fn expires(&self, now: LeaseTime) -> Result<Option<LeaseTime>, Error> {
        let Some(ttl_us) = self.ttl.map(Span::micros) else {
            return Ok(None);
        };
        if !(STATE_TTL_US_MIN..=STATE_TTL_US_MAX).contains(&ttl_us) {
            return Err(Error::invalid("ttl", "must be between 1s and 365d"));
        }
        let end_us = now.micros().saturating_add(ttl_us);
        Ok(Some(LeaseTime::from_micros(end_us)))
    }
}

/// Refuses another version than the caller knows.
pub(super) fn must_be_expected(expected: Option<i64>, present: i64) -> Result<(), Error> {
    match expected {
        Some(expected) if expected < 0 => {
            Err(Error::invalid("expected_version", "must be at least 0"))
        }
        Some(expected) if expected != present => Err(Error::VersionConflict { expected, present }),
        _ => Ok(()),
    }
}

/// Refuses what would make a scope too large, or one too many; what has expired makes room first
/// (S24). The number of keys binds everybody: one event must be able to name them.
fn must_fit(
    tx: &mut WriteTx<'_, '_>,
    place: &Place,
    there: Option<i64>,
    bytes: i64,
) -> Result<(), Error> {
    let limited = !matches!(tx.actor(), Actor::Operator { .. });
    let more = i64::from(there.is_none());
    let mut held = table::held(tx, place)?;
    let is_over = |held: &Held| {
        let after = held.bytes - there.unwrap_or(0) + bytes;
        (
            held.keys + more > STATE_KEYS_MAX,
            limited && after > STATE_BYTES_MAX,
        )
    };
    if let Some(full) = held.filter(|held| is_over(held) != (false, false)) {
        due::write_down(tx, Of::Scope(full.id), STATE_KEYS_MAX)?;
        held = table::held(tx, place)?;
    }
    let refused = |what, limit: i64| {
        let limit = limit.unsigned_abs();
        Err(Error::LimitExceeded { what, limit })
    };
    match held.as_ref().map(is_over) {
        Some((true, _)) => return refused("the number of keys of one scope", STATE_KEYS_MAX),
        Some((_, true)) => return refused("the bytes of one scope", STATE_BYTES_MAX),
        _ => {}
    }
    let is_empty = held.is_none_or(|held| held.keys == 0);
    let is_new = limited && place.owner.is_none() && is_empty;
    if is_new && are_too_many(tx, place.project)? {
        return refused(
            "the number of shared scopes of one project",
            STATE_SCOPES_MAX,
        );
    }
    Ok(())
}

/// Tells whether a project may have no further scope that is shared, once what has expired is gone.
fn are_too_many(tx: &mut WriteTx<'_, '_>, project: ProjectId) -> Result<bool, Error> {
    if table::shared_scopes(tx, project)? < STATE_SCOPES_MAX {
        return Ok(false);
    }
    due::write_down(tx, Of::Project(project), SWEEP_MAX)?;
    Ok(table::shared_scopes(tx, project)? >= STATE_SCOPES_MAX)
}

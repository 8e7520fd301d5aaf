//! Projects: reading rows.

use comity_domain::limits::{LABEL_BYTES_MAX, PROJECT_KEY_BYTES_MAX};
use comity_domain::suggest::nearest;
use comity_domain::{GuardAway, GuardMode, Line, ProjectId, Slug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::epoch::next_id;
use crate::error::Error;
use crate::params;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// A project as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Project {
    /// Its number.
    pub id: ProjectId,
    /// What its callers call it.
    pub key: String,
    /// Its short name.
    pub slug: Slug,
    /// What people call it.
    pub name: String,
    /// Whether paths that differ in case only are one file.
    pub case_insensitive: bool,
    /// What the Git guard does about a conflict.
    pub guard_mode: GuardMode,
    /// What the Git guard does when it cannot ask.
    pub guard_away: GuardAway,
    /// How long a holder must be silent before it may be forced.
    pub grace_ms: i64,
    /// How many active leases one agent may have.
    pub leases_per_agent: i64,
    /// When it was created.
    pub created_at: Timestamp,
    /// How many events it has.
    pub revision: i64,
}

/// A project as a caller names it: its key, or its slug.
pub type ProjectRef = Line<PROJECT_KEY_BYTES_MAX>;

/// A project's or token's display name.
pub type Label = Line<LABEL_BYTES_MAX>;

/// Returns the project with this number.
pub fn by_id(read: &mut impl Read, id: ProjectId) -> Result<Option<Project>, StoreError> {
    read.row(
        "select id, key, slug, name, case_insensitive, guard_mode, guard_away, grace_us,
            leases_per_agent, created_at, revision
         from project where id = ?1",
        params![id],
        project,
    )
}

/// Returns the project with this key.
pub fn by_key(read: &mut impl Read, key: &str) -> Result<Option<Project>, StoreError> {
    read.row(
        "select id, key, slug, name, case_insensitive, guard_mode, guard_away, grace_us,
            leases_per_agent, created_at, revision
         from project where key = ?1",
        params![key],
        project,
    )
}

/// Returns the project with this key, or else with this slug.
pub(crate) fn by_key_or_slug(
    read: &mut impl Read,
    name: &str,
) -> Result<Option<Project>, StoreError> {
    read.row(
        "select id, key, slug, name, case_insensitive, guard_mode, guard_away, grace_us,
            leases_per_agent, created_at, revision
         from project where key = ?1 or slug = ?1
         order by case when key = ?1 then 0 else 1 end limit 1",
        params![name],
        project,
    )
}

/// Returns a page of projects in the order of their numbers.
pub fn page(read: &mut impl Read, after: i64, limit: i64) -> Result<Vec<Project>, StoreError> {
    read.rows(
        "select id, key, slug, name, case_insensitive, guard_mode, guard_away, grace_us,
            leases_per_agent, created_at, revision
         from project where id > ?1 order by id limit cast(?2 as bigint)",
        params![after, limit],
        project,
    )
}

/// Tells whether a slug is taken.
pub fn slug_is_taken(read: &mut impl Read, slug: &Slug) -> Result<bool, StoreError> {
    read.one(
        "select count(*) from project where slug = ?1",
        params![&**slug],
        |row| Ok(row.take::<i64>()? > 0),
    )
}

/// Returns the number for the next project.
pub fn next_id(read: &mut impl Read) -> Result<ProjectId, StoreError> {
    read.one(next_id!("project"), &[], Row::take)
}

/// Finds the project a request means.
///
/// A credential bound to a project says it, and any other name is not found, whether or not there
/// is such a project (S20); everybody else names it.
pub fn resolve(
    read: &mut impl Read,
    actor: &Actor,
    named: Option<&ProjectRef>,
) -> Result<Project, Error> {
    if let Some(own) = actor.project() {
        let own = by_id(read, own)?;
        let meant =
            |own: &Project| named.is_none_or(|name| **name == own.key || **name == *own.slug);
        let name = named.map(ToString::to_string).unwrap_or_default();
        return own
            .filter(meant)
            .ok_or_else(|| Error::not_found("project", &name));
    }
    let Some(name) = named else {
        return Err(Error::invalid("project", "is missing"));
    };
    if let Some(project) = by_key_or_slug(read, name)? {
        return Ok(project);
    }
    Err(Error::NotFound {
        kind: "project",
        name: name.to_string(),
        near: near_slug(read, name)?,
    })
}

fn near_slug(read: &mut impl Read, name: &str) -> Result<Option<String>, StoreError> {
    let slugs = read.rows(
        "select slug from project order by id desc limit 500",
        &[],
        Row::take::<String>,
    )?;
    let wanted = name.rsplit('/').next().unwrap_or(name);
    Ok(nearest(wanted, slugs.iter().map(String::as_str)).map(ToOwned::to_owned))
}

fn project(row: &mut Row) -> Result<Project, StoreError> {
    Ok(Project {
        id: row.take()?,
        key: row.take()?,
        slug: Slug::from_stored(row.take()?),
        name: row.take()?,
        case_insensitive: row.take()?,
        guard_mode: row.word(GuardMode::from_word)?,
        guard_away: row.word(GuardAway::from_word)?,
        grace_ms: row.take::<i64>()? / 1_000,
        leases_per_agent: row.take()?,
        created_at: row.take()?,
        revision: row.take()?,
    })
}

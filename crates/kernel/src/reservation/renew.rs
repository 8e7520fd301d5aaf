//! Keeps leases longer.

use comity_domain::limits::LEASES_PER_CALL_MAX;
use comity_domain::{AgentId, Pattern, ReservationId, Seq, Ttl};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflict::{self, Met, Wanted};
use super::reserve::shown;
use super::table::{self, Lease, Reservation};
use super::{files, held};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::tx::{Read, WriteTx};

/// Keeps your leases longer, all that are named or none; never one that has ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// The leases' numbers.
    #[serde(default)]
    pub ids: Vec<ReservationId>,
    /// Whether to renew everything you hold.
    #[serde(default)]
    pub all: bool,
    /// How long from now, 1 s to 24 h; 30 minutes unless given. A lease is never shortened.
    #[serde(default)]
    pub ttl: Option<Ttl>,
    /// The fence you know; another one is refused.
    #[serde(default)]
    pub fence: Option<Seq>,
}

/// The leases as they are now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Renewed {
    /// The leases.
    pub reservations: Vec<Reservation>,
}

impl Command for Renew {
    const NAME: &'static str = "renew";
    const WHO: &'static [Party] = &[Party::Itself];
    type Answer = Renewed;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<Renewed, Stop> {
        let actor = tx.actor().clone();
        let leases = match (self.all, self.ids.is_empty()) {
            (true, true) => all_of(tx, &actor)?,
            (false, false) => numbered(tx, &actor, &self.ids)?,
            _ => return Err(Error::invalid("ids", "must be given, or `all`, not both").into()),
        };
        let until = held::until(tx, self.ttl);
        for lease in &leases {
            held::must_hold(tx, &actor, lease, self.fence)?;
            held::extend(tx, lease, until)?;
        }
        let ids = leases.iter().map(|lease| lease.id).collect();
        Ok(Renewed {
            reservations: shown(tx, ids)?,
        })
    }
}

/// Returns the active leases on files of whoever acts.
pub(super) fn all_of(read: &mut impl Read, actor: &Actor) -> Result<Vec<Lease>, Error> {
    match held::holder(actor) {
        Some(agent) => Ok(table::active_of(read, agent)?),
        None => Ok(Vec::new()),
    }
}

/// Returns leases by number, each once.
pub(super) fn numbered(
    read: &mut impl Read,
    actor: &Actor,
    ids: &[ReservationId],
) -> Result<Vec<Lease>, Error> {
    if ids.len() > LEASES_PER_CALL_MAX {
        let rule = format!("must be at most {LEASES_PER_CALL_MAX}");
        return Err(Error::invalid("ids", rule));
    }
    let mut leases: Vec<Lease> = Vec::new();
    for id in ids {
        if leases.iter().all(|lease| lease.id != *id) {
            leases.push(table::visible(read, actor, *id)?);
        }
    }
    Ok(leases)
}

/// Returns the active leases of whoever acts on exactly these files.
pub(super) fn on_files(
    read: &mut impl Read,
    actor: &Actor,
    named: &[Pattern],
) -> Result<Vec<Lease>, Error> {
    let unknown = || Error::not_found("reservation", &"of yours");
    let agent = held::holder(actor).ok_or_else(unknown)?;
    let project = crate::project::table::resolve(read, actor, None)?;
    let mut leases: Vec<Lease> = Vec::new();
    for pattern in named {
        let key = files::compared(pattern, project.case_insensitive);
        let own = own_on(read, actor, agent, &key)?;
        if own.is_empty() {
            return Err(Error::not_found("reservation of yours on", pattern));
        }
        // Two spellings may be one lease.
        let is_new = |lease: &Lease| leases.iter().all(|known| known.id != lease.id);
        let fresh: Vec<_> = own.into_iter().filter(is_new).collect();
        leases.extend(fresh);
    }
    Ok(leases)
}

/// Returns the active leases of somebody on exactly this; one that has expired is told of, and so is
/// one that is another's.
fn own_on(
    read: &mut impl Read,
    actor: &Actor,
    agent: AgentId,
    key: &Pattern,
) -> Result<Vec<Lease>, Error> {
    let now = read.now().lease;
    let own = table::own(read, agent, key.as_str())?;
    let (active, expired): (Vec<_>, Vec<_>) =
        own.into_iter().partition(|lease| lease.is_active(now));
    if !active.is_empty() {
        return Ok(active);
    }
    if let Some(expired) = expired.first() {
        held::must_hold(read, actor, expired, None)?;
    }
    let project = actor.project().ok_or(Error::Unauthorized)?;
    let wanted = Wanted {
        project,
        holder: Some(agent),
        patterns: std::slice::from_ref(key),
        exclusive: true,
    };
    let others = conflict::in_the_way(read, &wanted)?;
    let same = |(lease, _): &(Lease, Met)| lease.key == key.as_str();
    match others.into_iter().find(same) {
        Some((lease, _)) => Err(Error::NotHolder {
            what: lease.pattern,
            held_by: lease.held_by,
        }),
        None => Ok(Vec::new()),
    }
}

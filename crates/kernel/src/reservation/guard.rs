//! Answers the Git guard: may these files be written now, and are the writer's leases still good?

use std::collections::HashMap;

use comity_domain::limits::{GUARD_PATHS_MAX, LEASES_PER_AGENT_MAX};
use comity_domain::pattern::Index;
use comity_domain::{GuardAway, GuardMode, LeaseEnd, LiteralPath, Pattern, ReservationId, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflict::{self, Conflict, Met, Wanted};
use super::{files, held, table};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::project::table::{self as project_table, Project, ProjectRef};
use crate::query::Query;
use crate::tx::{Read, Snapshot};

/// Asks whether files may be written now: nobody else has a lease on them, shared or not, and of
/// the leases you worked under none was lost.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardCheck {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Every path that is written, old names of renames and deletions included.
    pub paths: Vec<LiteralPath>,
    /// The leases under which you wrote them.
    #[serde(default)]
    pub leases: Vec<LeaseRef>,
}

/// A lease as its holder remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRef {
    /// Its number.
    pub id: ReservationId,
    /// Its fence.
    pub fence: Seq,
}

/// Whether the files may be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GuardVerdict {
    /// Whether nothing is in the way and nothing was lost.
    pub allowed: bool,
    /// What the project wants done about a conflict.
    pub mode: GuardMode,
    /// What the project wants done when nobody can be asked.
    pub away: GuardAway,
    /// Every lease of others on the files.
    pub conflicts: Vec<GuardConflict>,
    /// Leases on the files that were yours and are no more.
    pub lost: Vec<LostLease>,
}

/// A lease of another on files that are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GuardConflict {
    /// The lease.
    #[serde(flatten)]
    pub conflict: Conflict,
    /// The first of the paths it covers.
    pub paths: Vec<String>,
    /// How many of the paths it covers.
    pub path_count: usize,
}

/// A lease that its holder has no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LostLease {
    /// Its number.
    pub reservation_id: ReservationId,
    /// What it covered.
    pub path_pattern: String,
    /// The fence the caller knows.
    pub fence: Seq,
    /// How it ended.
    pub ended: LeaseEnd,
    /// Who holds the same now, if somebody does.
    pub held_by: Option<String>,
}

impl Query for GuardCheck {
    const NAME: &'static str = "guard_check";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent];
    type Answer = GuardVerdict;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<GuardVerdict, Error> {
        within("paths", self.paths.len(), GUARD_PATHS_MAX)?;
        let leases_max = usize::try_from(LEASES_PER_AGENT_MAX).unwrap_or(usize::MAX);
        within("leases", self.leases.len(), leases_max)?;
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?;
        let compared =
            |path: &LiteralPath| files::compared(path.pattern(), project.case_insensitive);
        let patterns: Vec<_> = self.paths.iter().map(compared).collect();
        let wanted = Wanted {
            project: project.id,
            holder: held::holder(actor),
            patterns: &patterns,
            exclusive: true,
        };
        let (leases, places): (Vec<_>, Vec<_>) =
            conflict::in_the_way(snapshot, &wanted)?.into_iter().unzip();
        let conflicts = conflict::show(snapshot, leases)?;
        let conflicts: Vec<_> = conflicts
            .into_iter()
            .zip(places)
            .map(|(conflict, places)| self.met(conflict, &places))
            .collect();
        let lost = self.lost(snapshot, actor, &project, &patterns)?;
        Ok(GuardVerdict {
            allowed: conflicts.is_empty() && lost.is_empty(),
            mode: project.guard_mode,
            away: project.guard_away,
            conflicts,
            lost,
        })
    }
}

impl GuardCheck {
    fn met(&self, conflict: Conflict, met: &Met) -> GuardConflict {
        let paths = met.first.iter().filter_map(|place| self.paths.get(*place));
        GuardConflict {
            conflict,
            paths: paths.map(ToString::to_string).collect(),
            path_count: met.count,
        }
    }

    /// Finds leases that the caller believes in and that hold no more, where they matter.
    fn lost(
        &self,
        read: &mut impl Read,
        actor: &Actor,
        project: &Project,
        patterns: &[Pattern],
    ) -> Result<Vec<LostLease>, Error> {
        let now = read.now().lease;
        if self.leases.is_empty() {
            return Ok(Vec::new());
        }
        let mut paths = Index::new();
        for (place, path) in patterns.iter().enumerate() {
            paths.insert(place, path.clone());
        }
        let mut known: HashMap<_, _> = self.leases.iter().map(|one| (one.id, one.fence)).collect();
        // Most are held still, and one statement tells.
        if let Some(agent) = held::holder(actor) {
            for lease in table::active_of(read, agent)? {
                known.remove(&lease.id);
            }
        }
        let mut lost = Vec::new();
        for (id, fence) in known {
            let Some(lease) = table::by_id(read, id)? else {
                continue;
            };
            // Of leases that were never the caller's nothing is told (S20).
            let own = lease.agent == held::holder(actor) && lease.project_id == project.id;
            if !own || lease.is_lock {
                continue;
            }
            let Some(ended) = lease.ended(now) else {
                continue;
            };
            let pattern = table::compared(&lease.pattern, project.case_insensitive)?;
            if !paths.overlapping(&pattern).is_empty() {
                let wanted = Wanted {
                    project: project.id,
                    holder: lease.agent,
                    patterns: &[pattern],
                    exclusive: true,
                };
                let holders = conflict::in_the_way(read, &wanted)?;
                lost.push(LostLease {
                    reservation_id: id,
                    path_pattern: lease.pattern,
                    fence,
                    ended,
                    held_by: holders.into_iter().next().map(|(lease, _)| lease.held_by),
                });
            }
        }
        lost.sort_by_key(|lost| lost.reservation_id);
        Ok(lost)
    }
}

fn within(field: &'static str, found: usize, max: usize) -> Result<(), Error> {
    if found > max {
        return Err(Error::invalid(field, format!("must be at most {max}")));
    }
    Ok(())
}

//! Takes leases on files.

use std::collections::HashSet;

use comity_domain::limits::TTL_US_MAX;
use comity_domain::{
    AgentId, LeaseMode, LeaseTime, LiteralPath, Pattern, ReservationId, RunId, Span, Ttl,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflict::{self, Wanted};
use super::event::{FilesReserved, Granted, LeaseReleased};
use super::table::{self, Lease, Reservation};
use super::{CheckFiles, Reason, files, held};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::line::{Claim, Patient};
use crate::project::table::{self as project_table, Project, ProjectRef};
use crate::tx::{Read, WriteTx};

/// Takes leases on files, all of them or none; taking the same again renews it.
///
/// While you hold an exclusive lease nobody else is granted one that overlaps it. Refused with
/// `reservation_conflict`, which names every holder in the way.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReserveFiles {
    /// The project's key or slug; the agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Literal paths from the project's root: `app/[id]/page.tsx` is one file. A directory covers
    /// everything below it.
    #[serde(default)]
    pub paths: Vec<LiteralPath>,
    /// Patterns: `*` and `?` inside a segment, `**` across segments, `[a-z]`, `{a,b}`.
    #[serde(default)]
    pub patterns: Vec<Pattern>,
    /// `exclusive`, or `shared` with others who share; `exclusive` unless given.
    #[serde(default)]
    pub mode: Option<LeaseMode>,
    /// How long, 1 s to 24 h; 30 minutes unless given.
    #[serde(default)]
    pub ttl: Option<Ttl>,
    /// Why, for whoever wants the same.
    #[serde(default)]
    pub reason: Option<Reason>,
    /// The run they belong to; they end with it.
    #[serde(default)]
    pub run: Option<RunId>,
    /// How long to wait for others to let go, at most 60 s.
    #[serde(default)]
    pub wait: Option<Span>,
    /// One pattern, as existing clients send it.
    #[serde(default)]
    pub path_pattern: Option<Pattern>,
    /// The same as `mode`, as existing clients send it.
    #[serde(default)]
    pub exclusive: Option<bool>,
    /// The same as `ttl`, as existing clients send it.
    #[serde(default)]
    pub ttl_minutes: Option<i64>,
    /// Your own number, as existing clients send it.
    #[serde(default)]
    pub agent_id: Option<AgentId>,
    /// As existing clients send it; it changes nothing, for a conflict never grants.
    #[serde(default)]
    pub if_not_conflict: Option<bool>,
}

/// The leases: those that were held already, then the new ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservedFiles {
    /// The leases.
    pub reservations: Vec<Reservation>,
    /// Whether any of them is new.
    pub created: bool,
}

impl Command for ReserveFiles {
    const NAME: &'static str = "reserve_files";
    const WHO: &'static [Party] = &[Party::Agent];
    type Answer = ReservedFiles;

    fn asked(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&Self {
            wait: None,
            ..self.clone()
        })
    }

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ReservedFiles, Stop> {
        let actor = tx.actor().clone();
        let agent = self.holder(&actor)?;
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        let mode = self.mode()?;
        let until = held::until(tx, self.ttl()?);
        let wanted = self.wanted()?;
        let mut request = Request {
            agent,
            mode,
            until,
            reason: self.reason.as_deref().unwrap_or_default(),
            run: crate::run::belonging_leases(tx, project.id, self.run, wanted.len())?,
            again: Vec::new(),
            fresh: Vec::new(),
            upgraded: Vec::new(),
        };
        for pattern in wanted {
            request.sort(tx, &project, pattern)?;
        }
        request.must_be_free(tx, &project)?;
        request.must_fit(tx, &project)?;
        let created = !request.fresh.is_empty();
        let granted = request.grant(tx, &project)?;
        Ok(ReservedFiles {
            reservations: shown(tx, granted)?,
            created,
        })
    }
}

/// What a request comes to, given what its holder has.
struct Request<'a> {
    agent: AgentId,
    mode: LeaseMode,
    until: LeaseTime,
    reason: &'a str,
    run: Option<RunId>,
    /// Held already, just so.
    again: Vec<Lease>,
    /// As it is shown, and as it is compared.
    fresh: Vec<(Pattern, Pattern)>,
    /// Shared leases that exclusive ones take the place of.
    upgraded: Vec<Lease>,
}

impl Request<'_> {
    /// Finds out what a pattern is to its holder (F6).
    fn sort(
        &mut self,
        tx: &mut WriteTx<'_, '_>,
        project: &Project,
        pattern: Pattern,
    ) -> Result<(), Error> {
        let now = tx.now().lease;
        let key = files::compared(&pattern, project.case_insensitive);
        let same_key = |(_, other): &(Pattern, Pattern)| *other == key;
        if self.fresh.iter().any(same_key) {
            return Ok(());
        }
        let mut own = table::own(tx, self.agent, key.as_str())?;
        own.retain(|lease| lease.is_active(now));
        let exclusive = self.mode.is_exclusive();
        let same = own.iter().position(|lease| lease.exclusive == exclusive);
        if let Some(at) = same {
            let lease = own.swap_remove(at);
            if self.again.iter().all(|again| again.id != lease.id) {
                self.again.push(lease);
            }
            return Ok(());
        }
        if exclusive {
            self.upgraded.append(&mut own);
        }
        self.fresh.push((pattern, key));
        Ok(())
    }

    /// Refuses if anything of it is in another's hands. What is held already cannot be.
    fn must_be_free(&self, tx: &mut WriteTx<'_, '_>, project: &Project) -> Result<(), Error> {
        let patterns: Vec<_> = self.fresh.iter().map(|(_, key)| key.clone()).collect();
        if patterns.is_empty() {
            return Ok(());
        }
        let wanted = Wanted {
            project: project.id,
            holder: Some(self.agent),
            patterns: &patterns,
            exclusive: self.mode.is_exclusive(),
        };
        let in_the_way = conflict::in_the_way(tx, &wanted)?;
        if in_the_way.is_empty() {
            return Ok(());
        }
        let leases = in_the_way.into_iter().map(|(lease, _)| lease).collect();
        Err(Error::ReservationConflict {
            conflicts: conflict::show(tx, leases)?,
        })
    }

    fn must_fit(&self, tx: &mut WriteTx<'_, '_>, project: &Project) -> Result<(), Error> {
        if self.fresh.is_empty() {
            return Ok(());
        }
        let held = table::count_of(tx, self.agent)?;
        let more = self.fresh.len().saturating_sub(self.upgraded.len());
        if held + i64::try_from(more).unwrap_or(i64::MAX) > project.leases_per_agent {
            return Err(Error::LimitExceeded {
                what: "the number of active leases of one agent",
                limit: project.leases_per_agent.unsigned_abs(),
            });
        }
        Ok(())
    }

    /// Grants it, and returns the numbers of all leases it came to.
    fn grant(
        self,
        tx: &mut WriteTx<'_, '_>,
        project: &Project,
    ) -> Result<Vec<ReservationId>, Error> {
        let mut granted = Vec::new();
        for lease in &self.again {
            held::extend(tx, lease, self.until)?;
            granted.push(lease.id);
        }
        for lease in &self.upgraded {
            tx.emit(LeaseReleased(lease.to_end(tx.now())))?;
        }
        if self.fresh.is_empty() {
            return Ok(granted);
        }
        let first = table::next_id(tx)?.get();
        let numbered = self.fresh.into_iter().zip(first..);
        let reservations: Vec<_> = numbered
            .map(|((pattern, key), id)| Granted {
                id: ReservationId::new(id),
                key: key.to_string(),
                pattern,
            })
            .collect();
        granted.extend(reservations.iter().map(|granted| granted.id));
        tx.emit(FilesReserved {
            project: project.id,
            agent: self.agent,
            reservations,
            mode: self.mode,
            reason: self.reason.to_owned(),
            run: self.run,
            granted: tx.now().lease,
            expires: self.until,
        })?;
        Ok(granted)
    }
}

impl ReserveFiles {
    fn wanted(&self) -> Result<Vec<Pattern>, Error> {
        files::some_named(&self.paths, &self.patterns, self.path_pattern.as_ref())
    }

    /// Returns the holder: the agent of the credential, whatever the request claims (E5).
    fn holder(&self, actor: &Actor) -> Result<AgentId, Error> {
        let Actor::Agent { agent, .. } = actor else {
            return Err(Error::Forbidden {
                reason: "only an agent holds leases on files".to_owned(),
            });
        };
        if self.agent_id.is_some_and(|claimed| claimed != *agent) {
            return Err(Error::Forbidden {
                reason: "`agent_id` is not the caller".to_owned(),
            });
        }
        Ok(*agent)
    }

    fn mode(&self) -> Result<LeaseMode, Error> {
        let old = self.exclusive.map(|exclusive| {
            if exclusive {
                LeaseMode::Exclusive
            } else {
                LeaseMode::Shared
            }
        });
        match (self.mode, old) {
            (Some(mode), Some(old)) if mode != old => {
                let rule = "must not contradict `mode`; give one of them";
                Err(Error::invalid("exclusive", rule))
            }
            (mode, old) => Ok(mode.or(old).unwrap_or(LeaseMode::Exclusive)),
        }
    }

    fn ttl(&self) -> Result<Option<Ttl>, Error> {
        let Some(minutes) = self.ttl_minutes else {
            return Ok(self.ttl);
        };
        if self.ttl.is_some() {
            let rule = "must not be given together with `ttl`";
            return Err(Error::invalid("ttl_minutes", rule));
        }
        let most = TTL_US_MAX / 60_000_000;
        if !(1..=most).contains(&minutes) {
            let rule = format!("must be between 1 and {most}");
            return Err(Error::invalid("ttl_minutes", rule));
        }
        let ttl = Ttl::new(Span::from_micros(minutes * 60_000_000));
        ttl.map(Some)
            .map_err(|rule| Error::invalid("ttl_minutes", rule))
    }
}

/// Reads leases back as their holder sees them.
pub(super) fn shown(
    read: &mut impl Read,
    ids: Vec<ReservationId>,
) -> Result<Vec<Reservation>, Error> {
    let now = read.now();
    let mut known = HashSet::new();
    let mut shown = Vec::new();
    for id in ids {
        if !known.insert(id) {
            continue;
        }
        let lease = table::by_id(read, id)?
            .ok_or_else(|| Error::internal(Impossible("a lease vanished as it was changed")))?;
        shown.push(lease.show(now));
    }
    Ok(shown)
}

impl Patient for ReserveFiles {
    type Look = CheckFiles;

    fn patience(&self) -> Option<Span> {
        self.wait
    }

    fn claim(&self) -> Claim {
        let wanted = self.wanted().unwrap_or_default();
        Claim::Files(wanted.iter().map(Pattern::folded).collect())
    }

    fn look(&self) -> CheckFiles {
        let mut patterns = self.patterns.clone();
        patterns.extend(self.path_pattern.clone());
        CheckFiles {
            project: self.project.clone(),
            paths: self.paths.clone(),
            patterns,
            mode: self.mode().ok(),
            include_own: false,
        }
    }
}

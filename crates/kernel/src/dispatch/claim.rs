//! Claims work.

use comity_domain::limits::{AGENT_KINDS_MAX, CLAIM_US_DEFAULT, CLAIMS_PER_AGENT_MAX};
use comity_domain::{LeaseTime, Span, Ttl};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::DispatchClaimed;
use super::table::{self, Dispatch};
use super::{candidate, due};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::line::{Claim, Patient, Seen};
use crate::project::table::{self as project_table, ProjectRef};
use crate::query::Query;
use crate::reservation::held::holder;
use crate::run::AgentKind;
use crate::tx::{Read, Snapshot, WriteTx};

/// Claims the oldest work of the highest priority for one of your kinds, if there is any.
///
/// The claim lasts as long as its lease, which `extend_dispatch` renews; a worker that is not heard
/// of in time loses it, and somebody else may claim the work. The answer has the claim's fence,
/// which all further calls carry. `dispatch` is null when there is nothing to do.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimDispatch {
    /// The project's key or slug; an agent's own unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The kinds of agent that you are.
    #[schemars(length(min = 1, max = AGENT_KINDS_MAX))]
    pub agent_kinds: Vec<AgentKind>,
    /// How long the claim lasts, 1 s to 24 h; 5 minutes unless given.
    #[serde(default)]
    pub lease: Option<Ttl>,
    /// How long to wait for work, at most 60 s.
    #[serde(default)]
    pub wait: Option<Span>,
}

/// The work, if there is any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimedDispatch {
    /// The dispatch; null when there is nothing to do.
    pub dispatch: Option<Dispatch>,
}

impl Command for ClaimDispatch {
    const NAME: &'static str = "claim_dispatch";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = ClaimedDispatch;

    fn asked(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&Self {
            wait: None,
            ..self.clone()
        })
    }

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ClaimedDispatch, Stop> {
        let actor = tx.actor().clone();
        let project = project_table::resolve(tx, &actor, self.project.as_ref())?;
        must_be_some(&self.agent_kinds)?;
        due::write_down(tx, Some(project.id))?;
        let claimant = holder(&actor);
        if let Some(agent) = claimant
            && table::count_held(tx, agent)? >= CLAIMS_PER_AGENT_MAX
        {
            return Err(Stop::Refused(Error::LimitExceeded {
                what: "the number of dispatches in the hands of one agent",
                limit: CLAIMS_PER_AGENT_MAX.unsigned_abs(),
            }));
        }
        let Some(id) = candidate::best(tx, project.id, &self.agent_kinds)? else {
            return Ok(ClaimedDispatch { dispatch: None });
        };
        let work = table::by_id(tx, id)?
            .ok_or_else(|| Error::internal(Impossible("the queue knows of no such dispatch")))?;
        work.after(comity_domain::Step::Claim)?;
        let claimed = tx.now().lease;
        tx.emit(DispatchClaimed {
            which: work.which(),
            claimant,
            claimed,
            expires: until(claimed, self.lease),
        })?;
        let dispatch = Some(table::changed(tx, id)?);
        Ok(ClaimedDispatch { dispatch })
    }

    /// Nothing was done: the same key may try again.
    fn is_kept(answer: &ClaimedDispatch) -> bool {
        answer.dispatch.is_some()
    }
}

/// Returns the end of a claim that begins now.
pub(super) fn until(now: LeaseTime, lease: Option<Ttl>) -> LeaseTime {
    let lease_us = lease.map_or(CLAIM_US_DEFAULT, Ttl::micros);
    LeaseTime::from_micros(now.micros().saturating_add(lease_us))
}

fn must_be_some(kinds: &[AgentKind]) -> Result<(), Error> {
    if (1..=AGENT_KINDS_MAX).contains(&kinds.len()) {
        return Ok(());
    }
    let rule = format!("must name 1 to {AGENT_KINDS_MAX} kinds");
    Err(Error::invalid("agent_kinds", rule))
}

/// Asks whether there is work to claim.
pub struct LookForWork {
    project: Option<ProjectRef>,
    agent_kinds: Vec<AgentKind>,
}

impl Query for LookForWork {
    const NAME: &'static str = "look_for_work";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = Seen;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Seen, Error> {
        must_be_some(&self.agent_kinds)?;
        let project = project_table::resolve(snapshot, actor, self.project.as_ref())?.id;
        // What is due may become work as soon as somebody writes it down, and a claim does.
        if due::is_any(snapshot, Some(project))?
            || candidate::best(snapshot, project, &self.agent_kinds)?.is_some()
        {
            return Ok(Seen::Free);
        }
        let back_off = candidate::next_back_off(snapshot, project)?;
        let next = back_off.into_iter().chain(due::next(snapshot)?);
        let now = snapshot.now().lease.micros();
        Ok(Seen::Taken {
            until_ms: next.min().map(|then| (then.micros() - now).max(0) / 1_000),
        })
    }
}

impl Patient for ClaimDispatch {
    type Look = LookForWork;

    fn patience(&self) -> Option<Span> {
        self.wait
    }

    fn claim(&self) -> Claim {
        Claim::Work(self.agent_kinds.iter().map(ToString::to_string).collect())
    }

    fn look(&self) -> LookForWork {
        LookForWork {
            project: self.project.clone(),
            agent_kinds: self.agent_kinds.clone(),
        }
    }

    fn is_in_vain(answer: &ClaimedDispatch) -> bool {
        answer.dispatch.is_none()
    }
}

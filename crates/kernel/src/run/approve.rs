//! Says that a phase may be left.

use comity_domain::limits::JUDGEMENTS_MAX;
use comity_domain::{AgentId, ApprovalId, Approver, Phase, RunId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Words;
use super::event::PhaseApproved;
use super::table::{self, stored_phase};
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::epoch::next_id;
use crate::error::{Error, Impossible};
use crate::gate::evaluate::must_be_open;
use crate::page::{After, Limit, Page};
use crate::params;
use crate::query::Query;
use crate::reservation::held::holder;
use crate::store::{Row, StoreError};
use crate::tx::{Read, Snapshot, WriteTx};

/// Says that the phase a run is in may be left, for gates with the check `approval`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The run's number.
    pub run: RunId,
    /// The phase: the one the run is in, or a skipped one right ahead; another one is refused
    /// with `stale_phase`.
    pub phase: Phase,
    /// What you have to say about it.
    #[serde(default)]
    pub note: Option<Words>,
}

/// An approval as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Its number.
    pub id: ApprovalId,
    /// The run.
    pub run: RunId,
    /// The phase.
    pub phase: Phase,
    /// By what right.
    pub role: Approver,
    /// What they had to say.
    pub note: String,
    /// Who, by number; null for the operator.
    pub agent_id: Option<AgentId>,
    /// When.
    pub created_at: Timestamp,
    /// When it was withdrawn, because its phase was rolled back.
    pub withdrawn_at: Option<Timestamp>,
}

/// The approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalAnswer {
    /// The approval.
    pub approval: Approval,
}

impl Command for Approve {
    const NAME: &'static str = "approve";
    const WHO: &'static [Party] = &[Party::Operator, Party::Orchestrator];
    type Answer = ApprovalAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ApprovalAnswer, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        run.must_be_active()?;
        must_be_open(tx, &run, &self.phase)?;
        let count = "select count(*) from approval where run_id = ?1 and withdrawn_at is null";
        if tx.one(count, params![run.id], Row::take::<i64>)? >= JUDGEMENTS_MAX {
            return Err(Error::LimitExceeded {
                what: "the number of approvals of one run",
                limit: JUDGEMENTS_MAX.unsigned_abs(),
            }
            .into());
        }
        let next = next_id!("approval");
        let id = tx.one(next, &[], Row::take)?;
        let role = match actor {
            Actor::Agent { .. } => Approver::Orchestrator,
            Actor::Operator { .. } | Actor::Observer { .. } | Actor::System => Approver::Operator,
        };
        tx.emit(PhaseApproved {
            id,
            run: run.id,
            project: run.project_id,
            phase: self.phase.clone(),
            role,
            note: self.note.as_ref().map(ToString::to_string),
            agent: holder(&actor),
        })?;
        let approval = by_id(tx, id)?
            .ok_or_else(|| Error::internal(Impossible("an approval vanished as it was given")))?;
        Ok(ApprovalAnswer { approval })
    }
}

/// Lists the approvals of a run, oldest first, the withdrawn ones included.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListApprovals {
    /// The run's number.
    pub run: RunId,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListApprovals {
    const NAME: &'static str = "list_approvals";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Page<Approval>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Approval>, Error> {
        let run = table::visible(snapshot, actor, self.run)?;
        let items = snapshot.rows(
            "select id, run_id, phase, role, note, agent_id, created_at, withdrawn_at
             from approval where run_id = ?1 and id > ?2 order by id limit cast(?3 as bigint)",
            params![run.id, self.after.get(), self.limit.and_one()],
            approval,
        )?;
        Ok(Page::cut(items, self.limit, |one: &Approval| one.id.get()))
    }
}

fn by_id(read: &mut impl Read, id: ApprovalId) -> Result<Option<Approval>, StoreError> {
    read.row(
        "select id, run_id, phase, role, note, agent_id, created_at, withdrawn_at
         from approval where id = ?1",
        params![id],
        approval,
    )
}

fn approval(row: &mut Row) -> Result<Approval, StoreError> {
    Ok(Approval {
        id: row.take()?,
        run: row.take()?,
        phase: stored_phase(row.take()?)?,
        role: row.word(Approver::from_word)?,
        note: row.take()?,
        agent_id: row.take()?,
        created_at: row.take()?,
        withdrawn_at: row.take()?,
    })
}

//! Records what somebody thinks of the work of a phase.

use comity_domain::limits::JUDGEMENTS_MAX;
use comity_domain::{AgentId, DispatchId, Phase, RunId, Timestamp, Verdict, VerdictId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Words;
use super::event::VerdictRecorded;
use super::table::{self, Run, stored_phase};
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

/// Records a verdict on the work of the phase that a run is in.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordVerdict {
    /// The run's number.
    pub run: RunId,
    /// `pass`, `warn`, `fail`, or `reject` for work that cannot be judged.
    pub verdict: Verdict,
    /// Why.
    #[serde(default)]
    pub summary: Option<Words>,
    /// The phase you judge: the one the run is in unless given, or a skipped one right ahead.
    #[serde(default)]
    pub phase: Option<Phase>,
}

/// A verdict as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictShown {
    /// Its number.
    pub id: VerdictId,
    /// The run.
    pub run: RunId,
    /// The phase.
    pub phase: Phase,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub summary: String,
    /// Who, by number; null for the operator.
    pub agent_id: Option<AgentId>,
    /// The dispatch whose worker said so.
    pub dispatch: Option<DispatchId>,
    /// When.
    pub created_at: Timestamp,
    /// When it was withdrawn, because its phase was rolled back.
    pub withdrawn_at: Option<Timestamp>,
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedVerdict {
    /// The verdict.
    pub verdict: VerdictShown,
}

impl Command for RecordVerdict {
    const NAME: &'static str = "record_verdict";
    const WHO: &'static [Party] = &[Party::Agent, Party::Operator];
    type Answer = RecordedVerdict;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RecordedVerdict, Stop> {
        let actor = tx.actor().clone();
        let run = table::visible(tx, &actor, self.run)?;
        run.must_be_active()?;
        let phase = self.phase.as_ref().unwrap_or(&run.phase);
        must_be_open(tx, &run, phase)?;
        let said = Said {
            phase: phase.clone(),
            verdict: self.verdict,
            summary: self.summary.as_deref().unwrap_or_default().to_owned(),
            agent: holder(&actor),
            dispatch: None,
        };
        let id = record(tx, &run, said)?;
        let verdict = by_id(tx, id)?
            .ok_or_else(|| Error::internal(Impossible("a verdict vanished as it was recorded")))?;
        Ok(RecordedVerdict { verdict })
    }
}

/// Lists the verdicts on a run, oldest first, the withdrawn ones included.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListVerdicts {
    /// The run's number.
    pub run: RunId,
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListVerdicts {
    const NAME: &'static str = "list_verdicts";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = Page<VerdictShown>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<VerdictShown>, Error> {
        let run = table::visible(snapshot, actor, self.run)?;
        let items = page(snapshot, run.id, self.after.get(), self.limit.and_one())?;
        Ok(Page::cut(items, self.limit, |one: &VerdictShown| {
            one.id.get()
        }))
    }
}

/// What somebody said of a phase.
pub(crate) struct Said {
    pub(crate) phase: Phase,
    pub(crate) verdict: Verdict,
    pub(crate) summary: String,
    /// Nobody is the operator.
    pub(crate) agent: Option<AgentId>,
    /// The dispatch whose worker said so.
    pub(crate) dispatch: Option<DispatchId>,
}

/// Records a verdict on a phase of a run.
pub(crate) fn record(tx: &mut WriteTx<'_, '_>, run: &Run, said: Said) -> Result<VerdictId, Error> {
    let sql = "select count(*) from verdict where run_id = ?1 and withdrawn_at is null";
    if tx.one(sql, params![run.id], Row::take::<i64>)? >= JUDGEMENTS_MAX {
        return Err(Error::LimitExceeded {
            what: "the number of verdicts on one run",
            limit: JUDGEMENTS_MAX.unsigned_abs(),
        });
    }
    let next = next_id!("verdict");
    let id = tx.one(next, &[], Row::take)?;
    tx.emit(VerdictRecorded {
        id,
        run: run.id,
        project: run.project_id,
        phase: said.phase,
        verdict: said.verdict,
        summary: said.summary,
        agent: said.agent,
        dispatch: said.dispatch,
    })?;
    Ok(id)
}

fn by_id(read: &mut impl Read, id: VerdictId) -> Result<Option<VerdictShown>, StoreError> {
    read.row(
        "select id, run_id, phase, verdict, summary, agent_id, dispatch_id, created_at,
            withdrawn_at
         from verdict where id = ?1",
        params![id],
        shown,
    )
}

fn page(
    read: &mut impl Read,
    run: RunId,
    after: i64,
    limit: i64,
) -> Result<Vec<VerdictShown>, StoreError> {
    read.rows(
        "select id, run_id, phase, verdict, summary, agent_id, dispatch_id, created_at,
            withdrawn_at
         from verdict where run_id = ?1 and id > ?2 order by id limit cast(?3 as bigint)",
        params![run, after, limit],
        shown,
    )
}

fn shown(row: &mut Row) -> Result<VerdictShown, StoreError> {
    Ok(VerdictShown {
        id: row.take()?,
        run: row.take()?,
        phase: stored_phase(row.take()?)?,
        verdict: row.word(Verdict::from_word)?,
        summary: row.take()?,
        agent_id: row.take()?,
        dispatch: row.take()?,
        created_at: row.take()?,
        withdrawn_at: row.take()?,
    })
}

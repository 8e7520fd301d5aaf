//! Dispatches: reading rows.

use comity_domain::limits::PREVIEW_CHARS_MAX;
use comity_domain::{
    AgentId, DispatchId, DispatchState, LeaseTime, Phase, ProjectId, RunId, Seq, Slug, Step,
    Timestamp, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::Which;
use crate::actor::Actor;
use crate::epoch::next_id;
use crate::error::{Error, Impossible};
use crate::params;
use crate::run::table::stored_phase;
use crate::store::{Row, StoreError};
use crate::tx::Read;

/// A dispatch as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dispatch {
    /// Its number.
    pub id: DispatchId,
    /// The project's slug.
    pub project: Slug,
    /// The project's number.
    pub project_id: ProjectId,
    /// The run it is for.
    pub run: Option<RunId>,
    /// The phase that the run was in when it was made.
    pub phase: Option<Phase>,
    /// The kind of agent that is to do it.
    pub agent_kind: String,
    /// What is to be done; its beginning in lists.
    pub prompt: String,
    /// Those of higher priority are claimed before.
    pub priority: i64,
    /// What its maker counts it with.
    pub group: Option<String>,
    /// Where it stands.
    pub state: DispatchState,
    /// Which attempt at the work it is, from 1.
    pub attempt: i64,
    /// The first attempt at the same work.
    pub origin: DispatchId,
    /// The attempt that this one repeats.
    pub retry_of: Option<DispatchId>,
    /// The work that must be completed before, by the numbers of its first attempts.
    pub depends_on: Vec<DispatchId>,
    /// What of that is not completed yet.
    pub waits_for: Vec<DispatchId>,
    /// What of that has ended otherwise, and nobody is at it: this can never be claimed, unless what
    /// failed or timed out is retried. What was cancelled cannot be.
    #[serde(default)]
    pub blocked_by: Vec<DispatchId>,
    /// Who claimed it, by name or `operator`; null as long as nobody has.
    pub claimed_by: Option<String>,
    /// Who claimed it, by number; null for the operator.
    pub claimant_id: Option<AgentId>,
    /// The number of the claiming event: it only grows. The claimant's calls carry it.
    pub fence: Option<Seq>,
    /// How long the claim still lasts; null unless somebody has it in hand.
    pub claim_remaining_ms: Option<i64>,
    /// How often it was claimed.
    pub claims: i64,
    /// How long until its deadline; null if it has none or is settled.
    pub deadline_remaining_ms: Option<i64>,
    /// How long until it may be claimed, if it is a later attempt; 0 from then on.
    pub not_before_ms: i64,
    /// How many tokens it has used, over all claims.
    pub tokens: i64,
    /// How far it is, in its claimant's words.
    pub progress: String,
    /// What its worker thinks of the work.
    pub verdict: Option<Verdict>,
    /// What its worker had to say at the end.
    pub summary: String,
    /// What came of it; null in lists.
    pub result: Option<Value>,
    /// Why it was cancelled or timed out.
    pub reason: String,
    /// Who made it, by number; null for the operator.
    pub created_by: Option<AgentId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its claimant began.
    pub started_at: Option<Timestamp>,
    /// When it was settled.
    pub settled_at: Option<Timestamp>,
    /// How many events it has.
    pub revision: i64,
}

/// The times of a dispatch on the lease clock, and what else is not shown.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) deadline: Option<LeaseTime>,
    pub(super) not_before: LeaseTime,
    pub(super) expires: Option<LeaseTime>,
    pub(super) report_sha256: Option<[u8; 32]>,
}

/// A dispatch as commands see it.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) shown: Dispatch,
    pub(super) kept: Kept,
}

/// The columns of a dispatch, for [`stored`], and where they are found.
macro_rules! dispatch_from {
    ($prompt:literal, $result:literal, $rest:literal) => {
        concat!(
            "select d.id, p.slug, d.project_id, d.run_id, d.phase, d.agent_kind, ",
            $prompt,
            ", d.priority, d.group_name, d.state, d.attempt, d.origin_id, d.retry_of,
                (select string_agg(cast(w.origin_id as text), ',') from dispatch_dependency w
                    where w.dispatch_id = d.id),
                (select string_agg(cast(w.origin_id as text), ',') from dispatch_dependency w
                    where w.dispatch_id = d.id and not exists (
                        select 1 from dispatch o
                        where o.origin_id = w.origin_id and o.state = 'completed')),
                (select string_agg(cast(w.origin_id as text), ',') from dispatch_dependency w
                    where w.dispatch_id = d.id and not exists (
                        select 1 from dispatch o where o.origin_id = w.origin_id
                        and o.state in ('queued', 'spawned', 'running', 'completed'))),
                a.name, d.claimant_id, d.fence, d.claim_lease_us, d.claims, d.deadline_lease_us,
                d.not_before_lease_us, d.tokens, d.progress, d.verdict, d.summary, ",
            $result,
            ", d.result_sha256, d.reason, d.agent_id, d.created_at, d.started_at, d.settled_at,
                d.revision
             from dispatch d join project p on p.id = d.project_id
             left join agent a on a.id = d.claimant_id ",
            $rest
        )
    };
}

impl Stored {
    /// Returns what every event of it says.
    pub(super) const fn which(&self) -> Which {
        Which {
            id: self.shown.id,
            project: self.shown.project_id,
            run: self.shown.run,
        }
    }

    /// Tells whether its claim holds no more, whether or not anybody wrote that down.
    pub(super) fn has_lost_its_claim(&self, now: LeaseTime) -> bool {
        self.kept.expires.is_some_and(|expires| expires <= now)
    }

    /// Tells whether it should be settled by now, whether or not anybody wrote that down.
    pub(super) fn is_overdue(&self, now: LeaseTime) -> bool {
        !self.shown.state.is_final() && self.kept.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Returns the state after a step, or refuses a step that does not exist (H1).
    pub(super) fn after(&self, step: Step) -> Result<DispatchState, Error> {
        let after = self.shown.state.after(step);
        after.ok_or_else(|| self.cannot(self.shown.state))
    }

    /// Refuses a step for the state it is in.
    pub(super) fn cannot(&self, state: DispatchState) -> Error {
        Error::IllegalTransition {
            what: self.name(),
            state: state.as_str(),
        }
    }

    /// Refuses what is meant for another revision (H2).
    pub(super) const fn must_have(&self, revision: i64) -> Result<(), Error> {
        if revision == self.shown.revision {
            return Ok(());
        }
        Err(Error::VersionConflict {
            expected: revision,
            present: self.shown.revision,
        })
    }

    /// Returns what messages call it.
    pub(super) fn name(&self) -> String {
        format!("dispatch {}", self.shown.id)
    }
}

/// Returns a dispatch by number, whoever asks.
pub(super) fn by_id(read: &mut impl Read, id: DispatchId) -> Result<Option<Stored>, StoreError> {
    let now = read.now().lease;
    let sql = dispatch_from!("d.prompt", "d.result", "where d.id = ?1");
    read.row(sql, params![id], |row| stored(row, now))
}

/// Returns a dispatch where the caller may see it.
pub(super) fn visible(
    read: &mut impl Read,
    actor: &Actor,
    id: DispatchId,
) -> Result<Stored, Error> {
    by_id(read, id)?
        .filter(|one| {
            let own = actor.project();
            own.is_none_or(|own| own == one.shown.project_id)
        })
        .ok_or_else(|| Error::not_found("dispatch", &id))
}

/// Reads a dispatch back after it was changed.
pub(super) fn changed(read: &mut impl Read, id: DispatchId) -> Result<Dispatch, Error> {
    by_id(read, id)?
        .map(|stored| stored.shown)
        .ok_or_else(|| Error::internal(Impossible("a dispatch vanished as it was changed")))
}

/// Which dispatches are listed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chosen<'a> {
    pub(super) project: Option<ProjectId>,
    pub(super) run: Option<RunId>,
    pub(super) state: Option<DispatchState>,
    pub(super) agent_kind: Option<&'a str>,
    pub(super) group: Option<&'a str>,
    pub(super) claimed_by: Option<AgentId>,
}

/// Returns a page of dispatches, the newest first, with the beginnings of their prompts.
pub(super) fn page(
    read: &mut impl Read,
    chosen: &Chosen<'_>,
    before: i64,
    limit: i64,
) -> Result<Vec<Dispatch>, StoreError> {
    let now = read.now().lease;
    let preview = i64::try_from(PREVIEW_CHARS_MAX).unwrap_or(i64::MAX);
    read.rows(
        dispatch_from!(
            "substr(d.prompt, 1, cast(cast(?9 as bigint) as integer))",
            "cast(null as text)",
            "where (cast(?1 as bigint) is null or d.project_id = cast(?1 as bigint))
             and (cast(?2 as bigint) is null or d.run_id = cast(?2 as bigint))
             and (cast(?3 as text) is null or d.state = cast(?3 as text))
             and (cast(?4 as text) is null or d.agent_kind = cast(?4 as text))
             and (cast(?5 as text) is null or d.group_name = cast(?5 as text))
             and (cast(?6 as bigint) is null or d.claimant_id = cast(?6 as bigint))
             and d.id < cast(?7 as bigint)
             order by d.id desc limit cast(?8 as bigint)"
        ),
        params![
            chosen.project,
            chosen.run,
            chosen.state.map(DispatchState::as_str),
            chosen.agent_kind,
            chosen.group,
            chosen.claimed_by,
            before,
            limit,
            preview
        ],
        |row| Ok(stored(row, now)?.shown),
    )
}

/// Returns how many dispatches of a group are in each state: the last attempt of each counts (H6).
pub(super) fn count_group(
    read: &mut impl Read,
    project: ProjectId,
    group: &str,
) -> Result<Vec<(DispatchState, i64)>, StoreError> {
    read.rows(
        "select d.state, count(*) from dispatch d
         where d.project_id = ?1 and d.group_name = ?2
             and not exists (select 1 from dispatch l where l.retry_of = d.id)
         group by d.state",
        params![project, group],
        |row| Ok((row.word(DispatchState::from_word)?, row.take()?)),
    )
}

/// Returns the attempt that repeats another.
pub(super) fn retry_of(
    read: &mut impl Read,
    id: DispatchId,
) -> Result<Option<DispatchId>, StoreError> {
    let sql = "select id from dispatch where retry_of = ?1 order by id limit 1";
    read.row(sql, params![id], Row::take)
}

/// Returns the first attempt at the work of a dispatch of a project.
pub(super) fn origin(
    read: &mut impl Read,
    project: ProjectId,
    id: DispatchId,
) -> Result<Option<DispatchId>, StoreError> {
    read.row(
        "select origin_id from dispatch where id = ?1 and project_id = ?2",
        params![id, project],
        Row::take,
    )
}

/// Returns what an agent has in hand.
pub(super) fn held_by(read: &mut impl Read, agent: AgentId) -> Result<Vec<Which>, StoreError> {
    read.rows(
        "select id, project_id, run_id from dispatch
         where claimant_id = ?1 and state in ('spawned', 'running') order by id",
        params![agent],
        which,
    )
}

/// Returns how many dispatches an agent has in hand.
pub(super) fn count_held(read: &mut impl Read, agent: AgentId) -> Result<i64, StoreError> {
    read.one(
        "select count(*) from dispatch
         where claimant_id = ?1 and state in ('spawned', 'running')",
        params![agent],
        Row::take,
    )
}

/// Tells whether an event is somebody's claim of a dispatch. Of what was pruned the log does not know:
/// whoever names it had a claim that is long over, or guesses, and has none either way.
pub(super) fn was_claimed_by(
    read: &mut impl Read,
    id: DispatchId,
    actor: &Actor,
    fence: Seq,
) -> Result<bool, StoreError> {
    read.one(
        "select (select count(*) from log_head where pruned_to >= ?1) + (
             select count(*) from event where seq = ?1 and kind = 'dispatch_claimed'
             and subject_type = 'dispatch' and subject_id = ?2 and actor = ?3)",
        params![fence, id, &actor.to_string()],
        |row| Ok(row.take::<i64>()? > 0),
    )
}

/// Returns the number for the next dispatch.
pub(super) fn next_id(read: &mut impl Read) -> Result<DispatchId, StoreError> {
    let sql = next_id!("dispatch");
    read.one(sql, &[], Row::take)
}

/// Reads what every event of a dispatch says.
pub(super) fn which(row: &mut Row) -> Result<Which, StoreError> {
    Ok(Which {
        id: row.take()?,
        project: row.take()?,
        run: row.take()?,
    })
}

fn stored(row: &mut Row, now: LeaseTime) -> Result<Stored, StoreError> {
    let id = row.take()?;
    let project = Slug::from_stored(row.take()?);
    let (project_id, run) = (row.take()?, row.take()?);
    let phase = row.take::<Option<String>>()?;
    let (agent_kind, prompt) = (row.take()?, row.take()?);
    let (priority, group) = (row.take()?, row.take()?);
    let state = row.word(DispatchState::from_word)?;
    let (attempt, origin, retry_of) = (row.take()?, row.take()?, row.take()?);
    let (depends_on, waits_for, blocked_by) = (numbers(row)?, numbers(row)?, numbers(row)?);
    let (claimant, claimant_id) = (row.take::<Option<String>>()?, row.take()?);
    let fence: Option<Seq> = row.take()?;
    let (expires, claims) = (row.take()?, row.take()?);
    let (deadline, not_before) = (row.take()?, row.take()?);
    let (tokens, progress) = (row.take()?, row.take()?);
    let verdict = row.take::<Option<String>>()?;
    let (summary, result) = (row.take()?, row.take::<Option<String>>()?);
    let kept = Kept {
        deadline,
        not_before,
        expires,
        report_sha256: row.take()?,
    };
    let in_hand = kept.expires.filter(|_| state.is_claimed());
    let open = kept.deadline.filter(|_| !state.is_final());
    let shown = Dispatch {
        id,
        project,
        project_id,
        run,
        phase: phase.map(stored_phase).transpose()?,
        agent_kind,
        prompt,
        priority,
        group,
        state,
        attempt,
        origin,
        retry_of,
        depends_on,
        waits_for,
        blocked_by,
        claimed_by: fence.map(|_| claimant.unwrap_or_else(|| "operator".to_owned())),
        claimant_id,
        fence,
        claim_remaining_ms: in_hand.map(|expires| remaining_ms(expires, now)),
        claims,
        deadline_remaining_ms: open.map(|deadline| remaining_ms(deadline, now)),
        not_before_ms: remaining_ms(not_before, now),
        tokens,
        progress,
        verdict: verdict.as_deref().map(word_of_verdict).transpose()?,
        summary,
        result: result.as_deref().map(json).transpose()?,
        reason: row.take()?,
        created_by: row.take()?,
        created_at: row.take()?,
        started_at: row.take()?,
        settled_at: row.take()?,
        revision: row.take()?,
    };
    Ok(Stored { shown, kept })
}

/// Returns how long until then, rounded up: who comes back then is not too early.
fn remaining_ms(then: LeaseTime, now: LeaseTime) -> i64 {
    let left_us = then.micros().saturating_sub(now.micros()).max(0);
    left_us.saturating_add(999) / 1_000
}

fn word_of_verdict(word: &str) -> Result<Verdict, StoreError> {
    Verdict::from_word(word).ok_or(StoreError::Shape("a known word"))
}

fn json(text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Shape("a result"))
}

/// Reads numbers that were put together with commas, in their order.
fn numbers(row: &mut Row) -> Result<Vec<DispatchId>, StoreError> {
    let Some(text) = row.take::<Option<String>>()? else {
        return Ok(Vec::new());
    };
    let number = |text: &str| text.parse().map_err(|_| StoreError::Shape("a number"));
    let numbers: Result<Vec<i64>, _> = text.split(',').map(number).collect();
    let mut numbers = numbers?;
    numbers.sort_unstable();
    Ok(numbers.into_iter().map(DispatchId::new).collect())
}

//! Dispatches: from event to rows.

use comity_domain::{DispatchId, DispatchState, Outcome, ProjectId, RunId};

use super::event::{
    DispatchCancelled, DispatchClaimed, DispatchCreated, DispatchExtended, DispatchFinished,
    DispatchReported, DispatchReturned, DispatchStarted, DispatchTimedOut, Which,
};
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::store::{Rows, StoreError};

/// The dispatches that may be claimed, among some.
macro_rules! claimable {
    ($among:literal) => {
        concat!(
            "from dispatch d left join run r on r.id = d.run_id
             where ",
            $among,
            " and d.state = 'queued' and (d.run_id is null or r.state = 'active')
                and not exists (
                    select 1 from dispatch_dependency w where w.dispatch_id = d.id
                    and not exists (
                        select 1 from dispatch o
                        where o.origin_id = w.origin_id and o.state = 'completed'))"
        )
    };
}

pub(super) use claimable;

/// Puts dispatches into the queue: those that may be claimed, among some.
macro_rules! enqueue {
    ($among:literal) => {
        concat!(
            "insert into dispatch_queue
                (dispatch_id, project_id, agent_kind, run_id, priority, not_before_lease_us)
             select d.id, d.project_id, d.agent_kind, coalesce(d.run_id, 0), d.priority,
                d.not_before_lease_us ",
            claimable!($among),
            " on conflict (dispatch_id) do nothing"
        )
    };
}

/// Puts a dispatch into the queue, if it may be claimed.
fn enqueue(tables: &mut Tables<'_>, id: DispatchId) -> Result<(), StoreError> {
    tables.write(enqueue!("d.id = ?1"), params![id], Rows::Any)
}

/// Puts what waited for a completed dispatch into the queue, as far as it waits for nothing else.
fn enqueue_dependents(tables: &mut Tables<'_>, id: DispatchId) -> Result<(), StoreError> {
    tables.write(
        enqueue!(
            "d.id in (
                select w.dispatch_id from dispatch_dependency w
                where w.origin_id = (select c.origin_id from dispatch c where c.id = ?1))"
        ),
        params![id],
        Rows::Any,
    )
}

/// Puts the dispatches of a run that goes on into the queue.
pub(crate) fn enqueue_run(tables: &mut Tables<'_>, run: RunId) -> Result<(), StoreError> {
    tables.write(enqueue!("d.run_id = ?1"), params![run], Rows::Any)
}

/// Takes the dispatches of a run that rests or has ended out of the queue.
pub(crate) fn dequeue_run(tables: &mut Tables<'_>, run: RunId) -> Result<(), StoreError> {
    tables.write(
        "delete from dispatch_queue where run_id = ?1",
        params![run],
        Rows::Any,
    )
}

fn dequeue(tables: &mut Tables<'_>, id: DispatchId, rows: Rows) -> Result<(), StoreError> {
    tables.write(
        "delete from dispatch_queue where dispatch_id = ?1",
        params![id],
        rows,
    )
}

/// Says what an event is about.
macro_rules! of_dispatch {
    ($($which:tt).+) => {
        fn subject(&self) -> Subject {
            subject(self.$($which).+.id)
        }

        fn project(&self) -> Option<ProjectId> {
            Some(self.$($which).+.project)
        }

        fn run(&self) -> Option<RunId> {
            self.$($which).+.run
        }
    };
}

const fn subject(id: DispatchId) -> Subject {
    Subject {
        kind: SubjectKind::Dispatch,
        id: id.get(),
    }
}

impl Apply for DispatchCreated {
    fn subject(&self) -> Subject {
        subject(self.id)
    }

    fn project(&self) -> Option<ProjectId> {
        Some(self.project)
    }

    fn run(&self) -> Option<RunId> {
        self.run
    }

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into dispatch (id, project_id, run_id, phase, agent_kind, prompt, priority,
                group_name, state, origin_id, retry_of, attempt, not_before_lease_us,
                deadline_lease_us, claims, tokens, progress, summary, reason, agent_id, created_at,
                revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'queued', ?9, ?10, ?11, ?12, ?13, 0, 0, '',
                '', '', ?14, ?15, 1)",
            params![
                self.id,
                self.project,
                self.run,
                self.phase.as_deref(),
                &self.agent_kind,
                &self.prompt,
                self.priority,
                self.group.as_deref(),
                self.origin,
                self.retry_of,
                self.attempt,
                self.not_before,
                self.deadline,
                self.by,
                place.at,
            ],
            Rows::Exactly(1),
        )?;
        for origin in &self.depends_on {
            tables.write(
                "insert into dispatch_dependency (dispatch_id, origin_id) values (?1, ?2)",
                params![self.id, *origin],
                Rows::Exactly(1),
            )?;
        }
        enqueue(tables, self.id)
    }
}

impl Apply for DispatchClaimed {
    of_dispatch!(which);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        dequeue(tables, self.which.id, Rows::Exactly(1))?;
        tables.write(
            "update dispatch set state = 'spawned', claimant_id = ?2, fence = ?3,
                claim_lease_us = ?4, claims = claims + 1, revision = revision + 1
             where id = ?1 and state = 'queued'",
            params![self.which.id, self.claimant, place.seq, self.expires],
            Rows::Exactly(1),
        )
    }
}

impl Apply for DispatchStarted {
    of_dispatch!(0);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update dispatch set state = 'running', started_at = ?2, revision = revision + 1
             where id = ?1 and state = 'spawned'",
            params![self.0.id, place.at],
            Rows::Exactly(1),
        )
    }
}

impl Apply for DispatchExtended {
    of_dispatch!(which);

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update dispatch set claim_lease_us = ?2, revision = revision + 1
             where id = ?1 and state in ('spawned', 'running')",
            params![self.which.id, self.expires],
            Rows::Exactly(1),
        )
    }
}

impl Apply for DispatchReported {
    of_dispatch!(which);

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update dispatch set tokens = ?2, progress = ?3, revision = revision + 1
             where id = ?1 and state = 'running'",
            params![self.which.id, self.tokens, &self.progress],
            Rows::Exactly(1),
        )?;
        if let Some(run) = self.which.run
            && self.tokens_added > 0
        {
            tables.write(
                "update run set tokens = tokens + cast(?2 as bigint) where id = ?1",
                params![run, self.tokens_added],
                Rows::Exactly(1),
            )?;
        }
        Ok(())
    }
}

impl Apply for DispatchReturned {
    of_dispatch!(which);

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update dispatch set state = 'queued', claimant_id = null, fence = null,
                claim_lease_us = null, started_at = null, revision = revision + 1
             where id = ?1 and state in ('spawned', 'running')",
            params![self.which.id],
            Rows::Exactly(1),
        )?;
        enqueue(tables, self.which.id)
    }
}

impl Apply for DispatchFinished {
    of_dispatch!(which);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let (from, to) = match self.outcome {
            Outcome::Completed => (DispatchState::Running, DispatchState::Completed),
            Outcome::Failed => (DispatchState::Running, DispatchState::Failed),
        };
        let result = self.result.as_ref().map(ToString::to_string);
        tables.write(
            "update dispatch set state = ?3, verdict = ?4, summary = ?5, result = ?6,
                result_sha256 = ?7, settled_at = ?8, revision = revision + 1
             where id = ?1 and state = ?2",
            params![
                self.which.id,
                from.as_str(),
                to.as_str(),
                self.verdict.map(comity_domain::Verdict::as_str),
                &self.summary,
                result.as_deref(),
                self.result_sha256.bytes(),
                place.at,
            ],
            Rows::Exactly(1),
        )?;
        match self.outcome {
            Outcome::Completed => enqueue_dependents(tables, self.which.id),
            Outcome::Failed => Ok(()),
        }
    }
}

/// Settles what nobody finished.
fn settle(
    which: Which,
    to: DispatchState,
    reason: &str,
    place: Place,
    tables: &mut Tables<'_>,
) -> Result<(), StoreError> {
    dequeue(tables, which.id, Rows::Any)?;
    tables.write(
        "update dispatch set state = ?2, reason = ?3, settled_at = ?4, revision = revision + 1
         where id = ?1 and state in ('queued', 'spawned', 'running')",
        params![which.id, to.as_str(), reason, place.at],
        Rows::Exactly(1),
    )
}

impl Apply for DispatchCancelled {
    of_dispatch!(which);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let to = DispatchState::Cancelled;
        settle(self.which, to, &self.reason, place, tables)
    }
}

impl Apply for DispatchTimedOut {
    of_dispatch!(which);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let to = DispatchState::TimedOut;
        settle(self.which, to, "its deadline passed", place, tables)
    }
}

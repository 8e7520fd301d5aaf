//! Runs: from event to rows.

use comity_domain::{Chain, ProjectId, RunId, RunState};
use serde_json::{Map, Value};

use super::event::{
    ArtifactAdded, ArtifactWithdrawn, GateOverridden, GateRefused, Moved, PhaseApproved,
    PhaseSkipped, RunAdvanced, RunAgentAdded, RunAgentFinished, RunCancelled, RunCreated,
    RunFailed, RunPaused, RunResumed, RunRolledBack, RunUpdated, RunsLinked, RunsUnlinked, Steered,
    VerdictRecorded,
};
use crate::dispatch::apply::{dequeue_run, enqueue_run};
use crate::log::{Apply, Place, Subject, SubjectKind, Tables};
use crate::params;
use crate::redaction::{Key, Redacted, Spot, blank, blank_map, blank_option};
use crate::store::{Rows, StoreError};

const fn run(id: RunId) -> Subject {
    Subject {
        kind: SubjectKind::Run,
        id: id.get(),
    }
}

/// Says what an event is about, from the fields that hold the run and the project.
macro_rules! of_run {
    ($($id:tt).+, $($project:tt).+) => {
        fn subject(&self) -> Subject {
            run(self.$($id).+)
        }

        fn project(&self) -> Option<ProjectId> {
            Some(self.$($project).+)
        }

        fn run(&self) -> Option<RunId> {
            Some(self.$($id).+)
        }
    };
}

/// Counts an event of a run that changes nothing of its row.
fn count(tables: &mut Tables<'_>, id: RunId) -> Result<(), StoreError> {
    tables.write(
        "update run set revision = revision + 1 where id = ?1",
        params![id],
        Rows::Exactly(1),
    )
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|_| StoreError::Shape("a value that can be written down"))
}

/// Says where a run's goal and metadata went.
fn of_run_words(
    redacted: Redacted,
    id: RunId,
    goal: &str,
    metadata: &Map<String, Value>,
) -> Redacted {
    let redacted = redacted.from(Spot::RunGoal, id, goal);
    match json(metadata) {
        Ok(metadata) if metadata != "{}" => redacted.from(Spot::RunMetadata, id, &metadata),
        _ => redacted,
    }
}

impl Apply for RunCreated {
    of_run!(id, project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let first = self.phases.at(0).map_or("", |phase| &**phase);
        let last = i64::try_from(Chain::last(&self.phases)).unwrap_or(0);
        tables.write(
            "insert into run (id, project_id, parent_id, goal, phases, gates, phase, position,
                last_position, state, token_budget, budget_enforced, max_dispatches, max_per_kind,
                metadata, tokens, agent_id, created_at, revision)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, 'active', ?9, ?10, ?11, ?12, ?13, 0, ?14,
                ?15, 1)",
            params![
                self.id,
                self.project,
                self.parent,
                &self.goal,
                &json(&self.phases)?,
                &json(&self.gates)?,
                first,
                last,
                self.token_budget,
                i64::from(self.budget_enforced),
                self.max_dispatches,
                &json(&self.max_per_kind)?,
                &json(&self.metadata)?,
                self.by,
                place.at,
            ],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            goal: blank(&self.goal),
            metadata: blank_map(&self.metadata),
            ..self.clone()
        };
        Some(of_run_words(
            Redacted::to(remnant),
            self.id,
            &self.goal,
            &self.metadata,
        ))
    }
}

/// Moves a run, if it is where the event says it was (G3).
fn advance(moved: &Moved, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
    let state = if moved.completed {
        RunState::Completed
    } else {
        RunState::Active
    };
    let ended_at = moved.completed.then_some(place.at);
    tables.write(
        "update run set phase = ?3, position = ?4, state = ?5, ended_at = ?6,
            revision = revision + 1
         where id = ?1 and phase = ?2 and state = 'active'",
        params![
            moved.id,
            &*moved.from,
            &*moved.to,
            moved.position,
            state.as_str(),
            ended_at,
        ],
        Rows::Exactly(1),
    )?;
    if moved.completed {
        dequeue_run(tables, moved.id)?;
    }
    Ok(())
}

impl Apply for RunAdvanced {
    of_run!(moved.id, moved.project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        advance(&self.moved, place, tables)
    }

    fn redacted(&self) -> Option<Redacted> {
        Some(Redacted::to(Self {
            note: blank_option(self.note.as_ref()),
            ..self.clone()
        }))
    }
}

impl Apply for GateOverridden {
    of_run!(moved.id, moved.project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        advance(&self.moved, place, tables)
    }

    fn redacted(&self) -> Option<Redacted> {
        Some(Redacted::to(Self {
            reason: blank(&self.reason),
            ..self.clone()
        }))
    }
}

impl Apply for GateRefused {
    of_run!(id, project);

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        count(tables, self.id)
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

impl Apply for PhaseSkipped {
    of_run!(id, project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into run_skip (run_id, phase, reason, created_at) values (?1, ?2, ?3, ?4)",
            params![self.id, &*self.phase, &self.reason, place.at],
            Rows::Exactly(1),
        )?;
        count(tables, self.id)
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            reason: blank(&self.reason),
            ..self.clone()
        };
        let key = Key::Named(self.id.get(), self.phase.to_string());
        Some(Redacted::to(remnant).from(Spot::SkipReason, key, &self.reason))
    }
}

impl Apply for RunRolledBack {
    of_run!(id, project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update run set phase = ?3, position = ?4, ended_at = null,
                state = case when state = 'paused' then 'paused' else 'active' end,
                revision = revision + 1
             where id = ?1 and phase = ?2",
            params![self.id, &*self.from, &*self.to, self.position],
            Rows::Exactly(1),
        )?;
        for id in &self.artifacts {
            tables.write(
                "update artifact set withdrawn_at = ?2 where id = ?1 and withdrawn_at is null",
                params![*id, place.at],
                Rows::Exactly(1),
            )?;
        }
        for id in &self.verdicts {
            tables.write(
                "update verdict set withdrawn_at = ?2 where id = ?1 and withdrawn_at is null",
                params![*id, place.at],
                Rows::Exactly(1),
            )?;
        }
        for id in &self.approvals {
            tables.write(
                "update approval set withdrawn_at = ?2 where id = ?1 and withdrawn_at is null",
                params![*id, place.at],
                Rows::Exactly(1),
            )?;
        }
        for phase in &self.skips {
            tables.write(
                "delete from run_skip where run_id = ?1 and phase = ?2",
                params![self.id, &**phase],
                Rows::Exactly(1),
            )?;
        }
        enqueue_run(tables, self.id)
    }

    fn redacted(&self) -> Option<Redacted> {
        Some(Redacted::to(Self {
            reason: blank(&self.reason),
            ..self.clone()
        }))
    }
}

/// Changes the state of a run that is in one of two states.
fn steer(
    steered: &Steered,
    to: RunState,
    place: Place,
    tables: &mut Tables<'_>,
) -> Result<(), StoreError> {
    let ended_at = (!to.is_live()).then_some(place.at);
    tables.write(
        "update run set state = ?2, ended_at = ?3, revision = revision + 1
         where id = ?1 and state in ('active', 'paused') and state <> ?2",
        params![steered.id, to.as_str(), ended_at],
        Rows::Exactly(1),
    )?;
    match to {
        RunState::Active => enqueue_run(tables, steered.id),
        _ => dequeue_run(tables, steered.id),
    }
}

impl Steered {
    /// Takes the reason out.
    fn redacted(&self) -> Self {
        Self {
            reason: blank_option(self.reason.as_ref()),
            ..self.clone()
        }
    }
}

/// What moves a run to a state, for a reason, does only that.
macro_rules! steers {
    ($($event:ident => $state:ident),*) => { $(
        impl Apply for $event {
            of_run!(0.id, 0.project);

            fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
                steer(&self.0, RunState::$state, place, tables)
            }

            fn redacted(&self) -> Option<Redacted> {
                Some(Redacted::to(Self(self.0.redacted())))
            }
        }
    )* };
}

steers!(
    RunPaused => Paused,
    RunResumed => Active,
    RunCancelled => Cancelled,
    RunFailed => Failed
);

impl Apply for RunUpdated {
    of_run!(id, project);

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update run set goal = ?2, token_budget = ?3, max_dispatches = ?4, metadata = ?5,
                revision = revision + 1
             where id = ?1",
            params![
                self.id,
                &self.goal,
                self.token_budget,
                self.max_dispatches,
                &json(&self.metadata)?,
            ],
            Rows::Exactly(1),
        )
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            goal: blank(&self.goal),
            metadata: blank_map(&self.metadata),
            ..self.clone()
        };
        Some(of_run_words(
            Redacted::to(remnant),
            self.id,
            &self.goal,
            &self.metadata,
        ))
    }
}

impl Apply for ArtifactAdded {
    of_run!(run, project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        let sha256 = self.sha256.as_ref().map(comity_domain::Sha256Hex::bytes);
        tables.write(
            "insert into artifact (id, run_id, phase, kind, path, url, sha256, agent_id, created_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                self.id,
                self.run,
                &*self.phase,
                &self.kind,
                self.path.as_deref(),
                self.url.as_deref(),
                sha256,
                self.agent,
                place.at,
            ],
            Rows::Exactly(1),
        )?;
        count(tables, self.run)
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            path: blank_option(self.path.as_ref()),
            url: blank_option(self.url.as_ref()),
            ..self.clone()
        };
        let path = self.path.as_deref().unwrap_or_default();
        let url = self.url.as_deref().unwrap_or_default();
        let redacted = Redacted::to(remnant)
            .from(Spot::ArtifactPath, self.id, path)
            .from(Spot::ArtifactUrl, self.id, url);
        Some(redacted)
    }
}

impl Apply for ArtifactWithdrawn {
    of_run!(run, project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update artifact set withdrawn_at = ?2 where id = ?1 and withdrawn_at is null",
            params![self.id, place.at],
            Rows::Exactly(1),
        )?;
        count(tables, self.run)
    }

    fn redacted(&self) -> Option<Redacted> {
        Some(Redacted::to(Self {
            reason: blank_option(self.reason.as_ref()),
            ..self.clone()
        }))
    }
}

impl Apply for RunAgentAdded {
    of_run!(run, project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into run_agent (run_id, agent_id, role, started_at) values (?1, ?2, ?3, ?4)
             on conflict (run_id, agent_id) do update set role = excluded.role, outcome = null,
                started_at = excluded.started_at, finished_at = null",
            params![self.run, self.agent, &self.role, place.at],
            Rows::Exactly(1),
        )?;
        count(tables, self.run)
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

impl Apply for RunAgentFinished {
    of_run!(run, project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "update run_agent set outcome = ?3, finished_at = ?4
             where run_id = ?1 and agent_id = ?2 and outcome is null",
            params![self.run, self.agent, self.outcome.as_str(), place.at],
            Rows::Exactly(1),
        )?;
        count(tables, self.run)
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

impl Apply for VerdictRecorded {
    of_run!(run, project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into verdict (id, run_id, phase, verdict, summary, agent_id, dispatch_id,
                created_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                self.id,
                self.run,
                &*self.phase,
                self.verdict.as_str(),
                &self.summary,
                self.agent,
                self.dispatch,
                place.at,
            ],
            Rows::Exactly(1),
        )?;
        count(tables, self.run)
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            summary: blank(&self.summary),
            ..self.clone()
        };
        Some(Redacted::to(remnant).from(Spot::VerdictSummary, self.id, &self.summary))
    }
}

impl Apply for PhaseApproved {
    of_run!(run, project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into approval (id, run_id, phase, role, note, agent_id, created_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                self.id,
                self.run,
                &*self.phase,
                self.role.as_str(),
                self.note.as_deref().unwrap_or_default(),
                self.agent,
                place.at,
            ],
            Rows::Exactly(1),
        )?;
        count(tables, self.run)
    }

    fn redacted(&self) -> Option<Redacted> {
        let remnant = Self {
            note: blank_option(self.note.as_ref()),
            ..self.clone()
        };
        let note = self.note.as_deref().unwrap_or_default();
        Some(Redacted::to(remnant).from(Spot::ApprovalNote, self.id, note))
    }
}

impl Apply for RunsLinked {
    of_run!(downstream, project);

    fn apply(&self, place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "insert into run_link (upstream_id, downstream_id, created_at) values (?1, ?2, ?3)",
            params![self.upstream, self.downstream, place.at],
            Rows::Exactly(1),
        )?;
        count(tables, self.downstream)
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

impl Apply for RunsUnlinked {
    of_run!(0.downstream, 0.project);

    fn apply(&self, _place: Place, tables: &mut Tables<'_>) -> Result<(), StoreError> {
        tables.write(
            "delete from run_link where upstream_id = ?1 and downstream_id = ?2",
            params![self.0.upstream, self.0.downstream],
            Rows::Exactly(1),
        )?;
        count(tables, self.0.downstream)
    }

    fn redacted(&self) -> Option<Redacted> {
        None
    }
}

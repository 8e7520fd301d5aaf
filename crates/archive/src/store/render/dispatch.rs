//! A dispatch's file: what was handed out, and how it was settled.

use comity_domain::token::to_hex;
use comity_domain::{DispatchId, DispatchState, Outcome};
use comity_kernel::archive::Batch;
use comity_kernel::archive::handed_out::HandedOut;
use comity_kernel::log::{Event, Recorded};
use sha2::{Digest as _, Sha256};

use super::{Content, name, slug, text};
use crate::store::assignment::Assignment;
use crate::store::place;

/// Renders a dispatch that is made or settled; nothing of what happens between.
pub(super) fn file(batch: &Batch, recorded: &Recorded, event: &Event) -> Option<(String, Content)> {
    let settled = |id: DispatchId, state| {
        let dispatch = batch.settled.get(&id)?;
        let settled_at = Some(recorded.at);
        Some(Assignment {
            settled_at,
            ..assignment(batch, recorded, dispatch, state)
        })
    };
    let file = match event {
        Event::DispatchCreated(one) => {
            let made = HandedOut::new(one, recorded.at);
            assignment(batch, recorded, &made, DispatchState::Queued)
        }
        Event::DispatchFinished(one) => {
            let state = match one.outcome {
                Outcome::Completed => DispatchState::Completed,
                Outcome::Failed => DispatchState::Failed,
            };
            Assignment {
                outcome: Some(one.outcome),
                verdict: one.verdict,
                summary: Some(one.summary.clone()),
                result: one.result.clone(),
                ..settled(one.which.id, state)?
            }
        }
        Event::DispatchCancelled(one) => Assignment {
            reason: Some(one.reason.clone()),
            ..settled(one.which.id, DispatchState::Cancelled)?
        },
        Event::DispatchTimedOut(one) => settled(one.which.id, DispatchState::TimedOut)?,
        _ => return None,
    };
    let path = place::dispatch(&file.project, file.run, file.id);
    Some((path, text(file.render())))
}

fn assignment(
    batch: &Batch,
    recorded: &Recorded,
    dispatch: &HandedOut,
    state: DispatchState,
) -> Assignment {
    Assignment {
        id: dispatch.id,
        seq: recorded.seq,
        project: slug(batch, dispatch.project).to_owned(),
        run: dispatch.run,
        phase: dispatch.phase.clone(),
        agent_kind: dispatch.agent_kind.clone(),
        priority: dispatch.priority,
        group: dispatch.group.clone(),
        attempt: dispatch.attempt,
        retry_of: dispatch.retry_of,
        depends_on: dispatch.depends_on.clone(),
        created_at: dispatch.created_at,
        created_by: name(batch, dispatch.project, dispatch.by),
        state,
        settled_at: None,
        outcome: None,
        verdict: None,
        summary: None,
        result: None,
        reason: None,
        tokens: dispatch.tokens,
        prompt_sha256: to_hex(&Sha256::digest(&dispatch.prompt)),
        prompt_bytes: dispatch.prompt.len(),
        prompt: dispatch.prompt.clone(),
    }
}

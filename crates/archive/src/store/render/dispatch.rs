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

#[cfg(test)]
mod tests {
    use comity_domain::{LeaseTime, ProjectId, RunId, Seq, Timestamp};
    use comity_kernel::dispatch::event::{DispatchCreated, DispatchTimedOut, Which};

    use super::*;

    fn recorded(seq: i64) -> Recorded {
        Recorded {
            seq: Seq::new(seq),
            at: Timestamp::from_micros(1_792_080_000_000_000 + seq),
            v: 1,
            kind: String::new(),
            project: None,
            actor: "operator".into(),
            subject_type: "dispatch".into(),
            subject_id: 12_345,
            run: Some(7),
            correlation: None,
            payload_sha256: [0; 32],
            payload: None,
            hash: [0; 32],
        }
    }

    fn made(run: Option<RunId>) -> DispatchCreated {
        DispatchCreated {
            id: DispatchId::new(12_345),
            project: ProjectId::new(1),
            run,
            phase: None,
            agent_kind: "writer".into(),
            prompt: "---\n\nx".into(),
            priority: 0,
            group: None,
            depends_on: [9, 4].map(DispatchId::new).to_vec(),
            deadline: None,
            origin: DispatchId::new(12_345),
            retry_of: None,
            attempt: 1,
            not_before: LeaseTime::from_micros(0),
            by: None,
        }
    }

    fn read((path, content): (String, Content)) -> (String, Assignment) {
        let Content::Bytes(bytes) = content else {
            panic!("{content:?}");
        };
        let text = String::from_utf8(bytes).unwrap();
        (path, Assignment::parse(&text).unwrap())
    }

    // S10 S11
    #[test]
    fn a_dispatch_is_written_as_it_is_made_and_as_it_is_settled() {
        let (run, alone) = (Some(RunId::new(7)), made(None));
        let created = made(run);
        let mut settled = HandedOut::new(&created, recorded(5).at);
        let batch = Batch::default();
        let event = Event::DispatchCreated(created);
        let (path, first) = read(file(&batch, &recorded(5), &event).unwrap());
        assert_eq!(path, "projects/unknown/runs/7/dispatches/12/12345.md");
        assert_eq!((first.state, first.tokens), (DispatchState::Queued, None));
        assert_eq!(first.prompt, "---\n\nx");
        assert_eq!(first.depends_on, [4, 9].map(DispatchId::new));
        let event = Event::DispatchCreated(alone);
        let (path, _) = read(file(&batch, &recorded(5), &event).unwrap());
        assert_eq!(path, "projects/unknown/dispatches/12/12345.md");

        let which = Which {
            id: settled.id,
            project: settled.project,
            run,
        };
        let event = Event::DispatchTimedOut(DispatchTimedOut {
            which,
            timed_out: LeaseTime::from_micros(0),
        });
        assert_eq!(file(&batch, &recorded(6), &event), None, "nothing known");
        settled.tokens = Some(8);
        let batch = Batch {
            settled: [(settled.id, settled)].into(),
            ..batch
        };
        let (_, last) = read(file(&batch, &recorded(6), &event).unwrap());
        let wanted = Assignment {
            seq: Seq::new(6),
            state: DispatchState::TimedOut,
            settled_at: Some(recorded(6).at),
            tokens: Some(8),
            ..first
        };
        assert_eq!(last, wanted);
        let event = Event::DispatchStarted(comity_kernel::dispatch::event::DispatchStarted(which));
        assert_eq!(file(&batch, &recorded(6), &event), None);
    }
}

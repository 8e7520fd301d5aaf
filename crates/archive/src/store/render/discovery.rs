//! A discovery's file: what was found, what it is worth, and what became of it.

use comity_domain::{DiscoveryId, DiscoveryState, Score};
use comity_kernel::archive::Batch;
use comity_kernel::log::{Event, Recorded};
use serde_json::{Value, json};

use super::{Content, name, pretty, slug};
use crate::store::place;

/// What an event makes of a discovery.
struct Turn<'a> {
    state: DiscoveryState,
    score: Option<Score>,
    reference: Option<&'a str>,
    reason: Option<&'a str>,
}

impl Turn<'_> {
    const fn of(state: DiscoveryState, score: Option<Score>) -> Self {
        Self {
            state,
            score,
            reference: None,
            reason: None,
        }
    }
}

/// Renders a discovery that is submitted, scored or settled; age alone writes no file.
pub(super) fn file(batch: &Batch, recorded: &Recorded, event: &Event) -> Option<(String, Content)> {
    let last = |id: DiscoveryId| {
        let last = batch.found.get(&id).and_then(|found| found.last_score);
        last.and_then(|score| Score::parse(score).ok())
    };
    let (id, turn) = match event {
        Event::DiscoverySubmitted(one) => {
            let state = match one.score {
                Some(_) => DiscoveryState::Scored,
                None => DiscoveryState::New,
            };
            (one.id, Turn::of(state, one.score))
        }
        Event::DiscoveryScored(one) => {
            let turn = Turn::of(DiscoveryState::Scored, Some(one.score));
            (one.which.id, turn)
        }
        Event::DiscoveryPromoted(one) => {
            let turn = Turn {
                reference: Some(&one.reference),
                ..Turn::of(DiscoveryState::Promoted, last(one.which.id))
            };
            (one.which.id, turn)
        }
        Event::DiscoveryDismissed(one) => {
            let turn = Turn {
                reason: Some(&one.reason),
                ..Turn::of(DiscoveryState::Dismissed, last(one.which.id))
            };
            (one.which.id, turn)
        }
        _ => return None,
    };
    rendered(batch, recorded, id, &turn)
}

fn rendered(
    batch: &Batch,
    recorded: &Recorded,
    id: DiscoveryId,
    turn: &Turn<'_>,
) -> Option<(String, Content)> {
    let found = batch.found.get(&id)?;
    let project = slug(batch, found.project);
    let settled = turn.state.is_settled().then_some(recorded.at);
    let file: Value = json!({
        "id": id,
        "project": project,
        "source": found.source,
        "source_id": found.source_id,
        "title": found.title,
        "summary": found.summary,
        "url": found.url,
        "submitted_by": name(batch, found.project, found.by),
        "discovered_at": found.discovered_at,
        "state": turn.state,
        "score": turn.score,
        "tier": turn.score.map(Score::tier),
        "ref": turn.reference,
        "reason": turn.reason,
        "settled_at": settled,
    });
    Some((place::discovery(project, id), pretty(&file)))
}

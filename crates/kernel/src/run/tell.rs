//! What happened to a run, in a sentence for people.

use super::event::Moved;
use crate::gate::Examined;
use crate::log::Event;

/// Tells an event of a run or of its work; nothing for what is none.
pub fn tell(event: &Event) -> String {
    match event {
        Event::RunCreated(one) => format!("began: {}", one.goal),
        Event::RunAdvanced(one) => {
            let note = one.note.as_ref().map(|note| format!(": {note}"));
            format!("{}{}", moved(&one.moved), note.unwrap_or_default())
        }
        Event::GateOverridden(one) => format!(
            "overridden, {}, against {}: {}",
            moved(&one.moved),
            failed(&one.moved.gate),
            one.reason
        ),
        Event::GateRefused(one) => {
            format!(
                "refused from {} to {}: {}",
                one.from,
                one.to,
                failed(&one.gate)
            )
        }
        Event::PhaseSkipped(one) => format!("will skip {}: {}", one.phase, one.reason),
        Event::RunRolledBack(one) => {
            format!(
                "rolled back from {} to {}: {}",
                one.from, one.to, one.reason
            )
        }
        Event::RunPaused(one) => with_reason("paused", one.0.reason.as_deref()),
        Event::RunResumed(one) => with_reason("resumed", one.0.reason.as_deref()),
        Event::RunCancelled(one) => with_reason("cancelled", one.0.reason.as_deref()),
        Event::RunFailed(one) => with_reason("failed", one.0.reason.as_deref()),
        Event::RunUpdated(one) => format!("updated: {}", one.goal),
        Event::RunsLinked(one) => format!("waits for run {}", one.upstream),
        Event::RunsUnlinked(one) => format!("waits for run {} no more", one.0.upstream),
        other => tell_evidence(other).unwrap_or_else(|| tell_work(other)),
    }
}

fn tell_evidence(event: &Event) -> Option<String> {
    Some(match event {
        Event::ArtifactAdded(one) => {
            let sha256 = one.sha256.as_ref().map(ToString::to_string);
            let place = one.path.clone().or_else(|| one.url.clone()).or(sha256);
            let place = place.unwrap_or_default();
            format!(
                "artifact {} ({}) in {}: {place}",
                one.id, one.kind, one.phase
            )
        }
        Event::ArtifactWithdrawn(one) => with_reason(
            &format!("artifact {} withdrawn", one.id),
            one.reason.as_deref(),
        ),
        Event::RunAgentAdded(one) => format!("agent {} takes part", one.agent),
        Event::RunAgentFinished(one) => {
            format!("agent {} {}", one.agent, one.outcome.as_str())
        }
        Event::VerdictRecorded(one) => {
            let summary = Some(one.summary.as_str()).filter(|summary| !summary.is_empty());
            with_reason(
                &format!("verdict on {}: {}", one.phase, one.verdict.as_str()),
                summary,
            )
        }
        Event::PhaseApproved(one) => with_reason(
            &format!("{} approved by the {}", one.phase, one.role.as_str()),
            one.note.as_deref(),
        ),
        _ => return None,
    })
}

fn tell_work(event: &Event) -> String {
    match event {
        Event::DispatchCreated(one) => {
            format!(
                "dispatch {} for {}, attempt {}",
                one.id, one.agent_kind, one.attempt
            )
        }
        Event::DispatchClaimed(one) => match one.claimant {
            Some(agent) => format!("dispatch {} claimed by agent {agent}", one.which.id),
            None => format!("dispatch {} claimed by the operator", one.which.id),
        },
        Event::DispatchStarted(one) => format!("dispatch {} started", one.0.id),
        Event::DispatchExtended(one) => format!("dispatch {} kept longer", one.which.id),
        Event::DispatchReported(one) => {
            let progress = Some(one.progress.as_str()).filter(|progress| !progress.is_empty());
            with_reason(
                &format!("dispatch {} used {} tokens", one.which.id, one.tokens),
                progress,
            )
        }
        Event::DispatchReturned(one) => {
            format!(
                "dispatch {} back in the queue: {}",
                one.which.id, one.reason
            )
        }
        Event::DispatchFinished(one) => {
            let summary = Some(one.summary.as_str()).filter(|summary| !summary.is_empty());
            with_reason(
                &format!("dispatch {} {}", one.which.id, one.outcome.as_str()),
                summary,
            )
        }
        Event::DispatchCancelled(one) => {
            format!("dispatch {} cancelled: {}", one.which.id, one.reason)
        }
        Event::DispatchTimedOut(one) => format!("dispatch {} timed out", one.which.id),
        Event::FilesReserved(one) => {
            let patterns: Vec<_> = one.reservations.iter().map(|one| &*one.key).collect();
            format!("agent {} reserved {}", one.agent, patterns.join(", "))
        }
        Event::LockAcquired(one) => format!("lock {} taken", one.name),
        _ => String::new(),
    }
}

fn moved(moved: &Moved) -> String {
    let end = if moved.completed { ", completed" } else { "" };
    format!("moved from {} to {}{end}", moved.from, moved.to)
}

fn failed(checks: &[Examined]) -> String {
    let failed = checks.iter().filter(|check| check.refuses());
    let each: Vec<_> = failed
        .map(|check| format!("{} ({})", check.rule.check.kind().as_str(), check.detail))
        .collect();
    match each.as_slice() {
        [] => "nothing".to_owned(),
        each => each.join(", "),
    }
}

fn with_reason(what: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{what}: {reason}"),
        None => what.to_owned(),
    }
}

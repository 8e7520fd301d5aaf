//! How errors are shown: the next step, and the facts as JSON.

use serde_json::{Map, Value, json};

use super::Error;
use crate::checkpoint::Obstacle;
use crate::gate::Examined;
use crate::reservation::Conflict;

impl Error {
    /// Says what to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::NotFound {
                near: Some(near), ..
            } => format!("did you mean `{near}`?"),
            Self::UnknownRecipient {
                near: Some(near), ..
            } => format!("did you mean `{near}`? `list_agents` shows everybody"),
            Self::Internal { id, .. } => format!("look for `{id}` in the server's log"),
            Self::NameTaken { name, .. } => format!(
                "choose another name, or present the token of `{name}` to go on as that agent"
            ),
            Self::VersionConflict { .. } => {
                "read it again, and repeat the change with what is `present` if you still mean it"
                    .to_owned()
            }
            other => other.fixed_hint().to_owned(),
        }
    }

    const fn fixed_hint(&self) -> &'static str {
        match self {
            Self::NotJson { .. } => "send one JSON object in UTF-8 without duplicate keys",
            Self::TooLarge { .. } => "send less at a time",
            Self::Invalid { .. } => "correct the field and send the request again",
            Self::Unauthorized => "present the token from its file, or ask the operator for one",
            Self::Forbidden { .. } => "ask the operator, or act as the agent it concerns",
            Self::NotFound { .. } => "list what there is and use its id or name",
            Self::UnknownRecipient { .. } => {
                "`list_agents` shows everybody here; write `name@project` to reach another project"
            }
            Self::DeliveryRefused { .. } => "ask with `request_contact`, or write to the operator",
            Self::AgentRetired { .. } => "choose one that is not retired, or register a new one",
            Self::ReservationConflict { .. } => {
                "work on something else, ask the holder of files with `request_release`, or try with `wait`"
            }
            Self::NotHolder { .. } => {
                "only its holder may; ask it with `request_release`, or take a lease of your own"
            }
            Self::LeaseExpired { .. } => {
                "reserve it again, and look at the files before you write: others may have changed them"
            }
            Self::LeaseEnded { .. } => "nothing is left to do; reserve it again if you need it",
            Self::StalePhase { .. } => {
                "look at `run_status`, and repeat with the phase it is in if you still mean it"
            }
            Self::GateRefused { .. } => {
                "supply what the failed checks name, and see `check_gate`; the operator may `override_gate`"
            }
            Self::IllegalTransition { .. } => "look at its state; what has ended cannot be changed",
            Self::AlreadySettled { .. } => {
                "nothing is left to do; `retry_dispatch` makes a new attempt of a failed one"
            }
            Self::AlreadyExists { .. } => "nothing is left to do; look at the one that is there",
            Self::BelowThreshold { .. } => {
                "score it again if it is worth more, take a lower `threshold`, or set `force`"
            }
            Self::AlreadyPromoted { .. } => {
                "nothing is left to do; `ref` says what it became; `feedback` can still be given"
            }
            Self::Dismissed { .. } => {
                "nothing is left to do; submit it under another `source_id` if wanted"
            }
            Self::Cycle { .. } => "remove a link of the circle first, or link the other way round",
            Self::WrongGeneration { .. } => {
                "stop: another instance reads for this consumer; `register_consumer` takes it back"
            }
            Self::Pruned { .. } => {
                "go on with `since` one below `oldest_seq`, a consumer by `reset_consumer`; the archive has the rest"
            }
            Self::StillNeeded { .. } => {
                "prune no further than the smallest `may_go_to`, or wait until they have come further"
            }
            other => other.hint_of_the_place(),
        }
    }

    /// What to do where the trouble is not in what was asked.
    const fn hint_of_the_place(&self) -> &'static str {
        match self {
            Self::IdempotencyMismatch { .. } => "use a new key for a new request",
            Self::LimitExceeded { .. } => "use less of it, or end some of it first",
            Self::RateLimited { .. } => {
                "wait as long as `retry_after_ms` says, and call less often"
            }
            Self::WrongHost { .. } => {
                "use the address the server prints at its start, or add the name to `allowed_hosts`"
            }
            Self::MethodNotAllowed { .. } => "use a method of the `Allow` header",
            Self::TooSlow { .. } => "send the whole request at once",
            Self::EmbedderUnavailable { .. } => {
                "repeat later, send an `embedding` of your own, or leave `dedup_threshold` out"
            }
            Self::Busy { .. } => "wait a little and repeat with the same idempotency key",
            Self::StorageFull => "free space on the data disk; reading goes on meanwhile",
            Self::Indeterminate => "repeat with the same idempotency key to learn which",
            Self::Locked { .. } => "use or stop the process that holds it",
            Self::DatabaseNewer { .. } => {
                "use the newer program, or restore the backup from before"
            }
            Self::BehindArchive { .. } => {
                "move `comity.db` away, then `comity restore --from-archive` fills a new one; \
                 `comity serve --new-epoch` goes on without what was lost"
            }
            Self::Damaged { .. } => {
                "leave the files as they are; put a backup in place of `comity.db`"
            }
            Self::Unusable { .. } => "correct what the message names and start again",
            _ => "",
        }
    }

    /// Says how long to wait, where waiting helps.
    pub const fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Busy { .. } | Self::Indeterminate => Some(1_000),
            Self::EmbedderUnavailable { .. } => Some(5_000),
            Self::StorageFull => Some(10_000),
            Self::RateLimited { retry_after_ms, .. } => Some(*retry_after_ms),
            _ => None,
        }
    }

    /// Writes the error as every surface shows it.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("error".into(), self.code().word.into());
        object.insert("message".into(), self.to_string().into());
        object.insert("hint".into(), self.hint().into());
        let details = match self {
            Self::Invalid { field, rule } => json!({ "field": field, "rule": rule }),
            Self::NameTaken { name, agent } => json!({ "name": name, "agent_id": agent }),
            Self::VersionConflict { expected, present } => {
                json!({ "expected": expected, "present": present })
            }
            Self::StalePhase {
                expected, present, ..
            } => json!({ "expected": expected, "present": present }),
            Self::GateRefused { from, to, checks } => {
                json!({ "from": from, "to": to, "checks": checks })
            }
            Self::IllegalTransition { state, .. } | Self::AlreadySettled { state, .. } => {
                json!({ "state": state })
            }
            Self::AlreadyExists { id: Some(id), .. } => json!({ "id": id }),
            Self::BelowThreshold {
                score, threshold, ..
            } => json!({ "score": score, "threshold": threshold }),
            Self::AlreadyPromoted { reference, .. } => json!({ "ref": reference }),
            Self::WrongGeneration { given, present, .. } => {
                json!({ "given": given, "present": present })
            }
            Self::Pruned { oldest_seq } => json!({ "oldest_seq": oldest_seq }),
            Self::StillNeeded { by } => json!({ "by": by }),
            Self::UnknownRecipient { name, near } => json!({ "name": name, "near": near }),
            Self::ReservationConflict { conflicts } => json!({ "conflicts": conflicts }),
            Self::NotHolder { held_by, .. } => json!({ "held_by": held_by }),
            Self::LeaseExpired { holders, .. } => json!({ "holders": holders }),
            Self::LeaseEnded { ended, .. } => json!({ "ended": ended }),
            Self::DeliveryRefused { skipped } => {
                let one = |(recipient, reason): &(String, String)| json!({ "recipient": recipient, "reason": reason });
                json!({ "skipped": skipped.iter().map(one).collect::<Vec<_>>() })
            }
            Self::LimitExceeded { what, limit } => json!({ "limited": what, "limit": limit }),
            Self::Internal { id, .. } => json!({ "id": id }),
            Self::BehindArchive { archive, database } => {
                json!({ "archive": archive, "database": database })
            }
            Self::DatabaseNewer { found, known } => json!({ "found": found, "known": known }),
            _ => Value::Null,
        };
        if let Value::Object(details) = details {
            object.extend(details);
        }
        if let Some(wait) = self.retry_after_ms() {
            object.insert("retry_after_ms".into(), wait.into());
        }
        Value::Object(object)
    }
}

/// Says who holds what somebody wants.
pub(super) fn in_the_way(conflicts: &[Conflict]) -> String {
    match conflicts {
        [] => "it is held by others".to_owned(),
        [one] => format!("`{}` is held by `{}`", one.pattern, one.held_by),
        [first, more @ ..] => format!(
            "`{}` is held by `{}`, and {} more are in the way",
            first.pattern,
            first.held_by,
            more.len()
        ),
    }
}

/// Says which checks of a gate failed.
pub(super) fn refusing(checks: &[Examined]) -> String {
    let failed = checks.iter().filter(|check| check.refuses());
    let each: Vec<_> = failed
        .map(|check| format!("`{}` ({})", check.rule.check.kind().as_str(), check.detail))
        .collect();
    each.join(", ")
}

/// Says what a discovery is worth.
pub(super) fn worth(score: Option<f64>) -> String {
    score.map_or_else(
        || "has no score".to_owned(),
        |score| format!("has the score {score}"),
    )
}

/// Says who still needs what would be pruned.
pub(super) fn still_needed(by: &[Obstacle]) -> String {
    let told: Vec<_> = by
        .iter()
        .map(|one| format!("{} (up to event {} may go)", one.what, one.may_go_to))
        .collect();
    format!("in the way of pruning: {}", told.join("; "))
}

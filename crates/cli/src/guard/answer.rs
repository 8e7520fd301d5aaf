//! The answer to the guard's question, for people.

use comity_domain::{GuardAway, GuardMode};
use serde::Deserialize;
use serde_json::Value;

use super::memory::Wanted;
use crate::failure::Failure;

/// What came back.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    allowed: bool,
    mode: GuardMode,
    away: GuardAway,
    #[serde(default)]
    conflicts: Vec<Conflict>,
    #[serde(default)]
    lost: Vec<Lost>,
}

/// Somebody else's lease.
#[derive(Debug, Deserialize)]
struct Conflict {
    reservation_id: i64,
    held_by: String,
    pattern: String,
    exclusive: bool,
    #[serde(default)]
    reason: Option<String>,
    expires_at: String,
    ttl_remaining_ms: i64,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    path_count: usize,
}

/// A lease that the asker believes to hold, and does not.
#[derive(Debug, Deserialize)]
struct Lost {
    reservation_id: i64,
    path_pattern: String,
    ended: String,
    #[serde(default)]
    held_by: Option<String>,
}

impl Answer {
    /// Reads an answer; one that says less than it should is none.
    pub(crate) fn of(answer: &Value) -> Result<Self, Failure> {
        Self::deserialize(answer).map_err(|error| {
            Failure::unusable(format!(
                "the answer is not understood: {error}; is the server newer?"
            ))
        })
    }

    /// Returns what the project wants of its guard.
    pub(crate) const fn wanted(&self) -> Wanted {
        Wanted {
            mode: self.mode,
            away: self.away,
        }
    }

    /// Tells whether nobody is in the way.
    pub(crate) fn is_free(&self) -> bool {
        let is_clear = self.conflicts.is_empty() && self.lost.is_empty();
        // In the other modes everything is allowed, whoever is in the way.
        is_clear && (self.allowed || self.mode != GuardMode::Block)
    }

    /// Says who is in the way, why, until when, and what to do.
    pub(crate) fn lines(&self) -> Vec<String> {
        let conflicts = self.conflicts.iter().flat_map(Conflict::lines);
        conflicts
            .chain(self.lost.iter().flat_map(Lost::lines))
            .collect()
    }

    /// Says in one sentence what is in the way.
    pub(crate) fn sum(&self) -> String {
        let mut holders: Vec<_> = self
            .conflicts
            .iter()
            .map(|one| one.held_by.as_str())
            .collect();
        holders.sort_unstable();
        holders.dedup();
        match (holders.as_slice(), self.lost.len()) {
            ([], 0) => "the guard refuses this".to_owned(),
            ([], lost) => format!("{lost} of your leases were lost since you took them"),
            (holders, 0) => format!("this writes what `{}` holds", holders.join("`, `")),
            (holders, lost) => format!(
                "this writes what `{}` holds, and {lost} of your leases were lost",
                holders.join("`, `")
            ),
        }
    }
}

impl Conflict {
    fn lines(&self) -> [String; 2] {
        let id = self.reservation_id;
        let kind = if self.exclusive {
            ""
        } else {
            ", shared: nobody else writes there"
        };
        let reason = self.reason.as_deref().filter(|reason| !reason.is_empty());
        let reason = reason
            .map(|reason| format!(": {reason}"))
            .unwrap_or_default();
        let left = span(self.ttl_remaining_ms);
        [
            format!(
                "{}: held by `{}` (lease {id} on `{}`{kind}) for {left}, until {}{reason}",
                self.what(),
                self.held_by,
                self.pattern,
                self.expires_at
            ),
            format!("  next: `comity ask-release {id} --reason WHY`, or wait {left}"),
        ]
    }

    fn what(&self) -> String {
        let count = self.path_count.max(self.paths.len());
        let shown: Vec<_> = self.paths.iter().take(3).map(String::as_str).collect();
        match (shown.as_slice(), count - shown.len()) {
            ([], 0) => "a path".to_owned(),
            ([], count) => format!("{count} paths"),
            (shown, 0) => shown.join(", "),
            (shown, more) => format!("{} and {more} more", shown.join(", ")),
        }
    }
}

impl Lost {
    fn lines(&self) -> [String; 2] {
        let Self {
            reservation_id: id,
            path_pattern: pattern,
            ..
        } = self;
        let how = match self.ended.as_str() {
            "expired" => "has expired",
            "released" => "was released",
            "forced" => "was taken away by force",
            "retired" => "ended when its agent was retired",
            _ => "has ended",
        };
        let now = match &self.held_by {
            Some(holder) => format!("`{holder}` holds it now"),
            None => "nobody holds it now".to_owned(),
        };
        [
            format!("your lease {id} on `{pattern}` {how}; {now}"),
            format!(
                "  next: look at what changed, then `comity reserve '{pattern}'`, or `comity release {id}` to give it up"
            ),
        ]
    }
}

/// Says a length of time in its largest whole unit.
fn span(ms: i64) -> String {
    match ms {
        ..60_000 => format!("{} s", ms.max(0) / 1_000),
        60_000..7_200_000 => format!("{} min", ms / 60_000),
        _ => format!("{} h", ms / 3_600_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(conflicts: &Value, lost: &Value) -> Answer {
        let answer = json!({
            "allowed": false, "mode": "block", "away": "warn",
            "conflicts": conflicts, "lost": lost, "as_of_seq": 7
        });
        Answer::of(&answer).unwrap()
    }

    // 3.11
    #[test]
    fn people_learn_who_why_until_when_and_what_to_do() {
        let conflicts = json!([{
            "reservation_id": 7, "agent_id": 1, "held_by": "Blue", "pattern": "src/**",
            "exclusive": false, "reason": "the parser", "expires_at": "2026-01-01T00:30:00.000000Z",
            "ttl_remaining_ms": 1_740_000, "fence": 1017, "holder_last_seen": null,
            "paths": ["src/a", "src/b", "src/c", "src/d"], "path_count": 25
        }]);
        let lost = json!([{
            "reservation_id": 5, "path_pattern": "docs", "fence": 9, "ended": "forced", "held_by": "Green"
        }]);
        let answer = answer(&conflicts, &lost);
        assert!(!answer.is_free());
        assert_eq!(
            answer.sum(),
            "this writes what `Blue` holds, and 1 of your leases were lost"
        );
        assert_eq!(
            answer.lines(),
            [
                "src/a, src/b, src/c and 22 more: held by `Blue` (lease 7 on `src/**`, shared: nobody \
                 else writes there) for 29 min, until 2026-01-01T00:30:00.000000Z: the parser",
                "  next: `comity ask-release 7 --reason WHY`, or wait 29 min",
                "your lease 5 on `docs` was taken away by force; `Green` holds it now",
                "  next: look at what changed, then `comity reserve 'docs'`, or `comity release 5` to \
                 give it up",
            ]
        );
    }

    #[test]
    fn an_answer_that_says_too_little_is_none() {
        assert!(Answer::of(&json!({})).is_err());
        assert!(Answer::of(&json!({ "allowed": true, "mode": "on", "away": "warn" })).is_err());
        let free = json!({ "allowed": true, "mode": "block", "away": "warn" });
        assert!(Answer::of(&free).unwrap().is_free());
        let refused = json!({ "allowed": false, "mode": "block", "away": "warn" });
        assert!(!Answer::of(&refused).unwrap().is_free());
    }
}

//! What has to be done so that an agent may write some files.

use comity_domain::{LiteralPath, Pattern, ReservationId};
use comity_kernel::project::ProjectStatusQuery;
use comity_kernel::reservation::{Conflict, Reason, Renew, ReserveFiles};
use comity_kernel::{Command as _, Query as _};
use serde::Deserialize as _;
use serde_json::Value;

use super::verdict::Verdict;
use crate::failure::Failure;
use crate::ground::Ground;
use crate::guard::Wanted;
use crate::session::Session;

/// What others read about a lease that was taken here.
const REASON: &str = "editing";

/// What has to be done for some files.
pub(super) struct Plan<'a> {
    paths: &'a [LiteralPath],
    /// Leases that are good as they are.
    pub(super) kept: Vec<&'a Conflict>,
    /// Leases to keep longer.
    short: Vec<ReservationId>,
    /// Files without a lease.
    fresh: Vec<LiteralPath>,
}

impl<'a> Plan<'a> {
    /// Compares the files with the leases that the agent has on them; one with `enough_ms` left is
    /// left alone.
    pub(super) fn of(paths: &'a [LiteralPath], own: &'a [Conflict], enough_ms: i64) -> Self {
        let mut plan = Self {
            paths,
            kept: Vec::new(),
            short: Vec::new(),
            fresh: Vec::new(),
        };
        for path in paths {
            let covering = own.iter().filter(|lease| covers(lease, path));
            match covering.max_by_key(|lease| lease.ttl_remaining_ms) {
                None => plan.fresh.push(path.clone()),
                Some(lease) if lease.ttl_remaining_ms >= enough_ms => plan.kept.push(lease),
                Some(lease) => plan.short.push(lease.reservation_id),
            }
        }
        plan
    }

    /// Renews what is short and takes what is missing, or says who was faster.
    pub(super) fn carry_out(
        mut self,
        session: &Session<'_>,
        ground: &Ground,
    ) -> Result<Verdict, Failure> {
        if !self.short.is_empty() {
            let request = Renew {
                ids: std::mem::take(&mut self.short),
                all: false,
                ttl: None,
                fence: None,
            };
            match session.call(Renew::NAME, &request) {
                // It ended just now: then it is taken anew.
                Err(failure) if is(&failure, &["lease_expired", "lease_ended"]) => {
                    self.fresh = self.paths.to_vec();
                }
                renewed => {
                    renewed?;
                }
            }
        }
        if self.fresh.is_empty() {
            return Ok(Verdict::Pass);
        }
        let request = ReserveFiles {
            project: Some(ground.project.clone()),
            paths: self.fresh,
            reason: Reason::parse(REASON).ok(),
            ..ReserveFiles::default()
        };
        match session.call(ReserveFiles::NAME, &request) {
            Err(failure) if is(&failure, &["reservation_conflict"]) => {
                Ok(Verdict::held(&conflicts(&failure.body)?))
            }
            reserved => {
                reserved?;
                learn(session, ground);
                Ok(Verdict::Pass)
            }
        }
    }
}

/// Tells whether a lease of the agent's own lets it write a file.
fn covers(lease: &Conflict, path: &LiteralPath) -> bool {
    let pattern = Pattern::parse(&lease.pattern);
    lease.exclusive && pattern.is_ok_and(|pattern| pattern.covers(path))
}

/// Reads the leases in the way.
pub(super) fn conflicts(answer: &Value) -> Result<Vec<Conflict>, Failure> {
    let conflicts = answer.get("conflicts").unwrap_or(&Value::Null);
    Vec::<Conflict>::deserialize(conflicts).map_err(|error| {
        Failure::unusable(format!(
            "the answer is not understood: {error}; is the server newer?"
        ))
    })
}

/// Learns how strict the project is, for when nobody can be asked.
fn learn(session: &Session<'_>, ground: &Ground) {
    let Some(memory) = ground.memory() else {
        return;
    };
    let request = ProjectStatusQuery {
        project: Some(ground.project.clone()),
    };
    let status = session.call(ProjectStatusQuery::NAME, &request);
    let wanted = status.ok().and_then(|status| {
        let project = status.get("project")?;
        Some(Wanted {
            mode: serde_json::from_value(project.get("guard_mode")?.clone()).ok()?,
            away: serde_json::from_value(project.get("guard_away")?.clone()).ok()?,
        })
    });
    if let Some(wanted) = wanted {
        memory.keep(wanted);
    }
}

/// Tells whether a failure is one of these errors.
pub(super) fn is(failure: &Failure, words: &[&str]) -> bool {
    let word = failure.body.get("error").and_then(Value::as_str);
    word.is_some_and(|word| words.contains(&word))
}

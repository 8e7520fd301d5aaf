//! Keeps an agent's file of leases in step with what it was answered.

use std::path::Path;

use comity_kernel::Command as _;
use comity_kernel::reservation::{AnswerRelease, Release, Renew, ReserveFiles};
use serde::Deserialize as _;
use serde_json::Value;

use crate::lease_file::{KeptLease, LeaseFile};
use crate::output;
use crate::who::Who;

/// Writes down leases that were granted, and forgets those that were given back.
///
/// The answer is good even if the file cannot be written; that is told, because the guard will not
/// find out then that a lease was lost.
pub(super) fn remember(who: &Who, operation: &str, answer: &Value, directory: &Path) {
    let change = match operation {
        ReserveFiles::NAME | Renew::NAME => Change::Granted(leases(answer)),
        Release::NAME => Change::Ended(leases(answer).iter().map(|lease| lease.id).collect()),
        AnswerRelease::NAME => Change::Ended(given_up(answer).into_iter().collect()),
        _ => return,
    };
    let Who::Token(token) = who else {
        return;
    };
    let Some(file) = LeaseFile::of_token(token, directory) else {
        return;
    };
    let written = match change {
        Change::Granted(leases) => file.keep(&leases),
        Change::Ended(ids) => file.forget(&ids),
    };
    if let Err(error) = written {
        output::warn(&error.to_string());
    }
}

enum Change {
    Granted(Vec<KeptLease>),
    Ended(Vec<i64>),
}

fn leases(answer: &Value) -> Vec<KeptLease> {
    let leases = answer.get("reservations").and_then(Value::as_array);
    let leases = leases.into_iter().flatten();
    leases
        .filter_map(|lease| KeptLease::deserialize(lease).ok())
        .collect()
}

/// Returns the lease that an answered request gave up, if it did.
fn given_up(answer: &Value) -> Option<i64> {
    let request = answer.get("release_request")?;
    let is_released = request.get("answer").and_then(Value::as_str) == Some("release");
    request
        .get("reservation_id")
        .and_then(Value::as_i64)
        .filter(|_| is_released)
}

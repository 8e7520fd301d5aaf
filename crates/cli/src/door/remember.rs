//! Keeps an agent's file of leases in step with what it was answered.

use std::path::Path;

use comity_domain::{LiteralPath, Pattern};
use comity_kernel::reservation::{AnswerRelease, Release, Renew, ReserveFiles};
use comity_kernel::{Command as _, Error};
use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::lease_file::{KeptLease, LeaseFile};
use crate::output;
use crate::who::Who;

/// What a call does to the leases that an agent believes to hold.
pub(super) enum Memo {
    /// Nothing.
    None,
    /// It takes some or keeps them longer.
    Takes,
    /// It gives some back.
    GivesBack(Given),
    /// It may give one back, as somebody asked.
    Answers,
}

/// What is given back.
pub(super) enum Given {
    /// Everything, what was lost before included.
    All,
    /// One lease, by number.
    Number(i64),
    /// One lease, by what it is on.
    On(Pattern),
    /// What the answer names.
    Several,
}

/// The part of the request that matters.
#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    ids: Vec<i64>,
    #[serde(default)]
    paths: Vec<LiteralPath>,
    #[serde(default)]
    patterns: Vec<Pattern>,
    #[serde(default)]
    all: bool,
}

impl Memo {
    /// Notes what a call is about.
    pub(super) fn of(operation: &str, request: &Value) -> Self {
        match operation {
            ReserveFiles::NAME | Renew::NAME => Self::Takes,
            Release::NAME => Self::GivesBack(Given::of(request)),
            AnswerRelease::NAME => Self::Answers,
            _ => Self::None,
        }
    }

    /// Writes down what came of it.
    ///
    /// The answer is good even if the file cannot be written; that is told, because the guard will
    /// not find out then that a lease was lost.
    pub(super) fn settle(&self, who: &Who, done: &Result<Value, Failure>, directory: &Path) {
        if let (Who::Token(token), false) = (who, matches!(self, Self::None))
            && let Some(file) = LeaseFile::of_token(token, directory)
            && let Err(error) = self.write(&file, done)
        {
            output::warn(&error.to_string());
        }
    }

    fn write(&self, file: &LeaseFile, done: &Result<Value, Failure>) -> Result<(), Error> {
        match (self, done) {
            (Self::Takes, Ok(answer)) => file.keep(&leases(answer)),
            (Self::GivesBack(given), Ok(answer)) => {
                let answered: Vec<_> = leases(answer).iter().map(|lease| lease.id).collect();
                forget(file, |lease| given.is_all() || answered.contains(&lease.id))
            }
            // Who gives back what was lost knows of it now.
            (Self::GivesBack(given), Err(failure)) if is_gone(failure) => {
                forget(file, |lease| given.names(lease))
            }
            (Self::Answers, Ok(answer)) => {
                let given_up = given_up(answer);
                forget(file, |lease| Some(lease.id) == given_up)
            }
            (Self::None, _) | (Self::Takes | Self::GivesBack(_) | Self::Answers, Err(_)) => Ok(()),
        }
    }
}

impl Given {
    fn of(request: &Value) -> Self {
        let Ok(named) = Named::deserialize(request) else {
            return Self::Several;
        };
        match (
            named.ids.as_slice(),
            named.paths.as_slice(),
            named.patterns.as_slice(),
        ) {
            ([], [], []) if named.all => Self::All,
            ([id], [], []) => Self::Number(*id),
            ([], [path], []) => Self::On(path.pattern().clone()),
            ([], [], [pattern]) => Self::On(pattern.clone()),
            _ => Self::Several,
        }
    }

    const fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    fn names(&self, lease: &KeptLease) -> bool {
        match self {
            Self::Number(id) => *id == lease.id,
            Self::On(pattern) => pattern.as_str() == lease.path_pattern,
            Self::All | Self::Several => false,
        }
    }
}

fn is_gone(failure: &Failure) -> bool {
    let word = failure.body.get("error").and_then(Value::as_str);
    matches!(word, Some("lease_ended" | "lease_expired" | "not_found"))
}

fn forget(file: &LeaseFile, is_over: impl Fn(&KeptLease) -> bool) -> Result<(), Error> {
    let leases = file.read()?;
    let over = leases.iter().filter(|lease| is_over(lease));
    let over: Vec<_> = over.map(|lease| lease.id).collect();
    if over.is_empty() {
        return Ok(());
    }
    file.forget(&over)
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
    let id = request.get("reservation_id").and_then(Value::as_i64);
    id.filter(|_| is_released)
}

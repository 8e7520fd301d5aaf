//! Answers a request to release a lease.

use comity_domain::{ReleaseRequestId, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{LeaseReleased, ReleaseAnswered};
use super::held::must_hold;
use super::request::{self, ReleaseRequest, Verdict};
use super::{Reason, table};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::mail::notice::{self, Notice};
use crate::tx::{Read, WriteTx};

/// Answers a request to release a lease of yours; whoever asked gets mail about it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRelease {
    /// The request's number.
    pub id: ReleaseRequestId,
    /// `release` gives the lease back at once, `defer` keeps it for now.
    pub answer: Verdict,
    /// With `defer`, when you expect to be done.
    #[serde(default)]
    pub eta: Option<Span>,
    /// A word to whoever asked.
    #[serde(default)]
    pub note: Option<Reason>,
}

/// The request as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnsweredRelease {
    /// The request.
    pub release_request: ReleaseRequest,
}

impl Command for AnswerRelease {
    const NAME: &'static str = "answer_release";
    const WHO: &'static [Party] = &[Party::Itself];
    type Answer = AnsweredRelease;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<AnsweredRelease, Stop> {
        let actor = tx.actor().clone();
        let unknown = || Error::not_found("release request", &self.id);
        let (asked, project) = request::by_id(tx, self.id)?.ok_or_else(unknown)?;
        if actor.project().is_some_and(|own| own != project) {
            return Err(unknown().into());
        }
        if self.answer == Verdict::Release && self.eta.is_some() {
            return Err(Error::invalid("eta", "goes with `defer` only").into());
        }
        let lease = table::visible(tx, &actor, asked.reservation_id)?;
        must_hold(tx, &actor, &lease, None)?;
        if self.answer == Verdict::Release {
            tx.emit(LeaseReleased(lease.to_end(tx.now())))?;
        }
        let eta_ms = self.eta.map(|eta| eta.micros() / 1_000);
        tx.emit(ReleaseAnswered {
            id: self.id,
            project,
            answer: self.answer,
            eta_ms,
        })?;
        notice::send(
            tx,
            Notice {
                project,
                to: asked.requester_id,
                subject: format!("Re: Please release {}", asked.path_pattern),
                body: self.words(&asked, eta_ms),
                answers: Some(asked.thread_id),
            },
        )?;
        let (release_request, _) = request::by_id(tx, self.id)?
            .ok_or_else(|| Error::internal(Impossible("a request vanished as it was answered")))?;
        Ok(AnsweredRelease { release_request })
    }
}

impl AnswerRelease {
    fn words(&self, asked: &ReleaseRequest, eta_ms: Option<i64>) -> String {
        let (lease, pattern) = (asked.reservation_id, &asked.path_pattern);
        let mut words = match (self.answer, eta_ms) {
            (Verdict::Release, _) => format!("Lease {lease} on `{pattern}` is released."),
            (Verdict::Defer, None) => format!("Lease {lease} on `{pattern}` is still needed."),
            (Verdict::Defer, Some(eta_ms)) => format!(
                "Lease {lease} on `{pattern}` is still needed, for about {} s.",
                eta_ms / 1_000
            ),
        };
        if let Some(note) = self.note.as_deref().filter(|note| !note.is_empty()) {
            words.push_str("\n\n");
            words.push_str(note);
        }
        words
    }
}

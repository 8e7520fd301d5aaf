//! Asks a holder to release a lease.

use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{ReservationId, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::ReleaseRequested;
use super::held::must_be_active;
use super::request::{self, ReleaseRequest};
use super::table;
use crate::actor::{Actor, Party};
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::mail::notice::{self, Notice};
use crate::tx::WriteTx;

/// Asks the holder of a lease to release it, in a mail thread of its own.
///
/// Asking again while the holder has not answered changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestRelease {
    /// The lease's number.
    pub id: ReservationId,
    /// Why you need it; its holder reads it.
    pub reason: Text<TASK_BYTES_MAX>,
}

/// The request as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestedRelease {
    /// The request.
    pub release_request: ReleaseRequest,
    /// Whether it is new.
    pub created: bool,
}

impl Command for RequestRelease {
    const NAME: &'static str = "request_release";
    const WHO: &'static [Party] = &[Party::Itself];
    type Answer = RequestedRelease;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RequestedRelease, Stop> {
        let actor = tx.actor().clone();
        let Actor::Agent { agent, .. } = actor else {
            return Err(Error::Forbidden {
                reason: "only an agent asks for a lease; operators use `force_release`".to_owned(),
            }
            .into());
        };
        let lease = table::visible(tx, &actor, self.id)?;
        must_be_active(tx, &lease)?;
        let Some(holder) = lease.agent.filter(|holder| *holder != agent) else {
            let rule = "is your own: give it back with `release`";
            return Err(Error::invalid("id", rule).into());
        };
        if let Some(open) = request::open(tx, lease.id, agent)? {
            return Ok(RequestedRelease {
                release_request: open,
                created: false,
            });
        }
        let id = request::next_id(tx)?;
        let body = format!(
            "Please release lease {} on `{}` as soon as you can.\n\nAnswer request {id} with \
             `answer_release` (`release`, or `defer` with an `eta`).\n\nThe reason given:\n\n{}",
            lease.id, lease.pattern, self.reason
        );
        let thread = notice::send(
            tx,
            Notice {
                project: lease.project_id,
                to: holder,
                subject: format!("Please release {}", lease.pattern),
                body,
                answers: None,
            },
        )?;
        let thread =
            thread.ok_or_else(|| Error::internal(Impossible("a retired agent holds a lease")))?;
        tx.emit(ReleaseRequested {
            id,
            project: lease.project_id,
            reservation: lease.id,
            requester: agent,
            thread,
            reason: self.reason.to_string(),
        })?;
        let (release_request, _) = request::by_id(tx, id)?
            .ok_or_else(|| Error::internal(Impossible("a request vanished as it was made")))?;
        Ok(RequestedRelease {
            release_request,
            created: true,
        })
    }
}

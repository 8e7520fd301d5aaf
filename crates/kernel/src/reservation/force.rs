//! Takes a lease from its holder.

use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{ReservationId, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::LeaseForced;
use super::held::must_be_active;
use super::reserve::shown;
use super::table::{self, Lease, Reservation};
use crate::actor::{Actor, Party};
use crate::agent::table as agent_table;
use crate::command::{Command, Stop};
use crate::error::{Error, Impossible};
use crate::mail::notice::{self, Notice};
use crate::project::table as project_table;
use crate::tx::{Read, WriteTx};

/// Ends another's lease or lock: the operator any, an agent one whose holder has been silent for
/// longer than the project's grace. The holder gets mail about it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceRelease {
    /// The lease's number.
    pub id: ReservationId,
    /// Why; its holder reads it.
    pub reason: Text<TASK_BYTES_MAX>,
}

/// The lease as it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forced {
    /// The lease.
    pub reservation: Reservation,
}

impl Command for ForceRelease {
    const NAME: &'static str = "force_release";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent];
    type Answer = Forced;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<Forced, Stop> {
        let actor = tx.actor().clone();
        let unknown = || Error::not_found("reservation", &self.id);
        let lease = table::by_id(tx, self.id)?.ok_or_else(unknown)?;
        if actor.project().is_some_and(|own| own != lease.project_id) {
            return Err(unknown().into());
        }
        must_be_active(tx, &lease)?;
        if let Actor::Agent { agent, .. } = actor {
            if lease.agent == Some(agent) {
                let rule = "is your own: give it back with `release`";
                return Err(Error::invalid("id", rule).into());
            }
            must_be_silent(tx, &lease)?;
        }
        tx.emit(LeaseForced {
            ended: lease.to_end(tx.now()),
            reason: self.reason.to_string(),
        })?;
        if let Some(holder) = lease.agent {
            let body = format!(
                "Your lease {} on `{}` (fence {}) was ended before its time. Stop writing what it \
                 covered, and reserve it again if you still need it.\n\nThe reason given:\n\n{}",
                lease.id, lease.pattern, lease.fence, self.reason
            );
            notice::send(
                tx,
                Notice {
                    project: lease.project_id,
                    to: holder,
                    subject: format!("Your lease on {} was ended", lease.pattern),
                    body,
                    answers: None,
                },
            )?;
        }
        let mut reservations = shown(tx, vec![self.id])?;
        let reservation = reservations
            .pop()
            .ok_or_else(|| Error::internal(Impossible("a lease vanished as it was ended")))?;
        Ok(Forced { reservation })
    }
}

/// Refuses while the holder may still be at work. Silence is counted on clocks that no jump of the
/// wall clock moves, and from the start of listening at the earliest.
fn must_be_silent(tx: &mut WriteTx<'_, '_>, lease: &Lease) -> Result<(), Error> {
    let project = project_table::by_id(tx, lease.project_id)?;
    let grace_ms = project.map_or(0, |project| project.grace_ms);
    let Some(holder) = lease.agent else {
        return Err(Error::Forbidden {
            reason: "the operator holds it".to_owned(),
        });
    };
    let silent_ms = agent_table::silence_us(tx, holder)? / 1_000;
    if silent_ms > grace_ms {
        return Ok(());
    }
    Err(Error::Forbidden {
        reason: format!(
            "`{}` was heard of {} s ago and may be forced after {} s of silence; ask it with \
             `request_release`, or ask the operator",
            lease.held_by,
            silent_ms / 1_000,
            grace_ms / 1_000
        ),
    })
}

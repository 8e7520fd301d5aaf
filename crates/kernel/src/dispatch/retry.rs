//! Tries work again.

use comity_domain::limits::{ATTEMPTS_MAX, BACK_OFF_US, BACK_OFF_US_MAX};
use comity_domain::{DispatchId, DispatchState, LeaseTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::due::lapse;
use super::event::DispatchCreated;
use super::load;
use super::table::{self, Dispatch, Stored};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::reservation::held::holder;
use crate::tx::{Read, WriteTx};

/// Tries again what failed or timed out, after a while; once per attempt.
///
/// The new attempt is a dispatch of its own, which those waiting for the work wait for. It may be
/// claimed 5 s later, and each further one after twice as long, at most 10 minutes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryDispatch {
    /// The number of the attempt that failed or timed out.
    pub id: DispatchId,
}

/// The next attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetriedDispatch {
    /// The next attempt.
    pub dispatch: Dispatch,
    /// Whether it is new.
    pub created: bool,
}

impl Command for RetryDispatch {
    const NAME: &'static str = "retry_dispatch";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = RetriedDispatch;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RetriedDispatch, Stop> {
        let actor = tx.actor().clone();
        let before = table::visible(tx, &actor, self.id)?;
        if let Some(next) = table::retry_of(tx, self.id)? {
            let dispatch = table::changed(tx, next)?;
            return Ok(RetriedDispatch {
                dispatch,
                created: false,
            });
        }
        let state = if lapse(tx, &before)? {
            DispatchState::TimedOut
        } else {
            before.shown.state
        };
        if !matches!(state, DispatchState::Failed | DispatchState::TimedOut) {
            return Err(before.cannot(state).into());
        }
        if before.shown.attempt >= ATTEMPTS_MAX {
            return Err(Error::LimitExceeded {
                what: "the number of attempts at one piece of work",
                limit: ATTEMPTS_MAX.unsigned_abs(),
            }
            .into());
        }
        let next = again(tx, before)?;
        let id = next.id;
        tx.emit(next)?;
        let dispatch = table::changed(tx, id)?;
        Ok(RetriedDispatch {
            dispatch,
            created: true,
        })
    }
}

/// Returns the next attempt at the same work.
///
/// It has as much time as the one before, from when it may be claimed: a deadline shorter than the
/// back-off would have passed before.
fn again(tx: &mut WriteTx<'_, '_>, before: Stored) -> Result<DispatchCreated, Error> {
    let Stored { shown, kept } = before;
    let run = crate::run::belonging(tx, shown.project_id, shown.run)?;
    load::must_fit(tx, run.as_ref())?;
    let now = tx.now().lease.micros();
    let not_before = now.saturating_add(back_off_us(shown.attempt));
    let length = kept
        .deadline
        .map(|deadline| deadline.micros() - kept.not_before.micros());
    Ok(DispatchCreated {
        id: table::next_id(tx)?,
        project: shown.project_id,
        run: shown.run,
        phase: shown.phase,
        agent_kind: shown.agent_kind,
        prompt: shown.prompt,
        priority: shown.priority,
        group: shown.group,
        depends_on: shown.depends_on,
        deadline: length.map(|length| LeaseTime::from_micros(not_before.saturating_add(length))),
        origin: shown.origin,
        retry_of: Some(shown.id),
        attempt: shown.attempt + 1,
        not_before: LeaseTime::from_micros(not_before),
        by: holder(tx.actor()),
    })
}

/// Returns how long the attempt after this one waits.
fn back_off_us(attempt: i64) -> i64 {
    let doublings = u32::try_from(attempt - 1).unwrap_or(u32::MAX);
    let back_off = 2_i64
        .checked_pow(doublings)
        .and_then(|times| BACK_OFF_US.checked_mul(times));
    back_off.unwrap_or(BACK_OFF_US_MAX).min(BACK_OFF_US_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_waits_twice_as_long_up_to_a_bound() {
        assert_eq!(back_off_us(1), BACK_OFF_US);
        assert_eq!(back_off_us(3), 4 * BACK_OFF_US);
        assert_eq!(back_off_us(8), BACK_OFF_US_MAX);
        assert_eq!(back_off_us(ATTEMPTS_MAX), BACK_OFF_US_MAX);
        assert_eq!(back_off_us(i64::MAX), BACK_OFF_US_MAX);
    }
}

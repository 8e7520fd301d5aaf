//! Who may take a step with a dispatch, and what everybody else is told (F9, H2).

use comity_domain::{DispatchId, DispatchState, Seq};

use super::due::lapse;
use super::event::DispatchStarted;
use super::table::{self, Stored};
use crate::actor::Actor;
use crate::command::Stop;
use crate::error::Error;
use crate::reservation::held::holder;
use crate::tx::{Read, WriteTx};

/// What a caller knows of the dispatch it means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knows {
    pub(super) fence: Option<Seq>,
    pub(super) expected_revision: Option<i64>,
}

/// What a caller is to a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has the present claim, or had it when the dispatch was settled.
    Claimant,
    /// It is the operator, and the claim is another's or nobody's.
    Operator,
}

/// Finds a dispatch in somebody's hands, for a step that its claimant takes, or the operator.
pub(super) fn in_hand(
    tx: &mut WriteTx<'_, '_>,
    id: DispatchId,
    knows: Knows,
) -> Result<Stored, Stop> {
    let actor = tx.actor().clone();
    let dispatch = table::visible(tx, &actor, id)?;
    let standing = standing(tx, &actor, &dispatch, knows.fence)?;
    if dispatch.shown.state.is_final() {
        return Err(dispatch.cannot(dispatch.shown.state).into());
    }
    if lapse(tx, &dispatch)? {
        let refusal = dispatch.cannot(DispatchState::TimedOut);
        return Err(Stop::Refused(refusal));
    }
    must_know(tx, &dispatch, standing, knows)?;
    Ok(dispatch)
}

/// Tells what a caller is to a dispatch, and refuses whoever it is none of the business of.
pub(super) fn standing(
    read: &mut impl Read,
    actor: &Actor,
    dispatch: &Stored,
    fence: Option<Seq>,
) -> Result<Standing, Error> {
    let shown = &dispatch.shown;
    if shown.fence.is_some() && shown.claimant_id == holder(actor) {
        return Ok(Standing::Claimant);
    }
    if holder(actor).is_none() {
        return Ok(Standing::Operator);
    }
    let lost = match fence {
        Some(fence) => table::was_claimed_by(read, shown.id, actor, fence)?,
        None => false,
    };
    match &shown.claimed_by {
        _ if lost => Err(expired(dispatch)),
        Some(other) => Err(Error::NotHolder {
            what: dispatch.name(),
            held_by: other.clone(),
        }),
        None if fence.is_some() => Err(expired(dispatch)),
        None => Err(dispatch.cannot(shown.state)),
    }
}

/// Refuses a caller that means another claim or revision, and a claim that holds no more.
pub(super) fn must_know(
    read: &impl Read,
    dispatch: &Stored,
    standing: Standing,
    knows: Knows,
) -> Result<(), Error> {
    match (standing, knows) {
        (Standing::Claimant, Knows { fence: None, .. }) => {
            return Err(Error::invalid("fence", "is missing; the claim has it"));
        }
        (
            Standing::Operator,
            Knows {
                expected_revision: None,
                ..
            },
        ) => {
            let rule = "is missing; it says which state of another's work you mean";
            return Err(Error::invalid("expected_revision", rule));
        }
        _ => {}
    }
    if knows.fence.is_some() && knows.fence != dispatch.shown.fence {
        return Err(expired(dispatch));
    }
    if let Some(expected) = knows.expected_revision {
        dispatch.must_have(expected)?;
    }
    if dispatch.has_lost_its_claim(read.now().lease) {
        return Err(expired(dispatch));
    }
    Ok(())
}

/// Lets a claimant begin, if it has not: a first report does (H1).
pub(super) fn begin(tx: &mut WriteTx<'_, '_>, dispatch: Stored) -> Result<Stored, Error> {
    if dispatch.shown.state == DispatchState::Running {
        return Ok(dispatch);
    }
    let state = dispatch.after(comity_domain::Step::Start)?;
    tx.emit(DispatchStarted(dispatch.which()))?;
    let mut dispatch = dispatch;
    dispatch.shown.state = state;
    Ok(dispatch)
}

/// Says that a claim holds no more.
pub(super) fn expired(dispatch: &Stored) -> Error {
    Error::LeaseExpired {
        what: dispatch.name(),
        holders: Vec::new(),
    }
}

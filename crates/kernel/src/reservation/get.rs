//! Shows one lease.

use comity_domain::ReservationId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Reservation};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::query::Query;
use crate::tx::{Read, Snapshot};

/// Shows one lease, active or ended.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetReservation {
    /// Its number.
    pub id: ReservationId,
}

/// The lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GotReservation {
    /// The lease.
    pub reservation: Reservation,
}

impl Query for GetReservation {
    const NAME: &'static str = "get_reservation";
    const WHO: &'static [Party] = &[Party::Operator, Party::Agent, Party::Observer];
    type Answer = GotReservation;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<GotReservation, Error> {
        let lease = table::visible(snapshot, actor, self.id)?;
        Ok(GotReservation {
            reservation: lease.show(snapshot.now()),
        })
    }
}

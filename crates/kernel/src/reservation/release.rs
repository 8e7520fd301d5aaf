//! Gives leases back.

use comity_domain::{LiteralPath, Pattern, ReservationId, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::LeaseReleased;
use super::renew::{all_of, numbered, on_files};
use super::reserve::shown;
use super::table::Reservation;
use super::{files, held};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::tx::{Read, WriteTx};

/// Gives your leases back, all that are named or none.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The leases' numbers.
    #[serde(default)]
    pub ids: Vec<ReservationId>,
    /// Literal paths, as they were reserved.
    #[serde(default)]
    pub paths: Vec<LiteralPath>,
    /// Patterns, as they were reserved.
    #[serde(default)]
    pub patterns: Vec<Pattern>,
    /// Whether to give back everything you hold.
    #[serde(default)]
    pub all: bool,
    /// The fence you know; another one is refused.
    #[serde(default)]
    pub fence: Option<Seq>,
}

/// The leases as they ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Released {
    /// The leases.
    pub reservations: Vec<Reservation>,
}

impl Command for Release {
    const NAME: &'static str = "release";
    const WHO: &'static [Party] = &[Party::Itself];
    type Answer = Released;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<Released, Stop> {
        let actor = tx.actor().clone();
        let named = files::named(&self.paths, &self.patterns, None)?;
        let leases = match (self.ids.is_empty(), named.is_empty(), self.all) {
            (false, true, false) => numbered(tx, &actor, &self.ids)?,
            (true, false, false) => on_files(tx, &actor, &named)?,
            (true, true, true) => all_of(tx, &actor)?,
            _ => {
                let rule = "must be given, or `paths` and `patterns`, or `all`: one of the three";
                return Err(Error::invalid("ids", rule).into());
            }
        };
        for lease in &leases {
            held::must_hold(tx, &actor, lease, self.fence)?;
        }
        for lease in &leases {
            tx.emit(LeaseReleased(lease.to_end(tx.now())))?;
        }
        let ids = leases.iter().map(|lease| lease.id).collect();
        Ok(Released {
            reservations: shown(tx, ids)?,
        })
    }
}

//! The kernel's side of hooks: what the server that tells them writes down.

use super::Kernel;
use crate::hook::deliverer::{Manner, Resign, Stand};
use crate::hook::queue::{Move, Taken, Tried};
use crate::options::Database;
use crate::ticket::Ticket;

impl Kernel {
    /// Has a server stand for election as the one that tells hooks, or stay it.
    ///
    /// A file has one server, so that whoever holds the office otherwise is dead.
    pub fn stand_for_hooks(&self, holder: String) -> Ticket<()> {
        let manner = match &self.database {
            Database::Sqlite(_) => Manner::Alone,
            Database::Postgres(_) => Manner::Patient,
        };
        self.upkeep(Stand { holder, manner })
    }

    /// Has it leave that office.
    pub fn resign_from_hooks(&self, holder: String) -> Ticket<()> {
        self.upkeep(Resign { holder })
    }

    /// Notes what hooks took from the log and what became of the tries, unless somebody else has
    /// taken over since.
    pub fn move_hooks(&self, fence: i64, taken: Vec<Taken>, tried: Vec<Tried>) -> Ticket<()> {
        self.upkeep(Move {
            fence,
            taken,
            tried,
        })
    }
}

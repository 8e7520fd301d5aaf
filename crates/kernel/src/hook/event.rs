//! What happens to hooks.

use comity_domain::{HookId, Seq};
use serde::{Deserialize, Serialize};

use crate::event::Filter;

/// A hook was added; its secret is not on the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookAdded {
    /// Its number.
    pub id: HookId,
    /// Which events it is told.
    pub filter: Filter,
    /// The address it is told at, unless it is a program.
    pub url: Option<String>,
    /// The program that is told, with its arguments.
    pub command: Option<Vec<String>>,
    /// The last event that it is not told.
    pub since: Seq,
}

/// A hook was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRemoved {
    /// Its number.
    pub id: HookId,
}

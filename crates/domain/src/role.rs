//! Who a caller is and what it may do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The three kinds of credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person: everything.
    Operator,
    /// A coding agent in its own project.
    Agent,
    /// Reads, without mail bodies.
    Observer,
}

impl Role {
    /// Returns the word used in the database and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Agent => "agent",
            Self::Observer => "observer",
        }
    }

    /// Reads the word back.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Operator, Self::Agent, Self::Observer]
            .into_iter()
            .find(|role| role.as_str() == word)
    }
}

/// What an agent may do beyond its own things.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Creates and steers runs and dispatches.
    Orchestrate,
}

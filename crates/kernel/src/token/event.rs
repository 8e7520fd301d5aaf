//! What happens to tokens.

use comity_domain::{AgentId, ProjectId, Role, TokenId};
use serde::{Deserialize, Serialize};

/// A token was made; the log knows its hash only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCreated {
    /// Its number, the public half.
    pub id: TokenId,
    /// What its holder is.
    pub role: Role,
    /// The project it is bound to.
    pub project: Option<ProjectId>,
    /// The agent it belongs to.
    pub agent: Option<AgentId>,
    /// What people call it.
    pub name: String,
    /// The SHA-256 of the token, in hex digits.
    pub sha256: String,
}

/// A token was revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRevoked {
    /// The token.
    pub id: TokenId,
    /// The project it was bound to.
    pub project: Option<ProjectId>,
}

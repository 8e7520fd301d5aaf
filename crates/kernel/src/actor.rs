//! Who acts: what a credential says, and nothing else (E5).

use std::fmt;

use comity_domain::limits::{CORRELATION_BYTES_MAX, IDEMPOTENCY_KEY_BYTES_MAX};
use comity_domain::{AgentId, Line, ProjectId, TokenId};

use crate::error::Error;

/// The acting party of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person; `token` is `None` where the data directory itself is the credential.
    Operator {
        /// The token that was presented.
        token: Option<TokenId>,
    },
    /// An agent, in its project.
    Agent {
        /// The agent.
        agent: AgentId,
        /// Its project.
        project: ProjectId,
        /// The token that was presented.
        token: TokenId,
        /// Whether it holds the right `orchestrate`.
        orchestrate: bool,
    },
    /// A reader; `project` limits it to one.
    Observer {
        /// The token that was presented.
        token: TokenId,
        /// The only project it sees, if it is limited.
        project: Option<ProjectId>,
    },
    /// The program itself, in the background.
    System,
}

/// What a request was made with: idempotency and fairness are per credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Credential {
    /// The data directory or its socket.
    Directory,
    /// A token.
    Token(TokenId),
    /// The program itself.
    System,
}

/// Who an operation is open to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// The operator.
    Operator,
    /// Any agent, in its project.
    Agent,
    /// An agent, for its own things only; the operation itself looks whose they are.
    Itself,
    /// An agent with the right `orchestrate`.
    Orchestrator,
    /// An observer.
    Observer,
}

impl Actor {
    /// The operator by right of the data directory.
    pub const OPERATOR: Self = Self::Operator { token: None };

    /// Returns the credential.
    pub const fn credential(&self) -> Credential {
        match self {
            Self::Operator { token: None } => Credential::Directory,
            Self::Operator { token: Some(token) }
            | Self::Agent { token, .. }
            | Self::Observer { token, .. } => Credential::Token(*token),
            Self::System => Credential::System,
        }
    }

    /// Returns the presented token, if there is one.
    pub const fn token(&self) -> Option<TokenId> {
        match self.credential() {
            Credential::Token(token) => Some(token),
            Credential::Directory | Credential::System => None,
        }
    }

    /// Refuses an actor that is none of `parties`.
    pub fn must_be_one_of(&self, operation: &'static str, parties: &[Party]) -> Result<(), Error> {
        let allowed = match self {
            Self::Operator { .. } => parties.contains(&Party::Operator),
            Self::Agent { orchestrate, .. } => {
                parties.contains(&Party::Agent)
                    || parties.contains(&Party::Itself)
                    || (*orchestrate && parties.contains(&Party::Orchestrator))
            }
            Self::Observer { .. } => parties.contains(&Party::Observer),
            Self::System => true,
        };
        if allowed {
            return Ok(());
        }
        Err(Error::Forbidden {
            reason: format!("{self} may not call `{operation}`"),
        })
    }

    /// Returns the project the credential is bound to, if it is.
    pub const fn project(&self) -> Option<ProjectId> {
        match self {
            Self::Agent { project, .. } => Some(*project),
            Self::Observer { project, .. } => *project,
            Self::Operator { .. } | Self::System => None,
        }
    }
}

/// Writes the actor as events name it: `operator`, `operator:5`, `agent:7`.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator { token: None } => f.write_str("operator"),
            Self::Operator { token: Some(token) } => write!(f, "operator:{token}"),
            Self::Agent { agent, .. } => write!(f, "agent:{agent}"),
            Self::Observer { token, .. } => write!(f, "observer:{token}"),
            Self::System => f.write_str("system"),
        }
    }
}

impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("directory"),
            Self::Token(token) => write!(f, "token:{token}"),
            Self::System => f.write_str("system"),
        }
    }
}

/// A caller's key that makes a repeated command take effect once (C2).
pub type IdempotencyKey = Line<IDEMPOTENCY_KEY_BYTES_MAX>;

/// A caller's own id that its events carry.
pub type Correlation = Line<CORRELATION_BYTES_MAX>;

/// One request's surroundings: who asks, under which key, as part of what.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who asks.
    pub actor: Actor,
    /// The idempotency key, if the caller gave one.
    pub key: Option<IdempotencyKey>,
    /// The correlation id, if the caller gave one.
    pub correlation: Option<Correlation>,
}

impl From<Actor> for Caller {
    fn from(actor: Actor) -> Self {
        Self {
            actor,
            key: None,
            correlation: None,
        }
    }
}

impl Caller {
    /// Adds an idempotency key.
    #[must_use]
    pub fn with_key(mut self, key: IdempotencyKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Adds a correlation id.
    #[must_use]
    pub fn with_correlation(mut self, correlation: Correlation) -> Self {
        self.correlation = Some(correlation);
        self
    }
}

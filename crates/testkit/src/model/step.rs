//! What a step asks and what it must be answered: plain data.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// A word from a test's pool.
pub type Word = &'static str;

/// The credential a step is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// The data directory: the operator.
    Directory,
    /// The token with this number, which may not exist or be revoked.
    Token(i64),
}

/// One command with its surroundings.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Who asks.
    pub who: Who,
    /// Which idempotency key, if any.
    pub key: Option<u8>,
    /// What is asked.
    pub request: Request,
}

/// An agent as a request names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AgentBy {
    /// By number.
    Id(i64),
    /// By name.
    Name(Word),
}

/// A request, by operation.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the operations")]
pub enum Request {
    EnsureProject {
        key: Word,
        name: Option<Word>,
    },
    UpdateProject {
        project: Option<Word>,
        changes: ProjectChanges,
        expected_revision: Option<i64>,
    },
    RegisterAgent {
        project: Option<Word>,
        name: Option<Word>,
        changes: ProfileChanges,
    },
    UpdateAgent {
        project: Option<Word>,
        agent: AgentBy,
        changes: ProfileChanges,
        expected_revision: Option<i64>,
    },
    RotateToken {
        project: Option<Word>,
        agent: AgentBy,
    },
    RetireAgent {
        project: Option<Word>,
        agent: AgentBy,
    },
    CreateToken {
        role: Word,
        project: Option<Word>,
        name: Option<Word>,
    },
    RevokeToken {
        id: i64,
    },
}

/// The settings a request gives.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the operation")]
pub struct ProjectChanges {
    pub name: Option<Word>,
    pub case_insensitive: Option<bool>,
    pub guard_mode: Option<Word>,
    pub grace_minutes: Option<i64>,
    pub leases_per_agent: Option<i64>,
}

/// The fields of a profile that a request gives.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the operations")]
pub struct ProfileChanges {
    pub program: Option<Word>,
    pub model: Option<Word>,
    pub task: Option<Word>,
    pub capabilities: Option<BTreeSet<Word>>,
    /// Stands for the metadata `{"mark": n}`.
    pub mark: Option<u8>,
    pub orchestrate: Option<bool>,
}

/// What the kernel must answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// An error.
    Refused(Refusal),
    /// An answer.
    Done(Done),
}

/// An error's code and the number it must name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refusal {
    /// The code on the wire.
    pub code: &'static str,
    /// The agent that has the name, or the revision that is present.
    pub about: Option<i64>,
}

/// What matters of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// The number of the thing the command is about.
    pub id: i64,
    /// Its revision.
    pub revision: i64,
    /// Whether the command made it, where the answer says so.
    pub created: Option<bool>,
    /// The number of the token that was handed out, which happens once.
    pub token: Option<i64>,
    /// The log's head after the command (I1).
    pub seq: i64,
    /// Whether it is the first answer to a repeated key (C2).
    pub replayed: bool,
}

/// The acting party behind a good credential.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Party {
    /// The operator.
    Operator,
    /// An agent, in its project, and whether it orchestrates.
    Agent(i64, i64, bool),
    /// An observer, perhaps limited to a project.
    Observer(Option<i64>),
}

impl Request {
    /// Returns the operation's name.
    pub const fn operation(&self) -> &'static str {
        match self {
            Self::EnsureProject { .. } => "ensure_project",
            Self::UpdateProject { .. } => "update_project",
            Self::RegisterAgent { .. } => "register_agent",
            Self::UpdateAgent { .. } => "update_agent",
            Self::RotateToken { .. } => "rotate_token",
            Self::RetireAgent { .. } => "retire_agent",
            Self::CreateToken { .. } => "create_token",
            Self::RevokeToken { .. } => "revoke_token",
        }
    }

    pub(super) const fn open_to(&self, party: Party) -> bool {
        match self {
            Self::EnsureProject { .. }
            | Self::UpdateProject { .. }
            | Self::CreateToken { .. }
            | Self::RevokeToken { .. } => matches!(party, Party::Operator),
            Self::RegisterAgent { .. }
            | Self::UpdateAgent { .. }
            | Self::RotateToken { .. }
            | Self::RetireAgent { .. } => matches!(party, Party::Operator | Party::Agent(..)),
        }
    }

    /// Writes the request as a caller does.
    pub fn wire(&self) -> Value {
        let by = |agent: AgentBy| match agent {
            AgentBy::Id(id) => json!(id),
            AgentBy::Name(name) => json!(name),
        };
        match self {
            Self::EnsureProject { key, name } => json!({ "key": key, "name": name }),
            Self::UpdateProject {
                project,
                changes,
                expected_revision,
            } => json!({
                "project": project,
                "name": changes.name,
                "case_insensitive": changes.case_insensitive,
                "guard_mode": changes.guard_mode,
                "grace": changes.grace_minutes.map(|minutes| format!("{minutes}m")),
                "leases_per_agent": changes.leases_per_agent,
                "expected_revision": expected_revision,
            }),
            Self::RegisterAgent {
                project,
                name,
                changes,
            } => with_profile(json!({ "project": project, "name": name }), changes),
            Self::UpdateAgent {
                project,
                agent,
                changes,
                expected_revision,
            } => {
                let agent = by(*agent);
                with_profile(
                    json!({ "project": project, "agent": agent, "expected_revision": expected_revision }),
                    changes,
                )
            }
            Self::RotateToken { project, agent } | Self::RetireAgent { project, agent } => {
                json!({ "project": project, "agent": by(*agent) })
            }
            Self::CreateToken {
                role,
                project,
                name,
            } => {
                json!({ "role": role, "project": project, "name": name })
            }
            Self::RevokeToken { id } => json!({ "id": id }),
        }
    }
}

impl Done {
    pub(super) const fn created(self, created: bool) -> Self {
        Self {
            created: Some(created),
            ..self
        }
    }
}

fn with_profile(mut wire: Value, changes: &ProfileChanges) -> Value {
    wire["program"] = json!(changes.program);
    wire["model"] = json!(changes.model);
    wire["task"] = json!(changes.task);
    wire["capabilities"] = json!(changes.capabilities);
    wire["metadata"] = json!(changes.mark.map(|mark| json!({ "mark": mark })));
    let rights = |orchestrate: bool| orchestrate.then_some("orchestrate");
    let rights = |orchestrate| json!(Vec::from_iter(rights(orchestrate)));
    wire["rights"] = json!(changes.orchestrate.map(rights));
    wire
}

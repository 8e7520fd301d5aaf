//! The tool `join`: one call to get in.

use std::collections::BTreeSet;

use comity_domain::limits::{LABEL_BYTES_MAX, TASK_BYTES_MAX};
use comity_domain::{AgentId, AgentName, Line, Prose};
use comity_kernel::Error;
use comity_kernel::agent::{AgentRef, RegisterAgent, UpdateAgent};
use comity_kernel::project::ProjectRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::desk::McpCaller;

/// Takes your place in the team: call it first, and again under the same name after a restart.
///
/// Answers who you are, who else is here and the rules. Your token goes to a file, never into this
/// conversation.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// The project, usually its directory; the one you are in unless given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// Your name here; a readable one is made up unless given.
    #[serde(default)]
    pub name: Option<AgentName>,
    /// The program you run in.
    #[serde(default)]
    pub program: Option<Line<LABEL_BYTES_MAX>>,
    /// The model you are.
    #[serde(default)]
    pub model: Option<Line<LABEL_BYTES_MAX>>,
    /// What you are here for.
    #[serde(default)]
    pub task: Option<Prose<TASK_BYTES_MAX>>,
    /// What you can do, in single words.
    #[serde(default)]
    pub capabilities: Option<BTreeSet<Line<LABEL_BYTES_MAX>>>,
}

impl Join {
    /// Returns the registration this asks for; what the agent did not say, its program did.
    pub fn registration(
        self,
        caller: &McpCaller,
        project: Option<ProjectRef>,
    ) -> Result<RegisterAgent, Error> {
        let unknown = Line::parse("unknown").map_err(|rule| Error::invalid("program", rule))?;
        let client = caller.client.as_ref();
        let named = client.and_then(|(name, _)| Line::parse(name.as_str()).ok());
        Ok(RegisterAgent {
            project,
            name: self.name,
            program: self.program.or(named).unwrap_or_else(|| unknown.clone()),
            model: self.model.unwrap_or(unknown),
            task: self.task,
            capabilities: self.capabilities,
            metadata: None,
            rights: None,
            contact_policy: None,
        })
    }

    /// Returns the change this asks for of an agent that is there: what is not given stays.
    pub fn resumption(self, own: AgentId) -> UpdateAgent {
        UpdateAgent {
            // A name that is not the caller's own is refused where it is looked up (E5).
            agent: self.name.map_or(AgentRef::Id(own), AgentRef::Name),
            project: self.project,
            program: self.program,
            model: self.model,
            task: self.task,
            capabilities: self.capabilities,
            metadata: None,
            rights: None,
            contact_policy: None,
            expected_revision: None,
        }
    }
}

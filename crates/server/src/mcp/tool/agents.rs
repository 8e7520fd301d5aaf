//! `list_agents`.

use comity_domain::limits::LABEL_BYTES_MAX;
use comity_domain::{Line, Span};
use comity_kernel::Error;
use comity_kernel::agent::AgentRef;
use comity_kernel::page::{After, Limit};
use comity_kernel::project::ProjectRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::lean::{each_marked, marked, only};
use super::untrusted::Marks;

/// Lists who is here and what they do; with `agent`, shows that one in full.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListAgents {
    /// A name or number, to see that one in full.
    #[serde(default)]
    agent: Option<AgentRef>,
    /// Only those heard of within this time, such as `30m`.
    #[serde(default)]
    active_within: Option<Span>,
    /// Only those with this capability.
    #[serde(default)]
    capability: Option<Line<LABEL_BYTES_MAX>>,
    /// The project's key or slug; your own unless given.
    #[serde(default)]
    project: Option<ProjectRef>,
    /// How many at most.
    #[serde(default)]
    limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    after: After,
}

impl Own for ListAgents {
    const NAME: &'static str = "list_agents";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        if let Some(agent) = &self.agent {
            return Ok((
                "get_agent",
                json!({ "agent": agent, "project": self.project }),
            ));
        }
        let mut request = serde_json::to_value(&self)?;
        if let Value::Object(request) = &mut request {
            request.remove("agent");
        }
        Ok(("list_agents", request))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        // What an agent says of itself is its own word.
        let said = ["task", "status", "focus"];
        if let Some(agent) = answer.get("agent") {
            return json!({ "note": marks.note(), "agent": marked(agent, &said, marks) });
        }
        let names = [
            "id",
            "name",
            "program",
            "task",
            "status",
            "focus",
            "last_seen",
        ];
        let items = each_marked(answer.get("items"), &said, marks);
        let agents: Vec<_> = items.iter().map(|item| only(item, &names)).collect();
        json!({ "note": marks.note(), "agents": agents, "next": answer.get("next") })
    }
}

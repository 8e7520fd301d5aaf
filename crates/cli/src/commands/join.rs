//! `comity join`.

use clap::Args;
use comity_domain::{AgentId, AgentName};
use comity_kernel::Error;
use comity_kernel::agent::{AgentRef, RegisterAgent, UpdateAgent};
use serde_json::Value;

use super::agent::{Described, Label};
use super::status;
use crate::failure::Failure;
use crate::joining::{self, Papers};
use crate::parse;
use crate::session::Context;
use crate::show::{Shown, View, harmless};
use crate::who;

/// Registers or resumes, and orients.
#[derive(Args)]
pub(crate) struct Join {
    /// The name; a readable one is made up unless given. `--as` says it too.
    #[arg(long, value_parser = AgentName::parse)]
    name: Option<AgentName>,
    #[command(flatten)]
    described: Described,
}

impl Join {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let papers = self.papers(context)?;
        let joined = if who::is_operator(context.globals) {
            joining::admit(context, papers)
        } else {
            joining::resume(context, papers)
        }?;
        let answer = joined.answer("orientation");
        let text = for_people(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }

    fn name(&self, context: &Context<'_>) -> Result<Option<AgentName>, Error> {
        match &self.name {
            Some(name) => Ok(Some(name.clone())),
            None => who::named(context.globals),
        }
    }

    fn papers(&self, context: &Context<'_>) -> Result<Papers, Failure> {
        let described = &self.described;
        let registration = RegisterAgent {
            project: None,
            name: self.name(context)?,
            program: said_or_unknown(described.program.as_ref())?,
            model: said_or_unknown(described.model.as_ref())?,
            task: described.task.clone(),
            capabilities: described.capabilities(),
            metadata: described.metadata(),
            rights: described.rights(),
            contact_policy: described.contact_policy,
        };
        let change = UpdateAgent {
            agent: AgentRef::Id(AgentId::new(0)),
            project: None,
            program: described.program.clone(),
            model: described.model.clone(),
            task: described.task.clone(),
            capabilities: described.capabilities(),
            metadata: described.metadata(),
            rights: described.rights(),
            contact_policy: described.contact_policy,
            expected_revision: None,
        };
        Ok(Papers {
            registration,
            change,
            present: None,
        })
    }
}

/// Returns what was said, or the word for what nobody said.
fn said_or_unknown(said: Option<&Label>) -> Result<Label, Failure> {
    let known = said.cloned().map_or_else(|| parse::text("unknown"), Ok);
    known.map_err(Failure::unusable)
}

fn for_people(joined: &Value) -> String {
    let how = match joined.get("created") {
        Some(Value::Bool(true)) => "joined",
        _ => "came back",
    };
    let orientation = joined.get("orientation").unwrap_or(joined);
    let file = joined.get("token_file").and_then(Value::as_str);
    let file = harmless(file.unwrap_or_default());
    format!(
        "{how}\n{}\ntoken    {file}",
        status::for_people(orientation)
    )
}

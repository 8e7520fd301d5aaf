//! `comity join`.

use clap::Args;
use comity_domain::{AgentId, AgentName};
use comity_kernel::agent::{AgentRef, Orient, RegisterAgent, UpdateAgent};
use comity_kernel::project::{EnsureProject, ProjectRef, ProjectStatusQuery};
use comity_kernel::{Command as _, Error, Query as _};
use serde_json::{Value, json};

use super::agent::{Described, Label};
use super::status;
use crate::failure::Failure;
use crate::parse;
use crate::place;
use crate::session::{Context, Session};
use crate::show::{Shown, View, harmless};
use crate::token_file::{self, TokenFile};
use crate::who::{self, Who};

/// Registers or resumes, and orients.
#[derive(Args)]
pub(crate) struct Join {
    /// The name; a readable one is made up unless given. `--as` says it too.
    #[arg(long, value_parser = AgentName::parse)]
    name: Option<AgentName>,
    #[command(flatten)]
    described: Described,
}

/// An agent that has joined.
struct Joined {
    agent: Who,
    /// Whether it is new.
    created: Value,
    file: Option<TokenFile>,
}

impl Join {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let joined = if who::is_operator(context.globals) {
            let session = context.session_as(Who::Operator)?;
            self.by_the_operator(&session, context)?.orient(&session)
        } else {
            let (session, file) = self.own_session(context)?;
            self.resume(&session, session.who.clone(), file)?
                .orient(&session)
        }?;
        let text = for_people(&joined);
        Ok(Shown::new(joined, View::Text(text)))
    }

    fn name(&self, context: &Context<'_>) -> Result<Option<AgentName>, Error> {
        match &self.name {
            Some(name) => Ok(Some(name.clone())),
            None => who::named(context.globals),
        }
    }

    /// Ensures the project; resumes the name whose token is here, or registers it.
    fn by_the_operator(
        &self,
        session: &Session<'_>,
        context: &Context<'_>,
    ) -> Result<Joined, Failure> {
        let (project, slug) = ensure_project(session)?;
        let name = self.name(context)?;
        let file_of = |name: &AgentName| token_file::of_agent(&context.directory, &slug, name);
        if let Some(file) = name.as_ref().and_then(file_of) {
            let agent = Who::Token(token_file::read(&file.path)?);
            return self.resume(session, agent, Some(file));
        }
        let request = RegisterAgent {
            project: Some(project),
            name,
            program: said_or_unknown(self.described.program.as_ref())?,
            model: said_or_unknown(self.described.model.as_ref())?,
            task: self.described.task.clone(),
            capabilities: self.described.capabilities(),
            metadata: self.described.metadata(),
            rights: self.described.rights(),
            contact_policy: self.described.contact_policy,
        };
        let answer = session.call(RegisterAgent::NAME, &request)?;
        // Whether it was made now or by the first call with the same key, its file is here.
        let name = AgentName::parse(text(&answer, "/agent/name")).map_err(Failure::unusable)?;
        let missing = || Error::not_found("token file of agent", &name);
        let file = file_of(&name).ok_or_else(missing)?;
        Ok(Joined {
            agent: Who::Token(token_file::read(&file.path)?),
            created: answer.get("created").cloned().unwrap_or_default(),
            file: Some(file),
        })
    }

    /// Opens the door with the agent's own token: without the operator it can only come back.
    fn own_session<'a>(
        &self,
        context: &Context<'a>,
    ) -> Result<(Session<'a>, Option<TokenFile>), Failure> {
        let globals = context.globals;
        let Some(name) = &self.name(context)? else {
            return Ok((context.session()?, None));
        };
        let file = match who::file_of(name, globals.project.as_ref(), &context.directory) {
            Err(Error::NotFound { .. }) => return Err(needs_operator(name).into()),
            file => file?,
        };
        let session = context.session_as(Who::Token(token_file::read(&file.path)?))?;
        if globals.project.is_none() {
            let request = ProjectStatusQuery { project: None };
            let own = session.call(ProjectStatusQuery::NAME, &request)?;
            // The slug alone may be that of another directory of the same name.
            if text(&own, "/project/key") != &*place::current_project()? {
                return Err(needs_operator(name).into());
            }
        }
        Ok((session, Some(file)))
    }

    /// Comes back as the agent whose token it is; what is not said stays as it was.
    fn resume(
        &self,
        session: &Session<'_>,
        agent: Who,
        file: Option<TokenFile>,
    ) -> Result<Joined, Failure> {
        let me = session.call_as(&agent, Orient::NAME, &Orient {})?;
        let id = me.get("agent_id").and_then(Value::as_i64);
        let request = UpdateAgent {
            agent: AgentRef::Id(AgentId::new(id.unwrap_or_default())),
            project: None,
            program: self.described.program.clone(),
            model: self.described.model.clone(),
            task: self.described.task.clone(),
            capabilities: self.described.capabilities(),
            metadata: self.described.metadata(),
            rights: self.described.rights(),
            contact_policy: self.described.contact_policy,
            expected_revision: None,
        };
        // As whoever is here: an operator may give rights by the way.
        session.call(UpdateAgent::NAME, &request)?;
        Ok(Joined {
            agent,
            created: false.into(),
            file,
        })
    }
}

impl Joined {
    fn orient(self, session: &Session<'_>) -> Result<Value, Failure> {
        let orientation = session.call_as(&self.agent, Orient::NAME, &Orient {})?;
        Ok(json!({
            "name": orientation.get("name"),
            "project": orientation.get("project"),
            "agent_id": orientation.get("agent_id"),
            "created": self.created,
            "token_file": self.file.map(|file| file.path),
            "orientation": orientation,
        }))
    }
}

/// Returns the project as requests name it, and its slug. A slug is never taken for a new key.
fn ensure_project(session: &Session<'_>) -> Result<(ProjectRef, String), Failure> {
    let project = session.project()?;
    let answer = match &session.globals.project {
        Some(named) if !named.starts_with(['/', '.']) => {
            let request = ProjectStatusQuery { project };
            session.call(ProjectStatusQuery::NAME, &request)?
        }
        _ => {
            let key = project.as_deref().unwrap_or_default();
            let request = EnsureProject {
                key: parse::text(key).map_err(|rule| Error::invalid("project", rule))?,
                name: None,
            };
            session.call(EnsureProject::NAME, &request)?
        }
    };
    let slug = text(&answer, "/project/slug");
    let project = ProjectRef::parse(slug).map_err(Failure::unusable)?;
    Ok((project, slug.to_owned()))
}

/// Returns what was said, or the word for what nobody said.
fn said_or_unknown(said: Option<&Label>) -> Result<Label, Failure> {
    let known = said.cloned().map_or_else(|| parse::text("unknown"), Ok);
    known.map_err(Failure::unusable)
}

fn needs_operator(name: &AgentName) -> Error {
    Error::Forbidden {
        reason: format!(
            "`{name}` has no token for this project here, and only the operator registers: say `--operator`, or `--project` if it is another"
        ),
    }
}

fn for_people(joined: &Value) -> String {
    let how = match joined.get("created") {
        Some(Value::Bool(true)) => "joined",
        _ => "came back",
    };
    let orientation = joined.get("orientation").unwrap_or(joined);
    let file = harmless(text(joined, "/token_file"));
    format!(
        "{how}\n{}\ntoken    {file}",
        status::for_people(orientation)
    )
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

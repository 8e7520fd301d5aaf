//! How an agent gets in: registered by the operator's right, or back with its own token.
//!
//! `comity join` and the MCP tool `join` are two ways to say the same.

use comity_domain::{AgentId, AgentName};
use comity_kernel::agent::{AgentRef, Orient, RegisterAgent, UpdateAgent};
use comity_kernel::project::{EnsureProject, ProjectRef, ProjectStatusQuery};
use comity_kernel::{Command as _, Error, Query as _};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::parse;
use crate::place;
use crate::session::{Context, Session};
use crate::token_file::{self, TokenFile};
use crate::who::{self, Who};

/// What an agent says of itself when it comes.
pub(crate) struct Papers {
    /// What a new agent is registered with; its project is that of the session.
    pub(crate) registration: RegisterAgent,
    /// What changes of an agent that comes back.
    pub(crate) change: UpdateAgent,
    /// Whom the caller spoke for so far: meant in its project when no name is given.
    pub(crate) present: Option<TokenFile>,
}

/// An agent that got in.
pub(crate) struct Joined {
    /// Whether it is new.
    created: bool,
    /// Where its token lies; nowhere if the environment holds it.
    pub(crate) file: Option<TokenFile>,
    /// Who it is and how things stand.
    orientation: Value,
}

/// Ensures the project; comes back as the name whose token is here, or registers it.
pub(crate) fn admit(context: &Context<'_>, papers: Papers) -> Result<Joined, Failure> {
    let session = context.session_as(Who::Operator)?;
    let slug = ensure_project(&session)?;
    let file_of = |name: &AgentName| token_file::of_agent(&context.directory, &slug, name);
    let known = match &papers.registration.name {
        Some(name) => file_of(name),
        None => papers.present.clone().filter(|file| file.slug == *slug),
    };
    if known.is_some() {
        return come_back(&session, known, papers);
    }
    let request = RegisterAgent {
        project: Some(slug.clone()),
        ..papers.registration
    };
    let answer = session.call(RegisterAgent::NAME, &request)?;
    // Whether it was made now or by the first call with the same key, its file is here.
    let name = AgentName::parse(text(&answer, "/agent/name")).map_err(Failure::unusable)?;
    let missing = || Error::not_found("token file of agent", &name);
    let file = file_of(&name).ok_or_else(missing)?;
    let agent = Who::Token(token_file::read(&file.path)?);
    Ok(Joined {
        created: answer.get("created") == Some(&Value::Bool(true)),
        file: Some(file),
        orientation: session.call_as(&agent, Orient::NAME, &Orient {})?,
    })
}

/// Comes back without the operator: with the token of its file, or the one it was given.
pub(crate) fn resume(context: &Context<'_>, papers: Papers) -> Result<Joined, Failure> {
    let globals = context.globals;
    let (name, present) = (&papers.registration.name, &papers.present);
    let Some(name) = name else {
        let session = match present {
            Some(file) => context.session_as(Who::Token(token_file::read(&file.path)?))?,
            None => context.session()?,
        };
        return come_back(&session, present.clone(), papers);
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
    come_back(&session, Some(file), papers)
}

/// Goes on as the agent of a token file, or as whoever is at the door; what is not said stays.
pub(crate) fn come_back(
    session: &Session<'_>,
    file: Option<TokenFile>,
    papers: Papers,
) -> Result<Joined, Failure> {
    let agent = match &file {
        Some(file) => Who::Token(token_file::read(&file.path)?),
        None => session.who.clone(),
    };
    let me = session.call_as(&agent, Orient::NAME, &Orient {})?;
    let (own, asked) = (text(&me, "/name"), &papers.registration.name);
    if asked
        .as_ref()
        .is_some_and(|asked| !asked.eq_ignore_ascii_case(own))
    {
        let reason = format!("the token is that of `{own}`");
        return Err(Error::Forbidden { reason }.into());
    }
    let id = me.get("agent_id").and_then(Value::as_i64);
    let request = UpdateAgent {
        agent: AgentRef::Id(AgentId::new(id.unwrap_or_default())),
        ..papers.change
    };
    // Rights are the operator's to give; all else an agent says itself.
    let by = match &request.rights {
        Some(_) => &session.who,
        None => &agent,
    };
    session.call_as(by, UpdateAgent::NAME, &request)?;
    Ok(Joined {
        created: false,
        file,
        orientation: session.call_as(&agent, Orient::NAME, &Orient {})?,
    })
}

impl Joined {
    /// Writes the answer, with the orientation under `field`.
    pub(crate) fn answer(self, field: &str) -> Value {
        let mut answer = json!({
            "name": self.orientation.get("name"),
            "project": self.orientation.get("project"),
            "agent_id": self.orientation.get("agent_id"),
            "created": self.created,
            "token_file": self.file.map(|file| file.path),
        });
        if let Value::Object(answer) = &mut answer {
            answer.insert(field.to_owned(), self.orientation);
        }
        answer
    }
}

/// Returns the slug of the project. A slug is never taken for a new key.
fn ensure_project(session: &Session<'_>) -> Result<ProjectRef, Failure> {
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
    ProjectRef::parse(text(&answer, "/project/slug")).map_err(Failure::unusable)
}

fn needs_operator(name: &AgentName) -> Error {
    Error::Forbidden {
        reason: format!(
            "`{name}` has no token for this project here, and only the operator registers: that is `comity join --operator`; if it is another project, name that"
        ),
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

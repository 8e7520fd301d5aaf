//! The server's own desk: tools answered by the kernel in this process.

use comity_domain::ProjectKey;
use comity_kernel::actor::Caller;
use comity_kernel::command::{Issued, Secret};
use comity_kernel::operation::{self, Operation};
use comity_kernel::project::{EnsureProject, ProjectRef};
use comity_kernel::{Actor, Error};
use serde_json::{Value, json};

use super::desk::{Answer, Desk, McpCaller};
use super::join::Join;
use crate::Server;

/// Answers for whoever the credential of the HTTP request says.
pub(crate) struct Counter(pub(crate) Server);

impl Desk for Counter {
    fn call(&self, caller: McpCaller, operation: &'static Operation, request: Value) -> Answer {
        let server = self.0.clone();
        Box::pin(async move {
            let answered = run(&server, &caller, operation, request).await;
            answered.map_err(|error| error.numbered(&server.ambient).to_json())
        })
    }

    fn join(&self, caller: McpCaller, join: Join) -> Answer {
        let server = self.0.clone();
        Box::pin(async move {
            let joined = match caller.credential.get::<Actor>() {
                Some(Actor::Operator { .. }) => admit(&server, &caller, join).await,
                _ => resume(&server, &caller, join).await,
            };
            joined.map_err(|error| error.numbered(&server.ambient).to_json())
        })
    }
}

/// Goes on as the agent whose token was presented.
async fn resume(server: &Server, caller: &McpCaller, join: Join) -> Result<Value, Error> {
    let Some(Actor::Agent { agent, .. }) = caller.credential.get::<Actor>() else {
        return Err(Error::Forbidden {
            reason: "an observer cannot join".to_owned(),
        });
    };
    let update = serde_json::to_value(join.resumption(*agent))?;
    run(server, caller, operation::find("update_agent")?, update).await?;
    let orient = operation::find("orient")?;
    let orientation = run(server, caller, orient, json!({})).await?;
    Ok(json!({ "created": false, "you": orientation }))
}

/// Registers a new agent for the operator and puts its token where it will find it.
async fn admit(server: &Server, caller: &McpCaller, join: Join) -> Result<Value, Error> {
    let Some(project) = join.project.clone() else {
        return Err(Error::invalid("project", "is missing"));
    };
    let ensured = match ProjectKey::parse(&project) {
        Ok(key) => {
            let ensure = EnsureProject { key, name: None };
            let ensured = server.kernel.execute(plain(caller)?, ensure).await?;
            ProjectRef::parse(ensured.answer.project.slug.to_string()).unwrap_or(project)
        }
        Err(rule) => return Err(Error::invalid("project", rule)),
    };
    let registration = join.registration(caller, Some(ensured))?;
    let registered = server.kernel.execute(plain(caller)?, registration).await?;
    let agent = &registered.answer.agent;
    let issued = registered.answer.secret.clone().map(|secret| Issued {
        secret,
        agent: Some((agent.project.clone(), agent.name.clone())),
    });
    let file = match (issued, &server.settings.data) {
        (Some(issued), Some(data)) => data.keep_token(&issued)?.display().to_string(),
        _ => String::new(),
    };
    Ok(json!({
        "created": true,
        "agent_id": agent.id,
        "name": agent.name,
        "project": agent.project,
        "token_file": file,
        "next": "connect again with the token of that file: this connection is the operator's",
    }))
}

async fn run(
    server: &Server,
    caller: &McpCaller,
    operation: &'static Operation,
    request: Value,
) -> Result<Value, Error> {
    let actor = caller
        .credential
        .get::<Actor>()
        .ok_or(Error::Unauthorized)?;
    let mut who = plain(caller)?;
    who.key = caller.idempotency_key()?;
    let answered = server.answer(operation, who, request).await;
    if let (Err(Error::Unauthorized), Some(token)) = (&answered, actor.token()) {
        server.known.forget(token);
    }
    let outcome = answered?;
    match (
        outcome.secret.and_then(Secret::token),
        &server.settings.data,
    ) {
        (Some(issued), Some(data)) => {
            let file = data.keep_token(&issued)?;
            Ok(with_file(outcome.answer, &file.display().to_string()))
        }
        _ => Ok(outcome.answer),
    }
}

fn with_file(mut answer: Value, file: &str) -> Value {
    if let Value::Object(answer) = &mut answer {
        answer.insert("token_file".to_owned(), file.into());
    }
    answer
}

/// Says who calls and as part of what, without a key.
fn plain(caller: &McpCaller) -> Result<Caller, Error> {
    let actor = caller
        .credential
        .get::<Actor>()
        .ok_or(Error::Unauthorized)?;
    let mut who = Caller::from(actor.clone());
    who.correlation = caller.trace();
    Ok(who)
}

//! The list of operations: each defined once, reachable by name.

use std::future::Future;
use std::pin::Pin;

use comity_domain::json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::actor::{Caller, Party};
use crate::agent::{
    GetAgent, Heartbeat, ListAgents, Orient, RegisterAgent, RetireAgent, RotateToken, UpdateAgent,
};
use crate::command::{Command, Issued};
use crate::error::{Error, Impossible};
use crate::kernel::Kernel;
use crate::project::{EnsureProject, ListProjects, ProjectStatusQuery, UpdateProject};
use crate::query::Query;
use crate::token::{CreateToken, ListTokens, RevokeToken};

/// What a call by name brings back.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer as JSON, with `seq` or `as_of_seq`.
    pub answer: Value,
    /// A token that was made, for the surface to hand over once.
    pub issued: Option<Issued>,
}

/// An answer to come.
pub type Call = Pin<Box<dyn Future<Output = Result<Outcome, Error>> + Send>>;

/// Whether an operation changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It reads.
    Reads,
    /// It writes.
    Writes,
}

/// One operation.
#[derive(Clone, Copy)]
pub struct Operation {
    /// Its name on every surface.
    pub name: &'static str,
    /// Who may call it.
    pub who: &'static [Party],
    /// Whether it changes anything.
    pub effect: Effect,
    /// Decodes the request and starts it.
    pub call: fn(&Kernel, Caller, Value) -> Call,
}

const fn command<C: Command + DeserializeOwned>() -> Operation {
    Operation {
        name: C::NAME,
        who: C::WHO,
        effect: Effect::Writes,
        call: call_command::<C>,
    }
}

const fn query<Q: Query<Answer: Serialize> + DeserializeOwned>() -> Operation {
    Operation {
        name: Q::NAME,
        who: Q::WHO,
        effect: Effect::Reads,
        call: call_query::<Q>,
    }
}

/// Every operation of the kernel.
pub const OPERATIONS: &[Operation] = &[
    command::<EnsureProject>(),
    command::<UpdateProject>(),
    query::<ListProjects>(),
    query::<ProjectStatusQuery>(),
    command::<CreateToken>(),
    query::<ListTokens>(),
    command::<RevokeToken>(),
    command::<RegisterAgent>(),
    query::<Orient>(),
    query::<ListAgents>(),
    query::<GetAgent>(),
    query::<Heartbeat>(),
    command::<UpdateAgent>(),
    command::<RotateToken>(),
    command::<RetireAgent>(),
];

/// Finds an operation, or a name that is close.
pub fn find(name: &str) -> Result<&'static Operation, Error> {
    let found = OPERATIONS.iter().find(|operation| operation.name == name);
    found.ok_or_else(|| Error::NotFound {
        kind: "operation",
        name: name.to_owned(),
        near: comity_domain::suggest::nearest(name, OPERATIONS.iter().map(|known| known.name))
            .map(ToOwned::to_owned),
    })
}

fn call_command<C: Command + DeserializeOwned>(
    kernel: &Kernel,
    caller: Caller,
    request: Value,
) -> Call {
    let ticket = match json::decode::<C>(request) {
        Ok(command) => kernel.execute(caller, command),
        Err(error) => return refused(error.into()),
    };
    Box::pin(async move {
        let reply = ticket.await?;
        Ok(Outcome {
            answer: with_number(&reply.answer, "seq", reply.seq.get())?,
            issued: C::issued(&reply.answer),
        })
    })
}

fn call_query<Q: Query<Answer: Serialize> + DeserializeOwned>(
    kernel: &Kernel,
    caller: Caller,
    request: Value,
) -> Call {
    let ticket = match json::decode::<Q>(request) {
        Ok(query) => kernel.query(caller.actor, query),
        Err(error) => return refused(error.into()),
    };
    Box::pin(async move {
        let read = ticket.await?;
        Ok(Outcome {
            answer: with_number(&read.answer, "as_of_seq", read.as_of_seq.get())?,
            issued: None,
        })
    })
}

fn refused(error: Error) -> Call {
    Box::pin(async move { Err(error) })
}

fn with_number(answer: &impl Serialize, name: &str, number: i64) -> Result<Value, Error> {
    match serde_json::to_value(answer)? {
        Value::Object(mut object) => {
            object.insert(name.to_owned(), number.into());
            Ok(Value::Object(object))
        }
        _ => Err(Error::internal(Impossible("an answer that is no object"))),
    }
}

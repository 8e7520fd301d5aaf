//! How an entry of the registry is written.

use comity_domain::limits::REQUEST_BYTES_MAX;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call::{Call, call_command, call_patiently, call_query, call_waiting};
use super::schema::{Number, Schemas};
use super::surface::{Bytes, Effect, Method, NoTool, Operation, Pace, Route, Tool};
use crate::actor::{Caller, Party};
use crate::command::Command;
use crate::kernel::Kernel;
use crate::line::Patient;
use crate::query::{Query, Waiting};
use Effect::Reads;
use NoTool::{Lean, Person};

/// Names a method, a path, and the fields that its variable parts fill.
pub(super) const fn route(
    method: Method,
    path: &'static str,
    fields: &'static [&'static str],
) -> Route {
    Route {
        method,
        path,
        fields,
    }
}

/// Enters a command.
pub(super) const fn command<C>(effect: Effect) -> Operation
where
    C: Command<Answer: JsonSchema> + DeserializeOwned + JsonSchema,
{
    Operation {
        name: C::NAME,
        who: C::WHO,
        effect,
        routes: &[],
        tool: Tool::None(Lean),
        commands: &[],
        pace: Pace::Quick,
        bytes: Bytes::None,
        body_bytes_max: REQUEST_BYTES_MAX,
        call: call_command::<C>,
        describe: || Schemas::new::<C, C::Answer>(Number::Seq),
    }
}

/// Enters a command that waits for what it wants.
pub(super) const fn patient<C>(effect: Effect) -> Operation
where
    C: Patient + Command<Answer: JsonSchema> + DeserializeOwned + JsonSchema,
{
    Operation {
        pace: Pace::Waits,
        call: call_patiently::<C>,
        ..command::<C>(effect)
    }
}

/// Enters a query.
pub(super) const fn query<Q>() -> Operation
where
    Q: Query<Answer: Serialize + JsonSchema> + DeserializeOwned + JsonSchema,
{
    Operation {
        name: Q::NAME,
        who: Q::WHO,
        effect: Reads,
        routes: &[],
        tool: Tool::None(Lean),
        commands: &[],
        pace: Pace::Quick,
        bytes: Bytes::None,
        body_bytes_max: REQUEST_BYTES_MAX,
        call: call_query::<Q>,
        describe: || Schemas::new::<Q, Q::Answer>(Number::AsOfSeq),
    }
}

/// Enters a query that waits for something new.
pub(super) const fn waiting<Q>() -> Operation
where
    Q: Waiting<Answer: Serialize + JsonSchema> + Clone + Sync + DeserializeOwned + JsonSchema,
{
    Operation {
        pace: Pace::Waits,
        call: call_waiting::<Q>,
        ..query::<Q>()
    }
}

/// Enters an operation that whoever writes the archive answers.
pub(super) const fn archivist<Request: JsonSchema, Answer: JsonSchema>(
    name: &'static str,
    effect: Effect,
    call: fn(&Kernel, Caller, Value) -> Call,
) -> Operation {
    Operation {
        name,
        who: &[Party::Operator],
        effect,
        routes: &[],
        tool: Tool::None(Person),
        commands: &[],
        pace: Pace::Long,
        bytes: Bytes::None,
        body_bytes_max: REQUEST_BYTES_MAX,
        call,
        describe: || Schemas::new::<Request, Answer>(Number::Own),
    }
}

impl Operation {
    /// Says where HTTP has it.
    pub(super) const fn http(self, routes: &'static [Route]) -> Self {
        Self { routes, ..self }
    }

    /// Says how large its body may be over HTTP.
    pub(super) const fn body(self, body_bytes_max: usize) -> Self {
        Self {
            body_bytes_max,
            ..self
        }
    }

    /// Says where MCP has it.
    pub(super) const fn mcp(self, tool: Tool) -> Self {
        Self { tool, ..self }
    }

    /// Says what the command line calls it.
    pub(super) const fn cli(self, commands: &'static [&'static str]) -> Self {
        Self { commands, ..self }
    }
}

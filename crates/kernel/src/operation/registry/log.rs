//! Events, consumers, streams and hooks.

use super::super::call::{call_poll, call_prune};
use super::super::entry::{archivist, command, query, route, waiting};
use super::super::surface::{Effect, Method, NoTool, Operation, Profile, Tool};
use crate::checkpoint::{Prune, Pruned};
use crate::consumer::{AckConsumer, ListConsumers, PollConsumer, RegisterConsumer, ResetConsumer};
use crate::event::Events;
use crate::hook::{AddHook, DeadLetters, ListHooks, RemoveHook, RetryDeadLetter};
use crate::redaction::RedactEvent;
use crate::stream::{AppendEvent, ReadStream};
use Effect::{Adds, Ends, Sets, Takes};
use Method::{Delete, Get, Post};
use NoTool::{Lean, Person};
use Tool::Named;

/// Every operation of them, in the order of the documentation.
pub(super) const OPERATIONS: &[Operation] = &[
    waiting::<Events>()
        .http(&[route(Get, "/api/events", &[])])
        .mcp(Named("events", Profile::Orchestrate))
        .cli(&["events list", "events tail"]),
    command::<RegisterConsumer>(Takes)
        .http(&[route(Post, "/api/consumers", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["events consumer add"]),
    query::<ListConsumers>()
        .http(&[route(Get, "/api/consumers", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["events consumer list"]),
    Operation {
        call: call_poll,
        ..waiting::<PollConsumer>()
    }
    .http(&[route(Get, "/api/consumers/{name}/poll", &["name"])])
    .mcp(Tool::None(Lean))
    .cli(&["events consumer poll"]),
    command::<AckConsumer>(Sets)
        .http(&[route(Post, "/api/consumers/{name}/ack", &["name"])])
        .mcp(Tool::None(Lean))
        .cli(&["events consumer ack"]),
    command::<ResetConsumer>(Takes)
        .http(&[route(Post, "/api/consumers/{name}/reset", &["name"])])
        .mcp(Tool::None(Lean))
        .cli(&["events consumer reset"]),
    command::<AppendEvent>(Adds)
        .http(&[route(Post, "/api/streams/{stream}", &["stream"])])
        .mcp(Tool::None(Lean))
        .cli(&["events append"]),
    query::<ReadStream>()
        .http(&[route(Get, "/api/streams/{stream}", &["stream"])])
        .mcp(Tool::None(Lean))
        .cli(&["events stream"]),
    command::<AddHook>(Adds)
        .http(&[route(Post, "/api/hooks", &[])])
        .mcp(Tool::None(Person))
        .cli(&["events hook add"]),
    query::<ListHooks>()
        .http(&[route(Get, "/api/hooks", &[])])
        .mcp(Tool::None(Person))
        .cli(&["events hook list"]),
    command::<RemoveHook>(Ends)
        .http(&[route(Delete, "/api/hooks/{id}", &["id"])])
        .mcp(Tool::None(Person))
        .cli(&["events hook remove"]),
    query::<DeadLetters>()
        .http(&[route(Get, "/api/hooks/{id}/dead-letters", &["hook"])])
        .mcp(Tool::None(Person))
        .cli(&["events hook dead-letters"]),
    command::<RetryDeadLetter>(Adds)
        .http(&[route(
            Post,
            "/api/hooks/{id}/dead-letters/{seq}/retry",
            &["hook", "seq"],
        )])
        .mcp(Tool::None(Person))
        .cli(&["events hook retry"]),
    command::<RedactEvent>(Ends)
        .http(&[route(Post, "/api/events/{seq}/redact", &["seq"])])
        .mcp(Tool::None(Person))
        .cli(&["events redact"]),
    archivist::<Prune, Pruned>("prune", Ends, call_prune)
        .http(&[route(Post, "/api/events/prune", &[])])
        .mcp(Tool::None(Person))
        .cli(&["events prune"]),
];

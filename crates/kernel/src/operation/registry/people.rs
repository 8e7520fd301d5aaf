//! Projects, tokens, agents, contacts and mail.

use super::super::entry::{command, query, route, waiting};
use super::super::surface::{Bytes, Effect, Method, NoTool, Operation, Profile, Tool};
use crate::agent::{
    GetAgent, Heartbeat, ListAgents, Orient, RegisterAgent, RetireAgent, RotateToken, UpdateAgent,
};
use crate::contact::{AnswerContact, ListContacts, RequestContact};
use crate::mail::{
    Acknowledge, Forward, GetAttachment, GetMessage, Inbox, OverdueAcks, PutAttachment,
    ReadMessages, Reply, Search, SendMessage, Thread, ThreadSummary, Threads,
};
use crate::project::{EnsureProject, ListProjects, ProjectStatusQuery, UpdateProject};
use crate::token::{CreateToken, ListTokens, RevokeToken};
use Effect::{Adds, Ends, Sets};
use Method::{Delete, Get, Patch, Post, Put};
use NoTool::{EveryCall, Lean, Person};
use Tool::{In, Named};

/// Every operation of them, in the order of the documentation.
pub(super) const OPERATIONS: &[Operation] = &[
    command::<EnsureProject>(Sets)
        .http(&[route(Post, "/api/projects", &[])])
        .mcp(In("join"))
        .cli(&["project ensure"]),
    command::<UpdateProject>(Sets)
        .http(&[route(Patch, "/api/projects/{project}", &["project"])])
        .mcp(Tool::None(Person))
        .cli(&["project update"]),
    query::<ListProjects>()
        .http(&[route(Get, "/api/projects", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["project list"]),
    query::<ProjectStatusQuery>()
        .http(&[route(Get, "/api/projects/{project}", &["project"])])
        .mcp(Tool::None(Lean))
        .cli(&["project status"]),
    command::<CreateToken>(Adds)
        .http(&[route(Post, "/api/tokens", &[])])
        .mcp(Tool::None(Person))
        .cli(&["token create"]),
    query::<ListTokens>()
        .http(&[route(Get, "/api/tokens", &[])])
        .mcp(Tool::None(Person))
        .cli(&["token list"]),
    command::<RevokeToken>(Ends)
        .http(&[route(Delete, "/api/tokens/{id}", &["id"])])
        .mcp(Tool::None(Person))
        .cli(&["token revoke"]),
    command::<RegisterAgent>(Sets)
        .http(&[route(Post, "/api/agents", &[])])
        .mcp(Named("join", Profile::Core))
        .cli(&["agent register", "join"]),
    query::<Orient>()
        .http(&[route(Get, "/api/orient", &[])])
        .mcp(Named("status", Profile::Core))
        .cli(&["status", "prime"]),
    query::<ListAgents>()
        .http(&[route(Get, "/api/agents", &[])])
        .mcp(Named("list_agents", Profile::Core))
        .cli(&["agent list"]),
    query::<GetAgent>()
        .http(&[route(Get, "/api/agents/{id}", &["agent"])])
        .mcp(In("list_agents"))
        .cli(&["agent show"]),
    // It writes to memory alone, so the kernel answers it like a read.
    Operation {
        effect: Sets,
        ..query::<Heartbeat>()
    }
    .http(&[route(Post, "/api/agents/{id}/heartbeat", &["agent"])])
    .mcp(Tool::None(EveryCall))
    .cli(&["agent heartbeat"]),
    command::<UpdateAgent>(Sets)
        .http(&[route(Patch, "/api/agents/{id}", &["agent"])])
        .mcp(Tool::None(Lean))
        .cli(&["agent update"]),
    command::<RotateToken>(Adds)
        .http(&[route(Post, "/api/agents/{id}/token", &["agent"])])
        .mcp(Tool::None(Lean))
        .cli(&["agent rotate-token"]),
    command::<RetireAgent>(Ends)
        .http(&[route(Delete, "/api/agents/{id}", &["agent"])])
        .mcp(Tool::None(Person))
        .cli(&["agent retire"]),
    command::<RequestContact>(Sets)
        .http(&[route(Post, "/api/contacts", &[])])
        .mcp(In("contacts"))
        .cli(&["contact request"]),
    command::<AnswerContact>(Sets)
        .http(&[route(Put, "/api/contacts/{id}", &["id"])])
        .mcp(In("contacts"))
        .cli(&["contact answer"]),
    query::<ListContacts>()
        .http(&[route(Get, "/api/contacts", &[])])
        .mcp(Named("contacts", Profile::All))
        .cli(&["contact list"]),
    command::<SendMessage>(Adds)
        .http(&[route(Post, "/api/messages", &[])])
        .mcp(Named("send_message", Profile::Core))
        .cli(&["mail send"]),
    command::<Reply>(Adds)
        .http(&[route(Post, "/api/messages/{id}/reply", &["id"])])
        .mcp(In("send_message"))
        .cli(&["mail reply"]),
    command::<Forward>(Adds)
        .http(&[route(Post, "/api/messages/{id}/forward", &["id"])])
        .mcp(In("send_message"))
        .cli(&["mail forward"]),
    waiting::<Inbox>()
        .http(&[route(Get, "/api/inbox/{agent}", &["agent"])])
        .mcp(Named("inbox", Profile::Core))
        .cli(&["mail inbox", "wait"]),
    query::<GetMessage>()
        .http(&[route(Get, "/api/messages/{id}", &["id"])])
        .mcp(In("thread"))
        .cli(&["mail show"]),
    command::<ReadMessages>(Sets)
        .http(&[
            route(Post, "/api/messages/read", &[]),
            route(Post, "/api/messages/{id}/read", &["ids"]),
        ])
        .mcp(In("acknowledge"))
        .cli(&["mail read"]),
    command::<Acknowledge>(Sets)
        .http(&[
            route(Post, "/api/messages/ack", &[]),
            route(Post, "/api/messages/{id}/ack", &["ids"]),
        ])
        .mcp(Named("acknowledge", Profile::Core))
        .cli(&["mail ack"]),
    query::<Threads>()
        .http(&[route(Get, "/api/threads", &[])])
        .mcp(In("thread"))
        .cli(&["mail threads"]),
    query::<Thread>()
        .http(&[route(Get, "/api/threads/{id}", &["id"])])
        .mcp(Named("thread", Profile::Core))
        .cli(&["mail thread"]),
    query::<ThreadSummary>()
        .http(&[route(Get, "/api/threads/{id}/summary", &["id"])])
        .mcp(In("thread"))
        .cli(&["mail summary"]),
    query::<OverdueAcks>()
        .http(&[route(Get, "/api/acks/overdue", &[])])
        .mcp(Tool::None(Lean))
        .cli(&["mail overdue"]),
    Operation {
        bytes: Bytes::Request("content"),
        ..command::<PutAttachment>(Sets)
    }
    .http(&[route(Post, "/api/attachments", &[])])
    .mcp(Tool::None(Lean))
    .cli(&["mail attach"]),
    Operation {
        bytes: Bytes::Answer("content"),
        ..query::<GetAttachment>()
    }
    .http(&[route(Get, "/api/attachments/{sha256}", &["sha256"])])
    .mcp(Tool::None(Lean))
    .cli(&["mail fetch"]),
    query::<Search>()
        .http(&[route(Get, "/api/search", &[])])
        .mcp(Named("search", Profile::Core))
        .cli(&["search"]),
];

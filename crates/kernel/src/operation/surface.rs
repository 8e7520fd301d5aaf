//! The words in which the registry says where an operation appears.

use serde_json::Value;

use super::call::Call;
use super::schema::{self, Schemas};
use crate::actor::{Caller, Party};
use crate::kernel::Kernel;

/// One operation, as every surface knows it.
#[derive(Clone, Copy)]
pub struct Operation {
    /// Its name on every surface.
    pub name: &'static str,
    /// Who may call it.
    pub who: &'static [Party],
    /// What it does to the world.
    pub effect: Effect,
    /// Where HTTP has it; the first one is the one that clients use.
    pub routes: &'static [Route],
    /// Where MCP has it.
    pub tool: Tool,
    /// What the command line calls it.
    pub commands: &'static [&'static str],
    /// How long it may take.
    pub pace: Pace,
    /// Which side of it is bytes as they are.
    pub bytes: Bytes,
    /// How many bytes of JSON its body may have over HTTP.
    pub body_bytes_max: usize,
    /// Decodes the request and starts it.
    pub call: fn(&Kernel, Caller, Value) -> Call,
    pub(super) describe: fn() -> Schemas,
}

/// Which side of an operation is bytes as they are where the surface allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// None: both are JSON.
    None,
    /// The request is the content of this field.
    Request(&'static str),
    /// The answer is the content of this field.
    Answer(&'static str),
}

/// How long an operation may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A moment; surfaces give up waiting for it.
    Quick,
    /// As long as the database is large.
    Long,
    /// As long as the caller wants to wait for something new.
    Waits,
}

/// What an operation does to the world, and what repeating it without a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing.
    Reads,
    /// It makes a copy elsewhere, and changes nothing of what it copies.
    Copies,
    /// It adds something; repeated, it adds another.
    Adds,
    /// It takes something for the caller; repeated, it takes the next.
    Takes,
    /// It brings something about; repeated, it changes nothing more.
    Sets,
    /// It ends something for good.
    Ends,
}

/// A method and a path of the HTTP surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with `{names}` for its variable parts.
    pub path: &'static str,
    /// The request's fields that the variable parts fill, in their order.
    pub fields: &'static [&'static str],
}

/// The methods in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads; the request is the query string.
    Get,
    /// The request is the body.
    Post,
    /// The request is the body.
    Put,
    /// The request is the body.
    Patch,
    /// Ends something; the request is the query string.
    Delete,
}

/// How MCP has an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// As a tool of its own.
    Named(&'static str, Profile),
    /// As part of another tool.
    In(&'static str),
    /// Not at all, for a reason.
    None(NoTool),
}

/// Why an operation is no tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTool {
    /// It is a person's job.
    Person,
    /// It is not worth an agent's context.
    Lean,
    /// Every call does it by the way.
    EveryCall,
}

/// A set of tools a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// What every agent needs.
    Core,
    /// What a worker needs.
    Work,
    /// What an orchestrator needs.
    Orchestrate,
    /// What a researcher needs.
    Research,
    /// Everything.
    All,
}

impl Operation {
    /// Returns the schemas of its request and answer.
    pub fn schemas(&self) -> &'static Schemas {
        schema::of(self)
    }
}

impl Effect {
    /// Tells whether an operation with this effect is a write.
    pub const fn writes(self) -> bool {
        self.creates() || matches!(self, Self::Takes | Self::Sets | Self::Ends)
    }

    /// Tells whether there is something more after each call.
    pub const fn creates(self) -> bool {
        matches!(self, Self::Copies | Self::Adds)
    }

    /// Tells whether it changes the database or its archive, and not only what lies beside them.
    pub const fn changes(self) -> bool {
        match self {
            Self::Reads | Self::Copies => false,
            Self::Adds | Self::Takes | Self::Sets | Self::Ends => true,
        }
    }
}

impl Method {
    /// Returns the word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Tells whether the request is the body; otherwise it is the query string.
    pub const fn has_body(self) -> bool {
        match self {
            Self::Get | Self::Delete => false,
            Self::Post | Self::Put | Self::Patch => true,
        }
    }
}

impl Profile {
    /// Every profile.
    pub const EVERY: [Self; 5] = [
        Self::Core,
        Self::Work,
        Self::Orchestrate,
        Self::Research,
        Self::All,
    ];

    /// Returns the word by which clients ask for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Work => "work",
            Self::Orchestrate => "orchestrate",
            Self::Research => "research",
            Self::All => "all",
        }
    }
}

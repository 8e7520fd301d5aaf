//! The vocabulary of Comity: names, ids, times, tokens and limits.
//!
//! Nothing here reads a clock, a file, a socket or a database. Text from outside becomes one of
//! these types at the border and is valid from there on.

pub mod agent_name;
pub mod change;
pub mod discovery;
pub mod dispatch;
pub mod gate;
pub mod gate_text;
pub mod hook;
pub mod id;
pub mod interest;
pub mod json;
pub mod lease;
pub mod limits;
pub mod mail;
pub mod order;
pub mod pattern;
pub mod project;
pub mod role;
pub mod run;
pub mod search;
pub mod state;
pub mod stream;
pub mod suggest;
pub mod text;
pub mod time;
pub mod token;
pub mod vector;
mod words;

pub use agent_name::AgentName;
pub use change::Change;
pub use discovery::{DiscoveryOrder, DiscoveryState, DiscoveryStep, DiscoveryTier, Score, Signal};
pub use dispatch::{DispatchState, Outcome, Step};
pub use gate::{Approver, Check, CheckKind, Gates, Rule, Tier, Transition};
pub use gate_text::GateText;
pub use hook::{HookCommand, HookSecret, HookUrl};
pub use id::{
    AgentId, ApprovalId, ArtifactId, ConsumerId, ContactId, DiscoveryId, DispatchId, HookId,
    MessageId, ProjectId, ReleaseRequestId, ReservationId, RunId, SentinelId, Seq, StateEntryId,
    StateScopeId, StreamId, TokenId, VerdictId,
};
pub use interest::{Addend, Weight, Weights};
pub use lease::{LeaseEnd, LeaseMode, Ttl};
pub use mail::{Address, ContactPolicy, Delivery, Importance, Sha256Hex};
pub use pattern::{BadPattern, LiteralPath, Pattern};
pub use project::{GuardAway, GuardMode, ProjectKey, Slug};
pub use role::{Right, Role};
pub use run::{Chain, Phase, RunState, Verdict};
pub use state::{ScopeName, StateKey};
pub use stream::{CustomKind, PlainName};
pub use text::{Line, Prose, Text};
pub use time::{LeaseTime, Span, Timestamp};
pub use token::{TokenHash, TokenSecret};
pub use vector::{Embedding, ModelId};

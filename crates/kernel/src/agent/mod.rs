//! Agents: who works in a project.

mod apply;
pub mod event;
pub mod get;
pub mod heartbeat;
pub mod list;
pub mod orient;
pub mod register;
pub mod retire;
pub mod rotate_token;
pub mod table;
pub mod update;

pub use get::GetAgent;
pub use heartbeat::Heartbeat;
pub use list::ListAgents;
pub use orient::{Orient, Orientation};
pub use register::{RegisterAgent, RegisteredAgent};
pub use retire::{RetireAgent, RetiredAgent};
pub use rotate_token::{RotateToken, RotatedToken};
pub use table::{Agent, AgentRef, AgentSeen};
pub use update::{UpdateAgent, UpdatedAgent};

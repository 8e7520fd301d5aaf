//! The list of operations: each defined once, with everything the surfaces need to know of it.
//!
//! `registry` is the list, `entry` how one is entered. `surface` has the words it is written in:
//! routes, tools, commands.
//! `schema` derives the JSON schemas of requests and answers, `call` runs an operation by name.

mod call;
mod entry;
mod registry;
mod schema;
mod surface;

pub use call::{Call, Outcome};
pub use registry::{OPERATIONS, find};
pub use schema::{Schemas, schema_of};
pub use surface::{Bytes, Effect, Method, NoTool, Operation, Pace, Profile, Route, Tool};

//! The guard's question: what is asked, how, and what follows from the answer.
//!
//! `paths` makes the names that Git gave into a question, `asking` asks it in time, `answer` says what
//! came back to people, `failures` how the guard says no, and `memory` keeps the project's settings for
//! when nobody can be asked. `project` learns them when hooks are written.

mod answer;
mod asking;
mod failures;
mod memory;
mod paths;
mod project;

pub(crate) use answer::Answer;
pub(crate) use asking::{Unanswered, ask};
pub(crate) use failures::{could_not_ask, refused};
pub(crate) use memory::{Memory, Wanted};
pub(crate) use paths::Named;
pub(crate) use project::{Known, learn};

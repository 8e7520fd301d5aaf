//! A query: a question as data, answered on a read snapshot.

use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::tx::Snapshot;

/// One kind of question.
pub trait Query: Send + 'static {
    /// The operation's name on every surface.
    const NAME: &'static str;
    /// Who may ask.
    const WHO: &'static [Party];
    /// What it answers.
    type Answer: Send + 'static;

    /// Answers from one snapshot.
    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error>;
}

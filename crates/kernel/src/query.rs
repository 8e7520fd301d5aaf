//! A query: a question as data, answered on a read snapshot.

use comity_domain::Span;

use crate::actor::{Actor, Party};
use crate::embedder::Embeds;
use crate::error::Error;
use crate::tx::Snapshot;

/// A question whose asker may wait until there is something to answer.
pub trait Waiting: Query {
    /// Returns how long the asker wants to wait.
    fn patience(&self) -> Option<Span>;

    /// Tells whether an answer is worth ending the wait for.
    fn is_something(answer: &Self::Answer) -> bool;
}

/// One kind of question.
pub trait Query: Send + 'static {
    /// The operation's name on every surface.
    const NAME: &'static str;
    /// Who may ask.
    const WHO: &'static [Party];
    /// What it answers.
    type Answer: Send + 'static;

    /// Returns itself, if it wants a text as a vector before it is answered.
    fn embeds(&mut self) -> Option<&mut dyn Embeds> {
        None
    }

    /// Answers from one snapshot.
    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Self::Answer, Error>;
}

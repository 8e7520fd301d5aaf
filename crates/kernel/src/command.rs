//! A command: a wish as data, decided in one write transaction.

use comity_domain::{HookSecret, Slug, TokenSecret};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::actor::Party;
use crate::embedder::Embeds;
use crate::error::Error;
use crate::tx::WriteTx;

/// One kind of wish to change something.
///
/// `decide` may be run more than once for one answer: when its batch is repeated one by one, or
/// after another server won. So it takes `&self`, and everything it needs from outside comes from
/// the transaction.
pub trait Command: Serialize + Send + 'static {
    /// The operation's name on every surface.
    const NAME: &'static str;
    /// Who may wish it.
    const WHO: &'static [Party];
    /// What it answers; secrets in it are `#[serde(skip)]`, for the answer is stored (C2).
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    /// Returns itself, if it wants a text as a vector before the transaction.
    fn embeds(&mut self) -> Option<&mut dyn Embeds> {
        None
    }

    /// Does what can be done before the transaction, on the caller's own thread.
    fn prepare(&self) {}

    /// Reads, decides and emits.
    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<Self::Answer, Stop>;

    /// Returns what two requests have in common that are one under the caller's key. How long the
    /// caller waits for the answer is not part of it.
    fn asked(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// Tells whether an answer is stored under the caller's key; one that did nothing need not be.
    fn is_kept(_answer: &Self::Answer) -> bool {
        true
    }

    /// Returns the secret that the answer holds, for the surface to hand over once.
    fn secret(_answer: &Self::Answer) -> Option<Secret> {
        None
    }
}

/// A secret on its way to its owner.
#[derive(Clone, Debug)]
pub enum Secret {
    /// A token that was made.
    Token(Issued),
    /// What the deliveries of a hook that was added are signed with.
    Hook(HookSecret),
}

impl Secret {
    /// Returns the token, if it is one.
    pub fn token(self) -> Option<Issued> {
        match self {
            Self::Token(issued) => Some(issued),
            Self::Hook(_) => None,
        }
    }
}

/// A token on its way to its owner.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The token.
    pub secret: TokenSecret,
    /// The project's slug and the name of the agent it belongs to, if it does.
    pub agent: Option<(Slug, String)>,
}

/// The two ends of a decision that are not done.
#[derive(Clone, Debug)]
pub enum Stop {
    /// Refused: the events emitted so far stand, a part of history.
    Refused(Error),
    /// Failed: everything the command did is undone.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

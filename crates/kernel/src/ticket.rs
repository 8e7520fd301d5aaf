//! A ticket stands for an answer that is on its way; it is awaited or waited for.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use comity_domain::Seq;
use tokio::sync::oneshot;

use crate::error::Error;

/// The answer to come of a command or query.
#[must_use = "the answer may be a refusal"]
pub struct Ticket<T>(oneshot::Receiver<Result<T, Error>>);

/// What a command answered, and where its effect stands in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply<T> {
    /// The answer.
    pub answer: T,
    /// The sequence number of its last event, or of the head if it emitted none.
    pub seq: Seq,
    /// Whether this is the stored first answer to the same key.
    pub replayed: bool,
}

/// What a query answered, and as of when.
#[derive(Clone, Debug, PartialEq)]
pub struct AsOf<T> {
    /// The answer.
    pub answer: T,
    /// The sequence number it is true at.
    pub as_of_seq: Seq,
}

impl<T> Ticket<T> {
    pub(crate) fn new() -> (oneshot::Sender<Result<T, Error>>, Self) {
        let (answer, ticket) = oneshot::channel();
        (answer, Self(ticket))
    }

    /// Makes a ticket that is answered already.
    pub(crate) fn answered(answer: Result<T, Error>) -> Self {
        let (sender, ticket) = Self::new();
        // The receiver is in our hands, so the answer cannot be refused.
        let _ = sender.send(answer);
        ticket
    }

    /// Blocks this thread until the answer is there; not for asynchronous code, which awaits.
    pub fn wait(self) -> Result<T, Error> {
        self.0.blocking_recv().unwrap_or(Err(Error::Indeterminate))
    }
}

impl<T> Future for Ticket<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map(|answer| answer.unwrap_or(Err(Error::Indeterminate)))
    }
}

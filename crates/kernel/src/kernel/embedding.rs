//! Requests that want a text as a vector get it here, before anything is opened; discoveries that
//! came without one, later.

mod making;

pub use self::making::{Making, Step};

use std::future::Future;
use std::sync::Arc;

use comity_domain::ModelId;
use tokio::sync::Semaphore;

use super::{Kernel, ask, on_thread, submit};
use crate::actor::{Actor, Caller};
use crate::ambient::Ambient;
use crate::command::Command;
use crate::discovery::unembedded::{CountUnembedded, Warm};
use crate::embedder::{EmbedError, Embedder, Embeds, Made, Pace, compares, make};
use crate::error::Error;
use crate::query::Query;
use crate::store::job::Audience;
use crate::store::readers::ReadQueue;
use crate::ticket::{AsOf, Reply};

/// A vector that somebody else has to be asked for.
pub(crate) struct Asking {
    embedder: Arc<dyn Embedder>,
    text: String,
    places: Arc<Semaphore>,
}

impl Asking {
    /// Asks on a thread of its own; only so many do at a time.
    async fn answer(self) -> Made {
        let Ok(_place) = self.places.acquire_owned().await else {
            return Made::Nothing;
        };
        let (embedder, text) = (self.embedder, self.text);
        let made = on_thread(move || Ok(make(&*embedder, &text))).await;
        made.unwrap_or_else(|error| Made::Failed(EmbedError::Away(error.to_string())))
    }
}

impl Kernel {
    /// Makes the vector that a request wants, where that waits for nobody.
    pub(super) fn embed_now(&self, request: Option<&mut dyn Embeds>) {
        let Some((request, embedder)) = request.zip(self.memory.embedder.as_deref()) else {
            return;
        };
        if embedder.pace() == Pace::Quick
            && let Some(text) = request.text(Pace::Quick)
        {
            request.take(make(embedder, &text));
        }
    }

    /// Tells whether somebody has to be asked for the vector that a request wants.
    pub(crate) fn must_ask(&self, request: Option<&mut dyn Embeds>) -> Option<Asking> {
        let embedder = self.memory.embedder.as_ref()?;
        let text = match embedder.pace() {
            Pace::Quick => None,
            Pace::Slow => request?.text(Pace::Slow),
        };
        Some(Asking {
            embedder: Arc::clone(embedder),
            text: text?,
            places: Arc::clone(&self.embedding),
        })
    }

    /// Hands a command to the writer once its vector is there, or once it is clear that there is
    /// none, and once what it is compared with is in memory.
    pub(crate) fn execute_after<C: Command>(
        &self,
        asking: Option<Asking>,
        caller: Caller,
        mut command: C,
    ) -> impl Future<Output = Result<Reply<C::Answer>, Error>> + Send + use<C> {
        self.embed_now(command.embeds());
        let (queue, reads) = (Arc::clone(&self.queue), Arc::clone(&self.reads));
        let ambient = self.ambient.clone();
        async move {
            caller.actor.must_be_one_of(C::NAME, C::WHO)?;
            if let Some(asking) = asking {
                let made = asking.answer().await;
                if let Some(request) = command.embeds() {
                    request.take(made);
                }
            }
            if compares(command.embeds()) {
                // Best effort: the writer reads what is missing then.
                let _ = warm(&reads, &ambient).await;
            }
            submit(&queue, &ambient, caller, command, Audience::Any).await
        }
    }

    /// Hands a query to a reader once its vector is there, or once it is clear that there is none.
    pub(crate) fn query_after<Q: Query>(
        &self,
        asking: Asking,
        actor: Actor,
        mut query: Q,
    ) -> impl Future<Output = Result<AsOf<Q::Answer>, Error>> + Send + use<Q> {
        let (reads, ambient) = (Arc::clone(&self.reads), self.ambient.clone());
        async move {
            actor.must_be_one_of(Q::NAME, Q::WHO)?;
            let made = asking.answer().await;
            if let Some(request) = query.embeds() {
                request.take(made);
            }
            ask(&reads, &ambient, actor, query).await
        }
    }

    /// Reads the vectors of discoveries into memory, so that the first who searches need not.
    pub async fn warm_vectors(&self) -> Result<(), Error> {
        warm(&self.reads, &self.ambient).await
    }

    /// Counts the discoveries that have no vector of the present embedder, if there is one.
    pub async fn without_vectors(&self) -> Result<Option<(ModelId, i64)>, Error> {
        let Some(embedder) = &self.memory.embedder else {
            return Ok(None);
        };
        let model = embedder.model().clone();
        let missing = self.query(Actor::System, CountUnembedded { model });
        let missing = missing.await?.answer;
        Ok(Some((embedder.model().clone(), missing)))
    }
}

/// Has a reader bring the vectors in memory up to the table.
async fn warm(reads: &ReadQueue, ambient: &Ambient) -> Result<(), Error> {
    while ask(reads, ambient, Actor::System, Warm).await?.answer {}
    Ok(())
}

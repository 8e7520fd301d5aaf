//! Gives discoveries vectors that came without, some at a time.
//!
//! What fails together is tried with fewer texts, down to one. One that fails alone is passed over, so
//! that no text keeps the others from their vectors.

use std::sync::Arc;

use comity_domain::DiscoveryId;
use comity_domain::limits::EMBED_PAGE;

use super::super::{Kernel, on_thread};
use crate::actor::Actor;
use crate::discovery::KeepVector;
use crate::discovery::event::Embedded;
use crate::discovery::unembedded::{Missing, Unembedded};
use crate::embedder::{EmbedError, Embedder, make_all};
use crate::error::Error;

/// How far the making of vectors has come. A new one looks at everything again.
#[derive(Clone, Debug)]
pub struct Making {
    /// The last discovery that was looked at.
    through: DiscoveryId,
    /// How many texts go to the embedder at a time.
    at_once: i64,
    /// How many were passed over.
    passed: usize,
    /// The last of them, and why.
    last_passed: Option<(DiscoveryId, String)>,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It went past some discoveries; those of them that can have a vector have it.
    Made,
    /// The texts failed together: fewer are tried next.
    Fewer,
    /// It went past a discovery whose text failed alone.
    Passed,
    /// No vector is missing behind those that were looked at.
    Nothing,
}

impl Default for Making {
    fn default() -> Self {
        Self {
            through: DiscoveryId::new(0),
            at_once: EMBED_PAGE,
            passed: 0,
            last_passed: None,
        }
    }
}

impl Making {
    /// Tells how many discoveries were passed over and why the last of them was, if one was.
    pub fn trouble(&self) -> Option<String> {
        let (id, reason) = self.last_passed.as_ref()?;
        let passed = self.passed;
        Some(format!(
            "{passed} discoveries were passed over; the last is {id}: {reason}"
        ))
    }

    fn pass(&mut self, id: DiscoveryId, reason: String) {
        self.passed += 1;
        self.last_passed = Some((id, reason));
    }

    /// Goes on after texts that failed together.
    fn refused(&mut self, ids: &[DiscoveryId], reason: String) -> Step {
        if let [alone] = ids {
            self.pass(*alone, reason);
            self.through = *alone;
            return Step::Passed;
        }
        self.at_once = i64::try_from(ids.len() / 2).unwrap_or(EMBED_PAGE);
        Step::Fewer
    }

    /// Goes on behind a discovery; a service that is slow for many is not asked for twice as many.
    fn made(&mut self, last: DiscoveryId) -> Step {
        self.through = last;
        self.at_once = (self.at_once + self.at_once / 4 + 1).min(EMBED_PAGE);
        Step::Made
    }
}

impl Kernel {
    /// Gives some discoveries that have none a vector of the present embedder.
    ///
    /// Each is a small command of its own, so whoever else writes waits for a few of them at most.
    /// It fails where no text would fare better, and nobody is passed over then.
    pub async fn embed_some(&self, making: &mut Making) -> Result<Step, Error> {
        let Some(embedder) = self.memory.embedder.clone() else {
            return Ok(Step::Nothing);
        };
        let page = Unembedded {
            model: embedder.model().clone(),
            dimension: i64::try_from(embedder.dimension()).unwrap_or(i64::MAX),
            after: making.through,
            most: making.at_once,
        };
        let page = self.query(Actor::System, page).await?.answer;
        let Some(last) = page.last().map(|missing| missing.id) else {
            return Ok(Step::Nothing);
        };
        let (refused, page): (Vec<_>, Vec<_>) = page
            .into_iter()
            .partition(|missing| missing.refusal.is_some());
        let step = if page.is_empty() {
            making.made(last)
        } else {
            self.embed_page(making, embedder, page, last).await?
        };
        // Its project has vectors of another size, of before the embedder was this one: what would
        // not be kept is not made. Those that come again are counted then.
        for missing in refused {
            if let (true, Some(reason)) = (missing.id <= making.through, missing.refusal) {
                making.pass(missing.id, reason);
            }
        }
        Ok(step)
    }

    /// Has vectors made of texts and keeps them.
    async fn embed_page(
        &self,
        making: &mut Making,
        embedder: Arc<dyn Embedder>,
        page: Vec<Missing>,
        last: DiscoveryId,
    ) -> Result<Step, Error> {
        let ids: Vec<_> = page.iter().map(|missing| missing.id).collect();
        let made = on_thread(move || {
            let texts: Vec<&str> = page.iter().map(|one| one.text.as_str()).collect();
            let made = make_all(&*embedder, &texts);
            let page = page.into_iter().map(|missing| (missing.id, missing.text));
            Ok(made.map(|made| page.zip(made).collect()))
        });
        let made: Vec<_> = match made.await? {
            Ok(made) => made,
            Err(EmbedError::Away(reason)) => return Err(Error::EmbedderUnavailable { reason }),
            Err(EmbedError::Refused(reason)) => return Ok(making.refused(&ids, reason)),
        };
        for (id, reason) in self.keep_vectors(made).await? {
            making.pass(id, reason);
        }
        Ok(making.made(last))
    }

    /// Keeps what was made; answers of whom nothing was, and why.
    async fn keep_vectors(
        &self,
        made: Vec<((DiscoveryId, String), Result<Embedded, String>)>,
    ) -> Result<Vec<(DiscoveryId, String)>, Error> {
        let (mut passed, mut tickets) = (Vec::new(), Vec::new());
        for ((id, text), made) in made {
            match made {
                Ok(Embedded { model, vector, .. }) => {
                    let keep = KeepVector::new(id, &text, model, vector);
                    tickets.push((id, self.execute(Actor::System.into(), keep)));
                }
                Err(reason) => passed.push((id, reason)),
            }
        }
        for (id, ticket) in tickets {
            match ticket.await {
                Ok(_) => {}
                // Its project got a vector of another size meanwhile.
                Err(error @ Error::Invalid { .. }) => passed.push((id, error.to_string())),
                Err(error) => return Err(error),
            }
        }
        Ok(passed)
    }
}

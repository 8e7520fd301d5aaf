//! Who makes vectors of texts, and how a request gets its vector before its transaction.
//!
//! A transaction never waits, so whatever wants the vector of a text has it made first: at once,
//! on the caller's thread, where the embedder needs nothing but the processor; on a thread of its
//! own where it has to ask somebody.

use comity_domain::vector::{Embedding, ModelId, hashed};

use crate::discovery::event::Embedded;

/// Makes vectors of texts.
pub trait Embedder: Send + Sync {
    /// Names the space of its vectors.
    fn model(&self) -> &ModelId;

    /// Returns how many numbers its vectors have.
    fn dimension(&self) -> usize;

    /// Tells whether somebody has to be asked.
    fn pace(&self) -> Pace;

    /// Makes a vector of each text, in their order, or says why one of them has none.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<Embedding, String>>, EmbedError>;
}

/// How long an embedder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// No longer than the processor does.
    Quick,
    /// As long as somebody else takes.
    Slow,
}

/// Why there is no vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The embedder makes none at the moment, whatever the text is.
    #[error("{0}")]
    Away(String),
    /// It made none of these texts; of others, or of fewer at a time, it may.
    #[error("{0}")]
    Refused(String),
}

/// The built-in embedder, `hashed-1`.
pub struct Hashed {
    model: ModelId,
}

impl Default for Hashed {
    fn default() -> Self {
        Self {
            model: hashed::model(),
        }
    }
}

impl Embedder for Hashed {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimension(&self) -> usize {
        hashed::DIMENSION
    }

    fn pace(&self) -> Pace {
        Pace::Quick
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<Embedding, String>>, EmbedError> {
        Ok(texts.iter().map(|text| Ok(hashed::embed(text))).collect())
    }
}

/// A request that wants a text as a vector.
pub trait Embeds {
    /// Returns the text, unless no vector is wanted from an embedder of this pace.
    fn text(&self, pace: Pace) -> Option<String>;

    /// Takes what became of it.
    fn take(&mut self, made: Made);

    /// Tells whether the vector is compared with others inside a write transaction. They are read into
    /// memory first, so that the writer need not.
    fn compares(&self) -> bool {
        false
    }
}

/// Tells whether a request has its vector compared by the writer.
pub(crate) fn compares(request: Option<&mut dyn Embeds>) -> bool {
    request.is_some_and(|request| request.compares())
}

/// What became of a text that was to be a vector.
#[derive(Clone, Debug, Default)]
pub enum Made {
    /// Nobody tried: there is no embedder, or the request has no text.
    #[default]
    Nothing,
    /// This vector.
    Vector(Embedded),
    /// The embedder could not.
    Failed(EmbedError),
}

/// Has a vector made of one text.
pub fn make(embedder: &dyn Embedder, text: &str) -> Made {
    match make_all(embedder, &[text]) {
        Ok(mut made) => match made.pop() {
            Some(Ok(made)) => Made::Vector(made),
            Some(Err(reason)) => Made::Failed(EmbedError::Refused(reason)),
            None => Made::Nothing,
        },
        Err(error) => Made::Failed(error),
    }
}

/// Has a vector made of each text; each has the dimension that the embedder promised.
pub fn make_all(
    embedder: &dyn Embedder,
    texts: &[&str],
) -> Result<Vec<Result<Embedded, String>>, EmbedError> {
    let vectors = embedder.embed(texts)?;
    if vectors.len() != texts.len() {
        return Err(EmbedError::Refused(format!(
            "the embedder made {} vectors of {} texts",
            vectors.len(),
            texts.len()
        )));
    }
    let dimension = embedder.dimension();
    let mut made = vectors.iter().flatten();
    if let Some(other) = made.find(|one| one.dimension() != dimension) {
        return Err(EmbedError::Away(format!(
            "the embedder makes vectors of {} numbers, not of {dimension}",
            other.dimension()
        )));
    }
    let named = |vector| Embedded {
        model: embedder.model().clone(),
        dimension: i64::try_from(dimension).unwrap_or(i64::MAX),
        vector,
    };
    Ok(vectors.into_iter().map(|made| made.map(named)).collect())
}

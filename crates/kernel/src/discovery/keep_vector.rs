//! Gives a discovery a vector that came later than itself.

use comity_domain::vector::{Embedding, ModelId};
use comity_domain::{DiscoveryId, Sha256Hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::event::DiscoveryEmbedded;
use super::submit::{embedded, must_fit, text_of};
use super::table;
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::tx::WriteTx;

/// Keeps the vector of a model with a discovery, unless it has one of that model, or says something
/// else by now: a vector reveals the words, so it must not outlive them.
#[derive(Clone, Debug, Serialize)]
pub struct KeepVector {
    /// The discovery's number.
    pub id: DiscoveryId,
    /// The model that made the vector.
    pub model: ModelId,
    /// The vector.
    pub vector: Embedding,
    /// The SHA-256 of the text that it was made of.
    pub text_sha256: Sha256Hex,
}

impl KeepVector {
    /// Keeps what a model made of a discovery's text.
    pub fn new(id: DiscoveryId, text: &str, model: ModelId, vector: Embedding) -> Self {
        Self {
            id,
            model,
            vector,
            text_sha256: sha256_of(text),
        }
    }
}

fn sha256_of(text: &str) -> Sha256Hex {
    Sha256Hex::new(Sha256::digest(text).into())
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptVector {
    /// Whether it is new.
    pub kept: bool,
}

impl Command for KeepVector {
    const NAME: &'static str = "keep_vector";
    const WHO: &'static [Party] = &[];
    type Answer = KeptVector;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<KeptVector, Stop> {
        let discovery = table::by_id(tx, self.id)?;
        let discovery = discovery.ok_or_else(|| Error::not_found("discovery", &self.id))?;
        let text = text_of(&discovery.title, &discovery.summary);
        if discovery.models.contains(&self.model) || sha256_of(&text) != self.text_sha256 {
            return Ok(KeptVector { kept: false });
        }
        let embedding = embedded(&self.model, &self.vector);
        must_fit(tx, "vector", discovery.project_id, &embedding)?;
        tx.emit(DiscoveryEmbedded {
            which: discovery.which(),
            embedding,
        })?;
        Ok(KeptVector { kept: true })
    }
}

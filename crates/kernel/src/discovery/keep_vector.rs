//! Gives a discovery a vector that came later than itself.

use comity_domain::DiscoveryId;
use comity_domain::vector::{Embedding, ModelId};
use serde::{Deserialize, Serialize};

use super::event::DiscoveryEmbedded;
use super::submit::{embedded, must_fit};
use super::table;
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::tx::WriteTx;

/// Keeps the vector of a model with a discovery, unless it has one of that model.
#[derive(Clone, Debug, Serialize)]
pub struct KeepVector {
    /// The discovery's number.
    pub id: DiscoveryId,
    /// The model that made the vector.
    pub model: ModelId,
    /// The vector.
    pub vector: Embedding,
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
        if discovery.models.contains(&self.model) {
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

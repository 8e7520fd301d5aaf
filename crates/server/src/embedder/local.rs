//! A static model in a local folder: `tokenizer.json`, `model.safetensors`, `config.json`.

use comity_domain::vector::{Embedding, ModelId};
use comity_kernel::embedder::{EmbedError, Embedder, Pace};
use model2vec_rs::model::StaticModel;

/// A model that was read from a folder.
pub struct LocalEmbedder {
    loaded: StaticModel,
    model: ModelId,
}

impl LocalEmbedder {
    /// Reads a model; nothing is fetched from anywhere.
    pub fn open(folder: &str, model: ModelId, dimension: usize) -> Result<Self, EmbedError> {
        let loaded = StaticModel::from_pretrained(folder, None, None, None)
            .map_err(|error| EmbedError::Away(format!("the model cannot be read: {error:#}")))?;
        if loaded.dim() != dimension {
            return Err(EmbedError::Away(format!(
                "the model makes vectors of {} numbers, not of {dimension}",
                loaded.dim()
            )));
        }
        Ok(Self { loaded, model })
    }
}

impl Embedder for LocalEmbedder {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn dimension(&self) -> usize {
        self.loaded.dim()
    }

    /// Long texts take it a while, so it does not hold up the threads of others.
    fn pace(&self) -> Pace {
        Pace::Slow
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<Embedding, String>>, EmbedError> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let made = self.loaded.encode(&texts).into_iter().map(|numbers| {
            // A text without any word the model knows has no direction.
            Embedding::new(numbers).map_err(|rule| format!("the vector of the text {rule}"))
        });
        Ok(made.collect())
    }
}

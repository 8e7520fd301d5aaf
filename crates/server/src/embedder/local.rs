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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    /// Writes a model of three words, of two numbers each.
    fn written(folder: &Path) {
        let tokenizer = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
            "normalizer": null, "pre_tokenizer": { "type": "Whitespace" }, "post_processor": null,
            "decoder": null,
            "model": {
                "type": "WordLevel", "unk_token": "[UNK]",
                "vocab": { "[UNK]": 0, "cat": 1, "dog": 2, "stone": 3 },
            },
        });
        let table = json!({
            "embeddings": { "dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32] },
        });
        let table = table.to_string();
        let mut tensors = (table.len() as u64).to_le_bytes().to_vec();
        tensors.extend(table.bytes());
        let numbers = [0.0_f32, 0.0, 1.0, 0.5, 1.0, 0.25, -1.0, 2.0];
        tensors.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        for (name, bytes) in [
            ("tokenizer.json", tokenizer.to_string().into_bytes()),
            ("model.safetensors", tensors),
            ("config.json", b"{\"normalize\":false}".to_vec()),
        ] {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }

    fn open(folder: &Path, dimension: usize) -> Result<LocalEmbedder, EmbedError> {
        let model = ModelId::parse("words").unwrap();
        LocalEmbedder::open(folder.to_str().unwrap(), model, dimension)
    }

    #[test]
    fn a_model_is_read_from_a_folder_and_embeds_each_text() {
        let folder = tempfile::tempdir().unwrap();
        written(folder.path());
        let embedder = open(folder.path(), 2).unwrap();
        let made = embedder
            .embed(&["cat dog", "nothing of these", "stone"])
            .unwrap();
        let [both, unknown, stone] = made.as_slice() else {
            panic!("{made:?}");
        };
        assert_eq!(
            both.as_ref().unwrap(),
            &Embedding::new(vec![1.0, 0.375]).unwrap()
        );
        assert_eq!(
            stone.as_ref().unwrap(),
            &Embedding::new(vec![-1.0, 2.0]).unwrap()
        );
        assert!(unknown.is_err(), "{unknown:?}");
    }

    #[test]
    fn what_is_no_model_or_of_another_size_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |dimension| match open(folder.path(), dimension) {
            Err(EmbedError::Away(why)) => why,
            other => panic!("{:?}", other.map(|_| ())),
        };
        assert!(refused(2).contains("cannot be read"));
        written(folder.path());
        assert!(refused(3).contains("vectors of 2 numbers, not of 3"));
    }
}

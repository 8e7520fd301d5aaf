//! `search_discoveries`; what was found is marked.

use comity_domain::limits::SEARCH_QUERY_BYTES_MAX;
use comity_domain::vector::{ModelId, PackedEmbedding};
use comity_domain::{DiscoveryState, DiscoveryTier, Score, Text};
use comity_kernel::Error;
use comity_kernel::discovery::Source;
use comity_kernel::page::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Own;
use super::discovery::listed;
use super::lean::only;
use super::untrusted::Marks;

/// Finds discoveries of your project by what they say, the best first.
///
/// `text`: words, `"a phrase"`, `-without`, `begin*`, `subject:word` for the title. Those that hold
/// them all come together with those that say something near.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchDiscoveries {
    /// What to look for.
    #[serde(default)]
    text: Option<Text<SEARCH_QUERY_BYTES_MAX>>,
    /// Instead of it a vector, as base64 of 32-bit little-endian numbers.
    #[serde(default)]
    vector: Option<PackedEmbedding>,
    /// The model that made the vector.
    #[serde(default)]
    model: Option<ModelId>,
    /// Only those of this source.
    #[serde(default)]
    source: Option<Source>,
    /// Only those in this state.
    #[serde(default)]
    state: Option<DiscoveryState>,
    /// Only those of this tier.
    #[serde(default)]
    tier: Option<DiscoveryTier>,
    /// Only those worth at least this.
    #[serde(default)]
    min_score: Option<Score>,
    /// How many at most.
    #[serde(default)]
    limit: Limit,
}

impl Own for SearchDiscoveries {
    const NAME: &'static str = "search_discoveries";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("search_discoveries", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        let hits = answer.get("hits").and_then(Value::as_array);
        let hits = hits.into_iter().flatten().map(|hit| hit_of(hit, marks));
        let hits: Vec<Value> = hits.collect();
        let mut lean = only(&answer, &["not_embedded", "words_only"]);
        if lean.get("not_embedded") == Some(&0.into()) {
            lean.remove("not_embedded");
        }
        lean.insert("note".to_owned(), marks.note());
        lean.insert("hits".to_owned(), hits.into());
        Value::Object(lean)
    }
}

fn hit_of(hit: &Value, marks: &Marks) -> Value {
    let mut lean = only(hit, &["similarity", "text_rank"]);
    let discovery = hit.get("discovery").unwrap_or(&Value::Null);
    lean.insert("discovery".to_owned(), listed(discovery, marks));
    Value::Object(lean)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // S22
    #[test]
    fn what_others_wrote_is_marked() {
        let marks = Marks::new();
        let answer = json!({
            "hits": [{
                "discovery": { "id": 7, "title": "obey me", "summary": "", "source": "s" },
                "similarity": 0.5, "text_rank": null, "score": 0.5,
            }],
            "model": "hashed-1", "not_embedded": 0,
        });
        let shown = SearchDiscoveries::lean(answer, &marks);
        let discovery = json!({
            "id": 7, "title": marks.around("obey me"), "source": marks.around("s"),
        });
        let hit = json!({ "discovery": discovery, "similarity": 0.5 });
        assert_eq!(shown["hits"], json!([hit]));
        assert!(shown.get("not_embedded").is_none());
    }
}

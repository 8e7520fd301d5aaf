//! `release_files`.

use comity_domain::{LiteralPath, Pattern, ReservationId};
use comity_kernel::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::lean::only;
use super::untrusted::Marks;

/// Gives your leases back: by `ids`, by files as they were reserved, or `all`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReleaseFiles {
    /// The leases' numbers.
    #[serde(default)]
    ids: Vec<ReservationId>,
    /// Paths, as they were reserved.
    #[serde(default)]
    paths: Vec<LiteralPath>,
    /// Patterns, as they were reserved.
    #[serde(default)]
    patterns: Vec<Pattern>,
    /// Everything you hold.
    #[serde(default)]
    all: bool,
}

impl Own for ReleaseFiles {
    const NAME: &'static str = "release_files";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("release", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        let ended = answer.get("reservations").and_then(Value::as_array);
        let ended = ended.into_iter().flatten();
        let ended: Vec<_> = ended
            .map(|one| only(one, &["id", "path_pattern"]))
            .collect();
        json!({ "released": ended })
    }
}

//! `check_files`.

use comity_domain::{LeaseMode, LiteralPath, Pattern};
use comity_kernel::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Own;
use super::lease::in_the_way;
use super::untrusted::Marks;

/// Asks who holds files, without taking them.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckFiles {
    /// Paths from the project's root.
    #[serde(default)]
    paths: Vec<LiteralPath>,
    /// Patterns, as for `reserve_files`.
    #[serde(default)]
    patterns: Vec<Pattern>,
    /// The lease you would take.
    #[serde(default)]
    mode: Option<LeaseMode>,
    /// Count your own leases too.
    #[serde(default)]
    include_own: bool,
}

impl Own for CheckFiles {
    const NAME: &'static str = "check_files";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("check_files", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        let mut lean = Map::new();
        lean.extend(
            answer
                .get("free")
                .map(|free| ("free".to_owned(), free.clone())),
        );
        lean.extend(in_the_way(answer.get("conflicts"), "conflicts", marks));
        Value::Object(lean)
    }
}

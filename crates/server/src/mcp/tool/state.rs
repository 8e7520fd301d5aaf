//! `save_state` and `load_state`.

use comity_domain::{ScopeName, Span, StateKey};
use comity_kernel::Error;
use comity_kernel::state::Given;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Own;
use super::lean::only;
use super::untrusted::Marks;

/// Keeps a JSON value for your next turn, or for others.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SaveState {
    /// The key, such as `plan`.
    key: StateKey,
    /// Any JSON.
    value: Given,
    /// Where everybody in the project can load it; your own scope unless given.
    #[serde(default)]
    scope: Option<ScopeName>,
    /// The version you loaded: another one there is refused. 0: nothing may be there.
    #[serde(default)]
    #[schemars(range(min = 0))]
    expected_version: Option<i64>,
    /// How long it is kept; for good unless given.
    #[serde(default)]
    ttl: Option<Span>,
}

impl Own for SaveState {
    const NAME: &'static str = "save_state";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok((Self::NAME, serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        Value::Object(known(&answer))
    }
}

/// Loads what was saved under a key.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LoadState {
    /// The key.
    key: StateKey,
    /// A scope that everybody shares; your own unless given.
    #[serde(default)]
    scope: Option<ScopeName>,
}

impl Own for LoadState {
    const NAME: &'static str = "load_state";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok((Self::NAME, serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        let mut lean = known(&answer);
        let value = answer.get("value").cloned().unwrap_or_default();
        let scope = answer.pointer("/state/scope").and_then(Value::as_str);
        if scope.is_some_and(|scope| scope.starts_with("agent/")) {
            lean.insert("value".to_owned(), value);
        } else {
            // Anybody in the project may have written it (S22).
            let around = marks.around(&value.to_string());
            lean.insert("value".to_owned(), around.into());
            lean.insert("note".to_owned(), marks.note());
        }
        Value::Object(lean)
    }
}

/// What an agent acts on beside the value.
fn known(answer: &Value) -> Map<String, Value> {
    let state = answer.get("state").unwrap_or(&Value::Null);
    let names = ["scope", "key", "version", "saved_by", "ttl_remaining_ms"];
    only(state, &names)
}

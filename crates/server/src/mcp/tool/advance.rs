//! `advance_run` and `check_gate`.

use comity_domain::{Phase, RunId};
use comity_kernel::Error;
use comity_kernel::run::Words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Own;
use super::run;
use super::untrusted::Marks;

/// Moves a run to its next phase, if its gate lets it; `gate_refused` lists every check.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AdvanceRun {
    /// The run's number.
    run: RunId,
    /// The phase you think it is in; another one now is refused.
    #[serde(default)]
    expected_phase: Option<Phase>,
    /// What you have to say about it.
    #[serde(default)]
    note: Option<Words>,
}

impl Own for AdvanceRun {
    const NAME: &'static str = "advance_run";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("advance_run", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        run::changed(&answer, marks)
    }
}

/// Asks what `advance_run` would say now, and changes nothing.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckGate {
    /// The run's number.
    run: RunId,
}

impl Own for CheckGate {
    const NAME: &'static str = "check_gate";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("check_gate", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        let mut lean = run::gate(&answer, marks);
        if let Value::Object(fields) = &mut lean {
            fields.insert("note".to_owned(), marks.note());
        }
        lean
    }
}

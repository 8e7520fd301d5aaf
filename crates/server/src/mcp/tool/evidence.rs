//! `add_artifact` and `record_verdict`.

use comity_domain::limits::{LABEL_BYTES_MAX, URL_BYTES_MAX};
use comity_domain::{Line, LiteralPath, Phase, RunId, Sha256Hex, Verdict};
use comity_kernel::Error;
use comity_kernel::run::Words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::lean::only;
use super::untrusted::Marks;

/// Adds what a phase of a run left behind: a file of the project, a URL, or the hash of some bytes.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddArtifact {
    /// The run's number.
    run: RunId,
    /// The phase the run is in, or a skipped one right ahead.
    phase: Phase,
    /// What kind of thing it is, such as `plan` or `report`.
    kind: Line<LABEL_BYTES_MAX>,
    /// Where it lies in the project.
    #[serde(default)]
    path: Option<LiteralPath>,
    /// Where it lies elsewhere.
    #[serde(default)]
    url: Option<Line<URL_BYTES_MAX>>,
    /// The SHA-256 of its bytes.
    #[serde(default)]
    sha256: Option<Sha256Hex>,
}

impl Own for AddArtifact {
    const NAME: &'static str = "add_artifact";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("add_artifact", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        // The rest is the caller's own.
        let artifact = answer.get("artifact").unwrap_or(&Value::Null);
        json!({ "artifact": only(artifact, &["id", "run", "phase"]) })
    }
}

/// Records what you think of the work of the phase that a run is in.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordVerdict {
    /// The run's number.
    run: RunId,
    /// `reject` is for work that cannot be judged, and counts as no verdict.
    verdict: Verdict,
    /// Why.
    #[serde(default)]
    summary: Option<Words>,
    /// The phase you judge; another one now is refused.
    #[serde(default)]
    phase: Option<Phase>,
}

impl Own for RecordVerdict {
    const NAME: &'static str = "record_verdict";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("record_verdict", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        let verdict = answer.get("verdict").unwrap_or(&Value::Null);
        json!({ "verdict": only(verdict, &["id", "run", "phase", "verdict"]) })
    }
}

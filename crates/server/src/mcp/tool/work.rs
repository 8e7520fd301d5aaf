//! `create_dispatch`, `claim_dispatch`, `report_dispatch` and `finish_dispatch`.

use comity_domain::limits::{LABEL_BYTES_MAX, PROGRESS_BYTES_MAX, PROMPT_BYTES_MAX};
use comity_domain::{DispatchId, Line, Outcome, RunId, Seq, Span, Text, Ttl, Verdict};
use comity_kernel::Error;
use comity_kernel::run::{AgentKind, Words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::dispatch::{claimed, own};
use super::untrusted::Marks;

/// Hands out work: whoever is of the right kind may claim it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateDispatch {
    /// The run it is for; it is cancelled with it.
    #[serde(default)]
    run: Option<RunId>,
    /// The kind of agent that is to do it, as workers call themselves.
    agent_kind: AgentKind,
    /// What is to be done.
    prompt: Text<PROMPT_BYTES_MAX>,
    /// How long it may take from now on, such as `1h`; then it is timed out.
    #[serde(default)]
    deadline: Option<Span>,
    /// Dispatches that must be completed before.
    #[serde(default)]
    depends_on: Vec<DispatchId>,
    /// Those of higher priority are claimed before; 0 unless given.
    #[serde(default)]
    priority: Option<i64>,
    /// What you count it with; `run_status` sums a group up.
    #[serde(default)]
    group: Option<Line<LABEL_BYTES_MAX>>,
}

impl Own for CreateDispatch {
    const NAME: &'static str = "create_dispatch";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("create_dispatch", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        own(&answer)
    }
}

/// Claims the oldest work of the highest priority for one of your kinds; null if there is none.
///
/// Your further calls carry the `fence`. Keep the claim alive with `report_dispatch`, and end it with
/// `finish_dispatch`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimDispatch {
    /// The kinds of agent that you are.
    agent_kinds: Vec<AgentKind>,
    /// How long the claim lasts; `5m` unless given.
    #[serde(default)]
    lease: Option<Ttl>,
    /// Wait for work, up to `60s`.
    #[serde(default)]
    wait: Option<Span>,
}

impl Own for ClaimDispatch {
    const NAME: &'static str = "claim_dispatch";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("claim_dispatch", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        match answer.get("dispatch").filter(|one| !one.is_null()) {
            Some(dispatch) => {
                json!({ "note": marks.task_note(), "dispatch": claimed(dispatch, marks) })
            }
            None => json!({ "dispatch": null }),
        }
    }
}

/// Says how far what you claimed is; with `lease`, keeps the claim longer; with neither, begins.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportDispatch {
    /// The dispatch's number.
    id: DispatchId,
    /// The claim's fence.
    fence: Seq,
    /// How many tokens it has used in total.
    #[serde(default)]
    tokens: Option<i64>,
    /// How far it is, in a line.
    #[serde(default)]
    progress: Option<Line<PROGRESS_BYTES_MAX>>,
    /// How long to keep the claim from now on, in a call of its own.
    #[serde(default)]
    lease: Option<Ttl>,
}

impl Own for ReportDispatch {
    const NAME: &'static str = "report_dispatch";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        let (id, fence) = (self.id, self.fence);
        let reports = self.tokens.is_some() || self.progress.is_some();
        match self.lease {
            Some(_) if reports => Err(Error::invalid("lease", "wants a call of its own")),
            Some(lease) => Ok((
                "extend_dispatch",
                json!({ "id": id, "fence": fence, "lease": lease }),
            )),
            None if reports => {
                let (tokens, progress) = (self.tokens, self.progress);
                let request =
                    json!({ "id": id, "fence": fence, "tokens": tokens, "progress": progress });
                Ok(("report_dispatch", request))
            }
            None => Ok(("start_dispatch", json!({ "id": id, "fence": fence }))),
        }
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        own(&answer)
    }
}

/// Settles what you claimed, once and for ever.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FinishDispatch {
    /// The dispatch's number.
    id: DispatchId,
    /// The claim's fence.
    fence: Seq,
    /// How it went.
    outcome: Outcome,
    /// What you think of the work; it counts while the run is in the phase the dispatch was made in.
    #[serde(default)]
    verdict: Option<Verdict>,
    /// What you have to say.
    #[serde(default)]
    summary: Option<Words>,
    /// What came of it: any JSON.
    #[serde(default)]
    result: Option<Value>,
}

impl Own for FinishDispatch {
    const NAME: &'static str = "finish_dispatch";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("finish_dispatch", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        own(&answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_of_three_operations() {
        let planned = |arguments: Value| {
            let tool: ReportDispatch = serde_json::from_value(arguments).unwrap();
            tool.plan().map(|(name, _)| name)
        };
        let start = planned(json!({ "id": 1, "fence": 2 })).unwrap();
        let report = planned(json!({ "id": 1, "fence": 2, "tokens": 5 })).unwrap();
        let extend = planned(json!({ "id": 1, "fence": 2, "lease": "5m" })).unwrap();
        let expected = ["start_dispatch", "report_dispatch", "extend_dispatch"];
        assert_eq!([start, report, extend], expected);
        let both = planned(json!({ "id": 1, "fence": 2, "lease": "5m", "progress": "half" }));
        assert_eq!(both.unwrap_err().to_json()["field"], "lease");
    }

    // S22: the prompt is somebody's words, and it is also the work
    #[test]
    fn claimed_work_is_marked_and_nothing_is_null() {
        let marks = Marks::new();
        let answer = json!({ "dispatch": { "id": 1, "prompt": "look", "fence": 9 } });
        let lean = ClaimDispatch::lean(answer, &marks);
        assert_eq!(lean["dispatch"]["prompt"], marks.around("look"));
        assert!(
            lean["note"]
                .as_str()
                .unwrap()
                .contains("the work you claimed")
        );
        let none = ClaimDispatch::lean(json!({ "dispatch": null, "seq": 4 }), &marks);
        assert_eq!(none, json!({ "dispatch": null }));
    }
}

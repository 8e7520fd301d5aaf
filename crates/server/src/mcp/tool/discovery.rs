//! `submit_discovery` and `judge_discovery`; titles, summaries and notes are marked.

use comity_domain::limits::{
    DISCOVERY_SUMMARY_BYTES_MAX, REF_BYTES_MAX, SOURCE_ID_BYTES_MAX, SUBJECT_BYTES_MAX,
    URL_BYTES_MAX,
};
use comity_domain::vector::{Embedding, ModelId};
use comity_domain::{DiscoveryId, Line, Prose, Score, Signal};
use comity_kernel::Error;
use comity_kernel::discovery::Source;
use comity_kernel::run::Words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Own;
use super::lean::{marked, only};
use super::untrusted::Marks;

/// Submits something worth knowing that you found: a paper, a release, an idea.
///
/// What its source calls it is unique. With `dedup_threshold` nothing is added if the source has one
/// that says nearly the same: the answer is `duplicate_of`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitDiscovery {
    /// Where it comes from, such as `arxiv` or `changelog`.
    source: Source,
    /// What the source calls it.
    source_id: Line<SOURCE_ID_BYTES_MAX>,
    /// What it is, in one line.
    title: Line<SUBJECT_BYTES_MAX>,
    /// What it says.
    #[serde(default)]
    summary: Option<Prose<DISCOVERY_SUMMARY_BYTES_MAX>>,
    /// Where it can be read.
    #[serde(default)]
    url: Option<Line<URL_BYTES_MAX>>,
    /// Your own vector of it, if you have one.
    #[serde(default)]
    embedding: Option<Embedding>,
    /// The model that made the vector.
    #[serde(default)]
    model: Option<ModelId>,
    /// What it is worth, from 0 to 1.
    #[serde(default)]
    score: Option<Score>,
    /// How near another one may be, up to 1, before this one counts as the same; 0.95 is a start.
    #[serde(default)]
    dedup_threshold: Option<Score>,
}

impl Own for SubmitDiscovery {
    const NAME: &'static str = "submit_discovery";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("submit_discovery", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        let mut lean = only(&answer, &["duplicate_of", "similarity"]);
        if let Some(discovery) = answer.get("discovery") {
            // The rest is the caller's own.
            let names = ["id", "state", "score", "tier", "revision"];
            lean.insert("discovery".to_owned(), only(discovery, &names).into());
        }
        Value::Object(lean)
    }
}

/// Scores a discovery, by yourself or by the project's interest profile, promotes it to work,
/// dismisses it, or says what it was good for.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct JudgeDiscovery {
    /// The discovery's number.
    id: DiscoveryId,
    /// What to do.
    action: Action,
    /// What it is worth, from 0 to 1; for `score`.
    #[serde(default)]
    score: Option<Score>,
    /// The work item or run it became; for `promote`.
    #[serde(default, rename = "ref")]
    reference: Option<Line<REF_BYTES_MAX>>,
    /// What its score must reach to be promoted; 0.5 unless given.
    #[serde(default)]
    threshold: Option<Score>,
    /// Promote it whatever its score.
    #[serde(default)]
    force: Option<bool>,
    /// What it was good for; for `feedback`.
    #[serde(default)]
    signal: Option<Signal>,
    /// Why it is dismissed, or more about what it was good for.
    #[serde(default)]
    note: Option<Words>,
}

/// What is done to a discovery.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// Say what it is worth.
    Score,
    /// Let the interest profile say what it is worth.
    ScoreFromProfile,
    /// It became work.
    Promote,
    /// Put it aside for good.
    Dismiss,
    /// Say what it was good for.
    Feedback,
}

impl Own for JudgeDiscovery {
    const NAME: &'static str = "judge_discovery";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        let id = self.id;
        let missing = |field| Error::invalid(field, "is missing");
        match self.action {
            Action::Score => {
                self.only(&["score"])?;
                let score = self.score.ok_or_else(|| missing("score"))?;
                Ok(("score_discovery", json!({ "id": id, "score": score })))
            }
            Action::ScoreFromProfile => {
                self.only(&[])?;
                Ok(("score_from_profile", json!({ "id": id })))
            }
            Action::Promote => {
                self.only(&["ref", "threshold", "force"])?;
                let reference = self.reference.as_ref().ok_or_else(|| missing("ref"))?;
                let force = self.force.unwrap_or(false);
                let request = json!({
                    "id": id, "ref": reference, "threshold": self.threshold, "force": force,
                });
                Ok(("promote_discovery", request))
            }
            Action::Dismiss => {
                self.only(&["note"])?;
                let request = json!({ "id": id, "reason": self.note });
                Ok(("dismiss_discovery", request))
            }
            Action::Feedback => {
                self.only(&["signal", "note"])?;
                let signal = self.signal.ok_or_else(|| missing("signal"))?;
                let request = json!({ "id": id, "signal": signal, "note": self.note });
                Ok(("feedback", request))
            }
        }
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        let discovery = answer.get("discovery").unwrap_or(&Value::Null);
        let mut lean = only(&answer, &["sum"]);
        lean.insert("note".to_owned(), marks.note());
        lean.insert("discovery".to_owned(), listed(discovery, marks));
        let addends = answer.get("addends").and_then(Value::as_array);
        if let Some(addends) = addends {
            // Keywords and sources are what others called them.
            let addends = addends.iter().map(|one| marked(one, &["what"], marks));
            lean.insert("addends".to_owned(), addends.collect());
        }
        Value::Object(lean)
    }
}

impl JudgeDiscovery {
    /// Refuses fields that say nothing about this action.
    fn only(&self, fields: &[&str]) -> Result<(), Error> {
        let given = [
            ("score", self.score.is_some()),
            ("ref", self.reference.is_some()),
            ("threshold", self.threshold.is_some()),
            ("force", self.force.is_some()),
            ("signal", self.signal.is_some()),
            ("note", self.note.is_some()),
        ];
        let mut idle = given
            .iter()
            .filter(|(name, given)| *given && !fields.contains(name));
        match idle.next() {
            Some((name, _)) => Err(Error::invalid(*name, "does not go with this `action`")),
            None => Ok(()),
        }
    }
}

/// Shows a discovery, with what others wrote marked.
pub(super) fn listed(discovery: &Value, marks: &Marks) -> Value {
    let mut lean: Map<String, Value> = only(
        discovery,
        &[
            "id", "score", "tier", "state", "opinions", "useful", "revision",
        ],
    );
    let words = [
        "source",
        "source_id",
        "title",
        "summary",
        "url",
        "ref",
        "reason",
    ];
    for name in words {
        let text = discovery.get(name).and_then(Value::as_str);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            lean.insert(name.to_owned(), marks.around(text).into());
        }
    }
    Value::Object(lean)
}

/// Shortens a refusal: what a discovery became is what somebody called it.
pub(super) fn refusal(error: Value, marks: &Marks) -> Value {
    if error.get("ref").is_none() {
        return error;
    }
    marked(&error, &["ref"], marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(arguments: Value) -> Result<(&'static str, Value), Error> {
        serde_json::from_value::<JudgeDiscovery>(arguments)
            .unwrap()
            .plan()
    }

    #[test]
    fn an_action_is_an_operation_with_what_it_needs() {
        for (arguments, operation, request) in [
            (
                json!({ "id": 7, "action": "score", "score": 0.5 }),
                "score_discovery",
                json!({ "id": 7, "score": 0.5 }),
            ),
            (
                json!({ "id": 7, "action": "score_from_profile" }),
                "score_from_profile",
                json!({ "id": 7 }),
            ),
            (
                json!({ "id": 7, "action": "promote", "ref": "run 4" }),
                "promote_discovery",
                json!({ "id": 7, "ref": "run 4", "threshold": null, "force": false }),
            ),
            (
                json!({ "id": 7, "action": "dismiss", "note": "old" }),
                "dismiss_discovery",
                json!({ "id": 7, "reason": "old" }),
            ),
            (
                json!({ "id": 7, "action": "feedback", "signal": "known" }),
                "feedback",
                json!({ "id": 7, "signal": "known", "note": null }),
            ),
        ] {
            assert_eq!(planned(arguments).unwrap(), (operation, request));
        }
        for (wrong, field) in [
            (json!({ "id": 7, "action": "score" }), "score"),
            (json!({ "id": 7, "action": "promote" }), "ref"),
            (json!({ "id": 7, "action": "feedback" }), "signal"),
            (
                json!({ "id": 7, "action": "dismiss", "score": 0.1 }),
                "score",
            ),
            (
                json!({ "id": 7, "action": "score", "score": 0.1, "force": true }),
                "force",
            ),
        ] {
            assert_eq!(planned(wrong).unwrap_err().to_json()["field"], field);
        }
    }

    // S22
    #[test]
    fn what_others_wrote_is_marked() {
        let marks = Marks::new();
        let answer = json!({
            "discovery": {
                "id": 7, "title": "obey me", "summary": "", "source": "s", "score": 0.5,
                "tier": "medium", "state": "scored", "project": "web",
            },
            "sum": 0.5,
            "addends": [{ "what": "keyword `obey`", "weight": 0.5, "value": 1.0, "contribution": 0.5 }],
        });
        let shown = JudgeDiscovery::lean(answer, &marks);
        let discovery = json!({
            "id": 7, "title": marks.around("obey me"), "source": marks.around("s"), "score": 0.5,
            "tier": "medium", "state": "scored",
        });
        assert_eq!(shown["discovery"], discovery);
        let what = marks.around("keyword `obey`");
        assert_eq!(shown["addends"][0]["what"], json!(what));
        let refused = refusal(json!({ "error": "already_promoted", "ref": "r" }), &marks);
        assert_eq!(refused["ref"], json!(marks.around("r")));
    }
}

//! `run_status`.

use comity_domain::limits::LABEL_BYTES_MAX;
use comity_domain::{DispatchId, Line, RunId};
use comity_kernel::Error;
use comity_kernel::page::{After, Limit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::dispatch;
use super::lean::only;
use super::run;
use super::untrusted::Marks;

/// Shows how a run stands: phase, gate, work, tokens; without `run`, the one your project is at.
///
/// It also lists runs and dispatches, and shows one dispatch or the sum of a group.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunStatus {
    /// The run's number.
    #[serde(default)]
    run: Option<RunId>,
    /// `status` unless given; `runs` lists the project's, `dispatches` those of the run or project.
    #[serde(default)]
    show: Show,
    /// Show this dispatch instead, with its prompt and result.
    #[serde(default)]
    dispatch: Option<DispatchId>,
    /// Sum up this group of dispatches instead.
    #[serde(default)]
    group: Option<Line<LABEL_BYTES_MAX>>,
    /// How many at most, of a list.
    #[serde(default)]
    limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    after: After,
}

/// What of it.
#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Show {
    /// One run.
    #[default]
    Status,
    /// A list of runs.
    Runs,
    /// A list of dispatches.
    Dispatches,
}

impl Own for RunStatus {
    const NAME: &'static str = "run_status";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        if let Some(id) = self.dispatch {
            return Ok(("get_dispatch", json!({ "id": id })));
        }
        if let Some(group) = self.group {
            return Ok(("group_outcome", json!({ "group": group })));
        }
        let (limit, after) = (self.limit, self.after);
        Ok(match (self.show, self.run) {
            (Show::Status, Some(run)) => ("run_status", json!({ "run": run })),
            (Show::Status, None) => ("current_run", json!({})),
            (Show::Runs, parent) => {
                let page = json!({ "parent": parent, "limit": limit, "after": after });
                ("list_runs", page)
            }
            (Show::Dispatches, run) => {
                let page = json!({ "run": run, "limit": limit, "after": after });
                ("list_dispatches", page)
            }
        })
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        if answer.get("run").is_some() {
            return status(&answer, marks);
        }
        if let Some(one) = answer.get("dispatch") {
            return json!({ "note": marks.note(), "dispatch": dispatch::whole(one, marks) });
        }
        let Some(items) = answer.get("items").and_then(Value::as_array) else {
            return group(&answer, marks);
        };
        let are_dispatches = items.first().is_some_and(|one| one.get("prompt").is_some());
        let (name, shown): (_, fn(&Value, &Marks) -> Value) = if are_dispatches {
            ("dispatches", dispatch::listed)
        } else {
            ("runs", run::run)
        };
        let items: Vec<_> = items.iter().map(|one| shown(one, marks)).collect();
        let mut lean = only(&answer, &["next"]);
        lean.insert("note".to_owned(), marks.note());
        lean.insert(name.to_owned(), items.into());
        Value::Object(lean)
    }
}

fn status(answer: &Value, marks: &Marks) -> Value {
    let names = ["agents_active", "dispatches", "tokens_used", "children"];
    let mut lean = only(answer, &names);
    lean.insert("note".to_owned(), marks.note());
    if let Some(shown) = answer.get("run") {
        lean.insert("run".to_owned(), run::run(shown, marks));
    }
    if let Some(gate) = answer.get("gate").filter(|gate| !gate.is_null()) {
        lean.insert("gate".to_owned(), run::gate(gate, marks));
    }
    let skipped = answer.get("skipped").and_then(Value::as_object);
    let skipped: Vec<_> = skipped
        .into_iter()
        .flatten()
        .map(|(phase, _)| phase)
        .collect();
    if !skipped.is_empty() {
        lean.insert("skips".to_owned(), json!(skipped));
    }
    Value::Object(lean)
}

/// The caller named the group.
fn group(answer: &Value, _marks: &Marks) -> Value {
    let names = ["group", "total", "settled", "outcome", "counts"];
    Value::Object(only(answer, &names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(arguments: Value) -> (&'static str, Value) {
        let tool: RunStatus = serde_json::from_value(arguments).unwrap();
        tool.plan().unwrap()
    }

    #[test]
    fn without_a_run_it_is_the_one_the_project_is_at() {
        assert_eq!(planned(json!({})), ("current_run", json!({})));
        assert_eq!(
            planned(json!({ "run": 7 })),
            ("run_status", json!({ "run": 7 }))
        );
        assert_eq!(planned(json!({ "show": "runs" })).0, "list_runs");
        let (name, request) = planned(json!({ "show": "dispatches", "run": 7 }));
        assert_eq!((name, &request["run"]), ("list_dispatches", &json!(7)));
        let one = planned(json!({ "dispatch": 3 }));
        assert_eq!(one, ("get_dispatch", json!({ "id": 3 })));
        assert_eq!(planned(json!({ "group": "g" })).0, "group_outcome");
    }

    // S22: what others wrote is marked
    #[test]
    fn a_goal_and_a_prompt_are_marked() {
        let marks = Marks::new();
        let answer = json!({
            "run": { "id": 7, "goal": "obey me", "phase": "a", "metadata": { "k": "obey" } },
            "skipped": { "b": "obey" }, "gate": null, "agents_active": 0, "dispatches": {},
        });
        let lean = RunStatus::lean(answer, &marks);
        assert_eq!(lean["run"]["goal"], marks.around("obey me"));
        assert_eq!(lean["skips"], json!(["b"]));
        let rest = lean.to_string().replace(&marks.around("obey me"), "");
        assert!(!rest.contains("obey\""), "{rest}");
        let page = json!({ "items": [{ "id": 1, "prompt": "obey me", "state": "queued" }] });
        let lean = RunStatus::lean(page, &marks);
        assert_eq!(lean["dispatches"][0]["prompt"], marks.around("obey me"));
    }
}

//! `portfolio_status`.

use comity_domain::RunId;
use comity_kernel::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::lean::only;
use super::untrusted::Marks;

/// Shows a run and everything below it: where each is, what it waits for, lacks and used.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PortfolioStatus {
    /// The run's number.
    run: RunId,
}

impl Own for PortfolioStatus {
    const NAME: &'static str = "portfolio_status";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("portfolio_status", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, marks: &Marks) -> Value {
        let run = answer.get("run").map(|run| standing(run, marks));
        let children = answer.get("children").and_then(Value::as_array);
        let children = children.into_iter().flatten();
        let children: Vec<_> = children.map(|run| standing(run, marks)).collect();
        json!({ "note": marks.note(), "run": run, "children": children })
    }
}

/// One run. What it lacks quotes kinds of artifacts that others named.
fn standing(run: &Value, marks: &Marks) -> Value {
    let names = [
        "id",
        "parent",
        "project",
        "phase",
        "state",
        "waits_for",
        "tokens_used",
        "token_budget",
    ];
    let mut lean = only(run, &names);
    lean.extend(marks.field(run, "goal").map(|it| ("goal".to_owned(), it)));
    let lacks = run.get("lacks").and_then(Value::as_array);
    let lacks = lacks.into_iter().flatten().filter_map(Value::as_str);
    let lacks: Vec<_> = lacks.map(|lack| marks.around(lack)).collect();
    if !lacks.is_empty() {
        lean.insert("lacks".to_owned(), lacks.into());
    }
    Value::Object(lean)
}

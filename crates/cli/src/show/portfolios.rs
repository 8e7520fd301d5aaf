//! Portfolios: a run and everything below it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::field::{field, list};
use super::listing::{columns, cut};
use super::runs::numbers;

/// Writes the order in which runs can be done.
pub(crate) fn order(answer: &Value) -> String {
    match numbers(answer, "order") {
        nothing if nothing.is_empty() => "none".to_owned(),
        order => order,
    }
}

/// Writes how each run stands, the parts set in below their wholes.
pub(crate) fn status(answer: &Value) -> String {
    let titles = [
        "run",
        "project",
        "state",
        "phase",
        "waits for",
        "tokens",
        "goal",
    ];
    let mut depths = BTreeMap::new();
    let all = answer
        .get("run")
        .into_iter()
        .chain(list(answer, "children"));
    let rows = all.map(|run| {
        let above = depths
            .get(&field(run, "parent"))
            .map_or(0, |depth| depth + 1);
        depths.insert(field(run, "id"), above);
        row(run, above)
    });
    columns(&titles, rows)
}

fn row(run: &Value, depth: usize) -> Vec<String> {
    let used = field(run, "tokens_used");
    let tokens = match field(run, "token_budget") {
        none if none.is_empty() => used,
        budget => format!("{used} of {budget}"),
    };
    let lacks = list(run, "lacks").iter().filter_map(Value::as_str);
    let lacks = lacks.map(|lack| format!("\n  ✗ {}", super::harmless(lack)));
    let goal = cut(&field(run, "goal"));
    vec![
        format!("{}{}", "  ".repeat(depth), field(run, "id")),
        field(run, "project"),
        field(run, "state"),
        field(run, "phase"),
        numbers(run, "waits_for"),
        tokens,
        format!("{goal}{}", lacks.collect::<String>()),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_stand_below_their_whole_with_what_they_lack() {
        let run = |id: i64, parent: Option<i64>, waits_for: &[i64], lacks: &[&str]| {
            json!({
                "id": id, "parent": parent, "project": "web", "state": "active", "phase": "a",
                "goal": "g", "waits_for": waits_for, "lacks": lacks, "tokens_used": 5,
                "token_budget": parent.is_none().then_some(9),
            })
        };
        let answer = json!({
            "run": run(1, None, &[], &[]),
            "children": [run(3, Some(1), &[], &["no artifact in `a`"]), run(2, Some(1), &[3], &[])],
        });
        let shown = [
            "run  project  state   phase  waits for  tokens  goal",
            "1    web      active  a                 5 of 9  g",
            "  3  web      active  a                 5       g",
            "                                                  ✗ no artifact in `a`",
            "  2  web      active  a      3          5       g",
        ];
        assert_eq!(status(&answer), shown.join("\n"));
    }
}

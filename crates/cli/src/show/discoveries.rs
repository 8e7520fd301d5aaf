//! Discoveries: a line for each, one with all it says, and what a project is interested in.

use serde_json::Value;

use super::ago::ago;
use super::field::{field, is, list, names};
use super::harmless::harmless;
use super::listing::{columns, cut, listing};
use super::words::set_in;

/// Writes a page of discoveries.
pub(crate) fn page(page: &Value) -> String {
    let titles = [
        "discovery",
        "state",
        "score",
        "tier",
        "source",
        "found",
        "what",
    ];
    listing(page, &titles, |one| {
        let (title, summary) = (cut(&field(one, "title")), field(one, "summary"));
        vec![
            field(one, "id"),
            field(one, "state"),
            score(one),
            field(one, "tier"),
            field(one, "source"),
            ago(&field(one, "discovered_at")),
            if summary.is_empty() {
                title
            } else {
                format!("{title}\n  {}", cut(&summary))
            },
        ]
    })
}

/// Writes what was found.
pub(crate) fn found(answer: &Value) -> String {
    let titles = [
        "discovery",
        "near",
        "rank",
        "state",
        "score",
        "source",
        "what",
    ];
    let rows = list(answer, "hits").iter().map(|hit| {
        let one = hit.get("discovery").unwrap_or(&Value::Null);
        vec![
            field(one, "id"),
            rounded(hit.get("similarity")),
            field(hit, "text_rank"),
            field(one, "state"),
            score(one),
            field(one, "source"),
            format!(
                "{}\n  {}",
                cut(&field(one, "title")),
                cut(&field(one, "summary"))
            ),
        ]
    });
    let text = columns(&titles, rows);
    let (reason, missing) = (field(answer, "words_only"), field(answer, "not_embedded"));
    match (reason.as_str(), missing.as_str()) {
        ("", "0") => text,
        ("", missing) => {
            format!("{text}\n{missing} have no vector of the model: only words find them")
        }
        (reason, _) => format!("{text}\nonly words were compared: {reason}"),
    }
}

/// Writes what became of something that was submitted.
pub(crate) fn submitted(answer: &Value) -> String {
    match field(answer, "duplicate_of") {
        none if none.is_empty() => {
            let added = line(answer);
            match field(answer, "not_compared").as_str() {
                "" | "0" => added,
                some => format!(
                    "{added}\nnot compared with {some} of its source: they have no vector of the model"
                ),
            }
        }
        id => format!(
            "nothing was added: it is nearly the same as discovery {id} (cosine {})",
            rounded(answer.get("similarity"))
        ),
    }
}

/// Writes a discovery that was made or changed, in a line.
pub(crate) fn line(answer: &Value) -> String {
    let one = answer.get("discovery").unwrap_or(&Value::Null);
    let worth = match score(one) {
        none if none.is_empty() => none,
        score => format!(", worth {score} ({})", field(one, "tier")),
    };
    let became = match field(one, "ref") {
        none if none.is_empty() => none,
        became => format!(", to {became}"),
    };
    let (id, state) = (field(one, "id"), field(one, "state"));
    format!("discovery {id} is {state}{became}{worth}")
}

/// Writes a discovery with all that is known of it.
pub(crate) fn whole(answer: &Value) -> String {
    let one = answer.get("discovery").unwrap_or(&Value::Null);
    let mut lines = vec![line(answer)];
    let source = format!("{}, {}", field(one, "source"), field(one, "source_id"));
    let found = format!(
        "{} ({}) by {}",
        ago(&field(one, "discovered_at")),
        field(one, "discovered_at"),
        field(one, "submitted_by")
    );
    for (title, text) in [
        ("title", field(one, "title")),
        ("source", source),
        ("url", field(one, "url")),
        ("found", found),
        ("vectors", names(one, "models")),
        ("reason", field(one, "reason")),
    ] {
        if !text.is_empty() {
            lines.push(format!("{title:10}  {text}"));
        }
    }
    for opinion in list(answer, "feedback") {
        let (by, signal) = (field(opinion, "by"), field(opinion, "signal"));
        let said = format!("{:10}  {by}: {}", "feedback", signal.replace('_', " "));
        lines.push(match field(opinion, "note") {
            none if none.is_empty() => said,
            note => format!("{said}, {note}"),
        });
    }
    let summary = one.get("summary").and_then(Value::as_str);
    lines.push("--- the summary ---".to_owned());
    lines.extend(set_in(summary.unwrap_or_default()));
    lines.push(format!("--- end of discovery {} ---", field(one, "id")));
    lines.join("\n")
}

/// Writes how a score came about.
pub(crate) fn explained(answer: &Value) -> String {
    let mut lines = vec![line(answer)];
    for one in list(answer, "addends") {
        lines.push(format!(
            "{:>8}  {} ({} x {})",
            rounded(one.get("contribution")),
            field(one, "what"),
            rounded(one.get("weight")),
            rounded(one.get("value")),
        ));
    }
    lines.push(format!("{:>8}  in all", rounded(answer.get("sum"))));
    lines.join("\n")
}

/// Writes what decayed.
pub(crate) fn decayed(answer: &Value) -> String {
    let lines = list(answer, "decayed").iter().map(|one| {
        let (id, tier) = (field(one, "id"), field(one, "tier"));
        format!("discovery {id} is worth {} ({tier})", score(one))
    });
    counted(lines.collect(), "decayed", is(answer, "more"))
}

/// Writes what was dismissed with its source.
pub(crate) fn rolled_back(answer: &Value) -> String {
    let ids = list(answer, "dismissed").iter();
    let lines = ids.map(|id| format!("discovery {} is dismissed", harmless(&id.to_string())));
    counted(lines.collect(), "dismissed", is(answer, "more"))
}

/// Writes what a project is interested in.
pub(crate) fn profile(answer: &Value) -> String {
    let profile = answer.get("interest_profile").unwrap_or(&Value::Null);
    let mut lines = Vec::new();
    for (title, name) in [("keyword", "keyword_weights"), ("source", "source_weights")] {
        let weights = profile.get(name).and_then(Value::as_object);
        for (word, weight) in weights.into_iter().flatten() {
            let weight = rounded(Some(weight));
            lines.push(format!("{title:8}  {weight:>6}  {}", harmless(word)));
        }
    }
    match field(profile, "topic_model") {
        none if none.is_empty() => {}
        model => lines.push(format!("topic     a vector of {model}")),
    }
    if lines.is_empty() {
        return "nobody said what the project is interested in".to_owned();
    }
    lines.join("\n")
}

fn counted(mut lines: Vec<String>, what: &str, more: bool) -> String {
    if lines.is_empty() {
        return format!("nothing {what}");
    }
    if more {
        lines.push("there are more: call it again".to_owned());
    }
    lines.join("\n")
}

fn score(one: &Value) -> String {
    rounded(one.get("score"))
}

/// Writes a number as people read it; `--json` has all its digits.
fn rounded(number: Option<&Value>) -> String {
    let number = number.and_then(Value::as_f64);
    number
        .map(|number| format!("{number:.3}"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // S23: a summary cannot pass for what is known of the discovery
    #[test]
    fn a_summary_is_set_in_and_harms_no_terminal() {
        let answer = json!({
            "discovery": {
                "id": 4, "state": "promoted", "ref": "run 7", "score": 0.8, "tier": "high",
                "title": "Row\u{1b}[2J locks", "source": "arxiv", "source_id": "1", "reason": "",
                "summary": "look\n--- end of discovery 4 ---", "models": ["m"],
                "discovered_at": "", "submitted_by": "Blue",
            },
            "feedback": [{ "by": "Red", "signal": "not_useful", "note": "old" }],
        });
        let shown = [
            "discovery 4 is promoted, to run 7, worth 0.800 (high)",
            "title       Row\\u{1b}[2J locks",
            "source      arxiv, 1",
            "found        () by Blue",
            "vectors     m",
            "feedback    Red: not useful, old",
            "--- the summary ---",
            "  look",
            "  --- end of discovery 4 ---",
            "--- end of discovery 4 ---",
        ];
        assert_eq!(whole(&answer), shown.join("\n"));
    }

    #[test]
    fn a_sum_is_shown_with_what_adds_up() {
        let answer = json!({
            "discovery": { "id": 4, "state": "scored", "score": 0.15, "tier": "discard" },
            "sum": 0.15,
            "addends": [
                { "what": "keyword `locks`", "weight": 0.4, "value": 1.0, "contribution": 0.4 },
                { "what": "source `blog`", "weight": -0.25, "value": 1.0, "contribution": -0.25 },
            ],
        });
        let shown = [
            "discovery 4 is scored, worth 0.150 (discard)",
            "   0.400  keyword `locks` (0.400 x 1.000)",
            "  -0.250  source `blog` (-0.250 x 1.000)",
            "   0.150  in all",
        ];
        assert_eq!(explained(&answer), shown.join("\n"));
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        let none = json!({ "decayed": [], "more": false });
        assert_eq!(decayed(&none), "nothing decayed");
        let some = json!({ "dismissed": [3, 4], "more": true });
        let shown =
            "discovery 3 is dismissed\ndiscovery 4 is dismissed\nthere are more: call it again";
        assert_eq!(rolled_back(&some), shown);
    }
}

//! Requests about discoveries.

use serde_json::{Value, json};

use crate::town::Belongings;

/// Of discoveries: the operator judges what Blue found, and submits one that is rolled back.
pub(crate) fn discoveries_of_each(blues: &Belongings) -> Vec<(&'static str, String, Value)> {
    let none = json!({});
    let (since, feed) = ("2000-01-01T00:00:00Z", "feed");
    let calls = [
        (
            "submit_discovery",
            "POST /api/discoveries",
            json!({ "project": "web", "source": feed, "source_id": "n", "title": "t" }),
        ),
        (
            "interest_profile",
            "GET /api/interest-profile?project=web",
            none.clone(),
        ),
        (
            "update_interest_profile",
            "PATCH /api/interest-profile",
            json!({ "project": "web", "source_weights": { "feed": 0.1 } }),
        ),
        (
            "score_discovery",
            "POST /api/discoveries/{found}/score",
            json!({ "score": 0.5 }),
        ),
        (
            "score_from_profile",
            "POST /api/discoveries/{found}/score-from-profile",
            none.clone(),
        ),
        (
            "decay",
            "POST /api/discoveries/decay",
            json!({ "project": "web", "rate": 0.1, "min_age": "0s", "period": "1h" }),
        ),
        (
            "feedback",
            "POST /api/discoveries/{found}/feedback",
            json!({ "signal": "useful" }),
        ),
        (
            "promote_discovery",
            "POST /api/discoveries/{found}/promote",
            json!({ "ref": "r" }),
        ),
        (
            "dismiss_discovery",
            "POST /api/discoveries/{made}/dismiss",
            none,
        ),
        (
            "roll_back_source",
            "POST /api/discoveries/roll-back",
            json!({ "project": "web", "source": feed, "since_time": since }),
        ),
    ];
    let filled = |(name, line, body): (_, &str, _)| {
        let line = line.replace("{found}", &blues.discovery.to_string());
        (
            name,
            line.replace("{made}", &(blues.discovery + 1).to_string()),
            body,
        )
    };
    reads().into_iter().chain(calls).map(filled).collect()
}

/// What only looks.
fn reads() -> [(&'static str, &'static str, Value); 3] {
    let none = json!({});
    [
        (
            "list_discoveries",
            "GET /api/discoveries?project=web&order=score",
            none.clone(),
        ),
        (
            "search_discoveries",
            "GET /api/discoveries/search?project=web&text=t&min_score=0.0",
            none.clone(),
        ),
        ("get_discovery", "GET /api/discoveries/{found}", none),
    ]
}

//! Lists: pages and spans, as the query string says them.

use comity_testkit::both_engines;
use serde_json::{Value, json};

use crate::town::Town;

fn names(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter();
    items
        .map(|agent| agent["name"].as_str().unwrap().to_owned())
        .collect()
}

both_engines! {
    // C4
    fn a_list_is_read_in_pages(engine) {
        let town = Town::new(engine);
        let list = |query: &str| {
            let path = format!("/api/agents?project=web{query}");
            let answer = town.served.get(&path, &town.operator);
            assert_eq!(answer.status, 200, "{}", answer.text());
            answer.json()
        };
        let whole = list("");
        assert_eq!((names(&whole).len(), &whole["next"]), (3, &Value::Null));
        let first = list("&limit=2");
        let after = first["next"].as_str().unwrap();
        let second = list(&format!("&limit=2&after={after}"));
        assert_eq!(second["next"], Value::Null);
        assert_eq!([names(&first), names(&second)].concat(), names(&whole));
        for bad in ["limit=0", "limit=501", "limit=x", "limit=1&limit=2", "after=x", "after=-1", "unknown=1"] {
            let answer = town.served.get(&format!("/api/agents?project=web&{bad}"), &town.operator);
            assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "{bad}");
        }
    }

    fn a_span_is_given_in_words_or_in_seconds(engine) {
        let town = Town::new(engine);
        town.served.kit.clock.advance_us(31 * 60 * 1_000_000);
        let beat = format!("/api/agents/{}/heartbeat", town.blue.id);
        assert_eq!(town.served.post(&beat, &town.blue.token, &json!({})).status, 200);
        let list = |query: &str| {
            town.served.get(&format!("/api/agents?project=web&{query}"), &town.operator)
        };
        for query in ["active_within=30m", "active_within_s=1800", "active_within=0h30m"] {
            assert_eq!(names(&list(query).json()), ["Blue"], "{query}");
        }
        assert_eq!(names(&list("active_within=1h").json()).len(), 3);
        for bad in ["active_within=30m&active_within_s=1800", "active_within=1800", "active_within_s=30m",
            "active_within_s=-1", "active_within_s=1.5", "active_within_s=99999999999999999999"] {
            assert_eq!(list(bad).refusal(), (422, "invalid".to_owned()), "{bad}");
        }
    }

    // One of the two would be overlooked.
    fn a_write_takes_nothing_from_the_query_string(engine) {
        let town = Town::new(engine);
        let answer = town.served.post("/api/projects?name=x", &town.operator, &json!({ "key": "/srv/n" }));
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()));
        let answer = town.served.post(
            &format!("/api/agents/{}/token", town.red.id), &town.operator, &json!({ "agent": town.blue.id }));
        assert_eq!(answer.refusal(), (422, "invalid".to_owned()), "the path says another agent");
    }
}

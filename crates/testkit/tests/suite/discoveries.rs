//! Discoveries: what is found once, what it is worth, and what becomes of it.
//!
//! The comments name the findings (`F-…`) of the review that these tests replay.
//! `COMITY_DISCOVERY_ROUNDS` says how often many submit nearly the same at once.

use comity_kernel::{Actor, Error};
use comity_testkit::Engine;
use serde_json::{Value, json};

use crate::team::{Happens, Team, code, withstands};

mod aging;
mod events;
mod interests;
mod judging;
mod listing;
mod plans;
mod schema;
mod submitting;
mod together;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;

/// A team that looks for news.
struct Lab {
    team: Team,
}

impl Lab {
    fn new(engine: Engine) -> Self {
        Self {
            team: Team::new(engine),
        }
    }

    fn call(&self, who: &Actor, operation: &str, request: &Value) -> Result<Value, Error> {
        self.team.call(who, operation, request)
    }

    /// Blue does something that must be done.
    fn done(&self, operation: &str, request: &Value) -> Value {
        self.call(&self.team.blue, operation, request)
            .unwrap_or_else(|error| panic!("{operation} {request}: {error}"))
    }

    /// The operator does something that must be done.
    fn operate(&self, operation: &str, request: &Value) -> Value {
        self.call(&Actor::OPERATOR, operation, request)
            .unwrap_or_else(|error| panic!("{operation} {request}: {error}"))
    }

    /// Why Blue may not do something.
    fn refused(&self, operation: &str, request: &Value) -> &'static str {
        code(self.call(&self.team.blue, operation, request))
    }

    /// Submits something, with some fields other than usual; returns its number.
    fn submit(&self, source_id: &str, other: &Value) -> i64 {
        let answer = self.done("submit_discovery", &wish(source_id, other));
        assert_eq!(answer["created"], true, "{answer}");
        answer["discovery"]["id"].as_i64().unwrap()
    }

    /// Submits something that is worth this.
    fn scored(&self, source_id: &str, score: f64) -> i64 {
        self.submit(source_id, &json!({ "score": score }))
    }

    fn get(&self, id: i64) -> Value {
        self.done("get_discovery", &json!({ "id": id }))["discovery"].clone()
    }

    fn head(&self) -> i64 {
        self.team.kit.kernel().head().borrow().get()
    }

    fn pass(&self, micros: i64) {
        self.team.kit.clock.advance_us(micros);
    }

    fn shell(&self, sql: &str) -> String {
        self.team.kit.shell(sql).unwrap()
    }
}

/// A request to submit something, with some fields other than usual.
fn wish(source_id: &str, other: &Value) -> Value {
    let mut wish = json!({
        "source": "feed", "source_id": source_id, "title": format!("news {source_id}"),
    });
    for (name, value) in other.as_object().unwrap() {
        wish[name] = value.clone();
    }
    wish
}

/// A request to submit a vector, to be compared.
fn near(source_id: &str, vector: &[f32], threshold: f64) -> Value {
    wish(
        source_id,
        &json!({ "embedding": vector, "model": "m-1", "dedup_threshold": threshold }),
    )
}

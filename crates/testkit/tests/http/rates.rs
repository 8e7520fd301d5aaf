//! How often somebody may call. The kernel is not asked, so SQLite alone stands behind it.

use comity_testkit::served::Answer;
use comity_testkit::{Engine, Kit};
use serde_json::json;

use crate::town::Town;

/// Calls until the rate is passed; `None` if it never is.
fn until_limited(most: usize, mut call: impl FnMut() -> Answer) -> Option<Answer> {
    let mut answers = (0..most).map(|_| call());
    answers.find(|answer| answer.status == 429)
}

fn must_say_when(answer: &Answer, longest_ms: u64) {
    assert_eq!(answer.refusal(), (429, "rate_limited".to_owned()));
    let wait_ms = answer.json()["retry_after_ms"].as_u64().unwrap();
    assert!((1..=longest_ms).contains(&wait_ms), "{wait_ms}");
    assert!(answer.header("retry-after").is_some());
}

// S24
#[test]
fn an_agent_over_its_allowance_waits_alone() {
    let town = Town::around(Kit::new(Engine::Sqlite), |settings, _| {
        settings.requests_per_second = 1;
        settings.requests_burst = 5;
    });
    let orient = |token: &str| town.served.get("/api/orient", token);
    for _ in 0..5 {
        assert_eq!(orient(&town.blue.token).status, 200);
    }
    let limited = until_limited(100, || orient(&town.blue.token)).unwrap();
    must_say_when(&limited, 1_000);
    assert!(limited.text().contains("agent:"), "{}", limited.text());
    assert_eq!(orient(&town.red.token).status, 200);
    let observed = until_limited(100, || town.served.get("/api/projects", &town.observer));
    must_say_when(&observed.unwrap(), 1_000);
    let free = until_limited(100, || town.served.get("/api/projects", &town.operator));
    assert_eq!(free, None, "an operator is never limited");
}

// S19: guessing is limited; whoever has a good token is not locked out by it
#[test]
fn guesses_are_limited_and_lock_nobody_out() {
    let town = Town::small();
    let guess = format!("comity_1_{}", "0".repeat(64));
    let limited = until_limited(2_000, || town.served.get("/api/projects", &guess));
    must_say_when(&limited.unwrap(), 1_000);
    for token in [&town.operator, &town.observer] {
        assert_eq!(town.served.get("/api/projects", token).status, 200);
    }
    let agent = town
        .served
        .post("/api/agents/Blue/heartbeat", &town.blue.token, &json!({}));
    assert_eq!(agent.status, 200);
    // The socket is another place to come from.
    let call = comity_testkit::served::Call::get("/api/tokens");
    assert_eq!(
        town.served
            .call_unix(&call.clone().token("nonsense"))
            .status,
        401
    );
    assert_eq!(town.served.call_unix(&call).status, 200);
}

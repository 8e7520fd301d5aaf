//! Bad credentials: they look the same, whatever is wrong with them, and they stay bad.

use comity_testkit::served::Call;
use comity_testkit::{Engine, both_engines};
use serde_json::json;

use crate::town::{Town, every_route, path};

both_engines! {
    // S19 E5
    fn unknown_wrong_and_revoked_tokens_look_the_same(engine) {
        let town = Town::new(engine);
        let revoked = town.token(&json!({ "role": "operator" }));
        assert_eq!(town.served.get("/api/tokens", &revoked).status, 200);
        town.revoke(&revoked);
        // A token that is known by now; another secret under its number is not.
        assert_eq!(town.served.get("/api/tokens", &town.operator).status, 200);
        let (id, _) = town.operator.rsplit_once('_').unwrap();
        let zeros = "0".repeat(64);
        let tokens = [revoked, format!("{id}_{zeros}"), format!("comity_999999_{zeros}"), "x".to_owned()];
        let answers = tokens.map(|token| {
            let call = Call::get("/api/tokens").header("X-Request-Id", "same").token(&token);
            let mut answer = town.served.call(&call);
            answer.headers.retain(|(name, _)| name != "date");
            answer
        });
        assert_eq!(answers[0].status, 401);
        for answer in &answers {
            assert_eq!(answer, &answers[0]);
        }
    }

    // E5: whatever it was good for a moment ago, whatever it sends now
    fn a_revoked_token_is_refused_at_its_next_request(engine) {
        for routes in every_route().chunks(40) {
            let town = Town::new(engine);
            for (operation, route) in routes {
                let token = town.token(&json!({ "role": "operator" }));
                assert_eq!(town.served.get("/api/projects", &token).status, 200);
                town.revoke(&token);
                let call = Call::new(route.method.as_str(), &path(route, |_| "1".to_owned()));
                let call = if route.method.has_body() { call.body(b"{") } else { call };
                let answer = town.call(call, &token);
                assert_eq!(answer.refusal(), (401, "unauthorized".to_owned()), "{}", operation.name);
            }
        }
    }

    // E5: an agent's old token ends with the new one, and with the agent
    fn a_rotated_token_and_a_retired_agents_are_refused(engine) {
        let town = Town::new(engine);
        let orient = |token: &str| town.served.get("/api/orient", token).status;
        assert_eq!([orient(&town.blue.token), orient(&town.red.token)], [200, 200]);
        let rotated = town.served.post("/api/agents/Blue/token", &town.blue.token, &json!({}));
        let new = rotated.json()["token"]["secret"].as_str().unwrap().to_owned();
        assert_eq!([orient(&town.blue.token), orient(&new)], [401, 200]);
        let retire = Call::new("DELETE", "/api/agents/Red");
        assert_eq!(town.call(retire, &town.red.token).status, 200);
        assert_eq!(orient(&town.red.token), 401);
    }
}

// S15: nothing but one `Authorization: Bearer` is a credential; the kernel is not asked
#[test]
fn a_credential_has_one_place_and_one_form() {
    let town = Town::new(Engine::Sqlite);
    let token = &town.operator;
    let tokens = Call::get("/api/tokens");
    for form in ["Basic", "Token", "", "Bearer Bearer"] {
        let call = tokens
            .clone()
            .header("Authorization", &format!("{form} {token}"));
        assert_eq!(town.served.call(&call).status, 401, "{form}");
    }
    for name in ["Cookie", "X-Api-Key", "Proxy-Authorization"] {
        let call = tokens.clone().header(name, &format!("Bearer {token}"));
        assert_eq!(town.served.call(&call).status, 401, "{name}");
    }
    let twice = tokens.clone().token(token).token(token);
    assert_eq!(town.served.call(&twice).status, 401);
    for form in ["bearer", "BEARER", "Bearer  "] {
        let call = tokens
            .clone()
            .header("Authorization", &format!("{form} {token}"));
        assert_eq!(town.served.call(&call).status, 200, "{form}");
    }
}

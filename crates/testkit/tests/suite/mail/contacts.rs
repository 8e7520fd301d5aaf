//! Contact policies: who may write to whom.

use comity_domain::Timestamp;

use super::*;

both_engines! {
    fn a_policy_skips_and_reports_and_refuses_only_when_nobody_is_left(engine) {
        let team = Team::new(engine);
        let policy = |who: &Actor, name: &str, policy: &str| {
            team.call(who, "update_agent", &json!({ "agent": name, "contact_policy": policy })).unwrap()
        };
        policy(&team.green, "Green", "closed");
        policy(&team.red, "Red", "contacts");
        let to = |to: Value| json!({ "to": to, "subject": "s", "body": "b" });
        let refused = team.send(&team.blue, &to(json!(["Green", "Red"]))).unwrap_err().to_json();
        assert_eq!(refused["error"], "delivery_refused");
        assert_eq!(refused["skipped"], json!([
            { "recipient": "Green", "reason": "closed" }, { "recipient": "Red", "reason": "not_a_contact" },
        ]));
        let partly = team.send(&team.blue, &to(json!(["Green", "Far@api"]))).unwrap();
        assert_eq!(partly["skipped"], json!([{ "recipient": "Green", "reason": "closed" }]));
        assert_eq!(partly["message"]["to"], json!(["Far@api"]));
        // A broadcast never fails because of one closed agent, unless it is the only one.
        assert_eq!(code(team.send(&team.blue, &to(json!(["*"])))), "delivery_refused");
        // Operators write to everybody, and everybody to them.
        team.send(&Actor::OPERATOR, &json!({ "project": "web", "to": ["Green", "Red"], "subject": "s", "body": "b" })).unwrap();
        let asked = team.send(&team.red, &to(json!(["Blue"]))).unwrap();
        // Whom Red wrote to may answer in that thread, and only there.
        let id = &asked["message"]["id"];
        team.call(&team.blue, "reply", &json!({ "id": id, "body": "b" })).unwrap();
        assert_eq!(code(team.send(&team.blue, &to(json!(["Red"])))), "delivery_refused");
    }

    // An expired approval does not count; expiry is on the lease clock
    fn contact_is_asked_for_answered_and_ends(engine) {
        let team = Team::new(engine);
        team.call(&team.red, "update_agent", &json!({ "agent": "Red", "contact_policy": "contacts" })).unwrap();
        let write = || team.send(&team.blue, &json!({ "to": ["Red"], "subject": "s", "body": "b" }));
        let asked = team.call(&team.blue, "request_contact", &json!({ "agent": "Red", "reason": "merge" })).unwrap();
        assert_eq!(asked["contact"]["state"], "requested");
        let id = &asked["contact"]["id"];
        assert_eq!(code(write()), "delivery_refused");
        let answer = |who: &Actor, answer: &str, until: Option<&str>| {
            team.call(who, "answer_contact", &json!({ "id": id, "answer": answer, "until": until }))
        };
        for stranger in [&team.blue, &team.green, &team.far] {
            assert_eq!(code(answer(stranger, "approve", None)), "not_found");
        }
        assert_eq!(code(answer(&team.red, "approve", Some("1999-01-01T00:00:00Z"))), "invalid");
        let listed = team.call(&team.red, "list_contacts", &json!({})).unwrap();
        assert_eq!(listed["items"][0]["sender"], "Blue");
        assert_eq!(team.call(&team.green, "list_contacts", &json!({})).unwrap()["items"], json!([]));
        let now = team.call(&team.red, "heartbeat", &json!({})).unwrap()["last_seen"].clone();
        let now: Timestamp = serde_json::from_value(now).unwrap();
        let until = Timestamp::from_micros(now.micros() + 3_600_000_000).to_string();
        let approved = answer(&team.red, "approve", Some(&until)).unwrap();
        assert_eq!(approved["contact"]["state"], "approved", "{until}");
        write().unwrap();
        // Asking again changes nothing while it is approved.
        let again = team.call(&team.blue, "request_contact", &json!({ "agent": "Red" })).unwrap();
        assert_eq!(again["contact"]["revision"], approved["contact"]["revision"]);
        team.kit.clock.advance_us(25 * 3_600 * 1_000_000);
        assert_eq!(code(write()), "delivery_refused");
        let listed = team.call(&team.red, "list_contacts", &json!({})).unwrap();
        assert_eq!(listed["items"][0]["state"], "expired");
        answer(&Actor::OPERATOR, "approve", None).unwrap();
        write().unwrap();
        answer(&team.red, "refuse", None).unwrap();
        assert_eq!(code(write()), "delivery_refused");
        assert_eq!(code(team.call(&team.blue, "request_contact", &json!({ "agent": "Blue" }))), "invalid");
        assert_eq!(code(team.call(&team.blue, "request_contact", &json!({ "agent": "*" }))), "invalid");
        assert_eq!(code(team.call(&Actor::OPERATOR, "request_contact", &json!({ "agent": "Red" }))), "forbidden");
    }
}

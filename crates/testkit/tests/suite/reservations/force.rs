//! Taking a lease from its holder.

use super::*;

both_engines! {
    // F9, BEHAVIOUR: the operator, or anybody when the holder has been silent longer than the grace
    fn a_silent_holder_may_be_forced_and_a_busy_one_not(engine) {
        let team = Team::new(engine);
        let lease = team.reserve(&team.blue, &json!({ "paths": ["src"], "ttl": "24h" })).unwrap()["reservations"][0].clone();
        let force = |who: &Actor, id: &Value| team.call(who, "force_release", &json!({ "id": id, "reason": "it blocks us" }));
        let told = force(&team.green, &lease["id"]).unwrap_err();
        assert_eq!(told.code().word, "forbidden");
        assert!(told.to_string().contains("request_release"), "{told}");
        team.later(15 * MINUTE);
        assert_eq!(code(force(&team.green, &lease["id"])), "forbidden", "exactly the grace is not longer");
        team.call(&team.blue, "heartbeat", &json!({})).unwrap();
        team.later(15 * MINUTE);
        assert_eq!(code(force(&team.green, &lease["id"])), "forbidden", "it was heard of meanwhile");
        team.later(1_000);
        // A jump of the wall clock makes nobody silent, nor heard of.
        team.kit.clock.jump_wall_us(-3_600 * SECOND);
        assert_eq!(code(force(&team.far, &lease["id"])), "not_found");
        let forced = force(&team.green, &lease["id"]).unwrap();
        assert_eq!(forced["reservation"]["ended"], "forced");
        assert_eq!(code(force(&team.green, &lease["id"])), "lease_ended");
        let mail = team.call(&team.blue, "inbox", &json!({ "detail": "full" })).unwrap();
        let letter = &mail["items"][0];
        assert_eq!((&letter["from"], &letter["subject"]), (&json!("Green"), &json!("Your lease on src was ended")));
        assert!(letter["body"].as_str().unwrap().contains("it blocks us"));
        team.hold(&team.green, "src/a");
    }

    // F9: what a restart lost counts as heard now
    fn a_restart_makes_nobody_silent(engine) {
        let mut team = Team::new(engine);
        let lease = team.reserve(&team.blue, &json!({ "paths": ["src"], "ttl": "24h" })).unwrap()["reservations"][0].clone();
        team.later(60 * MINUTE);
        team.kit.restart();
        let force = json!({ "id": lease["id"], "reason": "it blocks us" });
        assert_eq!(code(team.call(&team.green, "force_release", &force)), "forbidden");
        team.later(16 * MINUTE);
        team.call(&team.green, "force_release", &force).unwrap();
    }

    // F9: the operator any, at any time; contact policies do not hide the news
    fn the_operator_may_force_anything(engine) {
        let team = Team::new(engine);
        team.call(&team.blue, "update_agent", &json!({ "agent": "Blue", "contact_policy": "closed" })).unwrap();
        let lease = team.hold(&team.blue, "weird\u{202e}name");
        let lock = team.call(&team.blue, "acquire_lock", &json!({ "name": "port" })).unwrap();
        for id in [&lease["id"], &lock["lock"]["id"]] {
            team.call(&Actor::OPERATOR, "force_release", &json!({ "id": id, "reason": "night shift" })).unwrap();
        }
        assert_eq!(code(team.renew(&team.blue, &json!({ "ids": [lease["id"]] }))), "lease_ended");
        assert_eq!(code(team.call(&team.blue, "renew_lock", &json!({ "name": "port" }))), "lease_ended");
        let mail = team.call(&team.blue, "inbox", &json!({})).unwrap();
        assert_eq!(mail["items"].as_array().unwrap().len(), 2);
        let own = team.hold(&team.blue, "own");
        assert_eq!(code(team.call(&team.blue, "force_release", &json!({ "id": own["id"], "reason": "r" }))), "invalid");
        assert_eq!(code(team.call(&Actor::OPERATOR, "force_release", &json!({ "id": 99, "reason": "r" }))), "not_found");
    }
}

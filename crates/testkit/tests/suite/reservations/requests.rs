//! Asking a holder to let go, and its answer, through mail.

use super::*;

both_engines! {
    // BEHAVIOUR: request_release and answer_release
    fn a_holder_is_asked_defers_and_releases(engine) {
        let team = Team::new(engine);
        let lease = team.hold(&team.blue, "src/**");
        let ask = |who: &Actor| team.call(who, "request_release", &json!({ "id": lease["id"], "reason": "hotfix" }));
        let asked = ask(&team.green).unwrap();
        let request = &asked["release_request"];
        assert_eq!((&request["held_by"], &request["requested_by"]), (&json!("Blue"), &json!("Green")));
        assert_eq!((&request["answer"], &asked["created"]), (&json!(null), &json!(true)));
        assert_eq!(ask(&team.green).unwrap()["release_request"], *request, "asking again changes nothing");
        assert_eq!(code(ask(&team.far)), "not_found");
        assert_eq!(code(ask(&team.blue)), "invalid");
        let mail = team.call(&team.blue, "inbox", &json!({ "detail": "full" })).unwrap();
        assert_eq!(mail["items"].as_array().unwrap().len(), 1);
        assert_eq!(mail["items"][0]["thread_id"], request["thread_id"]);
        assert!(mail["items"][0]["body"].as_str().unwrap().contains("hotfix"));
        let answer = |who: &Actor, answer: &str, eta: Option<&str>| team.call(who, "answer_release",
            &json!({ "id": request["id"], "answer": answer, "eta": eta, "note": "soon" }));
        assert_eq!(code(answer(&team.red, "release", None)), "not_holder");
        assert_eq!(code(answer(&team.far, "release", None)), "not_found");
        assert_eq!(code(answer(&team.blue, "release", Some("5m"))), "invalid");
        let deferred = answer(&team.blue, "defer", Some("5m")).unwrap();
        assert_eq!(deferred["release_request"]["eta_ms"], 300_000);
        assert!(team.is_active(&lease["id"]));
        let released = answer(&team.blue, "release", None).unwrap();
        assert_eq!(released["release_request"]["answer"], "release");
        assert!(!team.is_active(&lease["id"]));
        assert_eq!(code(answer(&team.blue, "release", None)), "lease_ended");
        assert_eq!(code(ask(&team.red)), "lease_ended");
        let thread = team.call(&team.green, "thread", &json!({ "id": request["thread_id"], "detail": "full" })).unwrap();
        let bodies: Vec<_> = thread["items"].as_array().unwrap().iter().map(|m| m["body"].as_str().unwrap()).collect();
        assert_eq!(bodies.len(), 3);
        assert!(bodies[1].contains("still needed") && bodies[2].contains("is released"), "{bodies:?}");
        team.hold(&team.green, "src/**");
    }

    // An answer is good also when whoever asked is retired by now
    fn a_request_of_a_retired_agent_can_be_answered(engine) {
        let team = Team::new(engine);
        let lease = team.hold(&team.blue, "a");
        let asked = team.call(&team.green, "request_release", &json!({ "id": lease["id"], "reason": "r" })).unwrap();
        team.call(&Actor::OPERATOR, "retire_agent", &json!({ "agent": "Green", "project": "web" })).unwrap();
        let answer = json!({ "id": asked["release_request"]["id"], "answer": "release" });
        team.call(&team.blue, "answer_release", &answer).unwrap();
        assert!(!team.is_active(&lease["id"]));
    }
}

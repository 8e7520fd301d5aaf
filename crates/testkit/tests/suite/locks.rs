//! Named locks and sentinels.

use comity_kernel::Actor;
use comity_testkit::{Kit, both_engines};
use serde_json::{Value, json};

use crate::team::code;

both_engines! {
    // F1 F6 F9 F14, for names
    fn a_lock_has_one_holder_and_a_growing_fence(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (blue, green) = (kit.agent("web", "Blue").1, kit.agent("web", "Green").1);
        let call = |who: &Actor, operation: &str, request: Value| kit.call(who.clone(), operation, &request);
        let acquire = |who: &Actor| call(who, "acquire_lock", json!({ "name": "port 8080", "ttl": "1m", "reason": "tests" }));
        let first = acquire(&blue).unwrap();
        assert_eq!((&first["created"], &first["lock"]["held_by"]), (&json!(true), &json!("Blue")));
        assert_eq!(first["lock"]["fence"], first["seq"]);
        let conflict = acquire(&green).unwrap_err();
        assert_eq!(conflict.code().word, "reservation_conflict");
        assert_eq!(conflict.to_json()["conflicts"][0]["pattern"], "port 8080");
        // A file of that name is another thing.
        call(&green, "reserve_files", json!({ "paths": ["port 8080"] })).unwrap();
        kit.clock.advance_us(30_000_000);
        let again = acquire(&blue).unwrap();
        assert_eq!((&again["created"], &again["lock"]["fence"]), (&json!(false), &first["lock"]["fence"]));
        assert_eq!(again["lock"]["ttl_remaining_ms"], 60_000);
        let renew = |who: &Actor, fence: Option<i64>| call(who, "renew_lock", json!({ "name": "port 8080", "ttl": "2m", "fence": fence }));
        assert_eq!(code(renew(&green, None)), "not_holder");
        assert_eq!(code(renew(&blue, Some(1))), "version_conflict");
        assert_eq!(renew(&blue, None).unwrap()["lock"]["ttl_remaining_ms"], 120_000);
        assert_eq!(call(&green, "list_locks", json!({})).unwrap()["items"].as_array().unwrap().len(), 1);
        kit.clock.advance_us(120_000_000);
        assert_eq!(code(renew(&blue, None)), "lease_expired");
        assert_eq!(call(&green, "list_locks", json!({})).unwrap()["items"], json!([]));
        let second = acquire(&green).unwrap();
        assert!(second["lock"]["fence"].as_i64() > first["lock"]["fence"].as_i64());
        let release = |who: &Actor| call(who, "release_lock", json!({ "name": "port 8080" }));
        // Who had it and lost it is told so, with who has it now; whoever never had it, that it is another's.
        let lost = release(&blue).unwrap_err();
        assert_eq!((lost.code().word, &lost.to_json()["holders"][0]["held_by"]), ("lease_expired", &json!("Green")));
        assert_eq!(code(release(&kit.agent("web", "Red").1)), "not_holder");
        let stale = json!({ "name": "port 8080", "fence": first["lock"]["fence"] });
        assert_eq!(code(call(&blue, "renew_lock", stale)), "lease_expired");
        assert_eq!(release(&green).unwrap()["lock"]["is_active"], false);
        assert_eq!(code(release(&green)), "lease_ended");
        assert_eq!(code(call(&green, "release_lock", json!({ "name": "never" }))), "not_found");
        // A person may hold one too, and is nobody's prey.
        let held = call(&Actor::OPERATOR, "acquire_lock", json!({ "project": "web", "name": "port 8080" })).unwrap();
        assert_eq!((&held["lock"]["held_by"], &held["lock"]["agent_id"]), (&json!("operator"), &json!(null)));
        assert_eq!(code(acquire(&blue)), "reservation_conflict");
        kit.clock.advance_us(20 * 60_000_000);
        assert_eq!(code(call(&blue, "force_release", json!({ "id": held["lock"]["id"], "reason": "r" }))), "forbidden");
    }

    // BEHAVIOUR: claimed once per interval
    fn a_sentinel_is_claimed_once_per_interval(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (blue, green) = (kit.agent("web", "Blue").1, kit.agent("web", "Green").1);
        let claim = |who: &Actor, scope: Option<&str>| {
            kit.call(who.clone(), "claim_sentinel", &json!({ "name": "nightly", "scope": scope, "every": "1h" })).unwrap()
        };
        assert_eq!(claim(&blue, None)["claimed"], true);
        kit.clock.advance_us(1_800_000_001);
        kit.clock.jump_wall_us(86_400_000_000);
        let throttled = claim(&green, None);
        assert_eq!((&throttled["claimed"], &throttled["retry_after_ms"]), (&json!(false), &json!(1_800_000)));
        assert_eq!(throttled["sentinel"]["claimed_by"], "Blue");
        assert_eq!(claim(&green, Some("eu"))["claimed"], true);
        kit.clock.advance_us(1_799_999_999);
        let claimed = claim(&green, None);
        assert_eq!((&claimed["claimed"], &claimed["sentinel"]["revision"]), (&json!(true), &json!(2)));
        let reset = |name: &str| kit.call(blue.clone(), "reset_sentinel", &json!({ "name": name }));
        assert_eq!(reset("nightly").unwrap()["sentinel"]["claimed_at"], json!(null));
        assert_eq!(reset("nightly").unwrap()["sentinel"]["revision"], 3, "again changes nothing");
        assert_eq!(code(reset("unknown")), "not_found");
        assert_eq!(claim(&blue, None)["claimed"], true);
        let wrong = json!({ "name": "nightly", "every": "0s" });
        assert_eq!(code(kit.call(blue.clone(), "claim_sentinel", &wrong)), "invalid");
    }
}

//! Leases on files: every answer of every operation, on both engines.

mod force;
mod guard;
mod requests;

use comity_kernel::{Actor, Error};
use comity_testkit::both_engines;
use serde_json::{Value, json};

use crate::team::{Team, code};

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;

impl Team {
    /// Reserves by pattern and returns the first lease.
    fn hold(&self, who: &Actor, pattern: &str) -> Value {
        self.reserve(who, &json!({ "patterns": [pattern] }))
            .unwrap()["reservations"][0]
            .clone()
    }

    fn reserve(&self, who: &Actor, request: &Value) -> Result<Value, Error> {
        self.call(who, "reserve_files", request)
    }

    fn renew(&self, who: &Actor, request: &Value) -> Result<Value, Error> {
        self.call(who, "renew", request)
    }

    fn release(&self, who: &Actor, request: &Value) -> Result<Value, Error> {
        self.call(who, "release", request)
    }

    /// Whether a lease with this number holds.
    fn is_active(&self, id: &Value) -> bool {
        let got = self
            .call(&Actor::OPERATOR, "get_reservation", &json!({ "id": id }))
            .unwrap();
        got["reservation"]["is_active"].as_bool().unwrap()
    }

    /// Lets time pass.
    fn later(&self, us: i64) {
        self.kit.clock.advance_us(us);
    }
}

/// Sixty letters that do not repeat much.
fn hash_like(n: usize) -> String {
    let letter =
        |at: usize| char::from(b'a' + u8::try_from((n * 7 + at * at * 3 + at) % 26).unwrap());
    (0..62).map(letter).collect()
}

both_engines! {
    // F1 F2 F4 F14
    fn a_lease_is_granted_with_its_fence_and_keeps_others_out(engine) {
        let team = Team::new(engine);
        let granted = team.reserve(&team.blue, &json!({
            "paths": ["app/[id]/page.tsx"], "patterns": ["src/auth/**"], "ttl": "30m", "reason": "login",
        })).unwrap();
        assert_eq!(granted["created"], true);
        let (file, tree) = (&granted["reservations"][0], &granted["reservations"][1]);
        assert_eq!(file["path_pattern"], "app/\\[id]/page.tsx");
        assert_eq!(tree["path_pattern"], "src/auth/**");
        assert_eq!(file["fence"], granted["seq"], "the fence is the number of the granting event");
        assert_eq!(file["fence"], tree["fence"], "rows of one grant share it");
        for (field, value) in [
            ("held_by", json!("Blue")), ("project", json!("web")), ("exclusive", json!(true)),
            ("reason", json!("login")), ("released_at", json!(null)), ("is_active", json!(true)),
            ("ttl_remaining_ms", json!(30 * 60 * 1_000)), ("ended", json!(null)),
        ] {
            assert_eq!(tree[field], value, "{field}");
        }
        let conflict = team.reserve(&team.green, &json!({ "patterns": ["src/*/login.rs", "docs/**"] }))
            .unwrap_err();
        assert_eq!((conflict.code().word, conflict.code().status), ("reservation_conflict", 409));
        let told = conflict.to_json();
        let held = &told["conflicts"][0];
        for field in ["reservation_id", "agent_id", "held_by", "pattern", "exclusive", "reason",
            "expires_at", "ttl_remaining_ms", "fence", "holder_last_seen"] {
            assert!(!held[field].is_null(), "{field}: {told}");
        }
        assert_eq!((&held["held_by"], &held["pattern"]), (&json!("Blue"), &json!("src/auth/**")));
        // All or nothing: `docs/**` was free and is not granted (F11).
        assert_eq!(team.call(&team.red, "check_files", &json!({ "patterns": ["docs/**"] })).unwrap()["free"], true);
        // Another project has its own files.
        team.hold(&team.far, "src/auth/**");
    }

    // F2: every lease in the way is named
    fn a_conflict_names_every_holder(engine) {
        let team = Team::new(engine);
        team.reserve(&team.blue, &json!({ "patterns": ["src/a.rs", "src/b.rs"] })).unwrap();
        team.reserve(&team.red, &json!({ "patterns": ["src/c.rs"], "mode": "shared" })).unwrap();
        let told = team.reserve(&team.green, &json!({ "patterns": ["src"] })).unwrap_err().to_json();
        let named: Vec<_> = told["conflicts"].as_array().unwrap().iter()
            .map(|one| (one["held_by"].as_str().unwrap(), one["pattern"].as_str().unwrap())).collect();
        assert_eq!(named, [("Blue", "src/a.rs"), ("Blue", "src/b.rs"), ("Red", "src/c.rs")]);
        // Whoever shares is kept out by exclusive leases alone.
        let told = team.reserve(&team.green, &json!({ "patterns": ["src"], "mode": "shared" })).unwrap_err();
        assert_eq!(told.to_json()["conflicts"].as_array().unwrap().len(), 2);
    }

    // F7: only shared beside shared passes
    fn only_shared_beside_shared_passes(engine) {
        for (first, second, passes) in [
            ("shared", "shared", true), ("shared", "exclusive", false),
            ("exclusive", "shared", false), ("exclusive", "exclusive", false),
        ] {
            let team = Team::new(engine);
            team.reserve(&team.blue, &json!({ "patterns": ["a"], "mode": first })).unwrap();
            let second = team.reserve(&team.green, &json!({ "patterns": ["a/b"], "mode": second }));
            assert_eq!(second.is_ok(), passes);
        }
    }

    // F6 3.9
    fn the_same_again_is_the_same_lease_with_a_later_end(engine) {
        let team = Team::new(engine);
        let first = team.hold(&team.blue, "src/**");
        team.later(10 * MINUTE);
        let again = team.reserve(&team.blue, &json!({ "patterns": ["src//**"] })).unwrap();
        assert_eq!(again["created"], false);
        let lease = &again["reservations"][0];
        assert_eq!((&lease["id"], &lease["fence"]), (&first["id"], &first["fence"]));
        assert_eq!(lease["ttl_remaining_ms"], 30 * 60 * 1_000);
        // A shorter wish does not shorten it, and writes nothing.
        let shorter = team.reserve(&team.blue, &json!({ "patterns": ["src/**"], "ttl": "1s" })).unwrap();
        assert_eq!(shorter["reservations"][0]["ttl_remaining_ms"], 30 * 60 * 1_000);
        assert_eq!(shorter["seq"], again["seq"]);
        // Once it has expired, the same wish is a new lease.
        team.later(31 * MINUTE);
        let fresh = team.hold(&team.blue, "src/**");
        assert_ne!(fresh["id"], first["id"]);
        assert!(fresh["fence"].as_i64() > first["fence"].as_i64());
    }

    // F6: shared to exclusive is an upgrade, checked against the others
    fn an_upgrade_is_checked_and_takes_the_place_of_the_shared_lease(engine) {
        let team = Team::new(engine);
        let shared = json!({ "patterns": ["a"], "mode": "shared" });
        let before = team.reserve(&team.blue, &shared).unwrap()["reservations"][0].clone();
        team.reserve(&team.green, &shared).unwrap();
        let exclusive = json!({ "patterns": ["a"] });
        assert_eq!(code(team.reserve(&team.blue, &exclusive)), "reservation_conflict");
        assert!(team.is_active(&before["id"]), "a refused upgrade leaves what was held");
        team.release(&team.green, &json!({ "all": true })).unwrap();
        let upgraded = team.reserve(&team.blue, &exclusive).unwrap();
        let after = &upgraded["reservations"][0];
        assert_eq!((upgraded["created"].as_bool(), after["exclusive"].as_bool()), (Some(true), Some(true)));
        assert!(after["fence"].as_i64() > before["fence"].as_i64() && after["id"] != before["id"]);
        assert!(!team.is_active(&before["id"]));
        assert_eq!(code(team.reserve(&team.green, &shared)), "reservation_conflict");
    }

    // F8, hostile input of leases
    fn bad_wishes_are_named_and_change_nothing(engine) {
        let team = Team::new(engine);
        let refused = |request: Value, field: &str| {
            let error = team.reserve(&team.blue, &request).unwrap_err();
            let told = error.to_json();
            assert_eq!((&told["error"], &told["field"]), (&json!("invalid"), &json!(field)), "{request}");
        };
        refused(json!({}), "paths");
        for ttl in ["0s", "999ms", "24h1s", "1y", "-1m", "NaN", "soon"] {
            refused(json!({ "patterns": ["a"], "ttl": ttl }), "ttl");
        }
        refused(json!({ "patterns": ["a"], "ttl_s": -1 }), "ttl_s");
        refused(json!({ "patterns": ["a"], "ttl_s": 1.5 }), "ttl_s");
        refused(json!({ "patterns": ["a"], "ttl_minutes": 0 }), "ttl_minutes");
        refused(json!({ "patterns": ["a"], "ttl_minutes": 9_000_000_000_000_000_000_i64 }), "ttl_minutes");
        refused(json!({ "patterns": ["a"], "ttl": "1m", "ttl_minutes": 1 }), "ttl_minutes");
        refused(json!({ "patterns": ["a"], "mode": "shared", "exclusive": true }), "exclusive");
        refused(json!({ "patterns": ["a"], "wait": "61s" }), "wait");
        for bad in ["../x", "/etc/passwd", "a\u{0}b", "", "~/x", "C:\\x", "a**", "{a,{b}}", "a/../../b"] {
            refused(json!({ "patterns": ["ok", bad] }), "patterns[1]");
        }
        refused(json!({ "patterns": ["x".repeat(65_536)] }), "patterns[0]");
        refused(json!({ "paths": ["a/../b"] }), "paths[0]");
        let many: Vec<_> = (0..65).map(|n| format!("f{n}")).collect();
        refused(json!({ "paths": many }), "paths");
        assert_eq!(team.call(&team.blue, "list_reservations", &json!({})).unwrap()["items"], json!([]));
        // E5: the holder is who the token says.
        assert_eq!(code(team.reserve(&team.blue, &json!({ "patterns": ["a"], "agent_id": 2 }))), "forbidden");
        assert_eq!(code(team.reserve(&team.blue, &json!({ "project": "api", "patterns": ["a"] }))), "not_found");
        assert_eq!(code(team.reserve(&Actor::OPERATOR, &json!({ "project": "web", "patterns": ["a"] }))), "forbidden");
    }

    // BEHAVIOUR: what existing clients send
    fn what_existing_clients_send_is_understood(engine) {
        let team = Team::new(engine);
        let granted = team.reserve(&team.blue, &json!({
            "path_pattern": "src/**", "exclusive": false, "ttl_minutes": 5, "agent_id": 1, "if_not_conflict": true,
        })).unwrap();
        let lease = &granted["reservations"][0];
        assert_eq!((&lease["exclusive"], &lease["ttl_remaining_ms"]), (&json!(false), &json!(300_000)));
        let spelt = team.reserve(&team.blue, &json!({ "path_pattern": "b", "ttl_s": 90 })).unwrap();
        assert_eq!(spelt["reservations"][0]["ttl_remaining_ms"], 90_000);
    }

    // F5: check_files is reserve_files without the grant, and writes nothing
    fn a_check_says_what_reserving_would_and_writes_nothing(engine) {
        let team = Team::new(engine);
        let lease = team.hold(&team.blue, "src/*.rs");
        let head = || team.kit.shell("select seq from log_head").unwrap();
        let before = head();
        let check = |who: &Actor, request: Value| team.call(who, "check_files", &request).unwrap();
        let found = check(&team.green, json!({ "paths": ["src/a.rs", "docs/a.md"] }));
        assert_eq!((&found["free"], &found["conflicts"][0]["reservation_id"]), (&json!(false), &lease["id"]));
        assert_eq!(check(&team.green, json!({ "paths": ["src/a.txt"] }))["free"], true);
        // A pattern is not a path: the file `src/*.rs` is another one, and it would be covered.
        assert_eq!(check(&team.green, json!({ "paths": ["src/*.rs"] }))["free"], false);
        assert_eq!(check(&team.blue, json!({ "paths": ["src/a.rs"] }))["free"], true);
        assert_eq!(check(&team.blue, json!({ "paths": ["src/a.rs"], "include_own": true }))["free"], false);
        assert_eq!(check(&Actor::OPERATOR, json!({ "project": "web", "paths": ["src/a.rs"] }))["free"], false);
        assert_eq!(check(&team.far, json!({ "paths": ["src/a.rs"] }))["free"], true);
        assert_eq!(code(team.call(&Actor::OPERATOR, "check_files", &json!({ "paths": ["a"] }))), "invalid");
        assert_eq!(head(), before);
    }

    // F9 3.6 3.8
    fn renewing_and_releasing_never_succeed_without_effect(engine) {
        let team = Team::new(engine);
        let lease = team.hold(&team.blue, "src/**");
        let one = json!({ "ids": [lease["id"]] });
        for (who, word) in [(&team.green, "not_holder"), (&team.far, "not_found")] {
            assert_eq!(code(team.renew(who, &one)), word);
            assert_eq!(code(team.release(who, &one)), word);
        }
        let unknown = json!({ "ids": [4_711] });
        assert_eq!(code(team.renew(&team.blue, &unknown)), "not_found");
        assert_eq!(code(team.release(&team.blue, &unknown)), "not_found");
        let stale = json!({ "ids": [lease["id"]], "fence": 1 });
        assert_eq!(code(team.renew(&team.blue, &stale)), "version_conflict");
        assert_eq!(code(team.release(&team.blue, &stale)), "version_conflict");
        team.later(MINUTE);
        let renewed = team.renew(&team.blue, &json!({ "ids": [lease["id"]], "ttl": "1h", "fence": lease["fence"] })).unwrap();
        assert_eq!(renewed["reservations"][0]["ttl_remaining_ms"], 3_600_000);
        assert_eq!(renewed["reservations"][0]["fence"], lease["fence"]);
        let shorter = team.renew(&team.blue, &json!({ "ids": [lease["id"]], "ttl": "1s" })).unwrap();
        assert_eq!(shorter["reservations"][0]["ttl_remaining_ms"], 3_600_000, "never shortened (F15)");
        let released = team.release(&team.blue, &one).unwrap();
        assert_eq!((&released["reservations"][0]["ended"], &released["reservations"][0]["is_active"]), (&json!("released"), &json!(false)));
        assert!(!released["reservations"][0]["released_at"].is_null());
        assert_eq!(code(team.release(&team.blue, &one)), "lease_ended");
        assert_eq!(code(team.renew(&team.blue, &one)), "lease_ended");
        team.hold(&team.green, "src/**");
    }

    // F9: a microsecond late is 410, with the present holder
    fn an_expired_lease_is_never_revived(engine) {
        let team = Team::new(engine);
        let lease = team.hold(&team.blue, "src/**");
        let one = json!({ "ids": [lease["id"]] });
        team.later(30 * MINUTE - 1);
        assert_eq!(code(team.reserve(&team.green, &json!({ "patterns": ["src/a"] }))), "reservation_conflict");
        team.later(1);
        let expired = team.renew(&team.blue, &one).unwrap_err();
        assert_eq!((expired.code().word, expired.code().status), ("lease_expired", 410));
        assert_eq!(expired.to_json()["holders"], json!([]));
        team.hold(&team.green, "src/a");
        let expired = team.renew(&team.blue, &one).unwrap_err().to_json();
        assert_eq!(expired["holders"][0]["held_by"], "Green");
        assert_eq!(code(team.release(&team.blue, &one)), "lease_expired");
        assert_eq!(team.renew(&team.blue, &json!({ "all": true })).unwrap()["reservations"], json!([]));
        assert_eq!(team.release(&team.blue, &json!({ "all": true })).unwrap()["reservations"], json!([]));
    }

    // BEHAVIOUR: release by id, path, pattern or all; all or nothing
    fn leases_are_released_by_what_they_are_on(engine) {
        let team = Team::new(engine);
        team.reserve(&team.blue, &json!({ "paths": ["a[1].rs", "b"], "patterns": ["c/**", "d"] })).unwrap();
        let released = team.release(&team.blue, &json!({ "paths": ["a[1].rs"], "patterns": ["c/**"] })).unwrap();
        assert_eq!(released["reservations"].as_array().unwrap().len(), 2);
        assert_eq!(code(team.release(&team.blue, &json!({ "patterns": ["b", "nothing"] }))), "not_found");
        assert_eq!(team.call(&team.blue, "list_reservations", &json!({})).unwrap()["items"].as_array().unwrap().len(), 2);
        for wrong in [json!({}), json!({ "ids": [1], "all": true }), json!({ "ids": [1], "paths": ["b"] })] {
            assert_eq!(code(team.release(&team.blue, &wrong)), "invalid", "{wrong}");
        }
        for wrong in [json!({}), json!({ "ids": [1], "all": true })] {
            assert_eq!(code(team.renew(&team.blue, &wrong)), "invalid", "{wrong}");
        }
        let all = team.release(&team.blue, &json!({ "all": true })).unwrap();
        assert_eq!(all["reservations"].as_array().unwrap().len(), 2);
        assert_eq!(team.release(&team.blue, &json!({ "all": true })).unwrap()["reservations"], json!([]));
    }

    // F12: the longest path there may be, on both engines; an index must not stand in its way
    fn the_longest_path_can_be_reserved(engine) {
        let team = Team::new(engine);
        let segments: Vec<_> = (0..63).map(|n| format!("{n:02}{}", hash_like(n))).collect();
        let path = segments.join("/");
        assert!((4_000..4_096).contains(&path.len()), "{}", path.len());
        let first = team.reserve(&team.blue, &json!({ "paths": [path] })).unwrap();
        let again = team.reserve(&team.blue, &json!({ "paths": [path] })).unwrap();
        assert_eq!(first["reservations"][0]["id"], again["reservations"][0]["id"]);
        assert_eq!(code(team.reserve(&team.green, &json!({ "paths": [path] }))), "reservation_conflict");
        team.release(&team.blue, &json!({ "paths": [path] })).unwrap();
    }

    // F9, by path: expired 410, another's 403, nobody's 404
    fn releasing_by_path_says_what_became_of_it(engine) {
        let team = Team::new(engine);
        team.reserve(&team.blue, &json!({ "paths": ["a"], "ttl": "1s" })).unwrap();
        let by_path = json!({ "paths": ["a"] });
        assert_eq!(code(team.release(&team.green, &by_path)), "not_holder");
        team.later(SECOND);
        assert_eq!(code(team.release(&team.blue, &by_path)), "lease_expired");
        assert_eq!(code(team.release(&team.green, &by_path)), "not_found");
    }

    // S3 S4: each of them is compared with every lease there is
    fn a_call_has_few_patterns_that_begin_with_a_wildcard(engine) {
        let team = Team::new(engine);
        let many: Vec<_> = (0..17).map(|n| format!("**/f{n}")).collect();
        let told = team.reserve(&team.blue, &json!({ "patterns": many })).unwrap_err().to_json();
        assert_eq!(told["field"], "patterns");
        team.reserve(&team.blue, &json!({ "patterns": many[1..] })).unwrap();
    }

    // S24, F: limits per agent
    fn an_agent_holds_so_many_leases_and_no_more(engine) {
        let team = Team::new(engine);
        team.call(&Actor::OPERATOR, "update_project", &json!({ "project": "web", "leases_per_agent": 3 })).unwrap();
        team.reserve(&team.blue, &json!({ "paths": ["a", "b"] })).unwrap();
        assert_eq!(code(team.reserve(&team.blue, &json!({ "paths": ["c", "d"] }))), "limit_exceeded");
        team.reserve(&team.blue, &json!({ "paths": ["a", "c"] })).unwrap();
        assert_eq!(code(team.call(&team.blue, "acquire_lock", &json!({ "name": "port" }))), "limit_exceeded");
        // What has expired does not count, and others have their own.
        team.reserve(&team.green, &json!({ "paths": ["x", "y", "z"] })).unwrap();
        team.later(30 * MINUTE);
        team.reserve(&team.blue, &json!({ "paths": ["d", "e", "f"] })).unwrap();
    }

    // F12: the key is folded where the project says so
    fn case_matters_unless_the_project_says_otherwise(engine) {
        let team = Team::new(engine);
        team.hold(&team.blue, "Src/A.rs");
        let lease = team.hold(&team.green, "src/a.rs");
        let fold = json!({ "project": "web", "case_insensitive": true });
        let told = team.call(&Actor::OPERATOR, "update_project", &fold).unwrap_err().to_json();
        assert_eq!(told["field"], "case_insensitive", "two leases would overlap");
        team.release(&team.blue, &json!({ "all": true })).unwrap();
        team.release(&team.green, &json!({ "ids": [lease["id"]] })).unwrap();
        team.call(&Actor::OPERATOR, "update_project", &fold).unwrap();
        let held = team.hold(&team.blue, "Src/A.rs");
        assert_eq!(held["path_pattern"], "Src/A.rs", "shown as it was written");
        assert_eq!(team.hold(&team.blue, "SRC/a.RS")["id"], held["id"]);
        let both = json!({ "paths": ["src/a.rs", "SRC/A.RS"] });
        assert_eq!(team.release(&team.blue, &both).unwrap()["reservations"].as_array().unwrap().len(), 1);
        team.hold(&team.blue, "Src/A.rs");
        assert_eq!(code(team.reserve(&team.green, &json!({ "patterns": ["s[QR]c/*"] }))), "reservation_conflict");
    }

    // F13: no list crosses projects
    fn lists_show_one_project_or_agent_page_by_page(engine) {
        let team = Team::new(engine);
        for n in 0..3 {
            team.hold(&team.blue, &format!("blue/{n}"));
        }
        let gone = team.hold(&team.green, "green");
        team.release(&team.green, &json!({ "ids": [gone["id"]] })).unwrap();
        team.hold(&team.far, "far");
        let list = |who: &Actor, request: Value| team.call(who, "list_reservations", &request);
        let paths = |answer: Value| -> Vec<String> {
            let items = answer["items"].as_array().unwrap();
            items.iter().map(|item| item["path_pattern"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(paths(list(&team.red, json!({})).unwrap()), ["blue/0", "blue/1", "blue/2"]);
        assert_eq!(paths(list(&team.red, json!({ "state": "ended" })).unwrap()), ["green"]);
        assert_eq!(paths(list(&team.red, json!({ "state": "all", "agent": "Green" })).unwrap()), ["green"]);
        let first = list(&team.red, json!({ "limit": 2 })).unwrap();
        assert_eq!(paths(list(&team.red, json!({ "limit": 2, "after": first["next"] })).unwrap()), ["blue/2"]);
        assert_eq!(code(list(&Actor::OPERATOR, json!({}))), "invalid");
        assert_eq!(paths(list(&Actor::OPERATOR, json!({ "agent": 4 })).unwrap()), ["far"]);
        assert_eq!(code(list(&team.red, json!({ "agent": 4 }))), "not_found");
        assert_eq!(code(team.call(&team.far, "get_reservation", &json!({ "id": gone["id"] }))), "not_found");
        team.later(30 * MINUTE);
        assert_eq!(list(&team.red, json!({})).unwrap()["items"], json!([]), "expiry is a predicate (F15)");
        assert_eq!(list(&team.red, json!({ "state": "ended" })).unwrap()["items"].as_array().unwrap().len(), 4);
    }

    // F15 3.7: retirement ends everything held, with one event each
    fn a_retired_agent_holds_nothing(engine) {
        let team = Team::new(engine);
        let expired = team.reserve(&team.blue, &json!({ "paths": ["old"], "ttl": "1s" })).unwrap();
        team.later(SECOND);
        let lease = team.hold(&team.blue, "src");
        team.call(&team.blue, "acquire_lock", &json!({ "name": "port" })).unwrap();
        team.call(&Actor::OPERATOR, "retire_agent", &json!({ "agent": "Blue", "project": "web" })).unwrap();
        let ended = |id: &Value| team.call(&team.red, "get_reservation", &json!({ "id": id })).unwrap()["reservation"]["ended"].clone();
        assert_eq!(ended(&lease["id"]), "retired");
        assert_eq!(ended(&expired["reservations"][0]["id"]), "expired");
        assert_eq!(team.kit.shell("select count(*) from event where kind = 'lease_expired'").unwrap(), "0");
        team.hold(&team.green, "src/a");
        team.call(&team.green, "acquire_lock", &json!({ "name": "port" })).unwrap();
    }

    // C2: a repeated wish with its key is the first answer
    fn a_wish_with_a_key_takes_effect_once(engine) {
        let team = Team::new(engine);
        let key = || comity_kernel::Caller::from(team.blue.clone())
            .with_key(comity_kernel::actor::IdempotencyKey::parse("k").unwrap());
        let wish = json!({ "paths": ["a"] });
        let first = team.kit.call(key(), "reserve_files", &wish).unwrap();
        team.release(&team.blue, &json!({ "all": true })).unwrap();
        assert_eq!(team.kit.call(key(), "reserve_files", &wish).unwrap(), first);
        assert_eq!(code(team.kit.call(key(), "reserve_files", &json!({ "paths": ["b"] }))), "idempotency_mismatch");
    }

    // BEHAVIOUR: orient and project_status know the leases
    fn an_agent_sees_what_it_holds(engine) {
        let team = Team::new(engine);
        team.reserve(&team.blue, &json!({ "paths": ["late"], "ttl": "2h" })).unwrap();
        team.reserve(&team.blue, &json!({ "paths": ["soon"], "ttl": "1h", "mode": "shared" })).unwrap();
        let seen = team.call(&team.blue, "orient", &json!({})).unwrap();
        assert_eq!(seen["leases_held"], 2);
        assert_eq!((&seen["leases"][0]["path_pattern"], &seen["leases"][0]["exclusive"]), (&json!("soon"), &json!(false)));
        assert_eq!(team.call(&team.green, "project_status", &json!({})).unwrap()["leases"], 2);
    }
}

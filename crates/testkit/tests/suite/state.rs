//! State: what is saved is what is loaded, versions are given out once, and scopes are kept apart.

mod moved;
mod paging;
mod plans;
mod readers;
mod schema;

use std::collections::BTreeSet;

use comity_domain::limits::{
    STATE_BYTES_MAX, STATE_DEPTH_MAX, STATE_INLINE_BYTES_MAX, STATE_KEYS_MAX, STATE_SCOPES_MAX,
    STATE_VALUE_BYTES_MAX,
};
use comity_kernel::{Actor, Kernel};
use comity_testkit::kit::operator_with_key;
use comity_testkit::{Kit, both_engines};
use serde_json::{Value, json};

use crate::team::{Team, code};

/// Saves in a scope of the project `web`; an agent's own if none is named.
fn save(team: &Team, who: &Actor, scope: Option<&str>, key: &str, value: &Value) -> Value {
    let request = json!({ "project": "web", "scope": scope, "key": key, "value": value });
    team.call(who, "save_state", &request).unwrap()
}

fn load(team: &Team, who: &Actor, scope: Option<&str>, key: &str) -> Option<(Value, i64)> {
    let request = json!({ "project": "web", "scope": scope, "key": key });
    match team.call(who, "load_state", &request) {
        Ok(answer) => {
            let version = answer["state"]["version"].as_i64().unwrap();
            Some((answer["value"].clone(), version))
        }
        Err(error) => {
            assert_eq!(error.code().word, "not_found", "{error}");
            None
        }
    }
}

fn keys(team: &Team, who: &Actor, request: &Value) -> Vec<String> {
    let page = team.call(who, "list_state", request).unwrap();
    let items = page["items"].as_array().unwrap().iter();
    items
        .map(|item| item["key"].as_str().unwrap().to_owned())
        .collect()
}

fn sweep(kernel: &Kernel) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(kernel.sweep()).unwrap();
}

/// The kinds of the last events, and what they say.
fn events(kit: &Kit, kind: &str) -> Vec<Value> {
    let sql = format!("select payload from event where kind = '{kind}' order by seq");
    let text = kit.shell(&sql).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

both_engines! {
    // S6 C1
    fn what_is_saved_is_what_is_loaded(engine) {
        let team = Team::new(engine);
        let edge = |bytes: usize| json!("x".repeat(bytes - 2));
        let values = [
            json!(null), json!(false), json!(0), json!(-1), json!(0.1), json!(1e300), json!(u64::MAX),
            json!(""), json!("it's \"é\" 日本 \u{1f980} \u{202e} \u{7f}"), json!([]), json!({}),
            json!({ "z": 1, "a": { "": [null, -0.5e-7, "\\ \n"] } }),
            edge(STATE_INLINE_BYTES_MAX), edge(STATE_INLINE_BYTES_MAX + 1), edge(STATE_VALUE_BYTES_MAX),
            deep(STATE_DEPTH_MAX),
        ];
        for (n, value) in values.iter().enumerate() {
            let saved = save(&team, &team.blue, None, "k", value);
            let version = i64::try_from(n).unwrap() + 1;
            let bytes = value.to_string().len();
            assert_eq!((&saved["state"]["version"], &saved["state"]["bytes"]), (&json!(version), &json!(bytes)));
            assert_eq!((&saved["created"], saved.get("value")), (&json!(n == 0), None));
            assert_eq!(load(&team, &team.blue, None, "k"), Some((value.clone(), version)));
        }
        // Only what is over the edge is kept by its hash, and no event holds it.
        assert_eq!(team.kit.shell("select count(*) from blob").unwrap(), "2");
        let sizes = "select max(length(payload)) from event where kind = 'state_saved'";
        let largest: usize = team.kit.shell(sizes).unwrap().parse().unwrap();
        assert!(largest < STATE_INLINE_BYTES_MAX + 1_000, "{largest}");
        let refused = |value: Value| {
            let error = team.call(&team.blue, "save_state", &json!({ "key": "k", "value": value })).unwrap_err();
            assert_eq!((error.code().word, &error.to_json()["field"]), ("invalid", &json!("value")));
        };
        refused(edge(STATE_VALUE_BYTES_MAX + 1));
        refused(deep(STATE_DEPTH_MAX + 1));
        assert_eq!(code(team.call(&team.blue, "save_state", &json!({ "key": "k" }))), "invalid");
    }

    // G3: a version is given out once, whatever ends in between
    fn an_old_version_never_fits_again(engine) {
        let team = Team::new(engine);
        let save = |expected: i64, ttl: Option<&str>| {
            let request = json!({ "key": "k", "value": expected, "expected_version": expected, "ttl": ttl });
            team.call(&team.blue, "save_state", &request)
        };
        let end = |expected: Option<i64>| {
            team.call(&team.blue, "delete_state", &json!({ "key": "k", "expected_version": expected }))
        };
        let conflict = |answer: Result<Value, comity_kernel::Error>, present: i64| {
            let shown = answer.unwrap_err().to_json();
            assert_eq!((&shown["error"], &shown["present"]), (&json!("version_conflict"), &json!(present)), "{shown}");
            assert!(!shown["hint"].as_str().unwrap().is_empty());
        };
        conflict(save(1, None), 0);
        assert_eq!(save(0, None).unwrap()["state"]["version"], 1);
        conflict(save(0, None), 1);
        assert_eq!(save(1, None).unwrap()["state"]["version"], 2);
        conflict(save(1, None), 2);
        conflict(end(Some(1)), 2);
        assert_eq!(end(Some(2)).unwrap()["state"]["version"], 2);
        assert_eq!(code(end(None)), "not_found");
        // Whoever read version 2 must not overwrite what others save after it is gone.
        conflict(save(2, None), 0);
        let again = save(0, Some("1s")).unwrap();
        assert_eq!((&again["state"]["version"], &again["created"]), (&json!(3), &json!(true)));
        team.kit.clock.advance_us(1_000_000);
        conflict(save(3, None), 0);
        assert_eq!(code(end(Some(3))), "not_found");
        assert_eq!(save(0, None).unwrap()["state"]["version"], 4, "expired and not swept");
        team.call(&team.blue, "clear_state", &json!({})).unwrap();
        conflict(save(4, None), 0);
        assert_eq!(save(0, None).unwrap()["state"]["version"], 5);
        let shown = team.call(&team.blue, "list_state", &json!({})).unwrap();
        assert_eq!(shown["items"][0]["id"], 1, "it is one row all the time");
        let ended: Vec<_> = ["state_deleted", "state_expired", "state_cleared"].map(|kind| events(&team.kit, kind).len()).into();
        assert_eq!(ended, [1, 1, 1]);
    }

    // G3 A2: of those who know the same version one saves, and each version is one of theirs
    fn of_many_who_expect_a_version_one_saves_it(engine) {
        let team = Team::new(engine);
        let each = std::env::var("COMITY_STATE_SAVES").map_or(2, |text| text.parse().unwrap());
        println!("state: 64 writers, {each} versions each, {engine:?}");
        let versions: Vec<i64> = std::thread::scope(|scope| {
            let writer = |n: usize| {
                let team = &team;
                move || {
                    let mut won = Vec::new();
                    while won.len() < each {
                        let present = load(team, &Actor::OPERATOR, Some("s"), "k").map_or(0, |(_, version)| version);
                        let request = json!({ "project": "web", "scope": "s", "key": "k", "value": n, "expected_version": present });
                        match team.call(&Actor::OPERATOR, "save_state", &request) {
                            Ok(saved) => won.push(saved["state"]["version"].as_i64().unwrap()),
                            Err(error) => assert_eq!(error.code().word, "version_conflict"),
                        }
                    }
                    won
                }
            };
            let writers: Vec<_> = (0..64).map(|n| scope.spawn(writer(n))).collect();
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
        });
        let last = i64::try_from(64 * each).unwrap();
        let once: BTreeSet<_> = versions.iter().copied().collect();
        assert_eq!((versions.len(), once), (64 * each, (1..=last).collect()));
        assert_eq!(load(&team, &Actor::OPERATOR, Some("s"), "k").unwrap().1, last);
    }

    // C2
    fn a_repeated_save_takes_effect_once(engine) {
        let team = Team::new(engine);
        let request = json!({ "project": "web", "scope": "s", "key": "k", "value": "x".repeat(5_000) });
        let call = |request: &Value| {
            let caller = operator_with_key("once");
            let operation = comity_kernel::operation::find("save_state").unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on((operation.call)(team.kit.kernel(), caller, request.clone()))
        };
        let first = call(&request).unwrap();
        let again = call(&request).unwrap();
        assert!(again.replayed && !first.replayed);
        assert_eq!(again.answer, first.answer);
        let other = json!({ "project": "web", "scope": "s", "key": "k", "value": 2 });
        assert_eq!(call(&other).unwrap_err().code().word, "idempotency_mismatch");
        assert_eq!(load(&team, &Actor::OPERATOR, Some("s"), "k").unwrap().1, 1);
    }

    // E5 S20
    fn an_agents_own_is_nobody_elses(engine) {
        let team = Team::new(engine);
        save(&team, &team.blue, None, "plan", &json!("mine"));
        save(&team, &team.blue, Some("shared"), "plan", &json!("ours"));
        // By name it is the same scope, whatever the case.
        for scope in ["agent/Blue", "agent/blue", "agent/BLUE"] {
            assert_eq!(load(&team, &team.blue, Some(scope), "plan"), Some((json!("mine"), 1)));
            assert_eq!(load(&team, &Actor::OPERATOR, Some(scope), "plan"), Some((json!("mine"), 1)));
        }
        assert_eq!(load(&team, &team.green, Some("shared"), "plan"), Some((json!("ours"), 1)));
        assert_eq!(load(&team, &team.green, None, "plan"), None);
        // Nobody tells Green whether there is such an agent.
        for scope in ["agent/Blue", "agent/blue", "agent/Nobody"] {
            let about = json!({ "scope": scope, "key": "plan", "value": 1 });
            for operation in ["load_state", "delete_state", "save_state", "list_state", "clear_state"] {
                let mut request = about.clone();
                let fields = request.as_object_mut().unwrap();
                fields.retain(|name, _| match operation {
                    "save_state" => true,
                    "load_state" | "delete_state" => name != "value",
                    _ => name == "scope",
                });
                let error = team.call(&team.green, operation, &request).unwrap_err();
                assert_eq!(error.to_string(), format!("there is no scope `{scope}`"), "{operation}");
                assert_eq!(error.code().word, "not_found");
            }
        }
        let scopes = |who: &Actor| {
            let page = team.call(who, "list_scopes", &json!({ "project": "web" })).unwrap();
            let items = page["items"].as_array().unwrap().iter();
            items.map(|item| (item["scope"].as_str().unwrap().to_owned(), item["keys"].as_i64().unwrap())).collect::<Vec<_>>()
        };
        let both = [("agent/Blue".to_owned(), 1), ("shared".to_owned(), 1)];
        assert_eq!((scopes(&team.blue), scopes(&Actor::OPERATOR)), (both.to_vec(), both.to_vec()));
        assert_eq!(scopes(&team.green), both[1..]);
        // Of another project nothing is seen, neither its agents' nor what is shared.
        let far = |request: Value| code(team.call(&team.far, "load_state", &request));
        assert_eq!(far(json!({ "scope": "shared", "key": "plan" })), "not_found");
        assert_eq!(far(json!({ "scope": "shared", "key": "plan", "project": "web" })), "not_found");
        assert_eq!(far(json!({ "scope": "agent/Blue", "key": "plan" })), "not_found");
        assert_eq!(code(team.call(&Actor::OPERATOR, "load_state", &json!({ "project": "web", "key": "plan" }))), "invalid");
        // Who is retired leaves it to the operator.
        team.call(&Actor::OPERATOR, "retire_agent", &json!({ "project": "web", "agent": "Blue" })).unwrap();
        assert_eq!(load(&team, &Actor::OPERATOR, Some("agent/Blue"), "plan"), Some((json!("mine"), 1)));
    }

    // F15, for state: expiry is a predicate, and the event comes once
    fn state_ends_at_its_microsecond(engine) {
        let team = Team::new(engine);
        let brief = |key: &str| {
            let request = json!({ "scope": "s", "key": key, "value": key, "ttl": "2s" });
            team.call(&team.blue, "save_state", &request).unwrap()
        };
        let saved = brief("a");
        assert_eq!(saved["state"]["ttl_remaining_ms"], 2_000);
        save(&team, &team.blue, Some("s"), "b", &json!("for good"));
        let scope = json!({ "project": "web", "scope": "s" });
        team.kit.clock.advance_us(1_999_999);
        // A wall clock that jumps ends nothing.
        team.kit.clock.jump_wall_us(86_400_000_000);
        let loaded = team.call(&team.green, "load_state", &json!({ "scope": "s", "key": "a" })).unwrap();
        assert_eq!(loaded["state"]["expires_at"], saved["state"]["expires_at"]);
        assert_eq!(keys(&team, &team.green, &scope), ["a", "b"]);
        team.kit.clock.advance_us(1);
        assert_eq!(load(&team, &team.green, Some("s"), "a"), None);
        assert_eq!(keys(&team, &team.green, &scope), ["b"]);
        let counted = || {
            let page = team.call(&team.green, "list_scopes", &json!({})).unwrap();
            (page["items"][0]["keys"].clone(), page["items"][0]["bytes"].clone())
        };
        assert_eq!(counted(), (json!(1), json!(10)), "before it is written down");
        sweep(team.kit.kernel());
        sweep(team.kit.kernel());
        assert_eq!(counted(), (json!(1), json!(10)), "and after");
        let ended = events(&team.kit, "state_expired");
        assert_eq!((ended.len(), &ended[0]["key"], &ended[0]["version"]), (1, &json!("a"), &json!(1)));
        assert_eq!(brief("a")["state"]["version"], 2);
        // Saved anew without an end, it stays.
        save(&team, &team.blue, Some("s"), "a", &json!(1));
        team.kit.clock.advance_us(60_000_000);
        sweep(team.kit.kernel());
        assert_eq!(load(&team, &team.green, Some("s"), "a"), Some((json!(1), 3)));
    }

    fn a_cleared_scope_names_what_it_ended(engine) {
        let team = Team::new(engine);
        for key in ["b", "a/2", "a/1", "gone", "brief"] {
            let ttl = (key == "brief").then_some("1s");
            let request = json!({ "scope": "s", "key": key, "value": key, "ttl": ttl });
            team.call(&team.blue, "save_state", &request).unwrap();
        }
        save(&team, &team.blue, Some("other"), "stays", &json!(1));
        team.call(&team.green, "delete_state", &json!({ "scope": "s", "key": "gone" })).unwrap();
        team.kit.clock.advance_us(1_000_000);
        let cleared = team.call(&team.green, "clear_state", &json!({ "scope": "s" })).unwrap();
        assert_eq!((&cleared["scope"], &cleared["keys"]), (&json!("s"), &json!(["a/1", "a/2", "b"])));
        let ended = events(&team.kit, "state_cleared");
        assert_eq!(ended.len(), 1);
        let named: Vec<_> = ended[0]["keys"].as_array().unwrap().iter().map(|one| (one["key"].clone(), one["version"].clone())).collect();
        assert_eq!(named, ["a/1", "a/2", "b"].map(|key| (json!(key), json!(1))));
        assert_eq!(events(&team.kit, "state_expired").len(), 1, "what had expired is not among it");
        assert_eq!(keys(&team, &team.blue, &json!({ "scope": "s" })), [""; 0]);
        assert_eq!(load(&team, &team.blue, Some("other"), "stays"), Some((json!(1), 1)));
        // Where nothing is there is nothing to end, and no event.
        let head = team.kit.kernel().head().borrow().get();
        for scope in ["s", "never"] {
            let again = team.call(&team.green, "clear_state", &json!({ "scope": scope })).unwrap();
            assert_eq!((&again["keys"], &again["seq"]), (&json!([]), &json!(head)));
        }
    }

    fn pages_are_by_key_and_by_what_keys_begin_with(engine) {
        let team = Team::new(engine);
        let mut all = ["a", "a/1", "a/10", "a/2", "A", "b", "é", "é/x", "z", "日本"].map(str::to_owned);
        for key in all.iter().rev() {
            save(&team, &team.blue, Some("s"), key, &json!(1));
        }
        save(&team, &team.blue, Some("t"), "a/other", &json!(1));
        all.sort_unstable();
        let mut found = Vec::new();
        let mut after = json!("0");
        while !after.is_null() {
            let page = team.call(&team.green, "list_state", &json!({ "scope": "s", "limit": 3, "after": after })).unwrap();
            let items = page["items"].as_array().unwrap();
            assert!(items.len() <= 3 && items.iter().all(|item| item.get("value").is_none()));
            found.extend(items.iter().map(|item| item["key"].as_str().unwrap().to_owned()));
            after = page["next"].clone();
            // What ends between two pages skips and repeats nothing.
            if found.len() == 3 {
                team.call(&team.blue, "delete_state", &json!({ "scope": "s", "key": found[2] })).unwrap();
            }
        }
        assert_eq!(found, all);
        let begins = |prefix: &str| keys(&team, &team.green, &json!({ "scope": "s", "prefix": prefix }));
        assert_eq!(begins("a/1"), ["a/10"], "a/1 is deleted");
        assert_eq!((begins("é"), begins("%"), begins("日")), (vec!["é".to_owned(), "é/x".to_owned()], vec![], vec!["日本".to_owned()]));
    }

    // S24
    fn a_scope_has_its_bounds(engine) {
        let team = Team::new(engine);
        let tries = |who: &Actor, scope: &str, key: &str, value: &Value| {
            let request = json!({ "project": "web", "scope": scope, "key": key, "value": value });
            team.call(who, "save_state", &request)
        };
        let limited = |answer: Result<Value, comity_kernel::Error>, what: &str| {
            let error = answer.unwrap_err().to_json();
            assert_eq!((&error["error"], &error["limited"]), (&json!("limit_exceeded"), &json!(what)), "{error}");
        };
        let large = json!("x".repeat(STATE_VALUE_BYTES_MAX - 2));
        let fitting = STATE_BYTES_MAX / i64::try_from(STATE_VALUE_BYTES_MAX).unwrap();
        for n in 0..fitting {
            tries(&team.blue, "large", &n.to_string(), &large).unwrap();
        }
        limited(tries(&team.blue, "large", "more", &json!(1)), "the bytes of one scope");
        tries(&team.blue, "large", "0", &json!(1)).unwrap();
        tries(&team.blue, "large", "more", &json!(1)).unwrap();
        tries(&Actor::OPERATOR, "large", "0", &large).unwrap();
        tries(&Actor::OPERATOR, "large", "still more", &large).unwrap();
        let brief = json!({ "scope": "many", "key": "brief", "value": 1, "ttl": "1s" });
        team.call(&team.blue, "save_state", &brief).unwrap();
        let at_once = |count: i64, one: &(dyn Fn(i64) + Sync)| {
            std::thread::scope(|scope| {
                for part in 0..16 {
                    scope.spawn(move || (0..count).filter(|n| n % 16 == part).for_each(one));
                }
            });
        };
        at_once(STATE_KEYS_MAX - 1, &|n| {
            tries(&team.blue, "many", &n.to_string(), &json!(n)).unwrap();
        });
        for who in [&team.green, &Actor::OPERATOR] {
            limited(tries(who, "many", "more", &json!(1)), "the number of keys of one scope");
        }
        tries(&team.green, "many", "7", &json!("another version")).unwrap();
        // What has expired makes room, swept or not.
        team.kit.clock.advance_us(1_000_000);
        tries(&team.green, "many", "more", &json!(1)).unwrap();
        at_once(STATE_SCOPES_MAX - 2, &|n| {
            tries(&team.blue, &format!("s/{n}"), "k", &json!(1)).unwrap();
        });
        limited(tries(&team.green, "one more", "k", &json!(1)), "the number of shared scopes of one project");
        save(&team, &team.green, None, "k", &json!("one's own is always there"));
        team.call(&team.blue, "clear_state", &json!({ "scope": "s/1" })).unwrap();
        tries(&team.green, "one more", "k", &json!(1)).unwrap();
        limited(tries(&team.green, "s/1", "k", &json!(1)), "the number of shared scopes of one project");
        tries(&Actor::OPERATOR, "s/1", "k", &json!(1)).unwrap();
    }

    // S24: a scope that holds only what has expired does not count, swept or not
    fn scopes_that_expired_make_room(engine) {
        let team = Team::new(engine);
        let tries = |scope: &str, ttl: Option<&str>| {
            let request = json!({ "scope": scope, "key": "k", "value": 1, "ttl": ttl });
            team.call(&team.blue, "save_state", &request)
        };
        let tries = &tries;
        std::thread::scope(|scope| {
            for part in 0..16 {
                scope.spawn(move || (0..STATE_SCOPES_MAX).filter(|n| n % 16 == part).for_each(|n| {
                    tries(&format!("s/{n}"), (n < 3).then_some("1s")).unwrap();
                }));
            }
        });
        assert_eq!(code(tries("more", None)), "limit_exceeded");
        // Another project has its own.
        let far = json!({ "scope": "s/1", "key": "k", "value": 1, "ttl": "1s" });
        team.call(&team.far, "save_state", &far).unwrap();
        team.kit.clock.advance_us(1_000_000);
        for n in 0..3 {
            tries(&format!("more/{n}"), None).unwrap();
        }
        assert_eq!(code(tries("more", None)), "limit_exceeded");
        assert_eq!(events(&team.kit, "state_expired").len(), 3);
    }

    // A13: bytes that are gone or changed are said to be
    fn a_value_that_is_not_what_it_was_is_damage(engine) {
        let mut team = Team::new(engine);
        save(&team, &team.blue, Some("s"), "k", &json!("x".repeat(5_000)));
        team.kit.shell("update blob set bytes = added_at::text::bytea").or_else(|_| team.kit.shell("update blob set bytes = cast('1' as blob)")).unwrap();
        let request = json!({ "scope": "s", "key": "k" });
        assert_eq!(code(team.call(&team.blue, "load_state", &request)), "damaged");
        team.kit.shell("delete from blob_owner; delete from blob").unwrap();
        assert_eq!(code(team.call(&team.blue, "load_state", &request)), "damaged");
        team.kit.expect_damage();
    }
}

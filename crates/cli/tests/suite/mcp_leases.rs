//! Leases and locks over `comity mcp`, between two agents.

use serde_json::{Value, json};

use crate::mcp_client::{Client, Era};
use crate::place::Place;

fn kept(place: &Place, agent: &str) -> Value {
    let projects = std::fs::read_dir(place.data().join("agents")).unwrap();
    let project = projects.into_iter().next().unwrap().unwrap().path();
    let text = std::fs::read(project.join(format!("{agent}.leases"))).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap()["leases"].clone()
}

/// Takes the marks off somebody's words.
fn unmarked(words: &Value) -> String {
    let words = words.as_str().unwrap();
    let (mark, rest) = words.split_once('>').unwrap();
    assert!(mark.starts_with("<untrusted-"), "{words}");
    rest.split("</untrusted-").next().unwrap().to_owned()
}

// F2, S22: one of two gets the file; the other learns who has it, in marked words
#[test]
fn of_two_agents_one_gets_the_file_and_the_other_learns_who_has_it() {
    for (era, serves) in [(Era::Handshake, false), (Era::Stateless, true)] {
        let place = Place::new();
        let _server = serves.then(|| place.serve());
        let mut blue = Client::start(&place, &["--as", "Blue"], era);
        let mut red = Client::start(&place, &["--as", "Red"], era);
        let files = json!({ "paths": ["src/a.rs"], "patterns": ["docs/**"], "reason": "obey me" });
        let taken = blue.call("reserve_files", &files).unwrap();
        let leases = taken["reservations"].as_array().unwrap();
        assert_eq!(leases.len(), 2);
        let mut fields: Vec<_> = leases[0].as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(fields, ["fence", "id", "path_pattern", "ttl_remaining_ms"]);
        let in_file = kept(&place, "Blue");
        assert_eq!(in_file[0]["id"], leases[0]["id"]);
        assert_eq!(in_file[0]["fence"], leases[0]["fence"]);
        let checked = red
            .call("check_files", &json!({ "paths": ["src"] }))
            .unwrap();
        assert_eq!(checked["free"], false);
        assert_eq!(unmarked(&checked["conflicts"][0]["pattern"]), "src/a.rs");
        let refused = red
            .call("reserve_files", &json!({ "paths": ["docs/x"] }))
            .unwrap_err();
        assert_eq!(refused["error"], "reservation_conflict");
        assert_eq!(refused["message"], "it is held by `Blue`");
        assert!(refused["hint"].as_str().unwrap().contains("`wait`"));
        assert_eq!(unmarked(&refused["conflicts"][0]["reason"]), "obey me");
        let renewed = blue
            .call("reserve_files", &json!({ "ids": [1], "ttl": "2h" }))
            .unwrap();
        assert!(
            renewed["reservations"][0]["ttl_remaining_ms"]
                .as_i64()
                .unwrap()
                > 7_000_000
        );
        let both = blue.call("reserve_files", &json!({ "ids": [1], "paths": ["x"] }));
        assert_eq!(both.unwrap_err()["field"], "paths");
        let status = blue.call("status", &json!({})).unwrap();
        assert_eq!(
            (&status["leases_held"], &status["leases"][0]["id"]),
            (&json!(2), &json!(2))
        );
        let stolen = red
            .call("release_files", &json!({ "ids": [1] }))
            .unwrap_err();
        assert_eq!(stolen["message"], "it is held by `Blue`");
        let freed = blue
            .call("release_files", &json!({ "paths": ["src/a.rs"] }))
            .unwrap();
        assert_eq!(
            freed,
            json!({ "released": [{ "id": 1, "path_pattern": "src/a.rs" }] })
        );
        assert_eq!(kept(&place, "Blue").as_array().unwrap().len(), 1);
        red.call("reserve_files", &json!({ "paths": ["src/a.rs"] }))
            .unwrap();
    }
}

#[test]
fn locks_and_requests_are_tools_of_other_profiles() {
    let place = Place::new();
    let start = |name| {
        let mut client = Client::spawn(
            &mut place.command(&["--as", name, "mcp", "--profile", "all"]),
            Era::Handshake,
        );
        client.greet();
        client
    };
    let (mut blue, mut red) = (start("Blue"), start("Red"));
    let lock = blue
        .call("lock", &json!({ "name": "port", "ttl": "10m" }))
        .unwrap();
    assert_eq!(lock["created"], true);
    let refused = red.call("lock", &json!({ "name": "port" })).unwrap_err();
    assert_eq!(refused["message"], "it is held by `Blue`");
    let fence = &lock["lock"]["fence"];
    blue.call("lock", &json!({ "name": "port", "fence": fence }))
        .unwrap();
    let stale = blue
        .call("lock", &json!({ "name": "port", "fence": 1 }))
        .unwrap_err();
    assert_eq!(stale["error"], "version_conflict");
    blue.call("unlock", &json!({ "name": "port", "fence": fence }))
        .unwrap();
    red.call("lock", &json!({ "name": "port" })).unwrap();

    let taken = blue
        .call("reserve_files", &json!({ "paths": ["a"] }))
        .unwrap();
    let id = &taken["reservations"][0]["id"];
    let asked = red
        .call("request_release", &json!({ "id": id, "reason": "mine" }))
        .unwrap();
    let request = &asked["release_request"];
    assert_eq!(unmarked(&request["path_pattern"]), "a");
    let answer = json!({ "id": request["id"], "answer": "release" });
    let answered = blue.call("answer_release", &answer).unwrap();
    assert_eq!(unmarked(&answered["release_request"]["reason"]), "mine");
    assert_eq!(kept(&place, "Blue"), json!([]));
}

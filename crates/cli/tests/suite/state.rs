//! State with the real binary, the same through every door.

use serde_json::json;

use crate::post::through_every_door;

// G3, and what a script sees of it
#[test]
fn state_is_saved_loaded_listed_and_cleared() {
    through_every_door(|post| {
        let saved = post.ask("state set agent/Blue plan {\"next\":[1,null]} --expect 0 --as Blue");
        assert_eq!(saved.unwrap()["state"]["version"], 1);
        let (exit, refused) = post
            .ask("state set agent/Blue plan 2 --expect 0 --as Blue")
            .unwrap_err();
        assert_eq!(
            (exit, &refused["error"], &refused["present"]),
            (1, &json!("version_conflict"), &json!(1))
        );
        let loaded = post.ask("state get agent/blue plan --as Blue").unwrap();
        assert_eq!(
            (&loaded["value"], &loaded["state"]["scope"]),
            (&json!({ "next": [1, null] }), &json!("agent/Blue"))
        );
        let (exit, refused) = post.ask("state get agent/Blue plan --as Red").unwrap_err();
        assert_eq!((exit, &refused["error"]), (1, &json!("not_found")));
        post.ask("state set build/cache a/b \"é\" --ttl 1h --as Red")
            .unwrap();
        post.ask("state set build/cache c 1 --as Red").unwrap();
        let (exit, refused) = post
            .ask("state set build/cache c {bad --as Red")
            .unwrap_err();
        assert_eq!((exit, &refused["error"]), (3, &json!("not_json")));
        let listed = post
            .ask("state list build/cache --prefix a/ --as Blue")
            .unwrap();
        assert_eq!(
            (&listed["items"][0]["key"], &listed["next"]),
            (&json!("a/b"), &json!(null))
        );
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
        let scopes = post.ask("state scopes --as Blue").unwrap();
        assert_eq!(
            (&scopes["items"][0]["scope"], &scopes["items"][1]["keys"]),
            (&json!("agent/Blue"), &json!(2))
        );
        post.ask("state delete build/cache c --expect 1 --as Blue")
            .unwrap();
        assert_eq!(
            post.ask("state clear build/cache --as Blue").unwrap()["keys"],
            json!(["a/b"])
        );
        assert_eq!(
            post.ask("state get build/cache a/b --as Blue")
                .unwrap_err()
                .0,
            1
        );
    });
}

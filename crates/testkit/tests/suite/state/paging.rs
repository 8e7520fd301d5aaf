//! What pages tell of what a caller may not see: nothing.

use comity_kernel::Actor;
use comity_testkit::both_engines;
use serde_json::{Value, json};

use super::save;
use crate::team::Team;

/// Why a page cannot be had, by its field.
fn refused(team: &Team, who: &Actor, operation: &str, request: &Value) {
    let error = team.call(who, operation, request).unwrap_err().to_json();
    assert_eq!(
        (&error["error"], &error["field"]),
        (&json!("invalid"), &json!("after")),
        "{error}"
    );
}

both_engines! {
    // S20: a page never begins behind what its reader does not see, or a private key could be spelt
    // out by bisection
    fn a_page_begins_behind_what_one_sees(engine) {
        let team = Team::new(engine);
        let id = |saved: &Value| saved["state"]["id"].to_string();
        let mine = id(&save(&team, &team.blue, None, "m-private", &json!(1)));
        let other = id(&save(&team, &team.blue, Some("other"), "k", &json!(1)));
        let seen = id(&save(&team, &team.green, Some("s"), "a", &json!(1)));
        for key in ["b", "n", "z"] {
            save(&team, &team.green, Some("s"), key, &json!(1));
        }
        let list = |after: &str| json!({ "project": "web", "scope": "s", "after": after });
        for after in [&mine, &other, "4711"] {
            refused(&team, &team.green, "list_state", &list(after));
            refused(&team, &Actor::OPERATOR, "list_state", &list(after));
        }
        let page = team.call(&team.green, "list_state", &list(&seen)).unwrap();
        assert_eq!(page["items"].as_array().unwrap().len(), 3);
        // What has ended since is still a place to go on from.
        team.call(&team.green, "delete_state", &json!({ "scope": "s", "key": "a" })).unwrap();
        let page = team.call(&team.green, "list_state", &list(&seen)).unwrap();
        assert_eq!(page["items"][0]["key"], "b");
        // Where nothing was ever saved, nothing can have been seen.
        refused(&team, &team.green, "list_state", &json!({ "scope": "never", "after": seen }));
        let empty = team.call(&team.green, "list_state", &json!({ "scope": "never", "after": "0" })).unwrap();
        assert_eq!(empty["items"], json!([]));
    }

    // S20, of scopes: another agent's own, and those of another project
    fn a_page_of_scopes_begins_behind_what_one_sees(engine) {
        let team = Team::new(engine);
        save(&team, &team.blue, None, "k", &json!(1));
        save(&team, &team.blue, Some("a"), "k", &json!(1));
        save(&team, &team.blue, Some("b"), "k", &json!(1));
        team.call(&team.far, "save_state", &json!({ "scope": "far", "key": "k", "value": 1 })).unwrap();
        let list = |after: &str| json!({ "project": "web", "after": after });
        let ids = |who: &Actor, project: &str| {
            let page = team.call(who, "list_scopes", &json!({ "project": project })).unwrap();
            let items = page["items"].as_array().unwrap().iter();
            items.map(|item| (item["scope"].as_str().unwrap().to_owned(), item["id"].to_string())).collect::<Vec<_>>()
        };
        let web = ids(&Actor::OPERATOR, "web");
        let names: Vec<_> = web.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "agent/Blue", "b"]);
        let (shared, blues) = (&web[0].1, &web[1].1);
        let far = team.call(&team.far, "list_scopes", &json!({})).unwrap()["items"][0]["id"].to_string();
        refused(&team, &team.green, "list_scopes", &list(blues));
        for who in [&team.green, &team.blue, &Actor::OPERATOR] {
            refused(&team, who, "list_scopes", &list(&far));
            refused(&team, who, "list_scopes", &list("4711"));
        }
        let behind = |who: &Actor, after: &str| {
            let page = team.call(who, "list_scopes", &list(after)).unwrap();
            page["items"].as_array().unwrap().iter().map(|item| item["scope"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(behind(&team.blue, blues), ["b"]);
        assert_eq!(behind(&Actor::OPERATOR, blues), ["b"]);
        assert_eq!(behind(&team.green, shared), ["b"]);
    }
}

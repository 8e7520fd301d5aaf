//! The question of the Git guard.

use super::*;

both_engines! {
    // 3.11: others' shared leases mean no write, an own expired lease is not held
    fn the_guard_is_told_what_keeps_files_from_being_written(engine) {
        let team = Team::new(engine);
        let shared = team.reserve(&team.blue, &json!({ "patterns": ["src/**"], "mode": "shared" })).unwrap();
        let own = team.reserve(&team.green, &json!({ "patterns": ["docs"], "ttl": "1m" })).unwrap();
        let ask = |who: &Actor, request: Value| team.call(who, "guard_check", &request).unwrap();
        let verdict = ask(&team.green, json!({ "paths": ["src/a.rs", "README.md", "src/b.rs"] }));
        assert_eq!((&verdict["allowed"], &verdict["mode"], &verdict["away"]), (&json!(false), &json!("block"), &json!("warn")));
        let conflict = &verdict["conflicts"][0];
        assert_eq!(conflict["reservation_id"], shared["reservations"][0]["id"]);
        assert_eq!((&conflict["paths"], &conflict["path_count"]), (&json!(["src/a.rs", "src/b.rs"]), &json!(2)));
        assert_eq!(ask(&team.blue, json!({ "paths": ["src/a.rs"] }))["allowed"], true);
        let lease = &own["reservations"][0];
        let leases = json!([{ "id": lease["id"], "fence": lease["fence"] }]);
        assert_eq!(ask(&team.green, json!({ "paths": ["docs/a"], "leases": leases }))["allowed"], true);
        team.later(MINUTE);
        // Lost between edit and commit: refused, though nobody has it now.
        let verdict = ask(&team.green, json!({ "paths": ["docs/a"], "leases": leases }));
        assert_eq!((&verdict["allowed"], &verdict["lost"][0]["ended"]), (&json!(false), &json!("expired")));
        assert_eq!(verdict["lost"][0]["held_by"], json!(null));
        assert_eq!(ask(&team.green, json!({ "paths": ["other"], "leases": leases }))["allowed"], true);
        // Of another's leases nothing is told.
        assert_eq!(ask(&team.red, json!({ "paths": ["docs/a"], "leases": leases }))["lost"], json!([]));
        let operator = ask(&Actor::OPERATOR, json!({ "project": "web", "paths": ["src"] }));
        assert_eq!(operator["allowed"], false);
        let many: Vec<_> = (0..10_001).map(|n| format!("f{n}")).collect();
        assert_eq!(code(team.call(&team.green, "guard_check", &json!({ "paths": many }))), "invalid");
    }
}

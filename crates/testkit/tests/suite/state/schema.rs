//! What the database itself refuses, whoever writes to it.

use comity_testkit::{Engine, Kit, both_engines};
use serde_json::json;

use super::save;
use crate::team::{Team, withstands};

/// Rows that would take the place of others, by either of their keys.
fn replaced(engine: Engine) -> Vec<String> {
    let entry = |verb: &str, id: i64, key: &str| {
        format!(
            "{verb} into state_entry (id, scope_id, key, version, value, bytes, created_at, saved_at, saved_lease_us) values ({id}, 1, '{key}', 1, '1', 1, 0, 0, 0)"
        )
    };
    let scope = |verb: &str, id: i64, name: &str| {
        format!(
            "{verb} into state_scope (id, project_id, name, keys, bytes, created_at, revision) values ({id}, 1, '{name}', 0, 0, 0, 0)"
        )
    };
    let verbs: &[&str] = match engine {
        Engine::Sqlite => &["insert", "replace", "insert or replace"],
        Engine::Postgres => &["insert"],
    };
    let each = |verb: &&str| {
        [
            entry(verb, 1, "k"),
            entry(verb, 9, "k"),
            entry(verb, 1, "other"),
            entry(verb, 9, "gone"),
            scope(verb, 1, "s"),
            scope(verb, 9, "s"),
            scope(verb, 1, "other"),
            // One that begins with something in it.
            scope(verb, 9, "other").replace("0, 0, 0, 0)", "5, 9, 0, 3)"),
        ]
    };
    verbs.iter().flat_map(each).collect()
}

fn dump(kit: &Kit, _: Engine) -> String {
    let tables = [
        "select * from state_scope order by id",
        "select * from state_entry order by id",
    ];
    tables.map(|sql| kit.shell(sql).unwrap()).join("\n")
}

both_engines! {
    // E4 G3
    fn a_version_cannot_be_changed_behind_the_log(engine) {
        let mut team = Team::new(engine);
        save(&team, &team.blue, Some("s"), "k", &json!(1));
        save(&team, &team.blue, Some("s"), "k", &json!(2));
        save(&team, &team.blue, Some("s"), "gone", &json!(1));
        team.call(&team.blue, "delete_state", &json!({ "scope": "s", "key": "gone" })).unwrap();
        save(&team, &team.blue, Some("s"), "large", &json!("x".repeat(30_000)));
        let replace = match engine {
            Engine::Sqlite => "insert or replace into state_entry (id, scope_id, key, version, value, bytes, created_at, saved_at, saved_lease_us) values (1, 1, 'k', 1, '1', 1, 0, 0, 0)",
            Engine::Postgres => "truncate state_entry",
        };
        for refused in [
            "delete from state_entry where id = 1",
            "delete from state_scope where id = 1",
            "update state_entry set value = '9' where id = 1",
            "update state_entry set version = 1 where id = 1",
            "update state_entry set version = 4 where id = 1",
            "update state_entry set version = 3, key = 'other' where id = 1",
            "update state_entry set version = 3, value = null where id = 1",
            "update state_entry set version = 3, ended = 'deleted' where id = 1",
            "update state_entry set ended = 'lost', value = null, bytes = 0 where id = 1",
            "update state_entry set ended = 'expired' where id = 2",
            "update state_entry set ended = null, value = '1', bytes = 1 where id = 2",
            "insert into state_entry (id, scope_id, key, version, value, bytes, created_at, saved_at, saved_lease_us) values (9, 1, 'x', 2, '1', 1, 0, 0, 0)",
            "insert into state_entry (id, scope_id, key, version, value, bytes, created_at, saved_at, saved_lease_us) values (9, 1, 'k', 1, '1', 1, 0, 0, 0)",
            "update state_scope set revision = revision + 1, keys = -1",
            "update state_scope set name = 'other', revision = revision + 1",
            "update state_scope set keys = 0",
            "delete from state_blob",
            "update state_blob set seq = seq - 1",
            "insert into state_blob (seq, sha256) select 1, sha256 from state_blob",
            "insert into state_blob (seq, sha256) select seq, sha256 from state_blob",
            replace,
        ] {
            assert!(team.kit.shell(refused).is_err(), "{refused}");
        }
        withstands(&team.kit, engine, &replaced(engine), dump);
        // What a command would do is not refused; `doctor` sees that no event says so.
        team.kit.shell("update state_entry set version = 3, value = '9' where id = 1").unwrap();
        assert!(!team.kit.doctor().ok);
        team.kit.expect_damage();
    }
}

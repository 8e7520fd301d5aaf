//! The schema's own defence of leases: what a stranger with a connection cannot do (`ddl`).

use comity_kernel::reservation::{Release, ReserveFiles};
use comity_testkit::kit::request;
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::json;

/// All leases, as they are.
fn dump(kit: &Kit, engine: Engine) -> String {
    let sql = match engine {
        Engine::Sqlite => "select * from reservation order by id",
        Engine::Postgres => "select r::text from reservation r order by id",
    };
    kit.shell(sql).unwrap()
}

/// A new row, with some columns other than usual.
fn row(id: i64, columns: &[(&str, &str)]) -> String {
    let id = id.to_string();
    let usual = [
        ("id", id.as_str()),
        ("kind", "'files'"),
        ("project_id", "1"),
        ("agent_id", "1"),
        ("pattern", "'x'"),
        ("pattern_key", "'x'"),
        ("exclusive", "1"),
        ("reason", "''"),
        ("fence", "9"),
        ("created_at", "1"),
        ("created_lease_us", "1"),
        ("expires_lease_us", "2"),
        ("ended_at", "null"),
        ("ended_seq", "null"),
        ("ended", "null"),
    ];
    let values = usual.map(|(name, value)| {
        let other = columns.iter().find(|(column, _)| *column == name);
        other.map_or(value, |(_, value)| value)
    });
    let names = usual.map(|(name, _)| name).join(", ");
    format!("into reservation ({names}) values ({})", values.join(", "))
}

/// Against row 1, which is open, and row 2, which has ended.
const CHANGES: [&str; 27] = [
    // What has ended is for ever.
    "update reservation set ended = 'expired' where id = 2",
    "update reservation set ended_at = null, ended_seq = null, ended = null where id = 2",
    "update reservation set expires_lease_us = expires_lease_us + 1 where id = 2",
    "update reservation set reason = reason where id = 2",
    "update RESERVATION set ended_at = 1 where ID = 2",
    // Nothing is shortened.
    "update reservation set expires_lease_us = expires_lease_us - 1 where id = 1",
    "update reservation set expires_lease_us = created_lease_us where id = 1",
    "update reservation set expires_lease_us = null where id = 1",
    // Nothing else changes, alone or beside an end.
    "update reservation set id = 3 where id = 1",
    "update reservation set kind = 'lock' where id = 1",
    "update reservation set project_id = 2 where id = 1",
    "update reservation set agent_id = 2 where id = 1",
    "update reservation set agent_id = null where id = 1",
    "update reservation set pattern = 'b' where id = 1",
    "update reservation set pattern_key = 'b' where id = 1",
    "update reservation set exclusive = 0 where id = 1",
    "update reservation set reason = 'mine' where id = 1",
    "update reservation set fence = fence + 1 where id = 1",
    "update reservation set created_at = created_at + 1 where id = 1",
    "update reservation set created_lease_us = created_lease_us - 1 where id = 1",
    "update reservation set ended_at = 1, ended_seq = 1, ended = 'released', fence = 1 where id = 1",
    // An end is whole, and one of four.
    "update reservation set ended_at = 1 where id = 1",
    "update reservation set ended_at = 1, ended_seq = 1 where id = 1",
    "update reservation set ended_at = 1, ended_seq = 1, ended = 'lost' where id = 1",
    "delete from reservation",
    "delete from reservation where id = 1",
    "delete from reservation where id = 2",
];

/// New rows, with what is wrong with each.
const INSERTS: [(i64, &[(&str, &str)]); 10] = [
    (1, &[]),
    (2, &[]),
    (3, &[("expires_lease_us", "1")]),
    (3, &[("expires_lease_us", "0")]),
    (3, &[("kind", "'dream'")]),
    (3, &[("exclusive", "2")]),
    (3, &[("agent_id", "null")]),
    (3, &[("ended", "'released'")]),
    (3, &[("pattern", "null")]),
    (3, &[("fence", "null")]),
];

const UPSERTS: [(i64, &str); 5] = [
    (1, "set reason = 'mine'"),
    (1, "set expires_lease_us = 0"),
    (
        1,
        "set ended_at = 1, ended_seq = 1, ended = 'released', agent_id = 2",
    ),
    (2, "set reason = 'mine'"),
    (2, "set ended_at = null, ended_seq = null, ended = null"),
];

fn attacks(engine: Engine) -> Vec<String> {
    let mut attacks: Vec<String> = CHANGES.map(ToOwned::to_owned).into();
    attacks.extend(INSERTS.map(|(id, columns)| format!("insert {}", row(id, columns))));
    attacks.extend(UPSERTS.map(|(id, set)| {
        let row = row(id, &[]);
        format!("insert {row} on conflict (id) do update {set}")
    }));
    match engine {
        Engine::Sqlite => {
            for verb in [
                "insert or replace",
                "replace",
                "insert or fail",
                "insert or rollback",
            ] {
                attacks.extend([1, 2].map(|id| format!("{verb} {}", row(id, &[]))));
            }
            attacks.extend(
                [
                    "update or replace reservation set id = 2 where id = 1",
                    "update or rollback reservation set id = 1 where id = 2",
                    "update or ignore reservation set reason = 'mine'",
                    "update reservation set expires_lease_us = 'never' where id = 1",
                ]
                .map(ToOwned::to_owned),
            );
        }
        Engine::Postgres => attacks.extend(
            [
                "truncate reservation",
                "truncate reservation cascade",
                "truncate project cascade",
            ]
            .map(ToOwned::to_owned),
        ),
    }
    attacks
}

both_engines! {
    // F8 F15: an end is for ever, nothing is shortened, nothing else changes
    fn a_lease_cannot_be_changed_behind_the_log(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.project("/srv/other");
        let [blue, _] = ["Blue", "Red"].map(|name| kit.agent("web", name).1);
        for path in ["a", "b"] {
            let command: ReserveFiles = request(&json!({ "paths": [path] }));
            kit.run_as(blue.clone(), command).unwrap();
        }
        let command: Release = request(&json!({ "paths": ["b"] }));
        kit.run_as(blue, command).unwrap();
        kit.stop();
        let before = dump(&kit, engine);
        let settings: &[&str] = match engine {
            Engine::Sqlite => &[
                "pragma foreign_keys = on; pragma recursive_triggers = on;",
                "pragma foreign_keys = on; pragma recursive_triggers = off;",
            ],
            Engine::Postgres => &[""],
        };
        for setting in settings {
            for attack in attacks(engine) {
                let answer = kit.shell(&format!("{setting}{attack}"));
                assert!(answer.is_err(), "{attack}: {answer:?}");
                assert_eq!(dump(&kit, engine), before, "{attack}");
            }
        }
    }

    // E4 F8: a holder and a project that exist
    fn a_lease_has_a_holder_and_a_project(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.agent("web", "Blue");
        kit.stop();
        let on = match engine {
            Engine::Sqlite => "pragma foreign_keys = on;",
            Engine::Postgres => "",
        };
        for (column, value) in [("agent_id", "99"), ("project_id", "99")] {
            let refused = format!("{on}insert {}", row(1, &[(column, value)]));
            assert!(kit.shell(&refused).is_err(), "{refused}");
        }
        assert_eq!(dump(&kit, engine), "");
    }
}

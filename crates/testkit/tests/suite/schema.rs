//! The schema's own defence: what a stranger with a connection cannot do (`ddl`).

use comity_testkit::{Engine, Kit, both_engines};

/// The log and its head, as they are.
fn dump(kit: &Kit, engine: Engine) -> String {
    let sql = match engine {
        Engine::Sqlite => {
            "select seq, at, v, kind, project, actor, subject_type, subject_id, run, correlation,
                hex(payload_sha256), payload, hex(hash) from event order by seq;
             select one, epoch, schema, seq, hex(hash), pruned_to, lease_us, anchor_us, anchor_of from log_head"
        }
        Engine::Postgres => {
            "select e::text from event e order by seq; select h::text from log_head h"
        }
    };
    kit.shell(sql).unwrap()
}

/// An event with this number, copied from the first one.
fn copy_of_first(seq: &str) -> String {
    format!(
        "select {seq}, at, v, kind, project, actor, subject_type, subject_id, run, correlation,
            payload_sha256, payload, hash from event where seq = 1"
    )
}

fn attacks(engine: Engine) -> Vec<String> {
    let mut attacks: Vec<String> = ["1", "4", "6", "0", "-1", "9000", "null"]
        .iter()
        .map(|seq| format!("insert into event {}", copy_of_first(seq)))
        .collect();
    let statements = [
        "update event set payload = '{}'",
        "update event set payload = null where seq = 1",
        "update event set seq = seq + 100",
        "update event set seq = seq where seq = 1",
        "update EVENT set actor = 'nobody' where seq = 3",
        "delete from event",
        "delete from event where seq = 1",
        "delete from event where seq = (select max(seq) from event)",
        "update log_head set seq = seq + 1",
        "update log_head set seq = seq - 1",
        "update log_head set seq = 0",
        "update log_head set one = 2",
        "update log_head set pruned_to = 900",
        "update log_head set pruned_to = -1",
        "update log_head set lease_us = lease_us - 1",
        "update log_head set schema = 0",
        "update log_head set hash = (select hash from event where seq = 1)",
        "update log_head set seq = null",
        "delete from log_head",
        "insert into log_head select * from log_head",
        "insert into log_head select 2, epoch, schema, seq, hash, pruned_to, lease_us, anchor_us, anchor_of from log_head",
    ];
    attacks.extend(statements.map(ToOwned::to_owned));
    match engine {
        Engine::Sqlite => {
            for verb in ["insert or replace", "replace", "insert or fail", "insert or rollback"] {
                attacks.push(format!("{verb} into event {}", copy_of_first("2")));
            }
            attacks.push(format!(
                "insert into event {} on conflict (seq) do update set payload = '{{}}'",
                copy_of_first("2")
            ));
            attacks.extend(
                [
                    "update or replace event set seq = 2 where seq = 1",
                    "update or rollback event set seq = 2 where seq = 1",
                    "update or ignore event set payload = 'x'",
                    "insert or replace into log_head select * from log_head",
                    "replace into log_head select 1, 'x', 1, 0, zeroblob(32), 0, 0, 0, ''",
                    "update or replace log_head set one = 3",
                ]
                .map(ToOwned::to_owned),
            );
        }
        Engine::Postgres => attacks.extend(
            [
                "truncate event",
                "truncate log_head",
                "truncate event cascade",
                "insert into log_head select * from log_head on conflict (one) do update set seq = 0",
            ]
            .map(ToOwned::to_owned),
        ),
    }
    attacks
}

both_engines! {
    // I1 H3 B4
    fn the_log_and_its_head_cannot_be_changed(engine) {
        let mut kit = Kit::new(engine);
        for key in ["/a", "/b", "/c", "/d"] {
            kit.project(key);
        }
        kit.stop();
        let before = dump(&kit, engine);
        let settings: &[&str] = match engine {
            Engine::Sqlite => &["pragma recursive_triggers = on;", "pragma recursive_triggers = off;"],
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

    // E1 E3: one row per name, and a constraint says so too
    fn a_second_row_for_a_name_is_refused(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.agent("web", "Blue");
        kit.stop();
        let copy = |id: i64, name: &str| format!(
            "insert into agent select {id}, project_id, name, {name}, program, model, task, metadata,
                orchestrate, created_at, retired_at, revision from agent where id = 1"
        );
        assert!(kit.shell(&copy(2, "name_folded")).is_err());
        assert!(kit.shell(&copy(2, "null")).is_err());
        assert!(kit.shell("insert into project select 2, key, 'x', name, case_insensitive, guard_mode, guard_away,
            grace_us, leases_per_agent, created_at, revision from project").is_err());
    }

    // E4
    fn references_are_kept_by_the_database(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.agent("web", "Blue");
        kit.stop();
        let on = match engine {
            Engine::Sqlite => "pragma foreign_keys = on;",
            Engine::Postgres => "",
        };
        for refused in [
            "update agent set project_id = 99",
            "delete from project",
            "delete from agent",
            "update token set agent_id = 99",
            "insert into presence values (99, 1, 1, '', '')",
            "insert into agent_capability values (99, 'x')",
        ] {
            assert!(kit.shell(&format!("{on}{refused}")).is_err(), "{refused}");
        }
    }

    fn impossible_values_are_refused(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.agent("web", "Blue");
        kit.stop();
        for refused in [
            "update project set guard_mode = 'maybe'",
            "update project set case_insensitive = 2",
            "update project set grace_us = -1",
            "update agent set orchestrate = 2",
            "update token set role = 'king'",
            "update token set agent_id = null",
            "update project set created_at = 'yesterday'",
        ] {
            assert!(kit.shell(refused).is_err(), "{refused}");
        }
    }
}

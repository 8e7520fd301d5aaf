//! The schema's own defence of dispatches and runs: what a stranger with a connection cannot do
//! (`ddl`).

use comity_testkit::{Kit, both_engines};

use super::*;

/// All rows, as they are.
fn dump(kit: &Kit, engine: Engine) -> String {
    let tables = ["dispatch", "dispatch_edge", "run"];
    let rows = tables.map(|table| {
        let sql = match engine {
            Engine::Sqlite => format!("select * from {table} order by 1, 2"),
            Engine::Postgres => format!("select r::text from {table} r order by 1"),
        };
        kit.shell(&sql).unwrap()
    });
    rows.join("\n--\n")
}

/// The dispatches: 1 queued, 2 spawned, 3 running, 4 to 7 with the four ends.
const OPEN: [i64; 3] = [1, 2, 3];
const SETTLED: [i64; 4] = [4, 5, 6, 7];
const STATES: [&str; 7] = [
    "queued",
    "spawned",
    "running",
    "completed",
    "failed",
    "cancelled",
    "timed_out",
];

/// A new row for a number, with some columns other than usual.
fn row(id: i64, columns: &[(&str, &str)]) -> String {
    let id = id.to_string();
    let usual = [
        ("id", id.as_str()),
        ("project_id", "1"),
        ("agent_kind", "'k'"),
        ("prompt", "'mine'"),
        ("priority", "0"),
        ("state", "'queued'"),
        ("origin_id", id.as_str()),
        ("attempt", "1"),
        ("not_before_lease_us", "0"),
        ("claims", "0"),
        ("tokens", "0"),
        ("progress", "''"),
        ("summary", "''"),
        ("reason", "''"),
        ("created_at", "1"),
        ("settled_at", "null"),
        ("revision", "1"),
    ];
    let values = usual.map(|(name, value)| {
        let other = columns.iter().find(|(column, _)| *column == name);
        other.map_or(value, |(_, value)| value)
    });
    let names = usual.map(|(name, _)| name).join(", ");
    format!("into dispatch ({names}) values ({})", values.join(", "))
}

/// What must not be done to a settled row (H3).
fn on_the_settled() -> Vec<String> {
    let mut attacks = Vec::new();
    for id in SETTLED {
        for state in STATES {
            attacks.push(format!(
                "update dispatch set state = '{state}', revision = revision + 1 where id = {id}"
            ));
        }
        attacks.extend([
            format!("update dispatch set revision = revision + 1 where id = {id}"),
            format!("update dispatch set summary = 'mine' where id = {id}"),
            format!("update dispatch set summary = summary where id = {id}"),
            format!("UPDATE DISPATCH SET STATE = 'queued', SETTLED_AT = null, REVISION = REVISION + 1 WHERE ID = {id}"),
            format!("update dispatch set settled_at = null, state = 'queued', fence = null, claimant_id = null, claim_lease_us = null, revision = revision + 1 where id = {id}"),
            format!("update dispatch set id = 99 where id = {id}"),
        ]);
    }
    attacks
}

/// What must not be done to an open one (H1, H2).
fn on_the_open() -> Vec<String> {
    let mut attacks = Vec::new();
    for id in OPEN {
        attacks.extend([
            // Without the revision nothing moves.
            format!("update dispatch set state = 'cancelled', settled_at = 1 where id = {id}"),
            format!("update dispatch set state = 'cancelled', settled_at = 1, revision = revision + 2 where id = {id}"),
            format!("update dispatch set state = 'cancelled', settled_at = 1, revision = revision - 1 where id = {id}"),
            format!("update dispatch set priority = 9 where id = {id}"),
            format!("update dispatch set state = 'cancelled', revision = revision + 1 where id = {id}"),
            // Words are words, and in lower case.
            format!("update dispatch set state = 'Cancelled', settled_at = 1, revision = revision + 1 where id = {id}"),
            format!("update dispatch set state = 'lost', revision = revision + 1 where id = {id}"),
            format!("update dispatch set state = null, revision = revision + 1 where id = {id}"),
            // What it is stays.
            format!("update dispatch set id = 99, revision = revision + 1 where id = {id}"),
            format!("update dispatch set prompt = 'mine', revision = revision + 1 where id = {id}"),
            format!("update dispatch set project_id = 2, revision = revision + 1 where id = {id}"),
            format!("update dispatch set run_id = 1, revision = revision + 1 where id = {id}"),
            format!("update dispatch set origin_id = 4, revision = revision + 1 where id = {id}"),
            format!("update dispatch set tokens = -1, revision = revision + 1 where id = {id}"),
        ]);
    }
    let illegal = [
        (1, "running"),
        (1, "completed"),
        (1, "failed"),
        (2, "completed"),
        (3, "spawned"),
    ];
    attacks.extend(illegal.map(|(id, state)| {
        let settled = if ["completed", "failed"].contains(&state) { "1" } else { "null" };
        format!("update dispatch set state = '{state}', settled_at = {settled}, fence = 1, claim_lease_us = 1, revision = revision + 1 where id = {id}")
    }));
    // Nobody has a claim without a fence.
    attacks.push("update dispatch set fence = null, claim_lease_us = null, revision = revision + 1 where id = 3".to_owned());
    attacks
}

fn inserts(verbs: &[&str]) -> Vec<String> {
    let mut attacks = Vec::new();
    for verb in verbs {
        attacks.extend((1..=7).map(|id| format!("{verb} {}", row(id, &[]))));
        for state in &STATES[1..] {
            let state = format!("'{state}'");
            attacks.push(format!(
                "{verb} {}",
                row(8, &[("state", &state), ("settled_at", "1")])
            ));
            attacks.push(format!("{verb} {}", row(8, &[("state", &state)])));
        }
        attacks.push(format!("{verb} {}", row(8, &[("revision", "2")])));
        attacks.push(format!("{verb} {}", row(8, &[("state", "'QUEUED'")])));
    }
    attacks
}

/// Attacks on runs: G2, G5.
const ON_RUNS: [&str; 12] = [
    "update run set phase = 'built', position = 1",
    "update run set state = 'paused'",
    "update run set state = 'cancelled', ended_at = 1",
    "update run set phases = '[]', revision = revision + 1",
    "update run set gates = '{\"a->b\":[]}', revision = revision + 1",
    "update run set revision = revision + 2",
    "update run set tokens = -1, revision = revision + 1",
    "update run set state = 'Active', revision = revision + 1",
    "update run set phase = 'done', position = 2, revision = revision + 1",
    "update run set state = 'active', ended_at = null, revision = revision + 1 where id = 2",
    "delete from run",
    "delete from run where id = 2",
];

fn attacks(engine: Engine) -> Vec<String> {
    let mut attacks = [on_the_settled(), on_the_open(), inserts(&["insert"])].concat();
    for id in 1..=7 {
        for set in [
            "prompt = 'mine'",
            "state = 'completed'",
            "revision = dispatch.revision",
        ] {
            attacks.push(format!(
                "insert {} on conflict (id) do update set {set}",
                row(id, &[])
            ));
        }
        attacks.push(format!("delete from dispatch where id = {id}"));
        attacks.push(format!("DELETE FROM Dispatch WHERE Id = {id}"));
    }
    attacks.extend(
        [
            "delete from dispatch",
            "insert into dispatch_edge (from_state, to_state) values ('completed', 'queued')",
            "insert into dispatch_edge (from_state, to_state) values ('queued', 'spawned')",
            "update dispatch_edge set to_state = 'queued' where from_state = 'queued'",
            "update Dispatch_Edge set from_state = 'completed'",
            "delete from dispatch_edge",
            "delete from dispatch_edge where from_state = 'queued'",
        ]
        .map(ToOwned::to_owned),
    );
    attacks.extend(ON_RUNS.map(ToOwned::to_owned));
    match engine {
        Engine::Sqlite => {
            attacks.extend(inserts(&[
                "insert or replace",
                "replace",
                "insert or fail",
                "insert or rollback",
                "insert or abort",
            ]));
            attacks.extend([
                "update or replace dispatch set id = 4 where id = 1",
                "update or replace dispatch set id = 4, revision = revision + 1 where id = 1",
                "update or rollback dispatch set state = 'queued' where id = 4",
                "update or ignore dispatch set summary = 'mine'",
                "replace into dispatch_edge (from_state, to_state) values ('queued', 'spawned')",
                "insert or ignore into dispatch_edge (from_state, to_state) values ('completed', 'queued')",
                "replace into run select * from run",
                "insert or replace into run select * from run where id = 2",
            ].map(ToOwned::to_owned));
        }
        Engine::Postgres => attacks.extend(
            [
                "truncate dispatch",
                "truncate dispatch cascade",
                "truncate dispatch_edge",
                "truncate run cascade",
                "truncate project cascade",
            ]
            .map(ToOwned::to_owned),
        ),
    }
    attacks
}

/// Makes one dispatch in each state, and a run that goes on beside one that was given up.
fn every_state(shop: &Shop) {
    let blue = &shop.team.blue;
    shop.run(1, &json!({}));
    shop.run(2, &json!({}));
    shop.steer("run_cancelled", 2);
    shop.create(&json!({ "agent_kind": "nobody" }));
    shop.claimed(blue, &json!({}));
    let running = shop.claimed(blue, &json!({}));
    shop.step(blue, "start_dispatch", &running, &json!({}))
        .unwrap();
    for outcome in ["completed", "failed"] {
        let claim = shop.claimed(blue, &json!({}));
        shop.finish(blue, &claim, outcome).unwrap();
    }
    let given_up = shop.create(&json!({}));
    let cancel = json!({ "id": given_up.id, "expected_revision": 1 });
    shop.call(&shop.chief, "cancel_dispatch", &cancel).unwrap();
    shop.create(&json!({ "deadline": "1s" }));
    shop.pass(SECOND);
}

both_engines! {
    // H1 H2 H3 X3: no statement on any connection takes a step that is none, or changes an end
    fn a_dispatch_cannot_be_changed_behind_the_log(engine) {
        let mut shop = Shop::new(engine);
        every_state(&shop);
        let kit = &mut shop.team.kit;
        kit.stop();
        let states = kit.shell("select state from dispatch order by id").unwrap();
        assert_eq!(states.lines().collect::<Vec<_>>(), STATES);
        withstands(kit, engine, &attacks(engine), dump);
    }
}

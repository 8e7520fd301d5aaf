//! The schema's own defence of discoveries: what a stranger with a connection cannot do (`ddl`).

use comity_domain::Score;
use comity_testkit::{Kit, both_engines};

use super::*;

/// All rows, as they are.
fn dump(kit: &Kit, engine: Engine) -> String {
    let rows = ["discovery", "discovery_edge"].map(|table| {
        let sql = match engine {
            Engine::Sqlite => format!("select * from {table} order by 1, 2"),
            Engine::Postgres => format!("select r::text from {table} r order by 1"),
        };
        kit.shell(&sql).unwrap()
    });
    rows.join("\n--\n")
}

const STATES: [&str; 4] = ["new", "scored", "promoted", "dismissed"];

/// A new row for a number, with some columns other than usual.
fn row(id: i64, columns: &[(&str, &str)]) -> String {
    let (id, name) = (id.to_string(), format!("'x{id}'"));
    let usual = [
        ("id", id.as_str()),
        ("project_id", "1"),
        ("source", "'feed'"),
        ("source_id", name.as_str()),
        ("title", "'mine'"),
        ("summary", "''"),
        ("score", "null"),
        ("state", "'new'"),
        ("ref", "null"),
        ("reason", "''"),
        ("discovered_at", "1"),
        ("discovered_lease_us", "1"),
        ("settled_at", "null"),
        ("revision", "1"),
    ];
    let values = usual.map(|(name, value)| {
        let other = columns.iter().find(|(column, _)| *column == name);
        other.map_or(value, |(_, value)| value)
    });
    let names = usual.map(|(name, _)| name).join(", ");
    format!("into discovery ({names}) values ({})", values.join(", "))
}

/// What must not be done to a row, settled or not: 1 is new, 2 scored, 3 promoted, 4 dismissed.
fn updates() -> Vec<String> {
    let mut attacks = Vec::new();
    for id in 1..=4 {
        attacks.extend([
            // J4: the tier is nobody's to write.
            format!("update discovery set tier = 'high', revision = revision + 1 where id = {id}"),
            format!("update discovery set title = title where id = {id}"),
            format!("update discovery set revision = revision + 2 where id = {id}"),
            format!("update discovery set id = 99, revision = revision + 1 where id = {id}"),
            format!("update discovery set project_id = 2, revision = revision + 1 where id = {id}"),
            format!("update discovery set source = 'x', revision = revision + 1 where id = {id}"),
            format!("update discovery set source_id = 'x', revision = revision + 1 where id = {id}"),
            format!("update discovery set discovered_at = 0, revision = revision + 1 where id = {id}"),
            format!("update discovery set state = 'Scored', revision = revision + 1 where id = {id}"),
            format!("update discovery set state = null, revision = revision + 1 where id = {id}"),
            format!("update discovery set score = 1.1, state = 'scored', revision = revision + 1 where id = {id}"),
            format!("update discovery set score = -0.1, state = 'scored', revision = revision + 1 where id = {id}"),
            format!("update discovery set state = 'new', revision = revision + 1 where id = {id} and state <> 'new'"),
            format!("delete from discovery where id = {id}"),
            format!("DELETE FROM Discovery WHERE Id = {id}"),
        ].into_iter().filter(|attack| id > 1 || !attack.contains("state <> 'new'")));
    }
    for id in [3, 4] {
        for state in STATES {
            attacks.push(format!("update discovery set state = '{state}', settled_at = null, ref = null, revision = revision + 1 where id = {id}"));
        }
        attacks.extend([
            format!("update discovery set score = 1.0, revision = revision + 1 where id = {id}"),
            format!("update discovery set score = null, revision = revision + 1 where id = {id}"),
            format!("update discovery set ref = 'mine', revision = revision + 1 where id = {id}"),
            format!("update discovery set settled_at = 5, revision = revision + 1 where id = {id}"),
            format!(
                "update discovery set decayed_lease_us = 5, revision = revision + 1 where id = {id}"
            ),
        ]);
    }
    attacks.extend([
        // J9: a score belongs to its state, an end has its time, a promotion its name.
        "update discovery set score = 0.5, revision = revision + 1 where id = 1",
        "update discovery set state = 'scored', revision = revision + 1 where id = 1",
        "update discovery set score = null, revision = revision + 1 where id = 2",
        "update discovery set state = 'promoted', settled_at = 1, revision = revision + 1 where id = 2",
        "update discovery set state = 'promoted', ref = 'r', revision = revision + 1 where id = 2",
        "update discovery set state = 'dismissed', revision = revision + 1 where id = 2",
        "update discovery set state = 'dismissed', settled_at = 1 where id = 2",
        "update discovery set ref = 'r', revision = revision + 1 where id = 2",
        "delete from discovery",
        "insert into discovery_edge (from_state, to_state) values ('dismissed', 'scored')",
        "insert into discovery_edge (from_state, to_state) values ('new', 'scored')",
        "update discovery_edge set to_state = 'new'",
        "update Discovery_Edge set from_state = 'dismissed' where from_state = 'new'",
        "delete from discovery_edge",
    ].map(ToOwned::to_owned));
    attacks
}

fn inserts(verbs: &[&str]) -> Vec<String> {
    let mut attacks = Vec::new();
    for verb in verbs {
        let rows = [
            // J3: neither the number nor what the source calls it comes twice.
            row(1, &[]),
            row(3, &[]),
            row(9, &[("source_id", "'a'")]),
            row(9, &[("source_id", "'c'")]),
            row(9, &[("revision", "2")]),
            row(
                9,
                &[("state", "'promoted'"), ("ref", "'r'"), ("settled_at", "1")],
            ),
            row(9, &[("state", "'dismissed'"), ("settled_at", "1")]),
            row(9, &[("state", "'scored'")]),
            row(9, &[("score", "0.5")]),
            row(9, &[("state", "'scored'"), ("score", "1.0000001")]),
            row(9, &[("state", "'scored'"), ("score", "-0.0000001")]),
            row(9, &[("state", "'lost'")]),
        ];
        attacks.extend(rows.iter().map(|row| format!("{verb} {row}")));
    }
    attacks
}

fn attacks(engine: Engine) -> Vec<String> {
    let mut attacks = [updates(), inserts(&["insert"])].concat();
    for set in [
        "title = 'mine'",
        "state = 'new'",
        "revision = discovery.revision",
    ] {
        attacks.push(format!(
            "insert {} on conflict (id) do update set {set}",
            row(3, &[])
        ));
        let known = row(9, &[("source_id", "'c'")]);
        attacks.push(format!(
            "insert {known} on conflict (project_id, source, source_id) do update set {set}"
        ));
    }
    let more: &[&str] = match engine {
        Engine::Sqlite => {
            attacks.extend(inserts(&[
                "insert or replace",
                "replace",
                "insert or fail",
                "insert or rollback",
            ]));
            &[
                "update or replace discovery set id = 4, revision = revision + 1 where id = 1",
                "update or replace discovery set source_id = 'c', revision = revision + 1 where id = 1",
                "replace into discovery_edge (from_state, to_state) values ('new', 'scored')",
                "insert or ignore into discovery_edge (from_state, to_state) values ('dismissed', 'new')",
                // What is no number is null there.
                "update discovery set score = 9e999 - 9e999, revision = revision + 1 where id = 2",
                "update discovery set score = 9e999, revision = revision + 1 where id = 2",
            ]
        }
        Engine::Postgres => &[
            "update discovery set score = 'NaN', revision = revision + 1 where id = 2",
            "update discovery set score = 'Infinity', revision = revision + 1 where id = 2",
            "truncate discovery",
            "truncate discovery cascade",
            "truncate discovery_edge",
        ],
    };
    attacks.extend(more.iter().map(|&attack| attack.to_owned()));
    attacks
}

both_engines! {
    // J3 J4 J9: no statement on any connection takes a step that is none, or writes another tier
    fn a_discovery_cannot_be_changed_behind_the_log(engine) {
        let mut lab = Lab::new(engine);
        lab.submit("a", &json!({}));
        for (source_id, score) in [("b", 0.5), ("c", 0.9), ("d", 0.1)] {
            lab.scored(source_id, score);
        }
        lab.done("promote_discovery", &json!({ "id": 3, "ref": "r" }));
        lab.done("dismiss_discovery", &json!({ "id": 4 }));
        let kit = &mut lab.team.kit;
        kit.stop();
        let states = kit.shell("select state from discovery order by id").unwrap();
        assert_eq!(states.lines().collect::<Vec<_>>(), STATES);
        withstands(kit, engine, &attacks(engine), dump);
    }

    // J4 F-H3: the database's tier is the code's, to the last bit
    fn the_tier_in_sql_is_the_tier_in_the_code(engine) {
        let lab = Lab::new(engine);
        let mut scores = vec![0.0, 5e-324, 1.0, 1.0_f64.next_down()];
        for bound in [0.8_f64, 0.5, 0.3] {
            scores.extend([bound.next_down(), bound, bound.next_up()]);
        }
        let mut dice = comity_testkit::Dice::new(7);
        scores.extend((0..40).map(|_| f64::from(u32::try_from(dice.below(1_000_001)).unwrap()) / 1e6));
        for (n, score) in scores.iter().enumerate() {
            lab.scored(&n.to_string(), *score);
        }
        let tiers = lab.shell("select tier from discovery order by id");
        let expected: Vec<_> = scores.iter().map(|score| Score::parse(*score).unwrap().tier().as_str()).collect();
        assert_eq!(tiers.lines().collect::<Vec<_>>(), expected);
    }
}

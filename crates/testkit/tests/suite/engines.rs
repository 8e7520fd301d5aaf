//! What both engines must do alike, below any operation.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use comity_domain::ProjectId;
use comity_kernel::log::state_hash::{OFF_LOG, OFF_LOG_SQLITE, PROJECTED};
use comity_kernel::transfer::replay_log;
use comity_kernel::tx::{Read, Snapshot};
use comity_kernel::{Actor, Error, Kernel, Party, Query};
use comity_testkit::kit::{drop_schema, operator_with_key, options_for, register};
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::json;

/// A query that tries to write.
struct Sneaky;

impl Query for Sneaky {
    const NAME: &'static str = "sneaky";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = ();

    fn run(&self, _actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<(), Error> {
        snapshot.each("delete from agent_capability", &[], &mut |_| Ok(()))?;
        Ok(())
    }
}

both_engines! {
    // D11's base, K6: the log of one engine folds into the other, to the same state
    fn a_log_moves_to_the_other_engine(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.project("/srv/日本");
        for name in ["Blue", "Red"] {
            kit.run_as(operator_with_key(name), register("web", name)).unwrap();
        }
        let before = kit.doctor();
        kit.stop();
        let other = match engine {
            Engine::Sqlite => Engine::Postgres,
            Engine::Postgres => Engine::Sqlite,
        };
        let directory = tempfile::tempdir().unwrap();
        let (target, schema) = options_for(other, directory.path());
        // Once more changes nothing: a move that was broken off goes on where it ended.
        for _ in 0..2 {
            let moved = replay_log(kit.options(), &target, |_, _| {}).unwrap();
            assert_eq!((moved.seq, &moved.state_hash), (before.seq, &before.state_hash));
        }
        let moved = Kernel::open(target).unwrap();
        let after = moved.doctor(directory.path()).unwrap();
        assert!(after.ok, "{after:?}");
        assert_eq!((after.state_hash, after.seq), (before.state_hash, before.seq));
        // Counters go on where they were.
        let next = moved.execute(Actor::OPERATOR.into(), register("web", "Green")).wait().unwrap();
        assert_eq!(next.answer.agent.id.get(), 3);
        drop(moved);
        if let Some(schema) = schema {
            drop_schema(&schema);
        }
    }

    // D11's base, A12: however large its messages, a log is read in pieces that memory can hold
    fn a_log_of_large_messages_is_read_in_pieces(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        let letter = json!({ "project": "web", "to": ["operator"], "subject": "s", "body": "x".repeat(250 * 1_024) });
        for _ in 0..40 {
            kit.call(Actor::OPERATOR, "send_message", &letter).unwrap();
        }
        let before = kit.doctor();
        kit.restart();
        kit.stop();
        let directory = tempfile::tempdir().unwrap();
        let (target, _) = options_for(Engine::Sqlite, directory.path());
        let mut ends = Vec::new();
        let moved = replay_log(kit.options(), &target, |at, _| ends.push(at.get())).unwrap();
        assert_eq!((moved.seq, &moved.state_hash), (before.seq, &before.state_hash));
        assert!(ends.len() > 1 && ends.is_sorted(), "{ends:?}");
    }

    // A1
    fn a_reader_cannot_write(engine) {
        let kit = Kit::new(engine);
        assert!(kit.ask(Sneaky).is_err());
        kit.project("/srv/web");
    }

    // A4: a broken table is ten `internal` answers with numbers of their own, and nothing else
    fn an_unexpected_answer_of_the_database_is_internal(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.shell("alter table agent rename to agent_gone").unwrap();
        let mut numbers = BTreeSet::new();
        for _ in 0..10 {
            let refused = kit.run(register("web", "Blue")).unwrap_err().to_json();
            assert_eq!(refused["error"], "internal", "{refused}");
            numbers.insert(refused["id"].as_str().unwrap().to_owned());
        }
        assert_eq!(numbers.len(), 10);
        kit.project("/srv/api");
        kit.shell("alter table agent_gone rename to agent").unwrap();
        kit.run(register("web", "Blue")).unwrap();
    }

    // C1: every table is a projection, or named as off the log
    fn every_table_is_accounted_for(engine) {
        let kit = Kit::new(engine);
        let sql = match engine {
            Engine::Sqlite => "select name from sqlite_schema where type = 'table' order by name",
            Engine::Postgres => "select table_name from information_schema.tables where table_schema = current_schema() order by 1",
        };
        let tables = kit.shell(sql).unwrap();
        let tables: Vec<_> = tables.lines().collect();
        let mut known: Vec<_> = PROJECTED.iter().map(|(name, _)| *name).chain(OFF_LOG).collect();
        if engine == Engine::Sqlite {
            known.extend(OFF_LOG_SQLITE);
        }
        known.sort_unstable();
        assert_eq!(tables, known);
        assert!(PROJECTED.is_sorted());
    }

    // C1: the hash covers every column of every projected table
    fn the_state_hash_sees_every_column(engine) {
        let kit = Kit::new(engine);
        let columns = match engine {
            Engine::Sqlite => "select s.name || '.' || c.name from sqlite_schema s, pragma_table_info(s.name) c where s.type = 'table'",
            Engine::Postgres => "select table_name || '.' || column_name from information_schema.columns where table_schema = current_schema()",
        };
        for column in kit.shell(columns).unwrap().lines() {
            let (table, column) = column.split_once('.').unwrap();
            if let Some((_, sql)) = PROJECTED.iter().find(|(name, _)| *name == table) {
                let words = sql.split(|c: char| !c.is_alphanumeric() && c != '_');
                assert!(words.into_iter().any(|word| word == column), "{table}.{column}");
            }
        }
    }

    // B1 C2: a lost answer is found under its key, the effect is there once
    fn an_answer_nobody_waited_for_is_kept(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        drop(kit.kernel().execute(operator_with_key("k"), register("web", "Blue")));
        let again = kit.run_as(operator_with_key("k"), register("web", "Blue")).unwrap();
        assert!(again.replayed);
        assert_eq!(again.answer.agent.project_id, ProjectId::new(1));
    }
}

// L1: PostgreSQL alone, a file has no round trips
#[test]
fn a_command_waits_for_at_most_two_writing_round_trips() {
    let kit = Kit::new(Engine::Postgres);
    kit.project("/srv/web");
    kit.run_as(operator_with_key("warm"), register("web", "Warm"))
        .unwrap();
    let waits = || {
        kit.kernel()
            .round_trips()
            .unwrap()
            .writing
            .load(Ordering::SeqCst)
    };
    let before = waits();
    for n in 0..10 {
        let key = format!("k{n}");
        kit.run_as(operator_with_key(&key), register("web", &key))
            .unwrap();
    }
    assert!(waits() - before <= 20, "{}", waits() - before);
}

//! Migrations: wholly old or wholly new, after a verified backup, never back.

use comity_kernel::log::Event;
use comity_kernel::options::Database;
use comity_kernel::store::{MIGRATIONS, Migration};
use comity_kernel::{Error, Kernel};
use comity_testkit::kit::register;
use comity_testkit::{Engine, Kit, both_engines, golden};

/// The number of today's schema.
fn latest() -> i64 {
    MIGRATIONS.last().unwrap().number
}

/// Today's schema and a step behind it, as a later version would add it.
fn followed_by(sql: &'static str) -> &'static [Migration] {
    let next = Migration {
        number: latest() + 1,
        sqlite: sql,
        postgres: sql,
    };
    // Options hold migrations for the life of the process.
    [MIGRATIONS, &[next]].concat().leak()
}

fn next() -> &'static [Migration] {
    followed_by("alter table project add column colour text not null default 'grey';")
}

fn broken() -> &'static [Migration] {
    followed_by("alter table project add column colour text; insert into nowhere values (1);")
}

both_engines! {
    // K1
    fn an_upgrade_keeps_everything(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.run(register("web", "Blue")).unwrap();
        let before = kit.doctor().state_hash;
        kit.reopen(|options| options.migrations = next()).unwrap();
        assert_eq!(kit.doctor().state_hash, before);
        assert_eq!(kit.shell("select schema from log_head").unwrap(), (latest() + 1).to_string());
        assert_eq!(kit.shell("select colour from project").unwrap(), "grey");
        kit.run(register("web", "Red")).unwrap();
    }

    // K2, fault 18: a newer schema is refused without a write
    fn a_newer_database_is_refused(engine) {
        let mut kit = Kit::with(engine, |options| options.migrations = next());
        kit.project("/srv/web");
        kit.stop();
        let dump = || kit.shell("select schema, seq, lease_us, anchor_us from log_head").unwrap();
        let before = dump();
        let mut older = kit.options().clone();
        older.migrations = MIGRATIONS;
        let refused = Kernel::open(older).map(drop).unwrap_err();
        assert!(matches!(refused, Error::DatabaseNewer { found, known } if found == known + 1), "{refused:?}");
        assert_eq!((refused.code().exit, dump()), (5, before));
    }

    // K1: killed or failed half-way it is wholly old
    fn a_failed_upgrade_leaves_the_old_schema(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        let refused = kit.reopen(|options| options.migrations = broken());
        assert!(refused.is_err());
        assert!(kit.shell("select colour from project").is_err());
        kit.reopen(|options| options.migrations = MIGRATIONS).unwrap();
        kit.project("/srv/api");
    }

    // L11 K2
    fn a_kernel_whose_database_was_migrated_under_it_stops_writing(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        let mut newer = kit.options().clone();
        newer.migrations = next();
        let other = Kernel::open(newer).unwrap();
        let refused = kit.run(register("web", "Blue")).unwrap_err();
        assert!(matches!(refused, Error::DatabaseNewer { .. }), "{refused:?}");
        assert!(kit.kernel().gave_up().borrow().is_some());
        let after = kit.run(register("web", "Red")).unwrap_err();
        assert!(matches!(after, Error::Busy { .. }), "{after:?}");
        assert_eq!(kit.shell("select count(*) from agent").unwrap(), "0");
        drop(other);
        kit.reopen(|options| options.migrations = next()).unwrap();
    }

    // L11: another database in the place of the one that was opened
    fn a_kernel_whose_database_was_replaced_stops_writing(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.shell("update log_head set epoch = 'another'").unwrap();
        let refused = kit.run(register("web", "Blue")).unwrap_err();
        assert!(refused.to_string().contains("replaced"), "{refused}");
        assert!(kit.kernel().gave_up().borrow().is_some());
    }

    // K6: a released log replayed, and its tables migrated, come to the same state
    fn the_golden_logs_fold_to_their_migrated_tables(engine) {
        for golden in golden::all() {
            let mut migrated = Kit::with(engine, |options| options.migrations = &MIGRATIONS[..golden.schema]);
            migrated.stop();
            migrated.fill(&golden.rows_as_sql(engine)).unwrap();
            migrated.reopen(|options| options.migrations = MIGRATIONS).unwrap();
            let replayed = Kit::from_log(engine, &golden.log());
            assert_eq!(replayed.doctor().state_hash, migrated.doctor().state_hash, "{}", golden.version);
        }
    }
}

// K6: what can happen has happened in the newest golden log
#[test]
fn the_newest_golden_log_knows_every_event() {
    let newest = golden::all().pop().unwrap().log();
    for kind in Event::KINDS {
        assert!(newest.iter().any(|event| event.kind == *kind), "{kind}");
    }
    assert!(newest.iter().any(|event| event.kind.starts_with("custom.")));
}

// K1 K3, fault 18; SQLite alone: a server's administrator backs PostgreSQL up
#[test]
fn an_upgrade_is_preceded_by_a_backup_that_works() {
    let mut kit = Kit::new(Engine::Sqlite);
    kit.project("/srv/web");
    let before = kit.doctor().state_hash;
    kit.reopen(|options| options.migrations = next()).unwrap();
    kit.project("/srv/api");
    let backup = kit
        .directory()
        .join(format!("before-schema-{}.db", latest() + 1));
    assert!(backup.exists());
    // Going back: the backup in the database's place, the old program, the same state.
    let mut old = Kit::new(Engine::Sqlite);
    old.stop();
    let Database::Sqlite(file) = &old.options().database else {
        panic!("a file")
    };
    let path = file.path.clone();
    for leftover in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{leftover}", path.display()));
    }
    std::fs::copy(&backup, &path).unwrap();
    old.restart();
    assert_eq!(old.doctor().state_hash, before);
}

//! Migrations: wholly old or wholly new, after a verified backup, never back.

use comity_kernel::options::Database;
use comity_kernel::store::{MIGRATIONS, Migration};
use comity_kernel::transfer::replay_events;
use comity_kernel::{Error, Kernel};
use comity_testkit::kit::{options_for, register};
use comity_testkit::{Engine, Kit, both_engines, golden};

/// The next schema, as a later version would add it.
static NEXT: &[Migration] = &[
    MIGRATIONS[0],
    Migration {
        number: 2,
        sqlite: "alter table project add column colour text not null default 'grey';",
        postgres: "alter table project add column colour text not null default 'grey';",
    },
];

/// A next schema that breaks in the middle.
static BROKEN: &[Migration] = &[
    MIGRATIONS[0],
    Migration {
        number: 2,
        sqlite: "alter table project add column colour text; insert into nowhere values (1);",
        postgres: "alter table project add column colour text; insert into nowhere values (1);",
    },
];

both_engines! {
    // K1
    fn an_upgrade_keeps_everything(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.run(register("web", "Blue")).unwrap();
        let before = kit.doctor().state_hash;
        kit.reopen(|options| options.migrations = NEXT).unwrap();
        assert_eq!(kit.doctor().state_hash, before);
        assert_eq!(kit.shell("select schema from log_head").unwrap(), "2");
        assert_eq!(kit.shell("select colour from project").unwrap(), "grey");
        kit.run(register("web", "Red")).unwrap();
    }

    // K2: a newer schema is refused without a write
    fn a_newer_database_is_refused(engine) {
        let mut kit = Kit::with(engine, |options| options.migrations = NEXT);
        kit.project("/srv/web");
        kit.stop();
        let dump = || kit.shell("select schema, seq, lease_us, anchor_us from log_head").unwrap();
        let before = dump();
        let mut older = kit.options().clone();
        older.migrations = MIGRATIONS;
        let refused = Kernel::open(older).map(drop).unwrap_err();
        assert!(matches!(refused, Error::DatabaseNewer { found: 2, known: 1 }), "{refused:?}");
        assert_eq!((refused.code().exit, dump()), (5, before));
    }

    // K1: killed or failed half-way it is wholly old
    fn a_failed_upgrade_leaves_the_old_schema(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        let refused = kit.reopen(|options| options.migrations = BROKEN);
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
        newer.migrations = NEXT;
        let other = Kernel::open(newer).unwrap();
        let refused = kit.run(register("web", "Blue")).unwrap_err();
        assert!(matches!(refused, Error::DatabaseNewer { .. }), "{refused:?}");
        assert!(kit.kernel().gave_up().borrow().is_some());
        let after = kit.run(register("web", "Red")).unwrap_err();
        assert!(matches!(after, Error::Busy { .. }), "{after:?}");
        assert_eq!(kit.shell("select count(*) from agent").unwrap(), "0");
        drop(other);
        kit.reopen(|options| options.migrations = NEXT).unwrap();
    }

    // K6: every released log, replayed through today's projections, gives the same state
    fn the_golden_logs_fold_to_their_state(engine) {
        for log in golden::all() {
            let directory = tempfile::tempdir().unwrap();
            let (options, schema) = options_for(engine, directory.path());
            replay_events(&log.events, &options).unwrap();
            let kernel = Kernel::open(options).unwrap();
            let findings = kernel.doctor(directory.path()).unwrap();
            assert!(findings.ok, "{findings:?}");
            assert_eq!(findings.state_hash, log.state_hash, "{}", log.version);
            drop(kernel);
            if let Some(schema) = schema {
                comity_testkit::kit::drop_schema(&schema);
            }
        }
    }
}

// K1 K3, SQLite alone: a server's administrator backs PostgreSQL up
#[test]
fn an_upgrade_is_preceded_by_a_backup_that_works() {
    let mut kit = Kit::new(Engine::Sqlite);
    kit.project("/srv/web");
    let before = kit.doctor().state_hash;
    kit.reopen(|options| options.migrations = NEXT).unwrap();
    kit.project("/srv/api");
    let backup = kit.directory().join("before-schema-2.db");
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

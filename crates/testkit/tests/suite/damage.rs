//! Damage is noticed, and never repaired in silence (A11 to A13).

use std::path::{Path, PathBuf};

use comity_domain::limits::CHAIN_LINKS_TO_ASK;
use comity_kernel::options::{Database, Sharing};
use comity_kernel::project::ListProjects;
use comity_kernel::{Error, Kernel, Options};
use comity_testkit::kit::register;
use comity_testkit::{Engine, Kit, SeededEntropy, both_engines};

fn filled(engine: Engine) -> Kit {
    let mut kit = Kit::new(engine);
    kit.project("/srv/web");
    for name in ["Blue", "Red", "Green"] {
        kit.run(register("web", name)).unwrap();
    }
    kit.expect_damage();
    kit
}

fn without_triggers(engine: Engine, table: &str, change: &str) -> String {
    match engine {
        Engine::Sqlite => format!("drop trigger {table}_update; {change}"),
        Engine::Postgres => format!("alter table {table} disable trigger all; {change}"),
    }
}

both_engines! {
    // A13: any changed value of a projected table is found
    fn a_changed_value_is_found(engine) {
        for change in [
            "update agent set task = 'other' where id = 2",
            "update agent set revision = 2 where id = 2",
            "update agent set created_at = created_at + 1 where id = 2",
            "update project set slug = 'wbe'",
            "update token set revoked_at = 1 where id = 1",
            "delete from token where id = 3",
        ] {
            let kit = filled(engine);
            kit.shell(change).unwrap();
            let findings = kit.doctor();
            assert!(!findings.ok, "{change}");
            let fold = findings.checks.iter().find(|check| check.name == "fold").unwrap();
            assert!(!fold.ok && fold.detail.contains("log folds to"), "{change}: {fold:?}");
        }
    }

    // A13 I1: any changed value of the log is found, by doctor and at the next start (A12)
    fn a_changed_event_is_found(engine) {
        for change in [
            "update event set payload = '{}' where seq = 3",
            "update event set actor = 'agent:9' where seq = 3",
            "update event set at = at + 1 where seq = 3",
            "update event set correlation = 'x' where seq = 3",
            "update event set subject_id = 9 where seq = 3",
            "update event set hash = (select hash from event where seq = 2) where seq = 3",
        ] {
            let mut kit = filled(engine);
            kit.shell(&without_triggers(engine, "event", change)).unwrap();
            let chain = kit.doctor().checks.into_iter().find(|check| check.name == "chain").unwrap();
            assert!(!chain.ok, "{change}");
            let refused = kit.reopen(|_| {}).unwrap_err();
            assert!(matches!(refused, Error::Damaged { .. }), "{change}: {refused:?}");
            assert_eq!(refused.code().exit, 8);
        }
    }

    // A14's part without an archive: a head that is not the log's end is refused
    fn a_cut_log_is_refused(engine) {
        let mut kit = filled(engine);
        kit.stop();
        let cut = "delete from event where seq = (select max(seq) from event)";
        let sql = match engine {
            Engine::Sqlite => format!("drop trigger event_delete; {cut}"),
            Engine::Postgres => format!("alter table event disable trigger all; {cut}"),
        };
        kit.shell(&sql).unwrap();
        let refused = kit.reopen(|_| {}).unwrap_err();
        assert!(matches!(refused, Error::Damaged { .. }), "{refused:?}");
    }
}

// A12: a command without a server follows some links to ask, and all that a start follows before it
// writes
#[test]
fn a_broken_link_is_noticed_before_anything_is_written() {
    let mut kit = Kit::new(Engine::Sqlite);
    kit.project("/srv/web");
    for nth in 0..=CHAIN_LINKS_TO_ASK {
        kit.run(register("web", &format!("Blue{nth}"))).unwrap();
    }
    kit.expect_damage();
    kit.stop();
    let change = "update event set actor = 'agent:9' where seq = 2";
    kit.shell(&without_triggers(Engine::Sqlite, "event", change))
        .unwrap();
    kit.reopen(|options| options.sharing = Sharing::Shared)
        .unwrap();
    assert_eq!(
        kit.ask(ListProjects::default()).unwrap().answer.items.len(),
        1
    );
    let refused = kit.run(register("web", "Red")).unwrap_err();
    assert!(matches!(refused, Error::Damaged { .. }), "{refused:?}");
    assert!(
        refused.to_string().contains("breaks at event 2"),
        "{refused}"
    );
    assert_eq!(refused.code().exit, 8);
    let written = kit.shell("select count(*) from agent where name = 'Red'");
    assert_eq!(written.unwrap().trim(), "0");
    let last = "update event set actor = 'agent:9' where seq = (select max(seq) - 1 from event)";
    kit.shell(last).unwrap();
    let refused = kit.reopen(|_| {}).unwrap_err();
    assert_eq!(refused.code().exit, 8, "{refused:?}");
}

// L11 S21: a connection that is opened late does not make a database, and does not write another one
#[test]
fn a_database_that_was_taken_away_is_not_written() {
    let mut kit = filled(Engine::Sqlite);
    kit.stop();
    let path = file_of(kit.options());
    let old = path.with_extension("old");
    std::fs::copy(&path, &old).unwrap();
    kit.reopen(|options| options.sharing = Sharing::Shared)
        .unwrap();
    kit.run(register("web", "Pink")).unwrap();
    kit.reopen(|_| {}).unwrap();
    std::fs::rename(&path, path.with_extension("away")).unwrap();
    for beside in ["comity.db-wal", "comity.db-shm"] {
        let _ = std::fs::remove_file(path.with_file_name(beside));
    }
    let refused = kit.run(register("web", "Red2")).unwrap_err();
    assert!(matches!(refused, Error::Busy { .. }), "{refused:?}");
    assert!(!path.exists());
    std::fs::rename(&old, &path).unwrap();
    let refused = kit.run(register("web", "Red2")).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("another database took its place"),
        "{refused:?}"
    );
    let written = kit.shell("select count(*) from agent where name = 'Red2'");
    assert_eq!(written.unwrap().trim(), "0");
}

// What follows looks at the bytes of a file, which only SQLite has.

fn file_of(options: &Options) -> PathBuf {
    match &options.database {
        Database::Sqlite(file) => file.path.clone(),
        Database::Postgres(_) => panic!("a file"),
    }
}

fn open_copy(options: &Options, path: &Path) -> Result<Kernel, Error> {
    let mut copy = Options::sqlite(path);
    copy.ambient = options.ambient.clone();
    copy.readers = 1;
    Kernel::open(copy)
}

// A12, fault 4: start refused, bytes untouched
#[test]
fn a_damaged_header_is_refused_and_left_alone() {
    let mut kit = filled(Engine::Sqlite);
    kit.stop();
    let path = file_of(kit.options());
    let sound = std::fs::read(&path).unwrap();
    for (offset, byte) in [(0, b'X'), (16, 0x55), (68, 0), (100, 0xff)] {
        let mut damaged = sound.clone();
        damaged[offset] = byte;
        std::fs::write(&path, &damaged).unwrap();
        let refused = kit.reopen(|_| {}).unwrap_err();
        assert!(refused.code().exit == 8, "{offset}: {refused:?}");
        assert_eq!(std::fs::read(&path).unwrap(), damaged, "{offset}");
    }
}

// A12: what the quick look at start cannot see, the check beside the requests does
#[test]
fn damage_found_while_serving_stops_all_writing() {
    let kit = filled(Engine::Sqlite);
    let sound = kit
        .kernel()
        .backup(&kit.directory().join("sound.db"))
        .unwrap();
    let bytes = std::fs::read(&sound).unwrap();
    let mut found = 0;
    for page in bytes
        .chunks(4_096)
        .enumerate()
        .skip(1)
        .map(|(page, _)| page)
    {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("comity.db");
        let mut copy = bytes.clone();
        // The page says that it holds more than fits.
        copy[page * 4_096 + 3..page * 4_096 + 5].copy_from_slice(&[0x7f, 0xff]);
        std::fs::write(&path, &copy).unwrap();
        let Ok(kernel) = open_copy(kit.options(), &path) else {
            continue;
        };
        kernel.check_in_background();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let mut gave_up = kernel.gave_up();
        let noticed = runtime.block_on(async {
            let noticed = gave_up.wait_for(Option::is_some);
            let noticed = tokio::time::timeout(std::time::Duration::from_secs(10), noticed).await;
            noticed.unwrap().unwrap().clone()
        });
        assert!(
            matches!(noticed, Some(Error::Damaged { .. })),
            "{noticed:?}"
        );
        found += 1;
    }
    assert!(found > 0, "every page was needed at start");
}

// A12: somebody else's database is refused and left alone
#[test]
fn a_foreign_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("comity.db");
    let made = std::process::Command::new("sqlite3")
        .arg(&path)
        .arg("create table theirs (x)")
        .status();
    assert!(made.unwrap().success());
    let refused = Kernel::open(Options::sqlite(&path)).map(drop).unwrap_err();
    assert!(
        refused.to_string().contains("not one of Comity's"),
        "{refused}"
    );
}

// A13, fault 4: a byte flipped anywhere in the file is noticed, or nothing is lost
#[test]
fn a_flipped_byte_is_noticed_or_harmless() {
    let kit = filled(Engine::Sqlite);
    let sound = kit
        .kernel()
        .backup(&kit.directory().join("sound.db"))
        .unwrap();
    let state = kit.doctor().state_hash;
    let bytes = std::fs::read(&sound).unwrap();
    let flips: u64 = std::env::var("COMITY_FLIPS").map_or(60, |count| count.parse().unwrap());
    let random = SeededEntropy::new(7);
    let mut noticed = 0;
    for flip in 0..flips {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("comity.db");
        let mut copy = bytes.clone();
        let at = usize::try_from(random.below(copy.len() as u64)).unwrap();
        copy[at] ^= 1 << random.below(8);
        std::fs::write(&path, &copy).unwrap();
        let looked =
            open_copy(kit.options(), &path).and_then(|kernel| kernel.doctor(directory.path()));
        match looked {
            Ok(findings) if findings.ok => {
                assert_eq!(findings.state_hash, state, "flip {flip} at {at}");
            }
            _ => noticed += 1,
        }
    }
    println!("damage: {flips} flips, {noticed} noticed, the others harmless");
    assert!(noticed > 0);
}

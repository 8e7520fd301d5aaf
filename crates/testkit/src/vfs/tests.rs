use std::collections::BTreeSet;
use std::ffi::c_int;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Error, OpenFlags, ffi};

use super::*;

/// A folder of its own for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("comity-vfs-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn database(&self) -> PathBuf {
        self.0.join("test.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(path: &Path, vfs: &str, synchronous: &str) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs)?;
    conn.pragma_update(None, "journal_mode", "wal")?;
    conn.pragma_update(None, "synchronous", synchronous)?;
    Ok(conn)
}

/// Makes the database of the tests, in which row `n` holds a body of its own
/// that takes more than one page.
fn create(path: &Path) {
    let conn = open(path, "unix", "full").unwrap();
    conn.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY, body TEXT NOT NULL)")
        .unwrap();
}

fn body(n: i64) -> String {
    format!("row {n};").repeat(900)
}

fn insert(conn: &Connection, n: i64) -> rusqlite::Result<()> {
    conn.execute("INSERT INTO t VALUES (?1, ?2)", (n, body(n)))
        .map(drop)
}

/// The rows of a sound database, or none if it is not sound.
fn rows(conn: &Connection) -> Option<Vec<i64>> {
    let check = conn.query_row("PRAGMA integrity_check", (), |row| row.get::<_, String>(0));
    if check.ok()? != "ok" {
        return None;
    }
    let mut query = conn.prepare("SELECT n, body FROM t ORDER BY n").ok()?;
    let rows = query
        .query_map((), |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))
        .ok()?;
    rows.map(|row| {
        row.ok()
            .filter(|(n, text)| *text == body(*n))
            .map(|(n, _)| n)
    })
    .collect()
}

fn code(error: &Error) -> c_int {
    match error {
        Error::SqliteFailure(error, _) => error.extended_code,
        other => panic!("not an error of SQLite: {other}"),
    }
}

#[test]
fn passes_a_wal_database_with_two_connections_through() {
    let folder = Folder::new();
    let vfs = FaultVfs::new();
    let writer = open(&folder.database(), vfs.name(), "full").unwrap();
    writer
        .execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY, body TEXT NOT NULL)")
        .unwrap();
    let reader = open(&folder.database(), vfs.name(), "full").unwrap();
    insert(&writer, 1).unwrap();

    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(rows(&reader).unwrap(), [1]);
    insert(&writer, 2).unwrap();
    assert_eq!(rows(&reader).unwrap(), [1], "a reader keeps its snapshot");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(rows(&reader).unwrap(), [1, 2]);

    let mode: String = reader
        .query_row("PRAGMA journal_mode", (), |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
    assert!(folder.0.join("test.db-wal").exists());
    assert!(vfs.calls() > 0);
    assert_eq!(vfs.fired(), 0);
    drop((writer, reader));
    assert!(!folder.0.join("test.db-wal").exists());
    assert_eq!(
        rows(&open(&folder.database(), "unix", "full").unwrap()).unwrap(),
        [1, 2]
    );
}

#[test]
fn two_vfss_have_nothing_in_common() {
    let folder = Folder::new();
    create(&folder.database());
    let (broken, sound) = (FaultVfs::new(), FaultVfs::new());
    let failing = open(&folder.database(), broken.name(), "full").unwrap();
    let working = open(&folder.database(), sound.name(), "full").unwrap();
    broken.fail_at(1, Fault::Eio, Lasting::Persistent);
    insert(&working, 1).unwrap();
    assert!(insert(&failing, 2).is_err());
    insert(&working, 3).unwrap();
    assert_eq!(sound.fired(), 0);
    broken.clear();
    insert(&failing, 4).unwrap();
    assert_eq!(rows(&working).unwrap(), [1, 3, 4]);
}

/// Opens, writes three rows in one transaction and checkpoints; says whether
/// the transaction was acknowledged, and what the first error was.
fn work(path: &Path, vfs: &FaultVfs) -> (bool, Option<c_int>) {
    let conn = match open(path, vfs.name(), "full") {
        Ok(conn) => conn,
        Err(error) => return (false, Some(code(&error))),
    };
    let transaction = || {
        conn.execute_batch("BEGIN IMMEDIATE")?;
        (1..=3).try_for_each(|n| insert(&conn, n))?;
        conn.execute_batch("COMMIT")
    };
    if let Err(error) = transaction() {
        return (false, Some(code(&error)));
    }
    let checkpoint = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()));
    (true, checkpoint.err().map(|error| code(&error)))
}

/// Fails the first call, the second, and so on until none is left to fail,
/// and returns the error codes that were seen.
fn fail_every_call(fault: Fault, lasting: Lasting) -> BTreeSet<c_int> {
    let mut codes = BTreeSet::new();
    for n in 1.. {
        assert!(n < 500, "the work never ends");
        let folder = Folder::new();
        create(&folder.database());
        let vfs = FaultVfs::new();
        vfs.fail_at(n, fault, lasting);
        let (acknowledged, error) = work(&folder.database(), &vfs);
        let (fired, calls) = (vfs.fired(), vfs.calls());
        vfs.clear();

        let conn = open(&folder.database(), vfs.name(), "full").unwrap();
        let kept = rows(&conn).unwrap();
        assert!(
            kept.is_empty() || kept == [1, 2, 3],
            "{fault:?} at {n} left {kept:?}"
        );
        assert!(
            !acknowledged || !kept.is_empty(),
            "{fault:?} at {n} lost a commit"
        );
        if fired == 0 {
            assert_eq!((acknowledged, error, calls + 1), (true, None, n));
            assert!(n > 1, "{fault:?} never struck");
            break;
        }
        let expected = match lasting {
            Lasting::Once => 1,
            Lasting::Persistent => calls - n + 1,
        };
        assert_eq!(fired, expected);
        codes.extend(error);
    }
    codes
}

const BOTH: [Lasting; 2] = [Lasting::Once, Lasting::Persistent];

#[test]
fn an_io_error_has_the_code_of_its_call() {
    for lasting in BOTH {
        let codes = fail_every_call(Fault::Eio, lasting);
        let expected = [
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_TRUNCATE,
            ffi::SQLITE_IOERR_SHMMAP,
        ];
        assert_eq!(codes, BTreeSet::from(expected), "{lasting:?}");
    }
}

#[test]
fn a_full_disk_is_reported_as_full() {
    for lasting in BOTH {
        let codes = fail_every_call(Fault::Enospc, lasting);
        let expected = [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE];
        assert_eq!(codes, BTreeSet::from(expected), "{lasting:?}");
    }
}

#[test]
fn a_short_write_is_a_failed_write() {
    for lasting in BOTH {
        let codes = fail_every_call(Fault::ShortWrite, lasting);
        assert_eq!(
            codes,
            BTreeSet::from([ffi::SQLITE_IOERR_WRITE]),
            "{lasting:?}"
        );
    }
}

#[test]
fn a_failed_sync_is_reported_as_such() {
    for lasting in BOTH {
        let codes = fail_every_call(Fault::FailedSync, lasting);
        assert_eq!(
            codes,
            BTreeSet::from([ffi::SQLITE_IOERR_FSYNC]),
            "{lasting:?}"
        );
    }
}

#[test]
fn a_deletion_can_fail() {
    let folder = Folder::new();
    create(&folder.database());
    let vfs = FaultVfs::new();
    let conn =
        Connection::open_with_flags_and_vfs(folder.database(), OpenFlags::default(), vfs.name())
            .unwrap();
    let mode = |to: &str| conn.pragma_update(None, "journal_mode", to);
    mode("delete").unwrap();
    vfs.fail_at(u64::MAX, Fault::Eio, Lasting::Once);
    insert(&conn, 1).unwrap();
    // The deletion of the journal is what commits, and the last call of all.
    vfs.fail_at(vfs.calls(), Fault::Eio, Lasting::Once);
    assert_eq!(
        code(&insert(&conn, 2).unwrap_err()),
        ffi::SQLITE_IOERR_DELETE
    );
    assert_eq!(rows(&conn).unwrap(), [1]);
}

/// What a power cut left of the rows that were acknowledged before it.
enum Left {
    All,
    Fewer,
    Broken,
}

/// Writes rows, some of them checkpointed, cuts the power in the middle of a
/// transaction, and opens the database anew.
fn write_and_cut(synchronous: &str, seed: u32) -> Left {
    let folder = Folder::new();
    create(&folder.database());
    let vfs = FaultVfs::new();
    vfs.record_for_power_cut();
    let reader = open(&folder.database(), vfs.name(), synchronous).unwrap();
    let writer = open(&folder.database(), vfs.name(), synchronous).unwrap();
    writer
        .pragma_update(None, "wal_autocheckpoint", seed % 12)
        .unwrap();
    for n in 1..=8 {
        insert(&writer, n).unwrap();
    }
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(rows(&reader).unwrap().len(), 8);
    // With next to no cache, the rows are in the WAL before they are committed.
    writer.pragma_update(None, "cache_size", 1).unwrap();
    writer.execute_batch("BEGIN").unwrap();
    (100..105).for_each(|n| insert(&writer, n).unwrap());
    vfs.power_cut(seed.into()).unwrap();
    assert_eq!(
        code(&writer.execute_batch("COMMIT").unwrap_err()) & 0xff,
        ffi::SQLITE_IOERR
    );

    let conn = open(&folder.database(), "unix", synchronous);
    // Those of before the cut must not disturb the new connection.
    drop((writer, reader));
    let Ok(conn) = conn else {
        return Left::Broken;
    };
    let Some(kept) = rows(&conn).filter(|kept| (1..).take(kept.len()).eq(kept.iter().copied()))
    else {
        return Left::Broken;
    };
    insert(&conn, 200).unwrap();
    drop(conn);
    let conn = open(&folder.database(), FaultVfs::new().name(), synchronous).unwrap();
    assert_eq!(rows(&conn).unwrap().len(), kept.len() + 1);
    if kept.len() == 8 {
        Left::All
    } else {
        Left::Fewer
    }
}

#[test]
fn a_power_cut_loses_no_commit_with_full_sync() {
    for seed in 0..50 {
        assert!(
            matches!(write_and_cut("full", seed), Left::All),
            "seed {seed}"
        );
    }
}

#[test]
fn a_power_cut_does_lose_commits_with_less_than_full_sync() {
    let count = |synchronous| {
        (0..50).fold((0, 0), |(fewer, broken), seed| {
            match write_and_cut(synchronous, seed) {
                Left::All => (fewer, broken),
                Left::Fewer => (fewer + 1, broken),
                Left::Broken => (fewer, broken + 1),
            }
        })
    };
    let (fewer, broken) = count("normal");
    assert!(fewer > 5, "normal: only {fewer} of 50 cuts lost a commit");
    assert_eq!(broken, 0, "normal sync never breaks the database");
    let (_, broken) = count("off");
    assert!(
        broken > 5,
        "off: only {broken} of 50 cuts broke the database"
    );
}

#[test]
fn a_power_cut_at_any_call_leaves_a_transaction_whole_or_absent() {
    let (mut whole, mut absent) = (0, 0);
    for n in 1.. {
        let folder = Folder::new();
        create(&folder.database());
        let vfs = FaultVfs::new();
        vfs.record_for_power_cut();
        vfs.fail_at(n, Fault::Eio, Lasting::Persistent);
        let (acknowledged, _) = work(&folder.database(), &vfs);
        let fired = vfs.fired();
        vfs.power_cut(n).unwrap();

        let conn = open(&folder.database(), "unix", "full").unwrap();
        match rows(&conn).unwrap().as_slice() {
            [] if !acknowledged => absent += 1,
            [1, 2, 3] => whole += 1,
            kept => panic!("cut at {n} left {kept:?}, acknowledged: {acknowledged}"),
        }
        if fired == 0 {
            break;
        }
    }
    assert!(whole > 0 && absent > 0);
}

#[test]
fn a_power_cut_may_come_from_another_thread() {
    for seed in 0..20 {
        let folder = Folder::new();
        create(&folder.database());
        let vfs = FaultVfs::new();
        vfs.record_for_power_cut();
        let writer = open(&folder.database(), vfs.name(), "full").unwrap();
        let reader = open(&folder.database(), vfs.name(), "full").unwrap();
        writer.pragma_update(None, "wal_autocheckpoint", 7).unwrap();
        vfs.clear();
        let writing = std::thread::spawn(move || {
            let mut acknowledged = 0;
            while insert(&writer, acknowledged + 1).is_ok() {
                acknowledged += 1;
            }
            acknowledged
        });
        let reading = std::thread::spawn(move || while rows(&reader).is_some() {});
        while vfs.calls() < 50 + seed * 7 {
            std::thread::yield_now();
        }
        vfs.power_cut(seed).unwrap();
        let kept = rows(&open(&folder.database(), "unix", "full").unwrap()).unwrap();
        let acknowledged = writing.join().unwrap();
        reading.join().unwrap();
        // The last one may have been synced but not yet acknowledged.
        let whole = [acknowledged, acknowledged + 1].map(|last| (1..=last).collect::<Vec<_>>());
        assert!(
            whole.contains(&kept),
            "seed {seed}: {acknowledged} but {kept:?}"
        );
    }
}

#[test]
fn nothing_works_without_power() {
    let folder = Folder::new();
    create(&folder.database());
    let vfs = FaultVfs::new();
    let conn = open(&folder.database(), vfs.name(), "full").unwrap();
    insert(&conn, 1).unwrap();
    vfs.power_cut(0).unwrap();
    vfs.clear();
    let read = conn.query_row("SELECT count(*) FROM t", (), |_| Ok(()));
    assert_eq!(code(&read.unwrap_err()) & 0xff, ffi::SQLITE_IOERR);
    assert_eq!(
        code(&insert(&conn, 2).unwrap_err()) & 0xff,
        ffi::SQLITE_IOERR
    );
    assert!(open(&folder.database(), vfs.name(), "full").is_err());
    // Nothing was recorded, so nothing is lost.
    assert_eq!(
        rows(&open(&folder.database(), "unix", "full").unwrap()).unwrap(),
        [1]
    );
}

//! Brings a database to this program's schema: in one transaction, after a verified backup.

use std::path::{Path, PathBuf};

use comity_domain::token::to_hex;
use rusqlite::Connection;

use super::sqlite::{APPLICATION_ID, SqliteWriter, classify};
use crate::ambient::Ambient;
use crate::error::Error;

/// One step of the schema, in both dialects.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// Its number; they rise by one.
    pub number: i64,
    /// For SQLite.
    pub sqlite: &'static str,
    /// For PostgreSQL.
    pub postgres: &'static str,
}

/// Every step of the schema, oldest first. Steps are only ever added.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        sqlite: include_str!("../../migrations/sqlite/0001_spine.sql"),
        postgres: include_str!("../../migrations/postgres/0001_spine.sql"),
    },
    Migration {
        number: 2,
        sqlite: include_str!("../../migrations/sqlite/0002_mail.sql"),
        postgres: include_str!("../../migrations/postgres/0002_mail.sql"),
    },
    Migration {
        number: 3,
        sqlite: include_str!("../../migrations/sqlite/0003_leases.sql"),
        postgres: include_str!("../../migrations/postgres/0003_leases.sql"),
    },
    Migration {
        number: 4,
        sqlite: include_str!("../../migrations/sqlite/0004_archive.sql"),
        postgres: include_str!("../../migrations/postgres/0004_archive.sql"),
    },
    Migration {
        number: 5,
        sqlite: include_str!("../../migrations/sqlite/0005_epoch.sql"),
        postgres: include_str!("../../migrations/postgres/0005_epoch.sql"),
    },
    Migration {
        number: 6,
        sqlite: include_str!("../../migrations/sqlite/0006_runs.sql"),
        postgres: include_str!("../../migrations/postgres/0006_runs.sql"),
    },
    Migration {
        number: 7,
        sqlite: include_str!("../../migrations/sqlite/0007_state.sql"),
        postgres: include_str!("../../migrations/postgres/0007_state.sql"),
    },
    Migration {
        number: 8,
        sqlite: include_str!("../../migrations/sqlite/0008_streams.sql"),
        postgres: include_str!("../../migrations/postgres/0008_streams.sql"),
    },
    Migration {
        number: 9,
        sqlite: include_str!("../../migrations/sqlite/0009_hooks.sql"),
        postgres: include_str!("../../migrations/postgres/0009_hooks.sql"),
    },
    Migration {
        number: 10,
        sqlite: include_str!("../../migrations/sqlite/0010_discoveries.sql"),
        postgres: include_str!("../../migrations/postgres/0010_discoveries.sql"),
    },
    Migration {
        number: 11,
        sqlite: include_str!("../../migrations/sqlite/0011_retention.sql"),
        postgres: include_str!("../../migrations/postgres/0011_retention.sql"),
    },
    Migration {
        number: 12,
        sqlite: include_str!("../../migrations/sqlite/0012_found.sql"),
        postgres: include_str!("../../migrations/postgres/0012_found.sql"),
    },
];

/// Returns the schema that a list of steps leads to.
pub(crate) fn latest(migrations: &[Migration]) -> i64 {
    migrations.last().map_or(0, |migration| migration.number)
}

/// Tells whether a SQLite database is of the schema that the steps lead to.
pub(crate) fn is_current(conn: &Connection, migrations: &[Migration]) -> bool {
    schema_of(conn).is_ok_and(|found| found == latest(migrations))
}

/// Creates or upgrades a SQLite database; `backups` is where the copy goes before an upgrade.
pub(crate) fn migrate_sqlite(
    writer: &SqliteWriter,
    migrations: &[Migration],
    ambient: &Ambient,
    backups: Option<&Path>,
) -> Result<(), Error> {
    let conn = writer.connection();
    let known = latest(migrations);
    let found = schema_of(conn)?;
    if found == known {
        return Ok(());
    }
    if found > known {
        return Err(Error::DatabaseNewer { found, known });
    }
    let copied_at = seq_of(conn, found)?;
    if let (Some(directory), true) = (backups, found > 0) {
        verified_backup(conn, &directory.join(format!("before-schema-{known}.db")))?;
    }
    conn.execute_batch("begin immediate").map_err(classify)?;
    let done = match seq_of(conn, found) {
        Ok(seq) if seq == copied_at => step(conn, migrations, found, ambient),
        // Going back to a copy that lacks what others wrote meanwhile would lose it.
        Ok(_) => Err(Error::Busy {
            reason: "others wrote while the database was copied for its upgrade".to_owned(),
        }),
        Err(error) => Err(error),
    };
    if done.is_err() && !conn.is_autocommit() {
        conn.execute_batch("rollback").map_err(classify)?;
    }
    done
}

/// Runs the missing steps inside the open transaction, and commits.
fn step(
    conn: &Connection,
    migrations: &[Migration],
    before: i64,
    ambient: &Ambient,
) -> Result<(), Error> {
    // Another process may have done it while this one waited for the lock.
    let found = schema_of(conn)?;
    if found != before {
        conn.execute_batch("rollback").map_err(classify)?;
        let known = latest(migrations);
        return match found {
            found if found == known => Ok(()),
            found => Err(Error::DatabaseNewer { found, known }),
        };
    }
    for migration in migrations.iter().filter(|step| step.number > found) {
        ambient.failpoints.hit("migrate.before_step")?;
        conn.execute_batch(migration.sqlite).map_err(classify)?;
    }
    let known = latest(migrations);
    if found == 0 {
        let reading = ambient.clock.read(None);
        conn.pragma_update(None, "application_id", APPLICATION_ID)
            .map_err(classify)?;
        conn.execute(
            "insert into log_head (one, epoch, schema, seq, hash, lease_us, anchor_us, anchor_of)
             values (1, ?1, ?2, 0, zeroblob(32), ?3, ?4, ?5)",
            rusqlite::params![
                fresh_epoch(ambient),
                known,
                reading.wall.micros(),
                reading.tick_us,
                &*reading.tick_of
            ],
        )
        .map_err(classify)?;
    } else {
        conn.execute("update log_head set schema = ?1", [known])
            .map_err(classify)?;
    }
    ambient.failpoints.hit("migrate.before_commit")?;
    conn.execute_batch("commit").map_err(classify)?;
    Ok(())
}

/// Makes the random id of a new database.
pub(crate) fn fresh_epoch(ambient: &Ambient) -> String {
    to_hex(&ambient.random::<16>())
}

/// Reads where the log ends; 0 where there is no schema yet.
fn seq_of(conn: &Connection, schema: i64) -> Result<i64, Error> {
    if schema == 0 {
        return Ok(0);
    }
    let seq = conn.query_row("select seq from log_head", [], |row| row.get(0));
    Ok(seq.map_err(classify)?)
}

/// Reads the schema's number: 0 for an empty file, an error for somebody else's database.
fn schema_of(conn: &Connection) -> Result<i64, Error> {
    let number = |sql: &str| {
        conn.query_row(sql, [], |row| row.get::<_, i64>(0))
            .map_err(classify)
    };
    let application = number("pragma application_id")?;
    let tables = number("select count(*) from sqlite_schema")?;
    if tables == 0 && application == 0 {
        return Ok(0);
    }
    let head = number("select count(*) from sqlite_schema where name = 'log_head'")?;
    if application != APPLICATION_ID || head == 0 {
        return Err(Error::Damaged {
            what: "the file is a database, but not one of Comity's".to_owned(),
        });
    }
    Ok(number("select schema from log_head")?)
}

/// Copies the database by SQLite itself and proves the copy: sound, and as many rows.
fn verified_backup(conn: &Connection, target: &Path) -> Result<PathBuf, Error> {
    let unusable = |what: String| Error::Unusable { what };
    let target = free_name(target);
    let name = target
        .to_str()
        .ok_or_else(|| unusable("the backup's path is not UTF-8".to_owned()))?;
    conn.execute("vacuum into ?1", [name]).map_err(classify)?;
    restrict(&target).map_err(|error| unusable(format!("the backup's rights: {error}")))?;
    let copy = super::sqlite::open_copy(&target)?;
    let sound: String = copy
        .query_row("pragma quick_check(1)", [], |row| row.get(0))
        .map_err(classify)?;
    if sound != "ok" || row_counts(conn)? != row_counts(&copy)? {
        return Err(unusable(format!(
            "the backup `{name}` differs from its original"
        )));
    }
    Ok(target)
}

/// Returns `path`, or the first numbered variant of it that does not exist yet.
pub(crate) fn free_name(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    std::iter::once(path.to_owned())
        .chain((2..=u32::MAX).map(|n| path.with_file_name(format!("{stem}-{n}.db"))))
        .find(|candidate| !candidate.exists())
        .unwrap_or_else(|| path.to_owned())
}

fn restrict(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    std::fs::File::open(path)?.sync_all()
}

fn row_counts(conn: &Connection) -> Result<Vec<(String, i64)>, Error> {
    let mut names = conn
        .prepare("select name from sqlite_schema where type = 'table' order by name")
        .map_err(classify)?;
    let names = names
        .query_map([], |row| row.get::<_, String>(0))
        .and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>)
        .map_err(classify)?;
    let count = |name: String| {
        // The name comes from the schema itself, quoted as an identifier.
        let sql = format!("select count(*) from \"{}\"", name.replace('"', "\"\""));
        let rows = conn
            .query_row(&sql, [], |row| row.get(0))
            .map_err(classify)?;
        Ok((name, rows))
    };
    names.into_iter().map(count).collect()
}

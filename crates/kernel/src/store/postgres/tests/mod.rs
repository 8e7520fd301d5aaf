//! The engine against a real server, whose URL is in `COMITY_TEST_POSTGRES`.

mod commit;
mod cut;
mod listen;
mod lost;
mod read;
mod schema;
mod settings;
mod write;

use comity_domain::Seq;

use super::connection::Connection;
use super::settings::Role;
use super::{Fresh, PostgresReader, PostgresTarget, PostgresWriter, drop_schema, migrate};
use crate::store::migrate::Migration;
use crate::store::{
    CommitError, FromValue, Param, ReadEngine, Rows, Session, StoreError, WriteEngine,
};

/// The steps every test begins with.
const MIGRATIONS: &[Migration] = &[Migration {
    number: 1,
    sqlite: "",
    postgres: include_str!("../../../../migrations/postgres/0001_spine.sql"),
}];

const ADD_PROJECT: &str = "insert into project (id, key, slug, name, case_insensitive, guard_mode, \
     guard_away, grace_us, leases_per_agent, created_at, revision) \
     values (?1, ?2, ?2, ?2, 0, 'block', 'warn', 0, 1, 0, 1)";
const PROJECTS: &str = "select id from project order by id";
const BACKEND: &str = "select pg_backend_pid()";

/// A schema of its own for one test, removed with it.
struct Workspace {
    target: PostgresTarget,
}

impl Workspace {
    fn new(name: &str) -> Self {
        let workspace = Self::empty(name);
        migrate(&workspace.target, MIGRATIONS, &fresh()).expect("migrate");
        workspace
    }

    fn empty(name: &str) -> Self {
        let target = PostgresTarget::parse(&url(name, "")).expect("a valid URL");
        drop_schema(&target).expect("drop what a killed test left");
        Self { target }
    }

    fn writer(&self) -> PostgresWriter {
        PostgresWriter::open(&self.target).expect("open a writer")
    }

    fn reader(&self) -> PostgresReader {
        PostgresReader::open(&self.target).expect("open a reader")
    }

    /// What a new snapshot sees.
    fn committed<T: FromValue>(&self, sql: &'static str) -> Vec<T> {
        let mut reader = self.reader();
        reader.begin().expect("begin");
        let found = all(&mut reader, sql);
        reader.end();
        found
    }

    /// Asks the server where it is.
    fn place(&self) -> Place {
        let ask = |sql| self.committed::<String>(sql).remove(0);
        let directories = ask("select current_setting('unix_socket_directories')");
        let config = self.target.config();
        let password = config.get_password().unwrap_or_default();
        Place {
            directory: directories
                .split(',')
                .next()
                .expect("a directory")
                .to_owned(),
            port: ask("select current_setting('port')"),
            user: ask("select current_user"),
            password: String::from_utf8(password.to_owned()).expect("UTF-8"),
            database: ask("select current_database()"),
            schema: self.target.schema().to_owned(),
        }
    }

    /// Runs statements in a session that the engine knows nothing of.
    fn behind(&self, sql: &str) {
        let other = Connection::open(&self.target, Role::Migrator).expect("connect");
        let client = other.client().expect("connected");
        other.wait_long(client.batch_execute(sql)).expect(sql);
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        drop_schema(&self.target).expect("drop the schema");
    }
}

/// Where the server and a workspace on it can be reached.
struct Place {
    directory: String,
    port: String,
    user: String,
    password: String,
    database: String,
    schema: String,
}

impl Place {
    fn url(&self, host: &str, more: &str) -> String {
        let Self {
            user,
            password,
            database,
            schema,
            ..
        } = self;
        format!("postgres://{user}:{password}@{host}/{database}?schema={schema}{more}")
    }

    fn socket(&self) -> String {
        format!("{}/.s.PGSQL.{}", self.directory, self.port)
    }
}

/// The server's URL, with a schema of the test's own and more parameters.
fn url(name: &str, more: &str) -> String {
    let server = std::env::var("COMITY_TEST_POSTGRES")
        .expect("COMITY_TEST_POSTGRES must hold the URL of a PostgreSQL server for tests");
    let mark = if server.contains('?') { '&' } else { '?' };
    format!(
        "{server}{mark}schema=comity_{name}_{}{more}",
        std::process::id()
    )
}

fn fresh() -> Fresh {
    Fresh {
        epoch: "epoch".to_owned(),
        lease_us: None,
    }
}

fn all<T: FromValue>(session: &mut impl Session, sql: &'static str) -> Vec<T> {
    try_all(session, sql).expect(sql)
}

fn try_all<T: FromValue>(
    session: &mut impl Session,
    sql: &'static str,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    session.each(sql, &[], &mut |mut row| {
        found.push(row.take()?);
        Ok(())
    })?;
    Ok(found)
}

fn add_project(writer: &mut PostgresWriter, id: i64, key: &str) -> Result<(), StoreError> {
    writer.write(ADD_PROJECT, &[id.into(), key.into()], Rows::Exactly(1))
}

/// Runs a command that adds a project, as the kernel's writer would.
fn command(writer: &mut PostgresWriter, id: i64, key: &str) -> Result<(), StoreError> {
    writer.savepoint()?;
    add_project(writer, id, key)?;
    writer.settle()?;
    writer.release()
}

/// Appends an event and moves the head to it.
fn append(writer: &mut PostgresWriter, seq: i64) -> Result<(), StoreError> {
    let hash = [u8::try_from(seq % 256).expect("a byte"); 32];
    writer.write(
        "insert into event (seq, at, v, kind, actor, subject_type, subject_id, payload_sha256, \
         hash) values (?1, 0, 1, 'kind', 'actor', 'type', 1, ?2, ?2)",
        &[seq.into(), (&hash).into()],
        Rows::Exactly(1),
    )?;
    writer.settle()?;
    writer.write(
        "update log_head set seq = ?1, hash = ?2",
        &[seq.into(), (&hash).into()],
        Rows::Exactly(1),
    )
}

fn committed_one(writer: &mut PostgresWriter, seq: i64) {
    writer.begin().expect("begin");
    append(writer, seq).expect("append");
    writer.commit(Seq::new(seq)).expect("commit");
}

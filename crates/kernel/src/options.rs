//! How a kernel is opened, and what opening makes of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use comity_domain::limits::{
    BATCH_MAX, BATCH_MAX_POSTGRES, BATCH_US_MAX, BATCH_US_MAX_POSTGRES, CHAIN_LINKS_AT_START,
    CHAIN_LINKS_TO_ASK, DISK_RESERVE_BYTES, GRACE_US_DEFAULT, QUEUE_MAX, QUEUE_PER_CALLER_MAX,
    READ_QUEUE_MAX, READER_THREADS, TTL_US_DEFAULT, VECTOR_PAGE, VECTORS_BYTES_MAX,
};

use crate::ambient::Ambient;
use crate::checkpoint::History;
use crate::datadir::make_private_database;
use crate::doctor::{Findings, examine, examine_before_writing, examine_copy, examine_tail};
use crate::embedder::{Embedder, Hashed};
use crate::error::{Error, with_causes};
use crate::kernel::READ_MAX;
use crate::log::table::move_head;
use crate::store::migrate::{
    MIGRATIONS, Migration, free_name, fresh_epoch, is_current, migrate_sqlite,
};
use crate::store::postgres::{self, Fresh, MigrateError, PostgresReader, PostgresWriter};
use crate::store::sqlite::{LateWriter, SqliteReader, SqliteWriter};
use crate::store::{
    CommitError, Head, PostgresTarget, ReadEngine, RoundTrips, Session, SqliteFile, StoreError,
    WriteEngine,
};

/// Where the data lies.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file of this machine.
    Sqlite(SqliteFile),
    /// A schema of a PostgreSQL server.
    Postgres(Box<PostgresTarget>),
}

/// Who else may write the database while this kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody: this process has the data directory for itself.
    Alone,
    /// Other embedded processes: the head is polled.
    Shared,
}

/// How a kernel is opened.
#[derive(Clone)]
pub struct Options {
    /// Where the data lies.
    pub database: Database,
    /// Clocks, randomness and failpoints.
    pub ambient: Ambient,
    /// Who else may write.
    pub sharing: Sharing,
    /// Where a copy goes before the schema is upgraded.
    pub backups: Option<PathBuf>,
    /// What has the part of the log that was pruned, if there is one.
    pub history: Option<Arc<dyn History>>,
    /// Where exports go; it is made when there is one.
    pub exports: Option<PathBuf>,
    /// How many reader threads there are; there is always one.
    pub readers: usize,
    /// How many commands may wait.
    pub queue_max: usize,
    /// How many commands of one caller may wait.
    pub queue_per_caller_max: usize,
    /// How many queries may wait.
    pub read_queue_max: usize,
    /// How many commands share a transaction.
    pub batch_max: usize,
    /// How long a transaction may take in more commands.
    pub batch_us_max: u64,
    /// How long a lease lasts when its taker does not say.
    pub lease_ttl_us: i64,
    /// How long a holder must be silent before it may be forced, in new projects.
    pub lease_grace_us: i64,
    /// Whether hooks may run programs.
    pub hook_commands: bool,
    /// Who makes vectors of texts, if somebody does.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// How many bytes of vectors are kept in memory.
    pub vectors_bytes_max: usize,
    /// How many vectors are read into memory at a time.
    pub vector_page: usize,
    /// The steps of the schema.
    pub migrations: &'static [Migration],
    /// What writes the writer's statements down, if something does.
    #[cfg(feature = "testing")]
    pub recorder: Option<crate::store::recording::Recorder>,
}

impl Options {
    /// Opens a SQLite file with everything else as usual.
    pub fn sqlite(path: impl Into<PathBuf>) -> Self {
        Self::new(Database::Sqlite(SqliteFile {
            path: path.into(),
            reserve_bytes: DISK_RESERVE_BYTES,
            vfs: None,
        }))
    }

    /// Opens a schema of a PostgreSQL server with everything else as usual.
    pub fn postgres(url: &str) -> Result<Self, Error> {
        let target = PostgresTarget::parse(url).map_err(|error| Error::Unusable {
            what: format!("the database URL: {error}"),
        })?;
        Ok(Self {
            batch_max: BATCH_MAX_POSTGRES,
            batch_us_max: BATCH_US_MAX_POSTGRES,
            ..Self::new(Database::Postgres(Box::new(target)))
        })
    }

    fn new(database: Database) -> Self {
        Self {
            database,
            ambient: Ambient::system(),
            sharing: Sharing::Alone,
            backups: None,
            history: None,
            exports: None,
            readers: READER_THREADS,
            queue_max: QUEUE_MAX,
            queue_per_caller_max: QUEUE_PER_CALLER_MAX,
            read_queue_max: READ_QUEUE_MAX,
            batch_max: BATCH_MAX,
            batch_us_max: BATCH_US_MAX,
            lease_ttl_us: TTL_US_DEFAULT,
            lease_grace_us: GRACE_US_DEFAULT,
            hook_commands: false,
            embedder: Some(Arc::new(Hashed::default())),
            vectors_bytes_max: VECTORS_BYTES_MAX,
            vector_page: VECTOR_PAGE,
            migrations: MIGRATIONS,
            #[cfg(feature = "testing")]
            recorder: None,
        }
    }

    /// Goes through another file system than the default; for tests.
    #[cfg(feature = "testing")]
    pub fn through_vfs(&mut self, name: &str) {
        if let Database::Sqlite(file) = &mut self.database {
            file.vfs = Some(name.to_owned());
        }
    }

    /// Sets how many bytes must stay free on the data disk.
    pub fn reserve_bytes(&mut self, bytes: u64) {
        if let Database::Sqlite(file) = &mut self.database {
            file.reserve_bytes = bytes;
        }
    }
}

/// A database that is ready: migrated, checked, what is needed of its connections open.
pub(crate) struct Opened {
    pub(crate) writer: Box<dyn WriteEngine>,
    pub(crate) readers: Vec<Box<dyn ReadEngine>>,
    pub(crate) head: Head,
    /// What the writer waits for on the way to the database; `None` where there is no way.
    pub(crate) round_trips: Option<Arc<RoundTrips>>,
}

impl Opened {
    pub(crate) fn new(options: &Options) -> Result<Self, Error> {
        let mut opened = match (&options.database, options.sharing) {
            (Database::Sqlite(file), Sharing::Alone) => Self::alone(file, options)?,
            (Database::Sqlite(file), Sharing::Shared) => Self::shared(file, options)?,
            (Database::Postgres(target), _) => Self::postgres(target, options)?,
        };
        match anchor(&mut *opened.writer, &opened.head, &options.ambient) {
            Ok(()) => {}
            // The first commit does the same; until then leases last.
            Err(
                error @ (StoreError::Busy(_)
                | StoreError::Full(_)
                | StoreError::Unwritable(_)
                | StoreError::Conflict(_)),
            ) => {
                let error = with_causes(&error);
                tracing::warn!(error = %error, "the lease clock stands until the first commit");
            }
            Err(error) => return Err(error.into()),
        }
        #[cfg(feature = "testing")]
        if let Some(recorder) = &options.recorder {
            opened.writer = recorder.wrap(opened.writer);
        }
        Ok(opened)
    }

    fn alone(file: &SqliteFile, options: &Options) -> Result<Self, Error> {
        let writer = migrated(file, options)?;
        let open = || Ok(file.open_reader(READ_MAX)?);
        let mut first = open()?;
        Ok(Self {
            writer: Box::new(writer),
            head: examine_tail(&mut first, CHAIN_LINKS_AT_START)?,
            readers: and_more(first, options, open)?,
            round_trips: None,
        })
    }

    /// Opens what a question needs; the write connection is opened when something is to be written.
    fn shared(file: &SqliteFile, options: &Options) -> Result<Self, Error> {
        let open = || Ok(file.open_reader(READ_MAX)?);
        let mut first = if let Some(ready) = open_ready(file, options.migrations) {
            ready
        } else {
            drop(migrated(file, options)?);
            open()?
        };
        let head = examine_tail(&mut first, CHAIN_LINKS_TO_ASK)?;
        let read = head.clone();
        let examine = move |session: &mut dyn Session, head: &Head| {
            examine_before_writing(session, head, &read)
        };
        Ok(Self {
            writer: Box::new(LateWriter::new(file.clone(), Box::new(examine))),
            head,
            readers: and_more(first, options, open)?,
            round_trips: None,
        })
    }

    fn postgres(target: &PostgresTarget, options: &Options) -> Result<Self, Error> {
        let fresh = Fresh {
            epoch: fresh_epoch(&options.ambient),
            lease_us: None,
        };
        postgres::migrate(target, options.migrations, &fresh).map_err(|error| match error {
            MigrateError::Newer { found, known } => Error::DatabaseNewer { found, known },
            MigrateError::Store(error) => unreachable_database(target, error),
        })?;
        let failed = |error| unreachable_database(target, error);
        let writer = PostgresWriter::open(target).map_err(failed)?;
        let open = || PostgresReader::open(target).map_err(failed);
        let mut first = open()?;
        Ok(Self {
            round_trips: Some(writer.round_trips()),
            writer: Box::new(writer),
            head: examine_tail(&mut first, CHAIN_LINKS_AT_START)?,
            readers: and_more(first, options, open)?,
        })
    }
}

/// Opens the write connection, making the file private and its schema the newest.
fn migrated(file: &SqliteFile, options: &Options) -> Result<SqliteWriter, Error> {
    make_private_database(&file.path)?;
    let writer = file.open_writer()?;
    let backups = options.backups.as_deref();
    migrate_sqlite(&writer, options.migrations, &options.ambient, backups)?;
    Ok(writer)
}

/// Opens a database for reading that needs nothing done before; if it does, or if anything is amiss
/// with it, opening it for writing tells what.
fn open_ready(file: &SqliteFile, migrations: &[Migration]) -> Option<SqliteReader> {
    if !file.is_writable() {
        return None;
    }
    let reader = file.open_reader(READ_MAX).ok()?;
    (reader.is_wal() && is_current(reader.connection(), migrations)).then_some(reader)
}

/// Opens the readers beside the first.
fn and_more<R: ReadEngine + 'static>(
    first: R,
    options: &Options,
    open: impl Fn() -> Result<R, Error>,
) -> Result<Vec<Box<dyn ReadEngine>>, Error> {
    let mut readers: Vec<Box<dyn ReadEngine>> = vec![Box::new(first)];
    for _ in 1..options.readers {
        readers.push(Box::new(open()?));
    }
    Ok(readers)
}

/// Lets the lease clock go on under another boot: from its mark it stands until something is
/// committed, and a server that nobody writes to would keep its leases for ever (3.2).
fn anchor(writer: &mut dyn WriteEngine, known: &Head, ambient: &Ambient) -> Result<(), StoreError> {
    if *ambient.clock.read(known.server_us).tick_of == *known.anchor_of {
        return Ok(());
    }
    let head = writer.begin()?;
    let reading = ambient.clock.read(head.server_us);
    let lease = reading.lease(&head);
    let tick_of = &reading.tick_of;
    let moved = move_head(
        writer,
        head.seq,
        &head.hash,
        lease,
        reading.tick_us,
        tick_of,
    )
    .and_then(|()| writer.settle());
    if let Err(error) = moved {
        writer.rollback();
        return Err(error);
    }
    writer.commit(head.seq).map_err(|error| match error {
        CommitError::RolledBack(error) | CommitError::Indeterminate(error) => error,
    })
}

fn unreachable_database(target: &PostgresTarget, error: StoreError) -> Error {
    match error {
        error @ StoreError::Damaged(_) => error.into(),
        error => Error::Unusable {
            what: format!("{target}: {}", with_causes(&error)),
        },
    }
}

impl Database {
    /// Examines everything; SQLite on a copy at `scratch`, which is removed afterwards.
    pub(crate) fn examine(
        &self,
        scratch: &Path,
        ambient: &Ambient,
        history: Option<&dyn History>,
    ) -> Result<Findings, Error> {
        match self {
            Self::Sqlite(file) => {
                make_private_database(scratch)?;
                let copied = file.copy_to(scratch).map_err(Error::from);
                let findings = copied.and_then(|copy| examine_copy(&copy, ambient, history));
                // The copy is ours alone; that it could not be removed harms nobody.
                let _ = std::fs::remove_file(scratch);
                findings
            }
            Self::Postgres(target) => examine(
                &mut PostgresReader::open_unhurried(target)?,
                ambient,
                history,
                Vec::new(),
            ),
        }
    }

    /// Opens a connection for a read that takes as long as it takes.
    pub(crate) fn open_unhurried(&self) -> Result<Box<dyn ReadEngine>, Error> {
        Ok(match self {
            Self::Sqlite(file) => Box::new(file.open_reader(Duration::MAX)?),
            Self::Postgres(target) => Box::new(PostgresReader::open_unhurried(target)?),
        })
    }

    /// Copies the database into a new file, and proves that the copy opens, is sound and ends
    /// where its head says.
    pub(crate) fn backup(&self, target: &Path) -> Result<PathBuf, Error> {
        match self {
            Self::Sqlite(file) => {
                let target = free_name(target);
                make_private_database(&target)?;
                let proven = file.copy_to(&target).map_err(Error::from).and_then(|copy| {
                    copy.quick_check()?;
                    let mut reader = copy.open_reader(READ_MAX)?;
                    Ok(examine_tail(&mut reader, CHAIN_LINKS_AT_START)?)
                });
                if proven.is_err() {
                    // Half a copy under a backup's name would be worse than none.
                    let _ = std::fs::remove_file(&target);
                }
                proven.map(|_| target)
            }
            Self::Postgres(_) => Err(Error::Unusable {
                what: "a PostgreSQL workspace is backed up by `pg_dump`".to_owned(),
            }),
        }
    }
}

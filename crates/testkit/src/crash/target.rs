//! Where a driver's data lies, and a schema it can be upgraded to.

use std::path::{Path, PathBuf};

use comity_kernel::actor::Party;
use comity_kernel::tx::{Read as _, Snapshot};
use comity_kernel::{Actor, Error, Kernel, Options, Query};

use super::wait;
use crate::Engine;
use crate::kit::{drop_schema, fresh_schema_url};

/// The database that a driver works on.
#[derive(Clone, Debug)]
pub enum Target {
    /// A file.
    Sqlite(PathBuf),
    /// A schema of a server, by its URL.
    Postgres(String),
}

impl Target {
    /// Names a database that does not exist yet.
    pub fn fresh(engine: Engine, directory: &Path) -> Self {
        match engine {
            Engine::Sqlite => Self::Sqlite(directory.join("comity.db")),
            Engine::Postgres => Self::Postgres(fresh_schema_url()),
        }
    }

    /// Reads the two words of the driver's command line.
    pub fn parse(engine: &str, place: &str) -> Option<Self> {
        match engine {
            "sqlite" => Some(Self::Sqlite(place.into())),
            "postgres" => Some(Self::Postgres(place.to_owned())),
            _ => None,
        }
    }

    /// Writes the two words of the driver's command line.
    pub fn words(&self) -> [String; 2] {
        match self {
            Self::Sqlite(path) => ["sqlite".to_owned(), path.display().to_string()],
            Self::Postgres(url) => ["postgres".to_owned(), url.clone()],
        }
    }

    /// Returns how a kernel is opened on it, with a file's backups beside it.
    pub fn options(&self) -> Options {
        match self {
            Self::Sqlite(path) => {
                let mut options = Options::sqlite(path);
                options.backups = path.parent().map(Path::to_owned);
                options
            }
            Self::Postgres(url) => Options::postgres(url).expect("a PostgreSQL URL"),
        }
    }

    /// Removes what does not go away with a directory.
    pub fn clean_up(&self) {
        if let Self::Postgres(url) = self {
            drop_schema(url);
        }
    }
}

/// Adds two steps to the schema, the second of which needs the first.
pub fn with_upgrade(options: &mut Options) {
    let mut steps = options.migrations.to_vec();
    let mut step = steps.last().copied().expect("a step");
    for sql in [
        "create table upgrade_half (n bigint not null); insert into upgrade_half values (1);",
        "alter table upgrade_half add column whole bigint not null default 1;",
    ] {
        step.number += 1;
        (step.sqlite, step.postgres) = (sql, sql);
        steps.push(step);
    }
    options.migrations = steps.leak();
}

/// Tells how far a database got: `Ok` with the schema wholly old or wholly new, else what is wrong.
pub fn is_upgraded(target: &Target) -> Result<bool, String> {
    let half = |options: Options| -> Result<(bool, bool), Error> {
        let kernel = Kernel::open(options)?;
        let begun = wait(kernel.query(Actor::OPERATOR, Begun)).is_ok();
        let whole = wait(kernel.query(Actor::OPERATOR, Whole)).is_ok();
        Ok((begun, whole))
    };
    let mut upgraded = target.options();
    with_upgrade(&mut upgraded);
    match half(target.options()) {
        Ok((false, false)) => Ok(false),
        Ok(found) => Err(format!("the old schema, but (begun, whole) = {found:?}")),
        Err(Error::DatabaseNewer { .. }) => match half(upgraded) {
            Ok((true, true)) => Ok(true),
            found => Err(format!("the new schema, but (begun, whole) = {found:?}")),
        },
        Err(error) => Err(error.to_string()),
    }
}

macro_rules! column_is_there {
    ($name:ident, $sql:literal) => {
        struct $name;

        impl Query for $name {
            const NAME: &'static str = "upgrade";
            const WHO: &'static [Party] = &[Party::Operator];
            type Answer = i64;

            fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<i64, Error> {
                Ok(snapshot.one($sql, &[], |row| row.take())?)
            }
        }
    };
}

column_is_there!(Begun, "select n from upgrade_half");
column_is_there!(Whole, "select whole from upgrade_half");

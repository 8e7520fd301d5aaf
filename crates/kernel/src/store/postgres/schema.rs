//! Brings a workspace to this program's schema, in one transaction.

use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::connection::Connection;
use super::fault::classify;
use super::settings::Role;
use super::target::PostgresTarget;
use crate::store::StoreError;
use crate::store::migrate::Migration;

/// What a new workspace begins with.
#[derive(Clone, Debug)]
pub(crate) struct Fresh {
    /// The random id of the workspace.
    pub(crate) epoch: String,
    /// Where the lease clock starts; `None` for the server's clock.
    pub(crate) lease_us: Option<i64>,
}

/// Why a workspace is not at this program's schema.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum MigrateError {
    /// A newer program was here; nothing was written (K1).
    #[error("the database has schema {found}, this program knows {known}")]
    Newer {
        /// The number in the database.
        found: i64,
        /// The number of this program's last migration.
        known: i64,
    },
    /// The database failed; nothing of the migration stands.
    #[error("the migration failed")]
    Store(#[from] StoreError),
}

/// Makes the schema if there is none and runs the migrations it lacks.
pub(crate) fn migrate(
    target: &PostgresTarget,
    migrations: &[Migration],
    fresh: &Fresh,
) -> Result<(), MigrateError> {
    let connection = Connection::open(target, Role::Migrator)?;
    let client = connection.client()?;
    // An error leaves the transaction to the end of the session, which is the end of this function.
    connection.wait_long(run(&client, target, migrations, fresh))
}

/// Removes a workspace with all that is in it.
#[cfg(any(test, feature = "testing"))]
pub fn drop_schema(target: &PostgresTarget) -> Result<(), StoreError> {
    let connection = Connection::open(target, Role::Migrator)?;
    let client = connection.client()?;
    let sql = format!("drop schema if exists {} cascade", quoted(target));
    let dropped = connection.wait_long(client.batch_execute(&sql));
    dropped.map_err(classify)
}

async fn run(
    client: &Client,
    target: &PostgresTarget,
    migrations: &[Migration],
    fresh: &Fresh,
) -> Result<(), MigrateError> {
    execute(client, "begin isolation level read committed", &[]).await?;
    // One migrator at a time, also before there is a row that could be locked.
    execute(
        client,
        "select pg_advisory_xact_lock(hashtextextended('comity migrate ' || $1, 0))",
        &[(&target.schema(), Type::TEXT)],
    )
    .await?;
    let known = migrations.last().map_or(0, |migration| migration.number);
    let found = found(client, target).await?;
    match found {
        Some(found) if found > known => return Err(MigrateError::Newer { found, known }),
        Some(found) if found == known => {}
        Some(found) => {
            // Like a writer, so that none is in the middle of a batch; and before the tables are
            // locked, or the two could wait for each other.
            execute(client, "select schema from log_head for update", &[]).await?;
            apply(client, migrations, found).await?;
            execute(
                client,
                "update log_head set schema = $1",
                &[(&known, Type::INT8)],
            )
            .await?;
        }
        None => {
            apply(client, migrations, 0).await?;
            begin_log(client, known, fresh).await?;
        }
    }
    execute(client, "commit", &[]).await?;
    Ok(())
}

/// Returns the schema's number; `None` for a new workspace.
async fn found(client: &Client, target: &PostgresTarget) -> Result<Option<i64>, StoreError> {
    let rows = client
        .query_typed(
            "select to_regnamespace(quote_ident($1)) is not null, \
             to_regclass(quote_ident($1) || '.log_head') is not null",
            &[(&target.schema(), Type::TEXT)],
        )
        .await
        .map_err(classify)?;
    let row = rows.first().ok_or(StoreError::Shape("a row"))?;
    let has_schema: bool = row.try_get(0).map_err(classify)?;
    let has_log: bool = row.try_get(1).map_err(classify)?;
    if !has_schema {
        // Not `if not exists`: that asks for the right to create schemas even when there is one.
        let create = format!("create schema {}", quoted(target));
        client.batch_execute(&create).await.map_err(classify)?;
    }
    if !has_log {
        return Ok(None);
    }
    let rows = client
        .query_typed("select schema from log_head", &[])
        .await
        .map_err(classify)?;
    let row = rows.first().ok_or(StoreError::Shape("a row in log_head"))?;
    row.try_get(0).map(Some).map_err(classify)
}

async fn apply(client: &Client, migrations: &[Migration], after: i64) -> Result<(), StoreError> {
    for migration in migrations {
        if migration.number > after {
            let run = client.batch_execute(migration.postgres).await;
            run.map_err(classify)?;
        }
    }
    Ok(())
}

async fn begin_log(client: &Client, schema: i64, fresh: &Fresh) -> Result<(), StoreError> {
    // The lease clock starts at the server's wall clock; afterwards only its advance counts.
    execute(
        client,
        "insert into log_head \
         (one, epoch, schema, seq, hash, lease_us, anchor_us, anchor_of) \
         select 1, $1, $2, 0, $3, start_us, start_us, 'server' from (select \
         coalesce($4, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as start_us) s",
        &[
            (&fresh.epoch, Type::TEXT),
            (&schema, Type::INT8),
            (&[0_u8; 32].as_slice(), Type::BYTEA),
            (&fresh.lease_us, Type::INT8),
        ],
    )
    .await
}

async fn execute(
    client: &Client,
    sql: &str,
    params: &[(&(dyn ToSql + Sync), Type)],
) -> Result<(), StoreError> {
    let answered = client.query_typed(sql, params).await;
    answered.map(drop).map_err(classify)
}

/// Quotes the schema, which may be a word of SQL; the target holds no other signs than `[a-z0-9_]`.
fn quoted(target: &PostgresTarget) -> String {
    format!("\"{}\"", target.schema())
}

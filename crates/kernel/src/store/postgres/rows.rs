//! Rows on their way from the server to whoever asked for them.

use std::pin::pin;

use futures_util::TryStreamExt;
use tokio_postgres::{Error, RowStream};

use super::bind;
use super::connection::{Connection, Sent};
use crate::store::{StoreError, Visit};

/// Why not all rows were visited.
pub(super) enum Stop {
    /// The server or the connection ended it.
    Refused(Error),
    /// The visitor ended it, or could not be given the row: the transaction is as it was.
    Visitor(StoreError),
}

impl Stop {
    /// Returns what the caller is told.
    pub(super) fn explain(self, connection: &Connection) -> StoreError {
        match self {
            Self::Refused(error) => connection.explain(error),
            Self::Visitor(error) => error,
        }
    }
}

/// Shows every row to the visitor as it arrives.
pub(super) async fn visit_rows(sent: Sent<RowStream>, visit: Visit<'_>) -> Result<(), Stop> {
    let mut rows = pin!(sent.await.map_err(Stop::Refused)?);
    while let Some(row) = rows.try_next().await.map_err(Stop::Refused)? {
        let row = bind::row(&row).map_err(Stop::Visitor)?;
        visit(row).map_err(Stop::Visitor)?;
    }
    Ok(())
}

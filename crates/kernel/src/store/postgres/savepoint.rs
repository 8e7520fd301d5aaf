//! The savepoint around one command.

use super::connection::Connection;
use super::pipeline::Pipeline;
use super::transaction::Scope;
use crate::store::StoreError;

/// Opens it.
pub(super) const SAVEPOINT: &str = "savepoint c";

/// Closes it and keeps what was done.
pub(super) const RELEASE: &str = "release savepoint c";

/// Undoes what was done, and leaves it open.
pub(super) const RETURN: &str = "rollback to savepoint c";

/// Undoes the command and closes its savepoint, behind the outstanding writes and in one wait.
pub(super) fn undo(
    connection: &mut Connection,
    pipeline: &mut Pipeline,
    command: Scope,
) -> Result<(), StoreError> {
    let returned = connection.execute(RETURN, Vec::new())?;
    let released = connection.execute(RELEASE, Vec::new())?;
    let (writes, undone) = connection.wait(async {
        let writes = pipeline.check().await;
        let undone = match returned.await {
            Ok(_) => released.await,
            Err(error) => Err(error),
        };
        (writes, undone)
    })?;
    match writes {
        // The command's own error is what is undone; an earlier one's was not found in time.
        Err(failure) if failure.scope != command => Err(failure.explain(connection)),
        Ok(()) | Err(_) => undone.map(drop).map_err(|error| connection.explain(error)),
    }
}

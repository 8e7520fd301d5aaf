//! Whether a commit stands (L4, L9).
//!
//! COMMIT of a failed transaction answers ROLLBACK, and the driver hides the tag and says Ok. So a
//! statement that fails unless the log ends where we say is sent right before COMMIT: its answer
//! proves that the transaction was alive and moved the head.

use std::sync::Arc;

use comity_domain::Seq;
use tokio_postgres::Error;

use super::bind::Bound;
use super::connection::Connection;
use super::fault::is_verdict;
use super::pipeline::{Failure, Fault, Pipeline};
use crate::store::{CommitError, StoreError};

/// The statement whose answer decides.
pub(super) const COMMIT: &str = "commit";

/// Fails with a division by zero unless the head is `?1`.
pub(super) const PROVE: &str = "select 1 / count(*) from log_head where seq = ?1";

/// Like [`PROVE`], and tells the listeners; they hear of it when the commit stands.
pub(super) const PROVE_AND_NOTIFY: &str =
    "select 1 / count(*), pg_notify(?2, ?3) from log_head where seq = ?1";

/// The answers to everything that was sent with COMMIT, in the order it was sent.
struct Answers {
    writes: Result<(), Failure>,
    proof: Result<u64, Error>,
    commit: Result<u64, Error>,
}

/// Sends the proof and COMMIT behind the outstanding writes and waits once, for all of them.
pub(super) fn commit(
    connection: &mut Connection,
    pipeline: &mut Pipeline,
    began_at: Seq,
    head: Seq,
) -> Result<(), CommitError> {
    let proof = if began_at == head {
        connection.execute(PROVE, Bound::all(&[head.into()]))
    } else {
        let payload = head.to_string();
        let channel = connection.target().channel();
        let params = [head.into(), channel.into(), (&payload).into()];
        connection.execute(PROVE_AND_NOTIFY, Bound::all(&params))
    };
    let sent = proof.and_then(|proof| Ok((proof, connection.execute(COMMIT, Vec::new())?)));
    let (proof, commit) = sent.map_err(CommitError::RolledBack)?;
    let waited = connection.wait(async {
        Answers {
            writes: pipeline.check().await,
            proof: proof.await,
            commit: commit.await,
        }
    });
    judge(connection, waited.map_err(CommitError::Indeterminate)?)
}

/// Decides from the answers whether the transaction stands.
fn judge(connection: &Connection, answers: Answers) -> Result<(), CommitError> {
    let (refused, miscounted) = match answers.writes {
        Ok(()) => (None, None),
        Err(Failure { fault, .. }) => match fault {
            Fault::Refused(error) => (Some(error), None),
            Fault::Miscounted { expected, counted } => {
                (None, Some(StoreError::RowCount { expected, counted }))
            }
        },
    };
    if let Some(error) = refused.or(answers.proof.err()) {
        // Answers come in order: one that the server itself refused, even with its last words,
        // says that COMMIT was not reached. A connection that just ended says nothing.
        return Err(if error.as_db_error().is_some() {
            CommitError::RolledBack(connection.explain(error))
        } else {
            indeterminate(connection, error)
        });
    }
    match (answers.commit, miscounted) {
        (Ok(_), None) => Ok(()),
        (Ok(_), Some(error)) => {
            // Only the move of the head rides with COMMIT unchecked, and the proof vouches for it.
            debug_assert!(false, "a miscounted write was committed: {error}");
            Err(CommitError::Indeterminate(error))
        }
        (Err(error), _) if is_verdict(&error) => {
            Err(CommitError::RolledBack(connection.explain(error)))
        }
        (Err(error), _) => Err(indeterminate(connection, error)),
    }
}

/// Says that nobody is left who knows, whatever the last word was.
fn indeterminate(connection: &Connection, error: Error) -> CommitError {
    CommitError::Indeterminate(match connection.explain(error) {
        lost @ StoreError::Lost(_) => lost,
        other => StoreError::Lost(Arc::new(other)),
    })
}

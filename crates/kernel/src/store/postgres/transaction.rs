//! What errors do to the writer's transaction and to the command inside it.

use std::sync::Arc;

use comity_domain::Seq;

use crate::store::StoreError;

/// What an error in a statement takes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The whole transaction: no savepoint protects it.
    Batch,
    /// The n-th command of the transaction, whose savepoint can be returned to.
    Command(u64),
}

/// The open transaction.
pub(super) struct Transaction {
    /// The head it began at.
    pub(super) began_at: Seq,
    commands: u64,
    place: Place,
    health: Health,
}

/// Where in the transaction the next statement goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Between commands.
    Between,
    /// Inside the n-th command.
    Inside(u64),
    /// Right after the release of the n-th command was sent.
    Released(u64),
}

enum Health {
    /// No error is open.
    Sound,
    /// The command failed; undoing it heals.
    Failed(StoreError),
    /// Only a rollback is left.
    Doomed(StoreError),
}

/// `undo` outside of a command: a defect of the caller.
#[derive(Debug, thiserror::Error)]
#[error("no savepoint is open")]
struct NoSavepoint;

impl Transaction {
    /// Begins at a head.
    pub(super) fn new(began_at: Seq) -> Self {
        Self {
            began_at,
            commands: 0,
            place: Place::Between,
            health: Health::Sound,
        }
    }

    /// Returns the error that stands in the way, if there is one.
    ///
    /// It stands until it is undone: swallowed or not, it is never committed over.
    pub(super) fn sound(&self) -> Result<(), StoreError> {
        match &self.health {
            Health::Sound => Ok(()),
            Health::Failed(error) | Health::Doomed(error) => Err(error.clone()),
        }
    }

    /// Returns what an error in the next statement will take with it.
    pub(super) fn sending(&mut self) -> Result<Scope, StoreError> {
        self.sound()?;
        Ok(match self.place {
            Place::Inside(command) => Scope::Command(command),
            Place::Between | Place::Released(_) => {
                // To undo the command would now undo this statement too.
                self.place = Place::Between;
                Scope::Batch
            }
        })
    }

    /// Returns the command that can be undone.
    pub(super) fn undoable(&self) -> Result<Scope, StoreError> {
        match (&self.health, self.place) {
            (Health::Doomed(error), _) => Err(error.clone()),
            (Health::Sound | Health::Failed(_), Place::Inside(command))
            | (Health::Failed(_), Place::Released(command)) => Ok(Scope::Command(command)),
            (Health::Sound, Place::Released(_)) | (_, Place::Between) => {
                Err(StoreError::Other(Arc::new(NoSavepoint)))
            }
        }
    }

    pub(super) fn is_doomed(&self) -> bool {
        matches!(self.health, Health::Doomed(_))
    }

    /// Enters the next command.
    pub(super) fn enter(&mut self) {
        self.commands += 1;
        self.place = Place::Inside(self.commands);
    }

    /// Leaves the command, whose release was sent.
    pub(super) fn release(&mut self) {
        self.place = Place::Released(self.commands);
    }

    /// Leaves the command, which was undone.
    pub(super) fn undone(&mut self) {
        self.place = Place::Between;
        self.health = Health::Sound;
    }

    /// Remembers an error of a statement by what it takes with it.
    pub(super) fn fail(&mut self, error: &StoreError, takes: Scope) {
        let is_undoable = match (takes, self.place) {
            (Scope::Command(failed), Place::Inside(now)) => failed == now,
            // The server refused the release as well, so the savepoint is still there. But it
            // knows nothing of wrong counts: after one of those the savepoint is gone.
            (Scope::Command(failed), Place::Released(now)) => {
                failed == now && !matches!(error, StoreError::RowCount { .. })
            }
            // Found too late: the savepoint that is open may still be the failed command's, and
            // to return to it would undo what was kept.
            (Scope::Command(_), Place::Between) | (Scope::Batch, _) => false,
        };
        self.health = if is_undoable && !matches!(error, StoreError::Lost(_)) {
            Health::Failed(error.clone())
        } else {
            Health::Doomed(error.clone())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MISCOUNTED: StoreError = StoreError::RowCount {
        expected: 1,
        counted: 0,
    };
    const SHAPE: StoreError = StoreError::Shape("any error that the server would know of");

    fn in_command() -> (Transaction, Scope) {
        let mut transaction = Transaction::new(Seq::ZERO);
        transaction.enter();
        let scope = transaction.sending().expect("sound");
        (transaction, scope)
    }

    // B2
    #[test]
    fn a_commands_own_error_is_healed_by_undo() {
        let (mut transaction, scope) = in_command();
        transaction.fail(&MISCOUNTED, scope);
        assert!(transaction.sending().is_err(), "stands until undone");
        assert_eq!(transaction.undoable().expect("undoable"), scope);
        transaction.undone();
        assert_eq!(transaction.sending().expect("sound"), Scope::Batch);
    }

    // B2
    #[test]
    fn an_error_found_right_after_the_release_is_healed_by_undo() {
        let (mut transaction, scope) = in_command();
        transaction.release();
        assert!(transaction.undoable().is_err(), "a kept command stays kept");
        transaction.fail(&SHAPE, scope);
        assert_eq!(transaction.undoable().expect("undoable"), scope);
    }

    // B3
    #[test]
    fn an_error_found_too_late_dooms_the_transaction() {
        let (mut miscounted, scope) = in_command();
        miscounted.release();
        miscounted.fail(&MISCOUNTED, scope);
        let (mut next_command, scope) = in_command();
        next_command.release();
        next_command.enter();
        next_command.fail(&SHAPE, scope);
        let (mut next_write, scope) = in_command();
        next_write.release();
        assert_eq!(next_write.sending().expect("sound"), Scope::Batch);
        next_write.fail(&SHAPE, scope);
        for doomed in [miscounted, next_command, next_write] {
            assert!(doomed.is_doomed());
            assert!(doomed.undoable().is_err());
        }
    }

    #[test]
    fn a_lost_connection_or_an_error_outside_a_command_dooms_the_transaction() {
        let (mut lost, scope) = in_command();
        let cause = Arc::new(std::io::Error::other("cut"));
        lost.fail(&StoreError::Lost(cause), scope);
        let (mut outside, _) = in_command();
        outside.fail(&SHAPE, Scope::Batch);
        assert!(lost.is_doomed() && outside.is_doomed());
    }
}

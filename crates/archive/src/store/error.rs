//! Why the archive is not written.

use comity_domain::Seq;
use comity_kernel::Error;

use crate::git::GitError;
use crate::version::Unfit;

/// Why the archive is not written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// There is no `git` that will do.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// Another process writes it, or a `git` that a killed one left.
    #[error("another process holds `archive.lock`")]
    Held,
    /// What lies in its place was not made by Comity, or by another workspace.
    #[error("{what}")]
    Foreign {
        /// What was found.
        what: String,
    },
    /// There was one, and it is not there any more.
    #[error("the archive's repository is gone")]
    Gone,
    /// It is not there, and it alone has a part of the log.
    #[error("the archive is not there, which alone has the events up to {through}")]
    Needed {
        /// The last of them.
        through: Seq,
    },
    /// It ends in what was pruned, so that a part of the log is missing between it and the database.
    #[error(
        "the archive ends at event {through}, the log begins at {oldest_seq}: what lies between was \
         in the archive that was here before"
    )]
    Old {
        /// Where it ends.
        through: Seq,
        /// The oldest event left in the database.
        oldest_seq: Seq,
    },
    /// The archive is ahead of the database.
    #[error("the archive goes to event {archive}, the database only to {database}")]
    Ahead {
        /// Where the archive ends.
        archive: Seq,
        /// Where the database ends.
        database: Seq,
    },
    /// An event cannot be written as a line; nothing behind it is archived.
    #[error("event {seq} cannot be written down")]
    Unwritable {
        /// The event.
        seq: Seq,
    },
    /// A file cannot be rendered or written; the rest can.
    #[error("{path} cannot be written: {reason}")]
    File {
        /// The event it belongs to.
        seq: Seq,
        /// Its path.
        path: String,
        /// Why not.
        reason: String,
    },
    /// `git` did not do what it was asked for.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The disk is full, or nearly.
    #[error("the archive's disk is full")]
    Full,
    /// The file system refused.
    #[error("{what}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it was refused.
        #[source]
        cause: std::io::Error,
    },
    /// The kernel did not answer.
    #[error("{0}")]
    Kernel(Error),
}

impl From<Error> for ArchiveError {
    fn from(error: Error) -> Self {
        Self::Kernel(error)
    }
}

impl ArchiveError {
    /// Makes one of a refusal of the file system.
    pub(super) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |cause| match cause.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io { what, cause },
        }
    }

    /// Tells whether nothing helps but a person.
    pub fn needs_a_person(&self) -> bool {
        matches!(
            self,
            Self::Foreign { .. }
                | Self::Needed { .. }
                | Self::Old { .. }
                | Self::Ahead { .. }
                | Self::Unwritable { .. }
                | Self::Unfit(_)
        )
    }

    /// Says what to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unfit(_) => "install git 2.36 or newer",
            Self::Held => "it goes on when the other process ends",
            Self::Foreign { .. } => {
                "move the repository away, then `comity archive rebuild` makes it anew"
            }
            Self::Ahead { .. } => {
                "the database lost its end: `comity restore --from-archive` brings it back, \
                 `comity serve --new-epoch` goes on without it"
            }
            Self::Needed { .. } | Self::Old { .. } => {
                "the log was pruned: put the repository back that was there then, or a copy of it"
            }
            Self::Gone => "put it back in its place; if the log is whole, it is made anew from it",
            Self::Unwritable { .. } => "`comity doctor` says what is wrong with the log",
            Self::Full => "free space on its disk; it goes on by itself",
            Self::File { .. } | Self::Git(_) | Self::Io { .. } | Self::Kernel(_) => {
                "it is tried again; `comity archive verify` looks closer"
            }
        }
    }
}

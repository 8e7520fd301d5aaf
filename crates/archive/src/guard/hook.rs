//! The moments at which Git asks.

/// A hook of Git that the guard uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hook {
    /// Before a commit is made of the index.
    PreCommit,
    /// Before a merge without conflicts is committed.
    PreMergeCommit,
    /// Before references and what they need go to a remote.
    PrePush,
    /// Before references change, whichever command does it: cherry-pick, rebase, `--no-verify` too.
    ReferenceTransaction,
}

impl Hook {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::PreCommit,
        Self::PreMergeCommit,
        Self::PrePush,
        Self::ReferenceTransaction,
    ];

    /// Those that are installed unless more are asked for.
    pub const USUAL: [Self; 3] = [Self::PreCommit, Self::PreMergeCommit, Self::PrePush];

    /// Returns the name of its file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::PreMergeCommit => "pre-merge-commit",
            Self::PrePush => "pre-push",
            Self::ReferenceTransaction => "reference-transaction",
        }
    }

    /// Finds the hook of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// Tells whether Git says on its input what will happen.
    pub const fn has_input(self) -> bool {
        matches!(self, Self::PrePush | Self::ReferenceTransaction)
    }
}

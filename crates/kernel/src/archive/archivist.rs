//! Whoever writes the archive, as the operations reach it.

use comity_domain::Seq;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::export::{Exported, Exporting};
use super::status::ArchiveStatus;
use crate::error::Error;

/// Writes the archive and answers for it. Every call may take long; none is on a request's path.
pub trait Archivist: Send + Sync {
    /// Tells how the archive stands.
    fn status(&self) -> Result<ArchiveStatus, Error>;

    /// Compares the whole archive with the log.
    fn verify(&self) -> Result<Verified, Error>;

    /// Makes the repository anew from the database; the old one is kept beside it.
    fn rebuild(&self) -> Result<Rebuilt, Error>;

    /// Tries again to write what is in quarantine.
    fn retry(&self) -> Result<Retried, Error>;

    /// Writes a project's mail as pages for people; it needs no archive.
    fn export(&self, exporting: &Exporting) -> Result<Exported, Error>;
}

/// Asks how the archive stands.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskStatus {}

/// Compares the whole archive with the log: every line, every file, every object.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verify {}

/// Makes the repository anew from the database; the old one is kept beside it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rebuild {}

/// Tries again to write what is in quarantine.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {}

/// What a comparison of archive and log found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// Whether both say the same.
    pub ok: bool,
    /// Up to where the archive goes.
    pub through: Seq,
    /// How many events were compared.
    pub events: i64,
    /// How many rendered files were compared.
    pub files: i64,
    /// How many lines and files still hold what was redacted since the archive was made; they are
    /// no differences, and `archive rebuild` makes it anew without.
    #[serde(default)]
    pub outdated: i64,
    /// What differs, the first of it.
    pub differences: Vec<String>,
}

/// A repository that was made anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rebuilt {
    /// Up to where it goes.
    pub through: Seq,
    /// How many commits it has.
    pub commits: i64,
    /// Where the old one is now.
    pub old: Option<String>,
}

/// What became of what was in quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retried {
    /// How many entries were written.
    pub written: i64,
    /// How many are still in quarantine.
    pub left: i64,
}

//! The names of the settings, and where a value can come from.

use std::path::PathBuf;

use toml::{Table, Value};

/// One setting: where the file has it, and the variable that overrides it.
pub(crate) struct Key {
    pub(super) section: &'static str,
    pub(super) name: &'static str,
    pub(super) variable: &'static str,
}

macro_rules! keys {
    ($($section:ident . $name:ident, $variable:literal;)+) => {
        /// Every setting, in the order they are shown.
        pub(crate) const KEYS: &[Key] = &[$(Key {
            section: stringify!($section),
            name: stringify!($name),
            variable: $variable,
        }),+];
    };
}

keys! {
    server.addr, "COMITY_SERVER_ADDR";
    server.database, "COMITY_DATABASE_URL";
    server.allowed_hosts, "COMITY_SERVER_ALLOWED_HOSTS";
    limits.requests_per_second, "COMITY_LIMITS_REQUESTS_PER_SECOND";
    limits.requests_burst, "COMITY_LIMITS_REQUESTS_BURST";
    limits.requests_at_once, "COMITY_LIMITS_REQUESTS_AT_ONCE";
    limits.connections_max, "COMITY_LIMITS_CONNECTIONS_MAX";
    leases.default_ttl, "COMITY_LEASES_DEFAULT_TTL";
    leases.grace, "COMITY_LEASES_GRACE";
    archive.enabled, "COMITY_ARCHIVE_ENABLED";
    archive.batch_max, "COMITY_ARCHIVE_BATCH_MAX";
    archive.interval, "COMITY_ARCHIVE_INTERVAL";
    hooks.allow_commands, "COMITY_HOOKS_ALLOW_COMMANDS";
    hooks.allow_private_addresses, "COMITY_HOOKS_ALLOW_PRIVATE_ADDRESSES";
    writer.queue_max, "COMITY_WRITER_QUEUE_MAX";
    writer.batch_max, "COMITY_WRITER_BATCH_MAX";
    readers.threads, "COMITY_READERS_THREADS";
    embedder.kind, "COMITY_EMBEDDER_KIND";
    embedder.url, "COMITY_EMBEDDER_URL";
    embedder.model, "COMITY_EMBEDDER_MODEL";
    embedder.dimension, "COMITY_EMBEDDER_DIMENSION";
}

impl Key {
    /// Returns the key as the file spells it, with its section.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// Returns its value in a table of sections.
    pub(super) fn of<'a>(&self, table: &'a Table) -> Option<&'a Value> {
        table.get(self.section)?.get(self.name)
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File(PathBuf),
    Variable(&'static str),
    Flag(&'static str),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Variable(name) => write!(f, "env {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

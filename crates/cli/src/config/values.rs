//! Every setting with its type and its default.

use std::net::SocketAddr;

use comity_domain::Span;
use comity_domain::limits::{
    ARCHIVE_BATCH_DEFAULT, ARCHIVE_BATCH_MAX, ARCHIVE_INTERVAL_MS_DEFAULT, ARCHIVE_INTERVAL_US_MAX,
    BATCH_MAX, EMBEDDING_DIMENSION_MAX, GRACE_US_DEFAULT, GRACE_US_MAX, QUEUE_MAX, READER_THREADS,
    TTL_US_DEFAULT, TTL_US_MAX, TTL_US_MIN,
};
use comity_domain::vector::hashed;
use comity_server::Settings;
use serde::de::IntoDeserializer;
use serde::de::value::Error as ValueError;
use serde::{Deserialize, Serialize};

/// Every setting with its value.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    pub(crate) server: Server,
    pub(crate) limits: Limits,
    pub(super) leases: Leases,
    pub(super) archive: Archive,
    pub(super) hooks: Hooks,
    pub(super) writer: Writer,
    pub(super) readers: Readers,
    pub(super) embedder: Embedder,
}

/// How a server is reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) database: Option<String>,
    pub(crate) allowed_hosts: Vec<String>,
}

/// How much a server takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) requests_per_second: u32,
    pub(crate) requests_burst: u32,
    pub(crate) requests_at_once: usize,
    pub(crate) connections_max: usize,
}

/// What leases are like when nobody says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Leases {
    pub(super) default_ttl: Term,
    pub(super) grace: Term,
}

/// A length of time as it was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Term {
    text: String,
    pub(super) us: i64,
}

impl TryFrom<String> for Term {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let span = Span::deserialize(text.as_str().into_deserializer());
        let span = span.map_err(|error: ValueError| error.to_string())?;
        Ok(Self {
            text,
            us: span.micros(),
        })
    }
}

impl From<Term> for String {
    fn from(term: Term) -> Self {
        term.text
    }
}

impl Term {
    fn minutes(minutes: i64) -> Self {
        Self {
            text: format!("{minutes}m"),
            us: minutes * 60_000_000,
        }
    }

    fn millis(millis: i64) -> Self {
        Self {
            text: format!("{millis}ms"),
            us: millis * 1_000,
        }
    }
}

/// How the archive is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Archive {
    pub(super) enabled: bool,
    pub(super) batch_max: i64,
    pub(super) interval: Term,
}

/// What hooks may do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Hooks {
    pub(super) allow_commands: bool,
    pub(super) allow_private_addresses: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Writer {
    pub(super) queue_max: usize,
    pub(super) batch_max: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Readers {
    pub(super) threads: usize,
}

/// Who makes vectors of texts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Embedder {
    pub(super) kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    pub(super) dimension: usize,
}

/// What makes vectors of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// Words and pieces of words, without a model.
    Hashed,
    /// A service.
    Http,
    /// A model in a folder.
    Model,
    /// Nothing: callers bring their own.
    None,
}

impl Default for Values {
    fn default() -> Self {
        let limits = Settings::default();
        Self {
            server: Server {
                addr: SocketAddr::from(([127, 0, 0, 1], 7117)),
                database: None,
                allowed_hosts: Vec::new(),
            },
            limits: Limits {
                requests_per_second: limits.requests_per_second,
                requests_burst: limits.requests_burst,
                requests_at_once: limits.requests_at_once,
                connections_max: limits.connections_max,
            },
            leases: Leases {
                default_ttl: Term::minutes(TTL_US_DEFAULT / 60_000_000),
                grace: Term::minutes(GRACE_US_DEFAULT / 60_000_000),
            },
            archive: Archive {
                enabled: true,
                batch_max: ARCHIVE_BATCH_DEFAULT,
                interval: Term::millis(ARCHIVE_INTERVAL_MS_DEFAULT),
            },
            hooks: Hooks {
                allow_commands: false,
                allow_private_addresses: false,
            },
            writer: Writer {
                queue_max: QUEUE_MAX,
                batch_max: BATCH_MAX,
            },
            readers: Readers {
                threads: READER_THREADS,
            },
            embedder: Embedder {
                kind: Kind::Hashed,
                url: None,
                model: None,
                dimension: hashed::DIMENSION,
            },
        }
    }
}

impl Values {
    /// Names the rule that some value breaks.
    pub(super) fn broken_rule(&self) -> Option<&'static str> {
        if self.has_a_zero() {
            return Some("must be at least 1");
        }
        if !(TTL_US_MIN..=TTL_US_MAX).contains(&self.leases.default_ttl.us) {
            return Some("must be between 1s and 24h");
        }
        if self.leases.grace.us > GRACE_US_MAX {
            return Some("must be at most 7 days");
        }
        if !(1..=ARCHIVE_BATCH_MAX).contains(&self.archive.batch_max) {
            return Some("must be between 1 and 10000");
        }
        if !(1..=EMBEDDING_DIMENSION_MAX).contains(&self.embedder.dimension) {
            return Some("must be between 1 and 4096");
        }
        (self.archive.interval.us > ARCHIVE_INTERVAL_US_MAX).then_some("must be at most 30s")
    }

    /// Tells whether some limit would let nothing through.
    fn has_a_zero(&self) -> bool {
        let Limits {
            requests_per_second,
            requests_burst,
            requests_at_once,
            connections_max,
        } = self.limits;
        requests_per_second == 0
            || requests_burst == 0
            || requests_at_once == 0
            || connections_max == 0
            || self.writer.queue_max == 0
            || self.writer.batch_max == 0
            || self.readers.threads == 0
    }
}

//! Every setting with its type and its default.

use std::net::SocketAddr;

use comity_domain::limits::{BATCH_MAX, QUEUE_MAX, READER_THREADS};
use comity_server::Settings;
use serde::{Deserialize, Serialize};

/// Every setting with its value.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    pub(crate) server: Server,
    pub(crate) limits: Limits,
    pub(super) writer: Writer,
    pub(super) readers: Readers,
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
            writer: Writer {
                queue_max: QUEUE_MAX,
                batch_max: BATCH_MAX,
            },
            readers: Readers {
                threads: READER_THREADS,
            },
        }
    }
}

impl Values {
    /// Tells whether some limit would let nothing through.
    pub(super) fn has_a_zero(&self) -> bool {
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

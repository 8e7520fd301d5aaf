//! What the process keeps in memory beside the database.

use std::sync::Arc;

use comity_domain::limits::{GRACE_US_DEFAULT, TTL_US_DEFAULT};

use crate::discovery::index::VectorIndex;
use crate::embedder::Embedder;
use crate::options::Options;
use crate::presence::Presence;
use crate::reservation::index::LeaseIndex;

/// What the writer and all readers share.
pub struct Memory {
    /// Who was heard of lately.
    pub presence: Presence,
    /// The leases on files, by what they cover.
    pub(crate) leases: LeaseIndex,
    /// The vectors of discoveries.
    pub(crate) vectors: VectorIndex,
    /// Who makes vectors of texts, if somebody does.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// How long a lease lasts when its taker does not say.
    pub(crate) lease_ttl_us: i64,
    /// How long a holder must be silent before it may be forced, in new projects.
    pub(crate) lease_grace_us: i64,
    /// Whether hooks may run programs.
    pub(crate) hook_commands: bool,
}

impl Memory {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            presence: Presence::new(Arc::clone(&options.ambient.clock)),
            leases: LeaseIndex::default(),
            vectors: VectorIndex::new(options.vectors_bytes_max, options.vector_page),
            embedder: options.embedder.clone(),
            lease_ttl_us: options.lease_ttl_us,
            lease_grace_us: options.lease_grace_us,
            hook_commands: options.hook_commands,
        }
    }
}

/// Nothing is remembered: for databases that are looked at and not served.
impl Default for Memory {
    fn default() -> Self {
        Self {
            presence: Presence::default(),
            leases: LeaseIndex::default(),
            vectors: VectorIndex::default(),
            embedder: None,
            lease_ttl_us: TTL_US_DEFAULT,
            lease_grace_us: GRACE_US_DEFAULT,
            hook_commands: false,
        }
    }
}

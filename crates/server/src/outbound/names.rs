//! Where a name leads.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use tokio::sync::Semaphore;

/// Lookups at the same time: one that hangs holds its thread until the system's resolver gives up.
const LOOKUPS_AT_ONCE: usize = 8;

/// Addresses of one name that count.
const ADDRESSES_MAX: usize = 16;

/// What answers for a name.
type Lookup = dyn Fn(&str) -> std::io::Result<Vec<IpAddr>> + Send + Sync;

/// The resolver of the machine, asked by a few threads at most.
#[derive(Clone)]
pub(super) struct Names {
    lookup: Arc<Lookup>,
    room: Arc<Semaphore>,
}

impl Names {
    /// Asks the machine's resolver.
    pub(super) fn of_the_machine() -> Self {
        Self::told_by(|host| {
            let found = (host, 0).to_socket_addrs()?;
            Ok(found.map(|found| found.ip()).collect())
        })
    }

    /// Asks somebody else.
    pub(super) fn told_by(
        lookup: impl Fn(&str) -> std::io::Result<Vec<IpAddr>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            lookup: Arc::new(lookup),
            room: Arc::new(Semaphore::new(LOOKUPS_AT_ONCE)),
        }
    }

    /// Returns the addresses of a host, in the order in which they are to be tried.
    ///
    /// Whoever stops waiting leaves the lookup to itself; it keeps its place until it ends, so that
    /// a dead resolver takes a few threads and no more.
    pub(super) async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        let place = Arc::clone(&self.room).acquire_owned().await;
        let (lookup, host) = (Arc::clone(&self.lookup), host.to_owned());
        let looked = tokio::task::spawn_blocking(move || {
            let _place = place;
            lookup(&host)
        });
        let mut found = looked
            .await
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
        let mut seen = Vec::new();
        found.retain(|address| {
            !seen.contains(address) && {
                seen.push(*address);
                seen.len() <= ADDRESSES_MAX
            }
        });
        if found.is_empty() {
            return Err("it has no address".to_owned());
        }
        Ok(found)
    }
}

//! A `SQLite` VFS that fails on demand and can lose power.
//!
//! Every call goes through to `SQLite`'s own `unix` VFS and its real files,
//! shared memory included, until a test asks for a fault. Each [`FaultVfs`]
//! has its own name and its own plan, so tests may run side by side.
//!
//! The power can also go in the middle of a transaction: a persistent
//! [`Fault::Eio`] stops the disk at its n-th call, and the
//! [`FaultVfs::power_cut`] that follows finds the disk as it was then.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

mod disk;
mod plan;
mod shim;
#[cfg(test)]
mod tests;

use disk::Disk;
use plan::Plan;
pub use plan::{Fault, Lasting};

/// Numbers the VFS names; no other state is shared between two VFSs.
static NEXT_NAME: AtomicU64 = AtomicU64::new(1);

/// A registered VFS with its own fault plan.
///
/// It stays registered for the life of the process, because `SQLite` may hold
/// a pointer to it for as long as any connection is open.
#[derive(Debug, Clone)]
pub struct FaultVfs {
    name: String,
    shared: &'static Shared,
}

impl FaultVfs {
    /// Registers a new VFS that passes everything through until told otherwise.
    ///
    /// Should `SQLite` refuse to register it, opening a database by its name
    /// fails with "no such vfs".
    pub fn new() -> Self {
        let number = NEXT_NAME.fetch_add(1, Ordering::Relaxed);
        let name = format!("comity-fault-{number}");
        let shared: &'static Shared = Box::leak(Box::default());
        shim::register(&name, shared);
        Self { name, shared }
    }

    /// Gives the name to hand to `Connection::open_with_flags_and_vfs`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes the `n`-th call from now on fail, counting from 1 the calls that
    /// this fault can strike.
    ///
    /// The counts start again at zero, and a fault asked for earlier is gone.
    /// An `n` of 0 counts as 1.
    pub fn fail_at(&self, n: u64, fault: Fault, lasting: Lasting) {
        self.shared.lock().plan = Plan::armed(n, fault, lasting);
    }

    /// Tells how many calls were failed since the last [`Self::fail_at`] or
    /// [`Self::clear`].
    pub fn fired(&self) -> u64 {
        self.shared.lock().plan.fired()
    }

    /// Tells how many calls could have been failed since the last
    /// [`Self::fail_at`] or [`Self::clear`].
    ///
    /// With no fault asked for, it counts the calls [`Fault::Eio`] can strike.
    pub fn calls(&self) -> u64 {
        self.shared.lock().plan.calls()
    }

    /// Passes everything through again and starts the counts at zero.
    ///
    /// It does not bring the power back: see [`Self::power_cut`].
    pub fn clear(&self) {
        self.shared.lock().plan = Plan::default();
    }

    /// Remembers from now on which writes and truncations are not yet synced.
    ///
    /// What the files hold at this moment counts as durable. The content of
    /// each file written from now on is kept in memory.
    pub fn record_for_power_cut(&self) {
        self.shared.lock().disk.record();
    }

    /// Cuts the power: from now on every call fails with `SQLITE_IOERR`, and
    /// the files on disk lose a random part of what was not synced.
    ///
    /// The seed decides which unsynced writes survive, are lost, or are torn
    /// at a sector boundary, and which truncations are lost. Synced content is
    /// kept, and the creation or deletion of a file is never lost. A sync that
    /// was made to fail leaves its writes unsynced until one succeeds.
    ///
    /// The power never comes back for this VFS: open the same path through
    /// another one. The files are put back under new inodes and the `-shm`
    /// file is removed, so connections of before the cut may stay open, or be
    /// closed later, with no effect on those of after it. Every connection to
    /// the database must go through this VFS while it records.
    ///
    /// # Errors
    ///
    /// Fails if the files cannot be rewritten, in which case their content
    /// means nothing.
    pub fn power_cut(&self, seed: u64) -> io::Result<()> {
        let state = self.shared.lock();
        if self.shared.off.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        state.disk.cut(seed)
    }
}

impl Default for FaultVfs {
    fn default() -> Self {
        Self::new()
    }
}

/// What one VFS and its open files have in common.
#[derive(Debug, Default)]
struct Shared {
    /// Apart from the state, so that a read does not wait for another
    /// connection's sync. It changes only while the state is locked.
    off: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    plan: Plan,
    disk: Disk,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_off(&self) -> bool {
        self.off.load(Ordering::Acquire)
    }
}

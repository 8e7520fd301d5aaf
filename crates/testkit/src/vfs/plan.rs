//! Which call is to fail, and how.

use std::ffi::c_int;

use rusqlite::ffi;

/// The way in which a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Fails any write, truncation, sync, open, deletion or mapping of shared
    /// memory with the `SQLITE_IOERR_*` code of that call.
    ///
    /// An open fails with `SQLITE_CANTOPEN`, as it does on a real disk.
    Eio,
    /// Fails a write with `SQLITE_FULL`, and growth of the shared memory with
    /// `SQLITE_IOERR_SHMSIZE`.
    Enospc,
    /// Writes the first half, then fails with `SQLITE_IOERR_WRITE`.
    ShortWrite,
    /// Fails a sync with `SQLITE_IOERR_FSYNC`; only syncs are counted.
    FailedSync,
}

/// How long a fault goes on once it has struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// Fails one call only.
    Once,
    /// Fails every call it can strike until the plan is cleared.
    Persistent,
}

/// A call that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Open,
    Delete,
    Write,
    Truncate,
    Sync,
    ShmMap,
    ShmGrow,
}

/// How a struck call is to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Strike {
    pub(super) code: c_int,
    pub(super) writes_half: bool,
}

/// The faults asked for and the calls counted so far.
#[derive(Debug, Default)]
pub(super) struct Plan {
    armed: Option<Armed>,
    calls: u64,
    fired: u64,
}

#[derive(Debug, Clone, Copy)]
struct Armed {
    nth: u64,
    fault: Fault,
    lasting: Lasting,
}

impl Plan {
    pub(super) fn armed(n: u64, fault: Fault, lasting: Lasting) -> Self {
        Self {
            armed: Some(Armed {
                nth: n.max(1),
                fault,
                lasting,
            }),
            ..Self::default()
        }
    }

    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    pub(super) fn fired(&self) -> u64 {
        self.fired
    }

    /// Counts the call and says whether, and how, it is to fail.
    pub(super) fn strike(&mut self, call: Call) -> Option<Strike> {
        let Some(armed) = self.armed else {
            self.calls += 1;
            return None;
        };
        let code = armed.fault.code_for(call)?;
        self.calls += 1;
        let due = match armed.lasting {
            Lasting::Once => self.calls == armed.nth,
            Lasting::Persistent => self.calls >= armed.nth,
        };
        if !due {
            return None;
        }
        self.fired += 1;
        Some(Strike {
            code,
            writes_half: armed.fault == Fault::ShortWrite,
        })
    }
}

impl Fault {
    /// The result code of a call this fault strikes, if it can strike it.
    fn code_for(self, call: Call) -> Option<c_int> {
        match (self, call) {
            (Self::Eio, Call::Open) => Some(ffi::SQLITE_CANTOPEN),
            (Self::Eio, Call::Delete) => Some(ffi::SQLITE_IOERR_DELETE),
            (Self::Eio | Self::ShortWrite, Call::Write) => Some(ffi::SQLITE_IOERR_WRITE),
            (Self::Eio, Call::Truncate) => Some(ffi::SQLITE_IOERR_TRUNCATE),
            (Self::Eio | Self::FailedSync, Call::Sync) => Some(ffi::SQLITE_IOERR_FSYNC),
            (Self::Eio, Call::ShmMap | Call::ShmGrow) => Some(ffi::SQLITE_IOERR_SHMMAP),
            (Self::Enospc, Call::Write) => Some(ffi::SQLITE_FULL),
            (Self::Enospc, Call::ShmGrow) => Some(ffi::SQLITE_IOERR_SHMSIZE),
            _ => None,
        }
    }
}

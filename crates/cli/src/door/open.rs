//! Decides between the ways, and calls.

use std::time::{Duration, Instant};

use comity_domain::Seq;
use comity_domain::limits::WAIT_US_MAX;
use comity_kernel::Error;
use comity_kernel::datadir::DataDir;
use comity_kernel::operation::{Bytes, Operation, Pace};
use comity_server::socket;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::address::{Address, answers};
use super::embedded::Embedded;
use super::remember::Memo;
use super::served::Served;
use super::tags::Tags;
use crate::config::Config;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::who::Who;
use crate::{output, token_file};

/// How long a call may take unless told.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the server may wait for something new before it answers.
const LONGEST_WAIT: Duration = Duration::from_micros(WAIT_US_MAX.unsigned_abs());
/// How long a server that has the directory may take to open its socket.
const WAIT_FOR_SOCKET: Duration = Duration::from_secs(5);

/// The way to every operation.
pub(crate) struct Door {
    way: Way,
    data: DataDir,
    timeout: Option<Duration>,
    tags: Tags,
    runtime: Runtime,
}

enum Way {
    Embedded(Box<Embedded>),
    Served(Served),
}

impl Door {
    /// Opens the way that the options and the data directory's locks ask for.
    pub(crate) fn open(
        globals: &Globals,
        data: DataDir,
        config: &Config,
        tags: Tags,
    ) -> Result<Self, Failure> {
        let way = match &globals.url {
            Some(url) => Way::Served(Served(by_url(url, &data, globals)?)),
            None => locally(&data, config)?,
        };
        Ok(Self {
            way,
            data,
            timeout: globals.timeout(),
            tags,
            runtime: runtime()?,
        })
    }

    /// Calls an operation; a new token goes into its file, and the answer says which. Leases that
    /// were granted or given back change the file of leases.
    pub(crate) fn call(
        &self,
        who: &Who,
        operation: &'static Operation,
        request: Value,
    ) -> Result<Value, Failure> {
        let mut tags = self.tags.clone();
        if let Bytes::Request(_) = operation.bytes {
            // Bytes are kept by their hash, once; one key may go with many of them.
            tags.key = None;
        }
        let usual = match operation.pace {
            Pace::Quick => Some(PATIENCE),
            Pace::Waits => Some(PATIENCE + LONGEST_WAIT),
            Pace::Long => None,
        };
        let patience = self.timeout.or(usual);
        if let Way::Embedded(embedded) = &self.way {
            embedded.must_not_be_lost(operation)?;
        }
        let memo = Memo::of(operation.name, &request);
        let answer = self.within(patience, async {
            match &self.way {
                Way::Embedded(embedded) => {
                    Ok(embedded.call(who, &tags, operation, request).await?)
                }
                Way::Served(served) => served.call(who, &tags, operation, request).await,
            }
        });
        memo.settle(who, &answer, self.data.path());
        Ok(token_file::keep(answer?, &self.data)?)
    }

    /// Probes the server, or without one the database; a stranger learns less.
    pub(crate) fn health(&self, who: Option<&Who>) -> Result<Value, Failure> {
        let patience = self.timeout.or(Some(PATIENCE));
        match &self.way {
            Way::Embedded(embedded) => {
                let end = embedded.end().and_then(|end| end.must_not_be_lost());
                self.within(patience, async { Ok(embedded.health(end).await) })
            }
            Way::Served(served) => self.within(patience, served.health(who)),
        }
    }

    /// Archives everything there is, where no server does; after each piece `goes_on` is told how
    /// far it is.
    pub(crate) fn archive(
        &self,
        goes_on: impl FnMut(Seq) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match &self.way {
            Way::Embedded(embedded) => embedded.archive(goes_on),
            Way::Served(_) => Ok(()),
        }
    }

    /// Names the server that is called; without one, nothing.
    pub(crate) fn server(&self) -> Option<String> {
        match &self.way {
            Way::Embedded(_) => None,
            Way::Served(served) => Some(served.0.to_string()),
        }
    }

    /// Returns the data directory.
    pub(crate) fn data(&self) -> &DataDir {
        &self.data
    }

    fn within<T>(
        &self,
        patience: Option<Duration>,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let Some(patience) = patience else {
            return self.runtime.block_on(work);
        };
        let late = || {
            let seconds = patience.as_secs_f64();
            let reason = format!("no answer within {seconds} s");
            Failure::from(Error::Busy { reason })
        };
        let answer = async { tokio::time::timeout(patience, work).await };
        self.runtime.block_on(answer).map_err(|_| late())?
    }
}

fn by_url(url: &str, data: &DataDir, globals: &Globals) -> Result<Address, Failure> {
    let address = Address::url(url, data.path().join("operator.token"))?;
    if address.is_exposed() && !globals.quiet {
        output::warn(&format!(
            "{address} is plain HTTP to another machine: tokens and mail can be read on the way"
        ));
    }
    Ok(address)
}

/// The socket of the server that has the directory, or the database if none has.
fn locally(data: &DataDir, config: &Config) -> Result<Way, Failure> {
    let started = Instant::now();
    loop {
        let locked = match data.hold_shared() {
            Ok(hold) => {
                let embedded = Embedded::shared(data, config, hold)?;
                return Ok(Way::Embedded(Box::new(embedded)));
            }
            Err(error @ Error::Locked { .. }) => error,
            Err(error) => return Err(error.into()),
        };
        let socket = socket::locate(data);
        if answers(&socket) {
            return Ok(Way::Served(Served(Address::Socket(socket))));
        }
        if started.elapsed() > WAIT_FOR_SOCKET {
            return Err(locked.into());
        }
        // It starts, or it stops: either shows soon.
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Makes the runtime of one command.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::internal)
}

//! The kernel in this process, with the right to its data directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use comity_archive::store::{ArchiveError, End, Past};
use comity_domain::Seq;
use comity_kernel::actor::{Actor, Caller};
use comity_kernel::ambient::Ambient;
use comity_kernel::datadir::{DataDir, Hold};
use comity_kernel::epoch::begin_epoch;
use comity_kernel::operation::Operation;
use comity_kernel::options::{Options, Sharing};
use comity_kernel::{Error, Kernel};
use comity_server::archiving::Off;
use serde_json::{Value, json};

use super::resting::{Resting, not_archived};
use super::tags::Tags;
use crate::config::Config;
use crate::failure::Failure;
use crate::who::Who;

/// A kernel beside others of its kind, with the right to its data directory.
pub(super) struct Embedded {
    kernel: Arc<Kernel>,
    /// Whoever answers for the archive, unless it is switched off.
    archive: Option<Arc<Resting>>,
    /// Where the archive is, even if it is switched off now.
    repository: PathBuf,
    /// Whether the database is known to have all that the archive has.
    compared: AtomicBool,
    #[expect(dead_code, reason = "it is let go after the kernel")]
    hold: Hold,
}

/// What a server does with a database that has lost its end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WhenLost {
    /// It refuses it.
    Refuse,
    /// It begins a new epoch.
    NewEpoch,
}

impl Embedded {
    /// Opens the kernel for one command, beside others of its kind.
    pub(super) fn shared(data: &DataDir, config: &Config, hold: Hold) -> Result<Self, Error> {
        let mut options = options(data, config)?;
        options.sharing = Sharing::Shared;
        options.readers = 1;
        let kernel = Arc::new(Kernel::open(options)?);
        let archive = config.archiving(data).map(|archiving| {
            Arc::new(Resting {
                kernel: Arc::downgrade(&kernel),
                place: archiving.place,
            })
        });
        kernel.attach(match &archive {
            Some(resting) => Arc::<Resting>::clone(resting),
            None => Arc::new(Off::of(&kernel)),
        });
        Ok(Self {
            kernel,
            archive,
            repository: data.archive(),
            compared: AtomicBool::new(false),
            hold,
        })
    }

    /// Refuses to change a database that has lost its end (A14); it may be looked at and copied.
    pub(super) fn must_not_be_lost(&self, operation: &Operation) -> Result<(), Error> {
        if !operation.effect.changes() || self.compared.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.end()?.must_not_be_lost()?;
        self.compared.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Compares the database with the archive.
    pub(super) fn end(&self) -> Result<End, Error> {
        End::of(&self.repository, &self.kernel)
    }

    /// Answers as a server would, a new token included.
    pub(super) async fn call(
        &self,
        who: &Who,
        tags: &Tags,
        operation: &'static Operation,
        request: Value,
    ) -> Result<Value, Error> {
        let actor = match who {
            Who::Operator => Actor::OPERATOR,
            Who::Token(token) => self.kernel.authenticate(&token.reveal()).await?.answer,
        };
        let caller = Caller {
            actor,
            key: tags.key.clone(),
            correlation: tags.correlation.clone(),
        };
        let outcome = (operation.call)(&self.kernel, caller, request).await;
        let outcome = outcome.map_err(|error| error.numbered(&Ambient::system()))?;
        Ok(outcome.whole())
    }

    /// Archives everything there is; after each piece `goes_on` is told how far it is.
    pub(super) fn archive(
        &self,
        mut goes_on: impl FnMut(Seq) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(resting) = &self.archive else {
            return Err(Off::refusal().into());
        };
        self.end()?.must_not_be_lost()?;
        let archiver = resting.writing()?;
        loop {
            let cut = archiver.step().map_err(not_archived)?;
            if !cut.more {
                return Ok(());
            }
            goes_on(cut.through)?;
        }
    }

    /// Probes as a server's `/health` does, as far as there is something without a server.
    pub(super) async fn health(&self, end: Result<(), Error>) -> Value {
        // What has lost its end is not written, not even to see whether it can be.
        let (name, found) = match end {
            Ok(()) => ("write", self.kernel.probe().await),
            lost => ("archive", lost),
        };
        let (status, detail) = match found {
            Ok(()) => ("ok", "committed; no server runs".to_owned()),
            Err(error) => ("failing", error.to_string()),
        };
        let check = json!({ "name": name, "status": status, "detail": detail });
        json!({ "status": status, "checks": [check] })
    }
}

/// Opens the kernel for a server, alone on its data directory; the right to it must outlive the kernel.
pub(crate) fn open_alone(
    data: &DataDir,
    config: &Config,
    when_lost: WhenLost,
) -> Result<(Hold, Arc<Kernel>), Error> {
    let hold = data.hold_for_server()?;
    let options = options(data, config)?;
    let mut kernel = Kernel::open(options.clone())?;
    match (End::of(&data.archive(), &kernel)?, when_lost) {
        (End::Lost(behind) | End::Replaced(behind), WhenLost::NewEpoch) => {
            kernel.stop();
            let lost = behind.read(&data.archive()).map_err(unread)?;
            let first = begin_epoch(&options, &lost)?;
            tracing::warn!(first = %first, "a new epoch has begun");
            kernel = Kernel::open(options)?;
        }
        (end, _) => end.must_not_be_lost()?,
    }
    Ok((hold, Arc::new(kernel)))
}

fn options(data: &DataDir, config: &Config) -> Result<Options, Error> {
    let mut options = config.options(data.database())?;
    options.backups = Some(data.backups()?);
    options.exports = Some(data.exports());
    options.history = Some(Arc::new(Past::of(data.archive())));
    Ok(options)
}

/// Says why what was lost cannot be read: without that, no number is known to be new.
fn unread(error: ArchiveError) -> Error {
    match error {
        ArchiveError::Kernel(error) => error,
        error => Error::Unusable {
            what: format!("what the database lost cannot be read from the archive: {error}"),
        },
    }
}

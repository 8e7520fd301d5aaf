//! The kernel in this process, with the right to its data directory.

use std::sync::Arc;

use comity_archive::store::must_not_be_behind;
use comity_domain::Seq;
use comity_kernel::actor::{Actor, Caller};
use comity_kernel::ambient::Ambient;
use comity_kernel::datadir::{DataDir, Hold};
use comity_kernel::operation::{Operation, with_secret};
use comity_kernel::options::Sharing;
use comity_kernel::{Error, Kernel};
use comity_server::archiving::Off;
use serde_json::{Value, json};

use super::resting::{Resting, not_archived};
use super::tags::Tags;
use crate::config::Config;
use crate::failure::Failure;
use crate::who::Who;

/// A kernel with the right to its data directory.
pub(crate) struct Embedded {
    pub(crate) kernel: Arc<Kernel>,
    /// Whoever answers for the archive, unless it is switched off or a server's.
    archive: Option<Arc<Resting>>,
    hold: Hold,
}

impl Embedded {
    /// Opens the kernel for one command, beside others of its kind.
    pub(super) fn shared(data: &DataDir, config: &Config, hold: Hold) -> Result<Self, Error> {
        let mut options = config.options(data.database())?;
        options.backups = Some(data.backups()?);
        options.exports = Some(data.exports());
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
            hold,
        })
    }

    /// Opens the kernel for a server, alone on its data directory, unless the database lost its end.
    pub(crate) fn alone(data: &DataDir, config: &Config) -> Result<Self, Error> {
        let hold = data.hold_for_server()?;
        let mut options = config.options(data.database())?;
        options.backups = Some(data.backups()?);
        options.exports = Some(data.exports());
        let kernel = Kernel::open(options)?;
        let database = *kernel.head().borrow();
        must_not_be_behind(&data.archive(), kernel.epoch(), database)?;
        Ok(Self {
            kernel: Arc::new(kernel),
            archive: None,
            hold,
        })
    }

    /// Gives up the kernel and the right to its directory, which must outlive it.
    pub(crate) fn into_parts(self) -> (Arc<Kernel>, Hold) {
        (self.kernel, self.hold)
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
        Ok(match outcome.issued {
            Some(issued) => with_secret(outcome.answer, &issued.secret.reveal()),
            None => outcome.answer,
        })
    }

    /// Archives everything there is; after each piece `goes_on` is told how far it is.
    pub(super) fn archive(
        &self,
        mut goes_on: impl FnMut(Seq) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(resting) = &self.archive else {
            return Err(Off::refusal().into());
        };
        let archiver = resting.archiver()?;
        loop {
            let cut = archiver.step().map_err(not_archived)?;
            if !cut.more {
                return Ok(());
            }
            goes_on(cut.through)?;
        }
    }

    /// Probes as a server's `/health` does, as far as there is something without a server.
    pub(super) async fn health(&self) -> Value {
        let (status, detail) = match self.kernel.probe().await {
            Ok(()) => ("ok", "committed; no server runs".to_owned()),
            Err(error) => ("failing", error.to_string()),
        };
        let check = json!({ "name": "write", "status": status, "detail": detail });
        json!({ "status": status, "checks": [check] })
    }
}

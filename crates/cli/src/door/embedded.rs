//! The kernel in this process, with the right to its data directory.

use comity_kernel::actor::{Actor, Caller};
use comity_kernel::ambient::Ambient;
use comity_kernel::datadir::{DataDir, Hold};
use comity_kernel::operation::{Operation, with_secret};
use comity_kernel::options::Sharing;
use comity_kernel::{Error, Kernel};
use serde_json::{Value, json};

use super::tags::Tags;
use crate::config::Config;
use crate::who::Who;

/// A kernel with the right to its data directory.
pub(crate) struct Embedded {
    pub(crate) kernel: Kernel,
    hold: Hold,
}

impl Embedded {
    /// Opens the kernel for one command, beside others of its kind.
    pub(super) fn shared(data: &DataDir, config: &Config, hold: Hold) -> Result<Self, Error> {
        let mut options = config.options(data.database())?;
        options.backups = Some(data.backups()?);
        options.sharing = Sharing::Shared;
        options.readers = 1;
        Ok(Self {
            kernel: Kernel::open(options)?,
            hold,
        })
    }

    /// Opens the kernel for a server, alone on its data directory.
    pub(crate) fn alone(data: &DataDir, config: &Config) -> Result<Self, Error> {
        let hold = data.hold_for_server()?;
        let mut options = config.options(data.database())?;
        options.backups = Some(data.backups()?);
        Ok(Self {
            kernel: Kernel::open(options)?,
            hold,
        })
    }

    /// Gives up the kernel and the right to its directory, which must outlive it.
    pub(crate) fn into_parts(self) -> (Kernel, Hold) {
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

//! `comity lock`.

use clap::{Args, Subcommand};
use comity_domain::{RunId, Seq, Span, Ttl};
use comity_kernel::lock::{AcquireLock, ListLocks, Name, ReleaseLock, RenewLock};
use comity_kernel::reservation::Reason;
use comity_kernel::{Command as _, Query as _};
use serde_json::Value;

use super::in_line;
use super::paging::Paging;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::{Shown, View, leases};

/// Locks.
#[derive(Subcommand)]
pub(crate) enum LockCommand {
    /// Take a lock: a port, a test runner, a database. Taking it again renews it.
    Acquire(Acquire),
    /// Keep your lock longer; one that you lost is refused.
    Renew(Renew),
    /// Give your lock back.
    Release(Release),
    /// List who holds which lock.
    List(List),
}

#[derive(Args)]
#[command(
    after_help = "It ends with 1 if somebody else has it, and shows who.\n\
    Example: comity lock acquire port-8080 --ttl 10m --wait 60s && run-the-tests"
)]
pub(crate) struct Acquire {
    /// The lock's name.
    #[arg(value_parser = text::<Name>)]
    name: Name,
    /// How long, such as `10m`: 30 minutes unless given, at most 24 h.
    #[arg(long, value_name = "TIME", value_parser = text::<Ttl>)]
    ttl: Option<Ttl>,
    /// Why, for whoever wants the same.
    #[arg(long, value_parser = text::<Reason>)]
    reason: Option<Reason>,
    /// The run it is for: the lock ends with it.
    #[arg(id = "of", long = "run", value_name = "RUN", value_parser = json::<RunId>)]
    run: Option<RunId>,
    /// How long to wait for its holder to let go, at most `60s`.
    #[arg(long, value_name = "TIME", value_parser = text::<Span>)]
    wait: Option<Span>,
}

#[derive(Args)]
pub(crate) struct Renew {
    /// The lock's name.
    #[arg(value_parser = text::<Name>)]
    name: Name,
    /// How long from now: 30 minutes unless given.
    #[arg(long, value_name = "TIME", value_parser = text::<Ttl>)]
    ttl: Option<Ttl>,
    /// The fence you know; another one is refused.
    #[arg(long, value_name = "N", value_parser = json::<Seq>)]
    fence: Option<Seq>,
}

#[derive(Args)]
pub(crate) struct Release {
    /// The lock's name.
    #[arg(value_parser = text::<Name>)]
    name: Name,
    /// The fence you know; another one is refused.
    #[arg(long, value_name = "N", value_parser = json::<Seq>)]
    fence: Option<Seq>,
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    paging: Paging,
}

impl LockCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Acquire(acquire) => acquire.run(context),
            Self::Renew(renew) => renew.run(context),
            Self::Release(release) => release.run(context),
            Self::List(list) => list.run(context),
        }
    }
}

impl Acquire {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let answer = in_line::insist(context, self.wait, |session, wait| {
            let request = AcquireLock {
                project: session.project()?,
                name: self.name.clone(),
                ttl: self.ttl,
                reason: self.reason.clone(),
                run: self.run,
                wait,
            };
            session.call(AcquireLock::NAME, &request)
        });
        let answer = answer.map_err(|failure| {
            let next = leases::next_step_for_lock(&failure.body);
            failure.advised(next)
        })?;
        Ok(one(answer))
    }
}

impl Renew {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = RenewLock {
            project: session.project()?,
            name: self.name.clone(),
            ttl: self.ttl,
            fence: self.fence,
        };
        Ok(one(session.call(RenewLock::NAME, &request)?))
    }
}

impl Release {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ReleaseLock {
            project: session.project()?,
            name: self.name.clone(),
            fence: self.fence,
        };
        let answer = session.call(ReleaseLock::NAME, &request)?;
        let text = format!("released {}", &*self.name);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl List {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = ListLocks {
            project: session.project()?,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = session.call(ListLocks::NAME, &request)?;
        let text = leases::locks(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

fn one(answer: Value) -> Shown {
    let text = leases::lock(&answer);
    Shown::new(answer, View::Text(text))
}

//! `comity portfolio`.

use clap::{Args, Subcommand};
use comity_domain::RunId;
use comity_kernel::portfolio::{GetPortfolioStatus, LinkRuns, PortfolioOrder, UnlinkRuns};
use comity_kernel::{Command as _, Query as _};

use super::run::Named;
use crate::failure::Failure;
use crate::parse::json;
use crate::session::Context;
use crate::show::{Shown, View, portfolios};

/// Portfolios.
#[derive(Subcommand)]
pub(crate) enum PortfolioCommand {
    /// Let a run wait for another: its checks `upstreams_at_phase` look at that one.
    Link(Link),
    /// Let a run wait for another no more.
    Unlink(Link),
    /// Show the order in which everything below a run can be done.
    Order(Named),
    /// Show how a run and everything below it stand.
    Status(Named),
}

#[derive(Args)]
pub(crate) struct Link {
    /// The run that waits.
    #[arg(value_parser = json::<RunId>)]
    downstream: RunId,
    /// The run that is waited for.
    #[arg(long = "on", value_name = "RUN", value_parser = json::<RunId>)]
    upstream: RunId,
}

impl PortfolioCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Link(link) => link.link(context),
            Self::Unlink(link) => link.unlink(context),
            Self::Order(named) => order(named, context),
            Self::Status(named) => status(named, context),
        }
    }
}

impl Link {
    fn link(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = LinkRuns {
            upstream: self.upstream,
            downstream: self.downstream,
        };
        let answer = context.session()?.call(LinkRuns::NAME, &request)?;
        let text = format!("run {} waits for run {}", self.downstream, self.upstream);
        Ok(Shown::new(answer, View::Text(text)))
    }

    fn unlink(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = UnlinkRuns {
            upstream: self.upstream,
            downstream: self.downstream,
        };
        let answer = context.session()?.call(UnlinkRuns::NAME, &request)?;
        let (waits, on) = (self.downstream, self.upstream);
        let text = format!("run {waits} waits for run {on} no more");
        Ok(Shown::new(answer, View::Text(text)))
    }
}

fn order(named: &Named, context: &Context<'_>) -> Result<Shown, Failure> {
    let request = PortfolioOrder { run: named.run };
    let answer = context.session()?.call(PortfolioOrder::NAME, &request)?;
    let text = portfolios::order(&answer);
    Ok(Shown::new(answer, View::Text(text)))
}

fn status(named: &Named, context: &Context<'_>) -> Result<Shown, Failure> {
    let request = GetPortfolioStatus { run: named.run };
    let session = context.session()?;
    let answer = session.call(GetPortfolioStatus::NAME, &request)?;
    let text = portfolios::status(&answer);
    Ok(Shown::new(answer, View::Text(text)))
}

//! `comity run artifact`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use comity_domain::limits::{LABEL_BYTES_MAX, URL_BYTES_MAX};
use comity_domain::{ArtifactId, Line, LiteralPath, Phase, Sha256Hex};
use comity_kernel::run::{AddArtifact, ListArtifacts, WithdrawArtifact, Words};
use comity_kernel::{Command as _, Error, Query as _};
use serde_json::Value;

use super::Named;
use crate::commands::paging::Paging;
use crate::failure::Failure;
use crate::ground::Ground;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::{Shown, View, evidence};

/// Artifacts.
#[derive(Subcommand)]
pub(crate) enum ArtifactCommand {
    /// Add what a phase left behind: a file of the project, a URL, or a hash.
    Add(Add),
    /// List the artifacts of a run.
    List(List),
    /// Withdraw an artifact: it stays in the history and counts no more.
    Withdraw(Withdraw),
}

#[derive(Args)]
#[command(after_help = "Example: comity run artifact add 7 planned plan docs/plan.md")]
pub(crate) struct Add {
    #[command(flatten)]
    named: Named,
    /// The phase it belongs to: the one the run is in, or a skipped one right ahead.
    #[arg(value_parser = text::<Phase>)]
    phase: Phase,
    /// What kind of thing it is, such as `plan` or `report`.
    #[arg(value_parser = text::<Line<LABEL_BYTES_MAX>>)]
    kind: Line<LABEL_BYTES_MAX>,
    /// A file, as you would name it here.
    #[arg(value_name = "PATH", required_unless_present_any = ["address", "sha256"])]
    path: Option<PathBuf>,
    /// Where it lies elsewhere.
    #[arg(id = "address", long = "link", value_name = "URL", value_parser = text::<Line<URL_BYTES_MAX>>)]
    address: Option<Line<URL_BYTES_MAX>>,
    /// The SHA-256 of its bytes.
    #[arg(long, value_name = "HEX", value_parser = text::<Sha256Hex>)]
    sha256: Option<Sha256Hex>,
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Args)]
pub(crate) struct Withdraw {
    #[command(flatten)]
    named: Named,
    /// The artifact's number.
    #[arg(value_parser = json::<ArtifactId>)]
    artifact: ArtifactId,
    /// Why.
    #[arg(long, value_parser = text::<Words>)]
    reason: Option<Words>,
}

impl ArtifactCommand {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        match self {
            Self::Add(add) => add.run(context),
            Self::List(list) => list.run(context),
            Self::Withdraw(withdraw) => withdraw.run(context),
        }
    }
}

impl Add {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = AddArtifact {
            run: self.named.run,
            phase: self.phase.clone(),
            kind: self.kind.clone(),
            path: self.path(context)?,
            url: self.address.clone(),
            sha256: self.sha256,
        };
        let answer = context.session()?.call(AddArtifact::NAME, &request);
        Ok(one(answer.map_err(|failure| self.named.advise(failure))?))
    }

    fn path(&self, context: &Context<'_>) -> Result<Option<LiteralPath>, Error> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let paths = Ground::of(context.globals)?.paths(std::slice::from_ref(path))?;
        Ok(paths.into_iter().next())
    }
}

impl List {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = ListArtifacts {
            run: self.named.run,
            limit: self.paging.limit(),
            after: self.paging.after(),
        };
        let answer = context.session()?.call(ListArtifacts::NAME, &request)?;
        let text = evidence::artifacts(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

impl Withdraw {
    fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let request = WithdrawArtifact {
            run: self.named.run,
            artifact: self.artifact,
            reason: self.reason.clone(),
        };
        Ok(one(context
            .session()?
            .call(WithdrawArtifact::NAME, &request)?))
    }
}

fn one(answer: Value) -> Shown {
    let text = evidence::artifact(&answer);
    Shown::new(answer, View::Text(text))
}

//! `comity run update`.

use std::collections::BTreeMap;

use clap::Args;
use comity_domain::Change;
use comity_kernel::run::{GetRunStatus, UpdateRun, Words};
use comity_kernel::{Command as _, Query as _};
use serde_json::Value;

use super::{Named, changed};
use crate::commands::revision;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::{Context, Session};
use crate::show::Shown;

/// Changes what is given and leaves the rest as it is.
#[derive(Args)]
pub(crate) struct Update {
    #[command(flatten)]
    named: Named,
    /// What it is for.
    #[arg(long, value_parser = text::<Words>)]
    goal: Option<Words>,
    /// Merged into your own data key by key; `null` removes a key.
    #[arg(long, value_name = "JSON", value_parser = json::<BTreeMap<String, Value>>)]
    metadata: Option<BTreeMap<String, Value>>,
    /// How many tokens it and everything below it may use; `none` takes the limit away.
    #[arg(long, value_name = "N|none", value_parser = limit)]
    token_budget: Option<Change<i64>>,
    /// How many dispatches of it and everything below it may be in hand at a time, or `none`.
    #[arg(long, value_name = "N|none", value_parser = limit)]
    max_dispatches: Option<Change<i64>>,
    /// The revision you read, another one now is refused; the present one unless given.
    #[arg(long, value_name = "N")]
    expected_revision: Option<i64>,
}

impl Update {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = UpdateRun {
            run: self.named.run,
            goal: self.goal.clone(),
            metadata: self.metadata.clone(),
            token_budget: self.token_budget.unwrap_or_default(),
            max_dispatches: self.max_dispatches.unwrap_or_default(),
            expected_revision: self.revision(&session)?,
        };
        Ok(changed(session.call(UpdateRun::NAME, &request)?))
    }

    fn revision(&self, session: &Session<'_>) -> Result<i64, Failure> {
        if let Some(given) = self.expected_revision {
            return Ok(given);
        }
        let request = GetRunStatus {
            run: self.named.run,
            at: None,
        };
        revision::of(&session.call(GetRunStatus::NAME, &request)?, "run")
    }
}

/// Reads a limit, or that there is none.
fn limit(given: &str) -> Result<Change<i64>, String> {
    match given {
        "none" => Ok(Change::Clear),
        number => json(number).map(Change::To),
    }
}

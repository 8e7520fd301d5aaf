//! `comity run create`.

use std::collections::BTreeMap;

use clap::Args;
use comity_domain::{Chain, Gates, Phase, RunId};
use comity_kernel::run::create::ChildRun;
use comity_kernel::run::{AgentKind, CreateRun, Words};
use comity_kernel::{Command as _, Error};
use serde_json::Value;

use super::changed;
use crate::commands::source::document;
use crate::failure::Failure;
use crate::parse::{json, text};
use crate::session::{Context, Session};
use crate::show::Shown;

/// Begins a run.
#[derive(Args)]
#[command(
    after_help = "Without phases it has the standard chain with its built-in gates. A chain of your own needs\n\
    gates for every step; an empty list lets a step pass.\n\
    Example: comity run create 'Ship the parser' --phase plan,build,done \\\n\
    \x20 --gates '{\"plan->build\":[{\"check\":\"artifact_exists\",\"phase\":\"plan\"}],\"build->done\":[]}'"
)]
pub(crate) struct Create {
    /// What it is for.
    #[arg(value_parser = text::<Words>)]
    goal: Words,
    /// Its phases in their order: again, or with commas. The last one completes it.
    #[arg(long = "phase", value_name = "PHASE", value_delimiter = ',', value_parser = text::<Phase>)]
    phases: Vec<Phase>,
    /// The checks of every step: a file, `-` for stdin, or JSON.
    #[arg(long, value_name = "FILE|-|JSON")]
    gates: Option<String>,
    /// How many tokens it and everything below it may use.
    #[arg(long, value_name = "N")]
    token_budget: Option<i64>,
    /// Hand out no more work, and do not move, once they are used.
    #[arg(long, requires = "token_budget")]
    enforce_budget: bool,
    /// How many dispatches of it and everything below it may be in hand at a time.
    #[arg(long, value_name = "N")]
    max_dispatches: Option<i64>,
    /// The same for a kind of agent; again for more.
    #[arg(long, value_name = "KIND=N", value_parser = of_kind)]
    max_per_kind: Vec<(AgentKind, i64)>,
    /// The run it is a part of.
    #[arg(long, value_name = "RUN", value_parser = json::<RunId>)]
    parent: Option<RunId>,
    /// The goal of a run that is a part of it and goes the same way; again for more.
    #[arg(long = "child", value_name = "GOAL", value_parser = text::<Words>)]
    goals: Vec<Words>,
    /// Runs that are parts of it, as a list of what `create_run` takes: a file, `-` or JSON.
    #[arg(long, value_name = "FILE|-|JSON", conflicts_with = "goals")]
    children: Option<String>,
    /// Your own data: an object.
    #[arg(long, value_name = "JSON", value_parser = json::<BTreeMap<String, Value>>)]
    metadata: Option<BTreeMap<String, Value>>,
}

impl Create {
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let session = context.session()?;
        let request = self.request(&session)?;
        Ok(changed(session.call(CreateRun::NAME, &request)?))
    }

    fn request(&self, session: &Session<'_>) -> Result<CreateRun, Error> {
        let phases = self.chain()?;
        let gates = self.gates.as_ref();
        let gates: Option<Gates> = gates.map(|it| document("--gates", it)).transpose()?;
        let children = match &self.children {
            Some(children) => document("--children", children)?,
            None => children(&self.goals, phases.as_ref(), gates.as_ref()),
        };
        Ok(CreateRun {
            project: session.project()?,
            goal: self.goal.clone(),
            phases,
            gates,
            token_budget: self.token_budget,
            budget_enforced: self.enforce_budget,
            max_dispatches: self.max_dispatches,
            max_per_kind: self.max_per_kind.iter().cloned().collect(),
            parent: self.parent,
            children,
            metadata: self.metadata.clone().unwrap_or_default(),
        })
    }

    fn chain(&self) -> Result<Option<Chain>, Error> {
        if self.phases.is_empty() {
            return Ok(None);
        }
        let chain = Chain::new(self.phases.clone());
        chain
            .map(Some)
            .map_err(|rule| Error::invalid("--phase", rule))
    }
}

/// Children that go the way of their parent.
fn children(goals: &[Words], phases: Option<&Chain>, gates: Option<&Gates>) -> Vec<ChildRun> {
    let child = |goal: &Words| ChildRun {
        project: None,
        goal: goal.clone(),
        phases: phases.cloned(),
        gates: gates.cloned(),
        token_budget: None,
        budget_enforced: false,
        max_dispatches: None,
        max_per_kind: BTreeMap::new(),
        metadata: BTreeMap::new(),
    };
    goals.iter().map(child).collect()
}

/// Reads a kind of agent and a number.
fn of_kind(given: &str) -> Result<(AgentKind, i64), String> {
    let (kind, most) = given.rsplit_once('=').ok_or("must be `KIND=N`")?;
    Ok((text(kind)?, json(most)?))
}

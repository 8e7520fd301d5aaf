//! Which events are meant.

use clap::Args;
use comity_domain::RunId;
use comity_kernel::Error;
use comity_kernel::event::filter::ActorRef;
use comity_kernel::event::{About, Wanted};
use comity_kernel::project::ProjectRef;

use crate::parse::{json, text};
use crate::place;
use crate::session::Session;

/// Which events are meant: all that you may see, unless said.
#[derive(Args)]
pub(super) struct Choosing {
    /// Only events of this run.
    #[arg(long, value_name = "RUN", value_parser = json::<RunId>)]
    pub(super) run: Option<RunId>,
    /// Only events of this kind, such as `run_created` or `custom.*`; may be repeated.
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// Only events about this, such as `run:7`.
    #[arg(long, value_name = "TYPE:ID", value_parser = About::parse)]
    subject: Option<About>,
    /// Only what they did: `operator`, `system`, or an agent's name or number.
    #[arg(long, value_name = "WHO", value_parser = text::<ActorRef>)]
    actor: Option<ActorRef>,
}

impl Choosing {
    /// Returns what is wanted; of all projects unless one is named.
    pub(super) fn wanted(&self, session: &Session<'_>) -> Result<Wanted, Error> {
        Ok(Wanted {
            project: named_project(session)?,
            run: self.run,
            kinds: self.kinds.iter().cloned().collect(),
            subject: self.subject.clone(),
            actor: self.actor.clone(),
        })
    }
}

/// Returns the project that `--project` names; the current directory says nothing here.
pub(super) fn named_project(session: &Session<'_>) -> Result<Option<ProjectRef>, Error> {
    let named = session.globals.project.as_ref();
    named.map(place::named_project).transpose()
}

//! Learns of the project when hooks are written.

use comity_kernel::Query as _;
use comity_kernel::project::ProjectStatusQuery;

use super::memory::{Memory, Wanted};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::output;
use crate::session::Context;

/// What is known of the project when the hooks are written.
pub(crate) struct Known {
    /// What it wants of its guard.
    pub(crate) wanted: Wanted,
    /// Its short name.
    pub(crate) slug: String,
}

/// Learns which project this is and what it wants, and remembers it for when nobody can be asked.
pub(crate) fn learn(globals: &Globals, memory: &Memory) -> Option<Known> {
    match known(globals) {
        Ok(known) => {
            memory.keep(known.wanted);
            Some(known)
        }
        Err(failure) => {
            output::warn(&format!(
                "the project's settings are not known: {}; install again when they are",
                failure.message()
            ));
            None
        }
    }
}

fn known(globals: &Globals) -> Result<Known, Failure> {
    let context = Context::new(globals)?;
    if globals.url.is_none() && !context.directory.is_dir() {
        let what = "there is no data directory; `comity init` makes one";
        return Err(Failure::unusable(what));
    }
    let session = context.session()?;
    let request = ProjectStatusQuery {
        project: session.project()?,
    };
    let answer = session.call(ProjectStatusQuery::NAME, &request)?;
    let field = |name: &str| answer.pointer(name).cloned().unwrap_or_default();
    Ok(Known {
        wanted: Wanted {
            mode: serde_json::from_value(field("/project/guard_mode"))?,
            away: serde_json::from_value(field("/project/guard_away"))?,
        },
        slug: serde_json::from_value(field("/project/slug"))?,
    })
}

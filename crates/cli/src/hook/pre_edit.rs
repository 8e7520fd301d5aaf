//! Takes the lease of the files that are about to be written.

use std::path::Path;

use comity_domain::{GuardAway, Span};
use comity_kernel::agent::Orient;
use comity_kernel::reservation::{CheckFiles, Conflict};
use comity_kernel::{Error, Query as _};
use serde_json::Value;

use super::edit::Edit;
use super::files::{Files, in_projects};
use super::identity::Identity;
use super::plan::{Plan, conflicts, is};
use super::verdict::Verdict;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::lease_file::{KeptLease, LeaseFile};
use crate::place;
use crate::session::{Context, Session};
use crate::who::Who;

/// How long the question may take unless told: an agent waits for it before each edit.
const PATIENCE: Span = Span::from_micros(5_000_000);
/// Errors that are answers: whoever gives them could be asked.
const ANSWERS: [&str; 7] = [
    "invalid",
    "unauthorized",
    "forbidden",
    "not_found",
    "agent_retired",
    "limit_exceeded",
    "rate_limited",
];

/// Judges an edit that a client program describes in JSON.
pub(crate) fn pre_edit(globals: &Globals, input: &[u8]) -> Verdict {
    judged(&globals.hurried(PATIENCE), input).unwrap_or_else(Verdict::from)
}

fn judged(globals: &Globals, input: &[u8]) -> Result<Verdict, Failure> {
    let edit = Edit::read(input)?;
    if edit.files.is_empty() {
        return Ok(Verdict::Pass);
    }
    let directory = place::data_directory(globals.data.as_deref())?;
    let identity = Identity::of(globals, &directory)?;
    for files in in_projects(&edit, globals, &identity)? {
        match taken(globals, &directory, &identity, &files) {
            Ok(Verdict::Pass) => {}
            Ok(other) => return Ok(other),
            Err(failure) if is(&failure, &ANSWERS) => return Err(failure),
            Err(failure) => {
                let memory = files.ground.memory();
                let wanted = memory.and_then(|memory| memory.recall());
                return match wanted {
                    Some(wanted) if wanted.away == GuardAway::Block => {
                        Ok(Verdict::unasked(&failure))
                    }
                    _ => Err(failure),
                };
            }
        }
    }
    Ok(Verdict::Pass)
}

/// Takes or keeps the leases, or says who has them.
fn taken(
    globals: &Globals,
    directory: &Path,
    identity: &Identity,
    files: &Files,
) -> Result<Verdict, Failure> {
    if globals.url.is_none() && !directory.is_dir() {
        let shown = directory.display();
        let what = format!("there is no data directory `{shown}`");
        return Err(Failure::unusable(what));
    }
    let context = Context::at(directory.to_owned(), globals)?;
    let session = context.session_as(Who::Token(identity.token.clone()))?;
    let request = CheckFiles {
        project: Some(files.ground.project.clone()),
        paths: files.paths.clone(),
        patterns: Vec::new(),
        mode: None,
        include_own: true,
    };
    let checked = match session.call(CheckFiles::NAME, &request) {
        // The agent is of another project: the files are none of ours.
        Err(failure) if is(&failure, &["not_found"]) => return Ok(Verdict::Pass),
        checked => checked?,
    };
    let own_name = own_name(&session, identity)?;
    let is_own = |one: &Conflict| one.held_by.eq_ignore_ascii_case(&own_name);
    let (own, others): (Vec<_>, Vec<_>) = conflicts(&checked)?.into_iter().partition(is_own);
    if !others.is_empty() {
        return Ok(Verdict::held(&others));
    }
    let enough_ms = context.config.lease_ttl_us() / 2 / 1_000;
    let plan = Plan::of(&files.paths, &own, enough_ms);
    if let Some(file) = &identity.file {
        remember(&LeaseFile::beside(&file.path), &plan.kept);
    }
    plan.carry_out(&session, &files.ground)
}

/// Returns the agent's name; only a token that lies in no file here has to be asked about.
fn own_name(session: &Session<'_>, identity: &Identity) -> Result<String, Failure> {
    if let Some(file) = &identity.file {
        return Ok(file.name.clone());
    }
    let me = session.call(Orient::NAME, &Orient {})?;
    let name = me.get("name").and_then(Value::as_str);
    name.map(ToOwned::to_owned)
        .ok_or_else(|| Error::Unauthorized.into())
}

/// Writes down leases that were granted elsewhere, such as over HTTP.
fn remember(file: &LeaseFile, leases: &[&Conflict]) {
    let known = file.read().unwrap_or_default();
    let kept = leases.iter().map(|lease| KeptLease {
        id: lease.reservation_id.get(),
        fence: lease.fence.get(),
        path_pattern: lease.pattern.clone(),
    });
    let new: Vec<_> = kept.filter(|lease| !known.contains(lease)).collect();
    if !new.is_empty() {
        // The edit is covered all the same; the guard will only not know by what.
        let _ = file.keep(&new);
    }
}

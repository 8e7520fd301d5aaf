//! Takes the lease of the files that are about to be written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use comity_domain::limits::TTL_US_DEFAULT;
use comity_domain::{GuardAway, LiteralPath, Pattern, ReservationId, Span};
use comity_kernel::agent::Orient;
use comity_kernel::project::{ProjectRef, ProjectStatusQuery};
use comity_kernel::reservation::{CheckFiles, Conflict, Reason, Renew, ReserveFiles};
use comity_kernel::{Command as _, Error, Query as _};
use serde::Deserialize as _;
use serde_json::Value;

use super::edit::Edit;
use super::identity::Identity;
use super::verdict::Verdict;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::ground::{self, Ground};
use crate::guard::Wanted;
use crate::lease_file::{KeptLease, LeaseFile};
use crate::place;
use crate::session::{Context, Session};
use crate::who::Who;

/// How long the question may take unless told: an agent waits for it before each edit.
const PATIENCE: Span = Span::from_micros(5_000_000);
/// A lease with so much left is left alone.
const ENOUGH_MS: i64 = TTL_US_DEFAULT / 2 / 1_000;
/// What others read about a lease that was taken here.
const REASON: &str = "editing";
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

/// Files of one project.
struct Files {
    ground: Ground,
    paths: Vec<LiteralPath>,
}

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
            Err(failure) if is_answer(&failure) => return Err(failure),
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

fn is_answer(failure: &Failure) -> bool {
    let word = failure.body.get("error").and_then(Value::as_str);
    word.is_some_and(|word| ANSWERS.contains(&word))
}

/// Sorts the files by the project that they can be in; those of no project of the agent are left.
fn in_projects(edit: &Edit, globals: &Globals, identity: &Identity) -> Result<Vec<Files>, Failure> {
    let here = match &edit.directory {
        Some(directory) => directory.clone(),
        None => place::here()?,
    };
    let mut projects: BTreeMap<String, Files> = BTreeMap::new();
    for file in &edit.files {
        let Some((ground, inside)) = place_of(&here.join(file), &here, globals, identity) else {
            continue;
        };
        let path = ground::literal(&inside)?;
        let name = ground.project.to_string();
        let files = projects.entry(name).or_insert_with(|| Files {
            ground,
            paths: Vec::new(),
        });
        files.paths.push(path);
    }
    Ok(projects.into_values().collect())
}

/// Finds the project of a file: that of the directory the agent works in, or the file's own.
fn place_of(
    file: &Path,
    here: &Path,
    globals: &Globals,
    identity: &Identity,
) -> Option<(Ground, PathBuf)> {
    let named = globals.project.as_ref();
    let own = file.parent().filter(|_| named.is_none());
    for start in [Some(here), own].into_iter().flatten() {
        let Ok(ground) = Ground::at(start, named) else {
            continue;
        };
        let token_file = identity.file.as_ref();
        let is_own = named.is_some() || token_file.is_none_or(|file| ground.may_be(&file.slug));
        let inside = ground.inside(file);
        let inside = inside.filter(|inside| is_own && !inside.as_os_str().is_empty());
        if let Some(inside) = inside {
            return Some((ground, inside));
        }
    }
    None
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
    let project = &files.ground.project;
    let request = CheckFiles {
        project: Some(project.clone()),
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
    let plan = Plan::of(&files.paths, &own);
    if let Some(file) = &identity.file {
        remember(&LeaseFile::beside(&file.path), &plan.kept);
    }
    plan.carry_out(&session, project, &files.ground)
}

/// What has to be done for some files.
struct Plan<'a> {
    paths: &'a [LiteralPath],
    /// Leases that are good as they are.
    kept: Vec<&'a Conflict>,
    /// Leases to keep longer.
    short: Vec<ReservationId>,
    /// Files without a lease.
    fresh: Vec<LiteralPath>,
}

impl<'a> Plan<'a> {
    fn of(paths: &'a [LiteralPath], own: &'a [Conflict]) -> Self {
        let mut plan = Self {
            paths,
            kept: Vec::new(),
            short: Vec::new(),
            fresh: Vec::new(),
        };
        for path in paths {
            let covering = own.iter().filter(|lease| covers(lease, path));
            match covering.max_by_key(|lease| lease.ttl_remaining_ms) {
                None => plan.fresh.push(path.clone()),
                Some(lease) if lease.ttl_remaining_ms >= ENOUGH_MS => plan.kept.push(lease),
                Some(lease) => plan.short.push(lease.reservation_id),
            }
        }
        plan
    }

    fn carry_out(
        mut self,
        session: &Session<'_>,
        project: &ProjectRef,
        ground: &Ground,
    ) -> Result<Verdict, Failure> {
        if !self.short.is_empty() {
            let request = Renew {
                ids: std::mem::take(&mut self.short),
                all: false,
                ttl: None,
                fence: None,
            };
            match session.call(Renew::NAME, &request) {
                // It ended just now: then it is taken anew.
                Err(failure) if is(&failure, &["lease_expired", "lease_ended"]) => {
                    self.fresh = self.paths.to_vec();
                }
                renewed => {
                    renewed?;
                }
            }
        }
        if self.fresh.is_empty() {
            return Ok(Verdict::Pass);
        }
        let request = ReserveFiles {
            project: Some(project.clone()),
            paths: self.fresh,
            reason: Reason::parse(REASON).ok(),
            ..ReserveFiles::default()
        };
        match session.call(ReserveFiles::NAME, &request) {
            Err(failure) if is(&failure, &["reservation_conflict"]) => {
                Ok(Verdict::held(&conflicts(&failure.body)?))
            }
            reserved => {
                reserved?;
                learn(session, project, ground);
                Ok(Verdict::Pass)
            }
        }
    }
}

/// Tells whether a lease of the agent's own lets it write a file.
fn covers(lease: &Conflict, path: &LiteralPath) -> bool {
    let pattern = Pattern::parse(&lease.pattern);
    lease.exclusive && pattern.is_ok_and(|pattern| pattern.covers(path))
}

fn conflicts(answer: &Value) -> Result<Vec<Conflict>, Failure> {
    let conflicts = answer.get("conflicts").unwrap_or(&Value::Null);
    Vec::<Conflict>::deserialize(conflicts).map_err(|error| {
        Failure::unusable(format!(
            "the answer is not understood: {error}; is the server newer?"
        ))
    })
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

/// Learns how strict the project is, for when nobody can be asked.
fn learn(session: &Session<'_>, project: &ProjectRef, ground: &Ground) {
    let Some(memory) = ground.memory() else {
        return;
    };
    let request = ProjectStatusQuery {
        project: Some(project.clone()),
    };
    let status = session.call(ProjectStatusQuery::NAME, &request);
    let wanted = status.ok().and_then(|status| {
        let project = status.get("project")?;
        Some(Wanted {
            mode: serde_json::from_value(project.get("guard_mode")?.clone()).ok()?,
            away: serde_json::from_value(project.get("guard_away")?.clone()).ok()?,
        })
    });
    if let Some(wanted) = wanted {
        memory.keep(wanted);
    }
}

fn is(failure: &Failure, words: &[&str]) -> bool {
    let word = failure.body.get("error").and_then(Value::as_str);
    word.is_some_and(|word| words.contains(&word))
}

//! `comity guard install`.

use std::ffi::OsString;

use clap::Args;
use comity_archive::Repository;
use comity_archive::guard::{Away, Done, Folder, FolderError, Hook, Hooks, Script, State};
use comity_domain::GuardAway;
use serde_json::{Value, json};

use super::told::{failed, item, left_as_it_is, lines, repository, unusable};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::guard::{Known, Memory, learn};
use crate::place;
use crate::show::{Shown, View};

/// Installs the guard.
#[derive(Args)]
#[command(
    after_help = "The hooks ask as the agent that COMITY_AS or COMITY_TOKEN names, or as the operator from a \
    terminal.\nGit skips pre-commit for cherry-pick, rebase and --no-verify: --reference-transaction stops \
    those too."
)]
pub(crate) struct Install {
    /// Ask at every change of a branch, whichever command makes it.
    #[arg(long)]
    reference_transaction: bool,
}

impl Install {
    pub(crate) fn run(&self, globals: &Globals) -> Result<Shown, Failure> {
        let repository = repository()?;
        let folder = Folder::effective(&repository);
        let folder = folder.map_err(|error| no_folder(&error, &repository))?;
        let hooks = Hooks::new(&folder);
        let memory = Memory::of(repository.common_directory());
        let known = learn(globals, &memory);
        let script = Script {
            program: std::env::current_exe().map_err(unusable)?,
            options: options(globals, known.as_ref())?,
            away: away(&memory),
        };
        let mut items = Vec::new();
        let mut left = Vec::new();
        for hook in self.wanted(&hooks)? {
            let done = hooks
                .install(hook, &script)
                .map_err(|error| failed(&error))?;
            items.push(item(&hooks, hook, done));
            if let Done::Left(state) = done {
                left.push(left_as_it_is(hook, state));
            }
        }
        let mut lines = lines(&items);
        if folder.is_in_work_tree() {
            lines.push("note: these hooks lie in the work tree; they name paths of this machine, so do not commit them".to_owned());
        }
        let answer = json!({ "items": items, "folder": folder.path() });
        Ok(Shown {
            failure: (!left.is_empty()).then(|| Failure::unusable(left.join("; "))),
            ..Shown::new(answer, View::Text(lines.join("\n")))
        })
    }

    /// Returns the hooks to install; one of ours that is there is written anew as well.
    fn wanted(&self, hooks: &Hooks) -> Result<Vec<Hook>, Failure> {
        let mut wanted = Hook::USUAL.to_vec();
        let state = hooks
            .state(Hook::ReferenceTransaction)
            .map_err(|error| failed(&error))?;
        if self.reference_transaction || matches!(state, State::Installed | State::Chained) {
            wanted.push(Hook::ReferenceTransaction);
        }
        Ok(wanted)
    }
}

/// Says where hooks could be instead.
fn no_folder(error: &FolderError, repository: &Repository) -> Failure {
    let mut failure = Failure::unusable(error.to_string());
    let own = repository.common_directory().join("hooks");
    let own = own.display();
    let instead = "let the hooks there run `comity guard hook NAME -- \"$@\"`";
    let hint = match error {
        FolderError::Git(_) => return failure,
        FolderError::Outside(_) => format!(
            "give this repository hooks of its own with `git config core.hooksPath '{own}'`, or {instead}"
        ),
        FolderError::Linked(_) => format!("make `{own}` a directory of its own, or {instead}"),
    };
    if let Value::Object(body) = &mut failure.body {
        body.insert("hint".to_owned(), hint.into());
    }
    failure
}

/// Returns the options by which a hook finds whom to ask, wherever it runs. The project is this one,
/// whichever an agent that commits here belongs to.
fn options(globals: &Globals, known: Option<&Known>) -> Result<Vec<OsString>, Failure> {
    let mut options: Vec<OsString> = Vec::new();
    if let Some(data) = &globals.data {
        let data = place::data_directory(Some(data))?;
        options.extend(["--data".into(), data.into()]);
    }
    if let Some(url) = &globals.url {
        // The script is a file that others may read (S18).
        if url.contains('@') {
            let what = "the URL must not hold credentials: the hooks use COMITY_AS or COMITY_TOKEN";
            return Err(Failure::unusable(what));
        }
        options.extend(["--url".into(), url.into()]);
    }
    if let Some(known) = known {
        options.extend(["--project".into(), known.slug.clone().into()]);
    } else if let Some(project) = &globals.project {
        let project = place::named_project(project)?;
        options.extend(["--project".into(), project.to_string().into()]);
    }
    Ok(options)
}

/// Returns what the script does when the program is gone: what was wanted last, or else it blocks.
fn away(memory: &Memory) -> Away {
    match memory.recall().map(|wanted| wanted.away) {
        Some(GuardAway::Warn) => Away::Warn,
        Some(GuardAway::Block) | None => Away::Block,
    }
}

//! `comity guard install`.

use std::ffi::OsString;

use clap::Args;
use comity_archive::Repository;
use comity_archive::guard::{
    Away, Done, Folder, FolderError, Hook, HookError, Hooks, Script, State,
};
use comity_domain::GuardAway;
use comity_kernel::Query as _;
use comity_kernel::project::ProjectStatusQuery;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::globals::Globals;
use crate::guard::{Memory, Wanted};
use crate::session::Context;
use crate::show::{Shown, View};
use crate::{output, place};

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

/// Finds the repository around the current directory.
pub(super) fn repository() -> Result<Repository, Failure> {
    Repository::around(&place::here()?).map_err(unusable)
}

/// Says where hooks could be instead.
fn no_folder(error: &FolderError, repository: &Repository) -> Failure {
    let mut failure = Failure::unusable(error.to_string());
    if let (FolderError::Outside(_), Value::Object(body)) = (error, &mut failure.body) {
        let usual = Folder::usual(repository);
        let usual = usual.path().display();
        let hint = format!(
            "give this repository hooks of its own with `git config core.hooksPath '{usual}'`, or let the \
             hooks there run `comity guard hook NAME -- \"$@\"`"
        );
        body.insert("hint".to_owned(), hint.into());
    }
    failure
}

/// What is known of the project when the hooks are written.
struct Known {
    wanted: Wanted,
    slug: String,
}

/// Learns which project this is and what it wants, and remembers it for when nobody can be asked.
fn learn(globals: &Globals, memory: &Memory) -> Option<Known> {
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

/// Returns the options by which a hook finds whom to ask, wherever it runs. The project is this one,
/// whichever an agent that commits here belongs to.
fn options(globals: &Globals, known: Option<&Known>) -> Result<Vec<OsString>, Failure> {
    let mut options: Vec<OsString> = Vec::new();
    if let Some(data) = &globals.data {
        let data = place::data_directory(Some(data))?;
        options.extend(["--data".into(), data.into()]);
    }
    if let Some(url) = &globals.url {
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

/// Shows what was done with a hook.
pub(super) fn item(hooks: &Hooks, hook: Hook, done: Done) -> Value {
    let word = match done {
        Done::Installed => "installed",
        Done::Chained => "chained",
        Done::Refreshed => "refreshed",
        Done::Removed => "removed",
        Done::Restored => "restored",
        Done::Nothing => "nothing",
        Done::Left(_) => "left",
    };
    json!({ "hook": hook.name(), "done": word, "path": hooks.path(hook) })
}

/// Writes a line for each hook.
pub(super) fn lines(items: &[Value]) -> Vec<String> {
    let line = |item: &Value| {
        let text = |field| item.get(field).and_then(Value::as_str).unwrap_or_default();
        format!("{:22}  {:10}  {}", text("hook"), text("done"), text("path"))
    };
    items.iter().map(line).collect()
}

/// Says why a hook was left.
pub(super) fn left_as_it_is(hook: Hook, state: State) -> String {
    let (name, earlier) = (hook.name(), "before-comity");
    match state {
        State::Edited => format!(
            "`{name}` is the guard's, but somebody changed it: it is left as it is; remove or rename it first"
        ),
        _ => format!(
            "`{name}` was replaced by somebody, and `{name}.{earlier}` holds the one from before the guard: both are left; remove or rename one first"
        ),
    }
}

/// Says that a hook cannot be changed, and why.
pub(super) fn failed(error: &HookError) -> Failure {
    Failure::unusable(format!("{error}: {}", error.source))
}

fn unusable(error: impl std::fmt::Display) -> Failure {
    Failure::unusable(error.to_string())
}

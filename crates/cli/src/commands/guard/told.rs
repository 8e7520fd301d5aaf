//! What `install` and `uninstall` tell of hooks.

use comity_archive::Repository;
use comity_archive::guard::{Done, Hook, HookError, Hooks, State};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::place;

/// Finds the repository around the current directory.
pub(super) fn repository() -> Result<Repository, Failure> {
    Repository::around(&place::here()?).map_err(unusable)
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

/// Says that something cannot be used.
pub(super) fn unusable(error: impl std::fmt::Display) -> Failure {
    Failure::unusable(error.to_string())
}

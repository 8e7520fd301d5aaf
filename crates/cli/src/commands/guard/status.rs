//! `comity guard status`.

use clap::Args;
use comity_archive::guard::{Folder, Hook, Hooks, State};
use serde_json::{Value, json};

use super::told::{failed, repository};
use crate::failure::Failure;
use crate::guard::Memory;
use crate::show::{Shown, View};

/// Shows how the guard stands.
#[derive(Args)]
pub(crate) struct Status {}

impl Status {
    pub(crate) fn run(&self) -> Result<Shown, Failure> {
        let Self {} = self;
        let repository = repository()?;
        let unusable = |error: comity_archive::GitError| Failure::unusable(error.to_string());
        let setting = Folder::setting(&repository).map_err(unusable)?;
        let (folder, problem) = match Folder::effective(&repository) {
            Ok(folder) => (Some(folder), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let mut items = Vec::new();
        if let Some(hooks) = folder.as_ref().map(Hooks::new) {
            for hook in Hook::ALL {
                let state = word(hooks.state(hook).map_err(|error| failed(&error))?);
                items
                    .push(json!({ "hook": hook.name(), "state": state, "path": hooks.path(hook) }));
            }
        }
        let answer = json!({
            "items": items,
            "folder": folder.as_ref().map(Folder::path),
            "hooks_path": setting,
            "problem": problem,
            "remembered": Memory::of(repository.common_directory()).recall(),
        });
        let text = text(&answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

const fn word(state: State) -> &'static str {
    match state {
        State::Missing => "missing",
        State::Installed => "installed",
        State::Chained => "chained",
        State::Edited => "edited",
        State::Foreign => "foreign",
        State::Replaced => "replaced",
    }
}

fn text(answer: &Value) -> String {
    let of = |value: &Value, field: &str| match value.pointer(field).and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => "-".to_owned(),
    };
    let items = answer.get("items").and_then(Value::as_array);
    let items = items.into_iter().flatten();
    let mut lines: Vec<_> = items
        .map(|item| format!("{:22}  {}", of(item, "/hook"), of(item, "/state")))
        .collect();
    for (title, field) in [
        ("hooks in", "/folder"),
        ("core.hooksPath", "/hooks_path"),
        ("mode", "/remembered/mode"),
        ("when nobody answers", "/remembered/away"),
    ] {
        lines.push(format!("{title:22}  {}", of(answer, field)));
    }
    if answer.get("problem").is_some_and(Value::is_string) {
        lines.push(format!("{:22}  {}", "problem", of(answer, "/problem")));
    }
    lines.join("\n")
}

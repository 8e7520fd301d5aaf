//! `comity guard uninstall`.

use clap::Args;
use comity_archive::guard::{Done, Folder, Hook, Hooks};
use serde_json::json;

use super::told::{failed, item, left_as_it_is, lines, repository};
use crate::failure::Failure;
use crate::guard::Memory;
use crate::show::{Shown, View};

/// Uninstalls the guard.
#[derive(Args)]
pub(crate) struct Uninstall {}

impl Uninstall {
    pub(crate) fn run(&self) -> Result<Shown, Failure> {
        let Self {} = self;
        let repository = repository()?;
        // A setting may have changed since: hooks are looked for where they are usually, too.
        let folders = [Folder::usual(&repository), Folder::effective(&repository)];
        let mut folders: Vec<_> = folders.into_iter().flatten().collect();
        folders.dedup();
        let mut items = Vec::new();
        let mut left = Vec::new();
        for hooks in folders.iter().map(Hooks::new) {
            for hook in Hook::ALL {
                match hooks.uninstall(hook).map_err(|error| failed(&error))? {
                    Done::Nothing => {}
                    Done::Left(state) => left.push(left_as_it_is(hook, state)),
                    done => items.push(item(&hooks, hook, done)),
                }
            }
        }
        if left.is_empty() {
            Memory::of(repository.common_directory()).forget();
        }
        let text = if items.is_empty() {
            "there was nothing of the guard here".to_owned()
        } else {
            lines(&items).join("\n")
        };
        Ok(Shown {
            failure: (!left.is_empty()).then(|| Failure::unusable(left.join("; "))),
            ..Shown::new(json!({ "items": items }), View::Text(text))
        })
    }
}

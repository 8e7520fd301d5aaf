//! `comity completions`.

use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;
use serde_json::json;

use crate::failure::Failure;
use crate::show::{Shown, View};

/// Prints what a shell sources; it asks this program for commands, agents and projects.
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<Shown, Failure> {
        let shell = self.shell.to_string();
        let mut script = Vec::new();
        let shells = Shells::builtins();
        let written = match shells.completer(&shell) {
            Some(completer) => completer
                .write_registration("COMPLETE", "comity", "comity", "comity", &mut script)
                .map_err(|error| error.to_string()),
            None => Err("there is none for it".to_owned()),
        };
        written.map_err(|why| Failure::unusable(format!("completions for {shell}: {why}")))?;
        let script = String::from_utf8_lossy(&script).into_owned();
        let answer = json!({ "shell": shell, "script": script });
        Ok(Shown::new(answer, View::Raw(script)))
    }
}

//! What people and programs see of a worker: a line for each dispatch, and on a terminal its progress.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use comity_domain::DispatchId;
use indicatif::ProgressBar;
use serde_json::json;

use super::record::Running;
use super::work::Done;
use crate::failure::Failure;
use crate::output::{self, Form};
use crate::show::harmless;

/// Characters of a command's last line.
const LINE_CHARS_MAX: usize = 60;

/// What became of work whose worker died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It was reported as failed.
    Reported,
    /// Its claim is over: lost, or settled.
    Over,
    /// Its claim still holds, and cannot be reported from here.
    Kept,
}

/// What is shown while a worker runs.
pub(super) struct Progress {
    form: Form,
    bar: ProgressBar,
    running: Mutex<BTreeMap<DispatchId, String>>,
}

impl Progress {
    /// Begins to show.
    pub(super) fn new(form: Form) -> Self {
        Self {
            form,
            bar: output::spinner(form, "waiting for work"),
            running: Mutex::default(),
        }
    }

    /// Shows how far a dispatch is.
    pub(super) fn show(&self, id: DispatchId, line: &str) {
        let line = harmless(line).chars().take(LINE_CHARS_MAX).collect();
        self.change(|running| running.insert(id, line));
    }

    /// Shows a dispatch no more.
    pub(super) fn forget(&self, id: DispatchId) {
        self.change(|running| running.remove(&id));
    }

    /// Prints how a dispatch ended.
    pub(super) fn tell(&self, done: &Done) {
        let (outcome, summary) = done.end.words();
        let summary = match summary {
            "" => String::new(),
            said => format!(": {}", harmless(said)),
        };
        let (id, log) = (done.dispatch, done.log.display());
        let text = format!("dispatch {id} {outcome}{summary} ({log})");
        self.bar.suspend(|| match self.form {
            Form::Json => output::line(&done.to_json()),
            Form::People => output::say(&text),
            Form::Quiet => {}
        });
    }

    /// Prints what became of work that a dead worker left.
    pub(super) fn found(&self, left: &Running, end: Found) {
        let id = left.dispatch;
        let (outcome, shown) = match end {
            Found::Reported => ("failed", "it is reported as failed"),
            Found::Over => ("lost", "its claim is over"),
            Found::Kept => ("kept", "its claim is another agent's to report"),
        };
        let text = format!("the worker of dispatch {id} died, and nothing of it runs; {shown}");
        self.bar.suspend(|| match self.form {
            Form::Json => output::line(&json!({
                "dispatch": id,
                "fence": left.fence,
                "outcome": outcome,
                "summary": "its worker died",
            })),
            Form::People => output::say(&text),
            Form::Quiet => {}
        });
    }

    /// Warns of what hinders the work for now.
    pub(super) fn complain(&self, failure: &Failure) {
        let why = failure.message();
        if self.bar.message() != why {
            self.bar.set_message(why.to_owned());
            self.bar
                .suspend(|| output::warn(&format!("{why}; trying again")));
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<DispatchId, String>) -> T) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut running);
        let lines: Vec<_> = running
            .iter()
            .map(|(id, line)| format!("dispatch {id} {line}"))
            .collect();
        let message = match lines.as_slice() {
            [] => "waiting for work".to_owned(),
            lines => lines.join(" | "),
        };
        self.bar.set_message(message);
    }
}

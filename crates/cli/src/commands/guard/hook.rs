//! `comity guard hook`, which the scripts in a repository call.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;

use clap::Args;
use comity_archive::Repository;
use comity_archive::guard::{Hook, changes, real_names, run_earlier, writes};
use comity_domain::{GuardAway, GuardMode};
use serde_json::json;

use crate::failure::Failure;
use crate::globals::{Globals, variable};
use crate::guard::{Answer, Memory, Named, Unanswered, ask, could_not_ask, refused};
use crate::{output, place};

/// The longest input of a hook: a line for each reference.
const INPUT_BYTES_MAX: u64 = 16 << 20;

/// Asks as a hook.
#[derive(Args)]
pub(crate) struct RunHook {
    /// The hook.
    #[arg(value_parser = hook)]
    hook: Hook,
    /// The script that Git ran; a hook that was there before lies beside it.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// What Git says to the hook.
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

fn hook(name: &str) -> Result<Hook, String> {
    Hook::of_name(name).ok_or_else(|| format!("`{name}` is no hook of the guard"))
}

impl RunHook {
    pub(crate) fn run(&self, globals: &Globals) -> Result<(), Failure> {
        let input = self.input()?;
        self.earlier(&input)?;
        if !writes(self.hook, &self.arguments, &input) {
            return Ok(());
        }
        let repository = Repository::of_hook(&place::here()?)
            .map_err(|error| could_not_ask(&Failure::unusable(error.to_string()), None))?;
        let memory = Memory::of(repository.common_directory());
        let names = match self.names(&repository, &input) {
            Ok(names) if names.is_empty() => return Ok(()),
            Ok(names) => names,
            Err(unknown) => return judge_unknown(&memory, &unknown),
        };
        let question = Named::of(&names);
        match ask(&asking(globals), question.paths()) {
            Ok(answer) => match Answer::of(&answer) {
                Ok(answer) => {
                    memory.keep(answer.wanted());
                    judge(&answer, &question.nameless)
                }
                Err(failure) => judge_away(&memory, &failure),
            },
            Err(Unanswered::Away(failure)) => judge_away(&memory, &failure),
            Err(Unanswered::Unanswerable(failure)) => judge_unknown(&memory, &failure),
        }
    }

    /// Reads what Git says on the input, where it says something.
    fn input(&self) -> Result<Vec<u8>, Failure> {
        let mut input = Vec::new();
        if !self.hook.has_input() {
            return Ok(input);
        }
        let stdin = std::io::stdin().lock();
        let read = stdin.take(INPUT_BYTES_MAX + 1).read_to_end(&mut input);
        read.map_err(|error| Failure::unusable(format!("stdin cannot be read: {error}")))?;
        if input.len() as u64 > INPUT_BYTES_MAX {
            return Err(Failure::unusable(
                "Git names more references than can be checked",
            ));
        }
        Ok(input)
    }

    /// Runs the hook that was there before: it may change the index, so ours comes after it.
    fn earlier(&self, input: &[u8]) -> Result<(), Failure> {
        let Some(script) = &self.script else {
            return Ok(());
        };
        let hook = self.hook.name();
        match run_earlier(script, self.hook, &self.arguments, input) {
            Ok(None | Some(0)) => Ok(()),
            Ok(Some(code)) => Err(Failure {
                exit: u8::try_from(code).unwrap_or(1),
                ..Failure::answered(json!({
                    "error": "refused",
                    "message": format!("the {hook} hook that was here before the guard refuses this"),
                }))
            }),
            Err(error) => Err(Failure::unusable(format!(
                "the {hook} hook that was here before the guard does not run: {error}"
            ))),
        }
    }

    /// Finds every name of what will be written.
    fn names(&self, repository: &Repository, input: &[u8]) -> Result<BTreeSet<Vec<u8>>, Failure> {
        let names = changes(repository, self.hook, &self.arguments, input);
        let mut names = names.map_err(|error| Failure::unusable(error.to_string()))?;
        if let Some(work_tree) = repository.work_tree() {
            let mut others = real_names(work_tree, &names);
            names.append(&mut others);
        }
        Ok(names)
    }
}

/// Returns who asks. Git gives a hook no terminal to read from, so a person is known by the one that
/// is written to. The operator holds no leases: to ask as the operator opens nothing.
fn asking(globals: &Globals) -> Globals {
    let mut asking = globals.clone();
    let named = ["COMITY_AS", "COMITY_TOKEN"].map(variable);
    let is_named = globals.agent.is_some() || named.iter().any(Option::is_some);
    asking.operator |= !is_named && std::io::stderr().is_terminal();
    asking
}

/// Decides by the answer.
fn judge(answer: &Answer, nameless: &[String]) -> Result<(), Failure> {
    let mode = answer.wanted().mode;
    if mode == GuardMode::Off {
        return Ok(());
    }
    let mut lines = answer.lines();
    lines.extend(nameless.iter().map(|name| {
        format!("{name}: cannot be checked, because no pattern can have this name (not UTF-8, or control characters)")
    }));
    let sum = match (answer.is_free(), nameless.len()) {
        (true, 0) => return Ok(()),
        (true, count) => format!("{count} names cannot be checked"),
        (false, _) => answer.sum(),
    };
    output::explain(&lines);
    match mode {
        GuardMode::Block => Err(refused(&sum)),
        GuardMode::Warn => {
            output::warn(&format!(
                "{sum}; it passes, because this project's guard only warns"
            ));
            Ok(())
        }
        GuardMode::Off => Ok(()),
    }
}

/// Decides where nobody could be asked: by the project's setting for that, as last heard.
fn judge_away(memory: &Memory, failure: &Failure) -> Result<(), Failure> {
    let wanted = memory.recall();
    if wanted.is_some_and(|wanted| wanted.mode == GuardMode::Off) {
        return Ok(());
    }
    let away = wanted.map(|wanted| wanted.away);
    let failure = could_not_ask(failure, away);
    if away == Some(GuardAway::Warn) {
        output::warn(&format!(
            "{}; this passes unchecked, because the project's setting `guard_away` is `warn`",
            failure.message()
        ));
        return Ok(());
    }
    Err(failure)
}

/// Decides where it cannot be said what is written, or the question cannot be answered: it counts as
/// a conflict.
fn judge_unknown(memory: &Memory, failure: &Failure) -> Result<(), Failure> {
    let sum = format!("this cannot be checked: {}", failure.message());
    match memory
        .recall()
        .map_or(GuardMode::Block, |wanted| wanted.mode)
    {
        GuardMode::Off => Ok(()),
        GuardMode::Warn => {
            output::warn(&format!(
                "{sum}; it passes, because this project's guard only warns"
            ));
            Ok(())
        }
        GuardMode::Block => Err(refused(&sum)),
    }
}

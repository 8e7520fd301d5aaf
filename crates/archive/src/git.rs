//! Runs `git` so that nothing of anybody's configuration is executed (S12).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bounded::{self, Bounds, Ended, Unfinished};

/// What a hook may have been given by Git to find its repository and its index.
const GIVEN_TO_HOOKS: &[&str] = &[
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
];

/// What says where a person's own settings lie.
const WHERE_SETTINGS_LIE: &[&str] = &[
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];

/// The environment of every call. History is read as it was written: without replaced objects, grafts
/// or objects fetched on the way; no protocol is allowed, whatever the repository says of each.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ASKPASS", "false"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_EDITOR", "false"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
    ("SSH_ASKPASS", "false"),
];

/// The environment of every call that reads nobody's own settings.
const NO_SETTINGS: &[(&str, &str)] = &[
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
];

/// Settings that outdo the repository's own: each names a program that Git would start, or makes it
/// believe something else than the objects. Filters, merge and text conversion drivers have names of
/// their own and cannot be outdone: no command that uses them is called.
const SETTINGS: &[&str] = &[
    "advice.graftFileDeprecated=false",
    "core.alternateRefsCommand=false",
    "core.askPass=false",
    "core.editor=false",
    "core.fsmonitor=false",
    "core.gitProxy=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "core.sshCommand=false",
    "credential.helper=",
    "gpg.program=false",
    "log.showSignature=false",
    "protocol.allow=never",
    // Whoever owns the repository: nothing of it is executed.
    "safe.directory=*",
    "submodule.recurse=false",
];

/// Why `git` did not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It does not start.
    #[error("`git` does not run")]
    DoesNotRun(#[source] std::io::Error),
    /// It refused.
    #[error("`git {command}` failed: {said}")]
    Failed {
        /// What it was called for.
        command: String,
        /// The last thing it said.
        said: String,
    },
    /// The system, or the repository it was to work on, kept it from its work: whatever it was given
    /// is not to blame.
    #[error("`git {command}` could not do its work: {said}")]
    Hindered {
        /// What it was called for.
        command: String,
        /// What it said of that.
        said: String,
    },
    /// Somebody ended it: whatever it was given is not to blame.
    #[error("`git {command}` was ended by signal {signal}")]
    Ended {
        /// What it was called for.
        command: String,
        /// The signal.
        signal: i32,
    },
    /// It took longer than anything here should.
    #[error("`git {command}` did not end within {seconds} s")]
    TookTooLong {
        /// What it was called for.
        command: String,
        /// How long it was given.
        seconds: u64,
    },
    /// It answered more than is taken in.
    #[error("`git {command}` answered more than {bytes_max} bytes")]
    SaidTooMuch {
        /// What it was called for.
        command: String,
        /// How much is taken in.
        bytes_max: u64,
    },
    /// It answered what cannot be understood.
    #[error("`git {command}` answered what is not understood")]
    NotUnderstood {
        /// What it was called for.
        command: String,
    },
}

/// `git` in a directory.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    directory: PathBuf,
    given: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Makes one that finds its repository by its directory alone.
    pub(crate) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            given: Vec::new(),
        }
    }

    /// Makes one whose repository is this directory, bare, and no other: were it none any more, git
    /// would look for one around it, and write there.
    pub(crate) fn bare_at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            given: vec![("GIT_DIR", OsString::from("."))],
        }
    }

    /// Makes one that looks where Git told the hook to look that this process is.
    pub(crate) fn of_hook(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            given: from_environment(GIVEN_TO_HOOKS),
        }
    }

    /// Runs a command; words of others must come as input, never as arguments.
    pub(crate) fn run(&self, arguments: &[&str], input: Vec<u8>) -> Result<Vec<u8>, GitError> {
        let ended = end_of(self.command(arguments), arguments, input)?;
        if ended.code == Some(0) {
            return Ok(ended.stdout);
        }
        Err(failed(arguments, &ended))
    }

    /// Runs a command that says no by its exit code alone; then there is nothing.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<Option<Vec<u8>>, GitError> {
        let ended = end_of(self.command(arguments), arguments, Vec::new())?;
        answered(arguments, ended)
    }

    /// Reads a setting with the person's own files, which decide about it too; nothing is executed.
    pub(crate) fn setting(&self, name: &'static str) -> Result<Option<Vec<u8>>, GitError> {
        let arguments = ["config", "--null", "--type=path", "--get", name];
        let mut command = self.bare();
        command.envs(from_environment(WHERE_SETTINGS_LIE));
        command.args(["--no-pager", "-c", "safe.directory=*"]);
        command.args(arguments);
        let value = answered(&arguments, end_of(command, &arguments, Vec::new())?)?;
        Ok(value.map(|value| value.strip_suffix(b"\0").unwrap_or(&value).to_vec()))
    }

    /// Runs a command that may take this long and say this much.
    pub(crate) fn run_within(
        &self,
        arguments: &[&str],
        input: Vec<u8>,
        bounds: Bounds,
    ) -> Result<Vec<u8>, GitError> {
        let ended = end_within(self.command(arguments), arguments, input, bounds)?;
        if ended.code == Some(0) {
            return Ok(ended.stdout);
        }
        Err(failed(arguments, &ended))
    }

    /// Prepares an import: packs are synced before the reference moves, a stream that breaks off
    /// counts for nothing, and the name of the new commit comes on standard error.
    pub(crate) fn fast_import(&self) -> Command {
        let settings = ["-c", "fastimport.unpackLimit=1", "-c", "core.fsync=all"];
        let mut command = self.command(&[]);
        command.args(settings);
        command.args(["fast-import", "--quiet", "--done", "--date-format=raw"]);
        command.arg("--cat-blob-fd=2");
        command
    }

    /// Prepares to put packs together, without the files for readers over plain HTTP (`-n`): nobody
    /// reads them, and a killed `git` leaves halves of them under names of chance.
    pub(crate) fn repack(&self) -> Command {
        self.command(&["repack", "-d", "-n", "--geometric=2", "--quiet"])
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare();
        command.envs(NO_SETTINGS.iter().copied());
        command.args(["--no-pager", "--no-optional-locks"]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        command
    }

    /// Starts from an empty environment: only the path to find programs by is kept.
    fn bare(&self) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.directory).env_clear();
        command.envs(from_environment(&["PATH"]));
        command.envs(ENVIRONMENT.iter().copied());
        command.envs(self.given.iter().cloned());
        command
    }
}

fn end_of(command: Command, arguments: &[&str], input: Vec<u8>) -> Result<Ended, GitError> {
    end_within(command, arguments, input, Bounds::USUAL)
}

fn end_within(
    command: Command,
    arguments: &[&str],
    input: Vec<u8>,
    bounds: Bounds,
) -> Result<Ended, GitError> {
    bounded::run(command, input, bounds).map_err(|error| {
        let command = name_of(arguments);
        match error {
            Unfinished::DoesNotRun(error) => GitError::DoesNotRun(error),
            Unfinished::TookTooLong { seconds } => GitError::TookTooLong { command, seconds },
            Unfinished::SaidTooMuch { bytes_max } => GitError::SaidTooMuch { command, bytes_max },
        }
    })
}

impl GitError {
    /// Says that an answer of a command is not understood.
    pub(crate) fn not_understood(command: &str) -> Self {
        Self::NotUnderstood {
            command: command.to_owned(),
        }
    }
}

fn from_environment(names: &[&'static str]) -> Vec<(&'static str, OsString)> {
    let given = |name: &&'static str| std::env::var_os(name).map(|value| (*name, value));
    names.iter().filter_map(given).collect()
}

/// Tells a plain no, which is exit code 1, from a failure.
fn answered(arguments: &[&str], ended: Ended) -> Result<Option<Vec<u8>>, GitError> {
    match ended.code {
        Some(0) => Ok(Some(ended.stdout)),
        Some(1) => Ok(None),
        _ => Err(failed(arguments, &ended)),
    }
}

fn failed(arguments: &[&str], ended: &Ended) -> GitError {
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    let last = last.map(|line| line.trim().trim_start_matches("fatal: ").to_owned());
    GitError::Failed {
        command: name_of(arguments),
        said: last.unwrap_or_else(|| format!("exit code {:?}", ended.code)),
    }
}

fn name_of(arguments: &[&str]) -> String {
    arguments.first().copied().unwrap_or_default().to_owned()
}

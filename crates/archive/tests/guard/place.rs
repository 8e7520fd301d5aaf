//! A repository of a test's own, and the guard's answers as a hook would get them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    /// Makes a repository without a commit.
    pub(crate) fn new() -> Self {
        Self::of_format("sha1")
    }

    pub(crate) fn of_format(format: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Self { directory };
        std::fs::create_dir(place.path("home")).unwrap();
        let format = format!("--object-format={format}");
        let made = place.command(".", &["init", "-q", "-b", "main", &format, "tree"]);
        succeed(made);
        for (name, value) in [("user.name", "T"), ("user.email", "t@example.org")] {
            place.git(&["config", name, value]);
        }
        place
    }

    /// A path beside the repository.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.path("tree")
    }

    /// `git` in a directory, with nobody's settings but the test's.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, directory: &str, arguments: &[A]) -> Command {
        let mut command = Command::new("git");
        command.args(arguments).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.path("home"));
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z");
        command.env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z");
        command.env("GIT_EDITOR", "true");
        command
            .current_dir(self.path(directory))
            .stdin(Stdio::null());
        command
    }

    /// Runs `git` in the work tree.
    pub(crate) fn git<A: AsRef<OsStr>>(&self, arguments: &[A]) -> String {
        succeed(self.command("tree", arguments))
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, content: &str) {
        let path = self.tree().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Makes every hook of the repository write what the guard finds.
    pub(crate) fn watch(&self) {
        for hook in [
            "pre-commit",
            "pre-merge-commit",
            "pre-push",
            "reference-transaction",
        ] {
            let probe = std::env::current_exe().unwrap();
            let script = format!(
                "#!/bin/sh\nPROBE_HOOK={hook} PROBE_STATE=\"$1\" PROBE_INTO='{}' \
                 exec '{}' --ignored --exact probe::of_a_hook >/dev/null\n",
                self.path("found").display(),
                probe.display()
            );
            program(&self.tree().join(".git/hooks").join(hook), &script);
        }
    }

    /// Returns what a hook found since it was asked last: the union of its questions.
    pub(crate) fn found(&self, hook: &str) -> BTreeSet<String> {
        let file = self.path("found").join(hook);
        let found = std::fs::read(&file).unwrap_or_default();
        let _ = std::fs::remove_file(&file);
        let names = found
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        names.map(|name| name.escape_ascii().to_string()).collect()
    }
}

/// Writes a program.
pub(crate) fn program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn succeed(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.into_iter().map(ToOwned::to_owned).collect()
}

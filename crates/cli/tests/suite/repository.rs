//! A Git repository beside a data directory, and agents who commit to it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::place::{Place, answer};

/// A repository, with nobody's settings but the test's.
pub(crate) struct Repository {
    pub(crate) place: Place,
}

impl Repository {
    /// Makes a repository without a commit.
    pub(crate) fn new() -> Self {
        let place = Place::new();
        std::fs::create_dir(place.path().join("home")).unwrap();
        let repository = Self { place };
        let mut init = repository.git_as(None, &["init", "-q", "-b", "main", "tree"]);
        succeed(init.current_dir(repository.place.path()));
        for (name, value) in [("user.name", "T"), ("user.email", "t@example.org")] {
            succeed(&mut repository.git_as(None, &["config", name, value]));
        }
        repository
    }

    /// Makes one with agents A and B, and with files that are committed.
    pub(crate) fn with_agents(files: &[&str]) -> Self {
        let repository = Self::new();
        for name in ["A", "B"] {
            repository
                .ask(&["join", "--name", name, "--operator"])
                .unwrap();
        }
        for file in files {
            repository.write(file, "first\n");
        }
        repository.git(&["add", "-A"]);
        repository.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        repository
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("tree")
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.tree().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn hook(&self, name: &str) -> PathBuf {
        self.tree().join(".git/hooks").join(name)
    }

    /// `comity` in the work tree, with a home of the test's own.
    pub(crate) fn comity(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(arguments);
        command.current_dir(self.tree());
        command.env("HOME", self.place.path().join("home"));
        command.env_remove("XDG_CONFIG_HOME");
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// Runs `comity` in the work tree with `--json`.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<Value, (i32, Value)> {
        answer(
            &self
                .comity(&[arguments, &["--json"]].concat())
                .output()
                .unwrap(),
        )
    }

    /// `git` in the work tree, as an agent, or as nobody.
    pub(crate) fn git_as(&self, agent: Option<&str>, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args(arguments).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.place.path().join("home"));
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_EDITOR", "true");
        if let Some(agent) = agent {
            command.env("COMITY_AS", agent);
        }
        command.current_dir(self.place.path().join("tree"));
        command.stdin(Stdio::null());
        command
    }

    /// Runs `git` without the guard.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let without = [&["-c", "core.hooksPath=/dev/null"], arguments].concat();
        succeed(&mut self.git_as(None, &without))
    }

    /// Runs `git` as an agent: its exit code, and what was said.
    pub(crate) fn tries(&self, agent: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.git_as(Some(agent), arguments).output().unwrap();
        (output.status.code(), said(&output))
    }

    /// Runs `git` as an agent that must not be stopped.
    pub(crate) fn passes(&self, agent: &str, arguments: &[&str]) -> String {
        let (code, said) = self.tries(agent, arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
        said
    }

    /// Runs `git` as an agent that must be stopped, and learn by whom.
    pub(crate) fn stopped(&self, agent: &str, arguments: &[&str], by: &str) {
        let (code, said) = self.tries(agent, arguments);
        assert_ne!(code, Some(0), "{arguments:?}: {said}");
        assert!(said.contains(by), "{arguments:?}: {said}");
    }

    /// Calls an operation as an agent.
    pub(crate) fn call(&self, agent: &str, operation: &str, request: &Value) -> Value {
        let request = request.to_string();
        self.ask(&["call", operation, &request, "--as", agent])
            .unwrap()
    }

    /// Reserves a path for an agent.
    pub(crate) fn reserve(&self, agent: &str, path: &str, mode: &str) -> Value {
        let request = json!({ "paths": [path], "mode": mode, "reason": "my turn" });
        let granted = self.call(agent, "reserve_files", &request);
        granted["reservations"][0].clone()
    }
}

/// Writes a program.
pub(crate) fn program(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

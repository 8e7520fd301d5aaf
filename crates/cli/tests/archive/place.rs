//! A data directory with the real binary on it, and an archive of small pieces.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A running server, which is killed in the end.
pub(crate) struct Server(pub(crate) Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Where the data lies, and how it is archived.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    batch_max: &'static str,
}

impl Place {
    /// Makes one whose archive is cut into pieces of so many events.
    pub(crate) fn new(batch_max: &'static str) -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            batch_max,
        }
    }

    /// The directory around the data, for whatever else a test needs.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.data().join("archive.git")
    }

    pub(crate) fn comity(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_comity"));
        // The counts of a campaign are no settings of the program.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("COMITY") {
                command.env_remove(name);
            }
        }
        command.arg("--data").arg(self.data());
        // Small pieces, and at once: there are many commits to be killed in.
        command.env("COMITY_ARCHIVE_BATCH_MAX", self.batch_max);
        command.env("COMITY_ARCHIVE_INTERVAL", "1ms");
        command
    }

    /// Starts a server and waits until it says where it listens.
    pub(crate) fn serve(&self, addr: &str) -> (Server, String) {
        let mut child = self
            .comity()
            .args(["serve", "--addr", addr, "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        (Server(child), said["addr"].as_str().unwrap().to_owned())
    }

    /// Runs a command of the operator, which must succeed.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Value {
        let mut command = self.comity();
        let output = command.args(arguments).args(["--operator", "--json"]);
        let output = output.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What `git` says, as anybody would ask it.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(self.repository());
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Moves the archive to another disk, as a person would: while nobody writes it.
    pub(crate) fn move_archive(&self, disk: &Path) {
        let place = disk.join("archive.git");
        run(Command::new("cp")
            .arg("-a")
            .arg(self.repository())
            .arg(&place));
        run(Command::new("sync").arg("--file-system").arg(disk));
        std::fs::remove_dir_all(self.repository()).unwrap();
        std::os::unix::fs::symlink(&place, self.repository()).unwrap();
    }

    /// What lies in the repository is whole; what killed imports left without a name is all that
    /// `git` may tell of.
    pub(crate) fn must_be_sound(&self) {
        let found = self.git(&["fsck", "--strict", "--no-progress"]);
        let dangles = |line: &str| line.starts_with("dangling ");
        assert!(found.lines().all(dangles), "{found}");
    }

    /// Everything is archived, as the log has it; every message that was acknowledged was introduced
    /// by one commit, and nothing else was. Returns how many commits there are.
    pub(crate) fn must_be_right(&self, mut sent: Vec<i64>) -> usize {
        self.ask(&["archive", "sync", "--timeout", "300s"]);
        let status = self.ask(&["archive", "status"]);
        assert_eq!(
            (&status["lag"], &status["quarantined_count"]),
            (&json!(0), &json!(0)),
            "{status}"
        );
        let verified = self.ask(&["archive", "verify"]);
        assert_eq!(verified["ok"], json!(true), "{verified}");
        self.must_be_sound();
        let mut introduced = self.introduced();
        introduced.sort_unstable();
        sent.sort_unstable();
        assert_eq!(introduced, sent, "each acknowledged message in one commit");
        let commits = self.git(&["rev-list", "--count", "main"]);
        commits.trim().parse().unwrap()
    }

    /// The messages that commits introduced or changed.
    fn introduced(&self) -> Vec<i64> {
        let log = self.git(&["log", "--format=", "--name-only", "main"]);
        let paths = log.lines().filter(|path| path.contains("/messages/"));
        let id = |path: &str| -> i64 {
            let name = path.rsplit('/').next().unwrap();
            name.split('-').next().unwrap().parse().unwrap()
        };
        paths.map(id).collect()
    }
}

/// Runs a program, which must succeed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the count that a campaign asks for, or the small one of `scripts/test`.
pub(crate) fn count(name: &str, small: usize) -> usize {
    std::env::var(name).map_or(small, |text| text.parse().unwrap())
}

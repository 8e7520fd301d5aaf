//! Hands one commit to `git fast-import`.

use std::fs::File as Handle;
use std::io::{BufWriter, Read as _, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use comity_domain::{Sha256Hex, Timestamp};

use super::error::ArchiveError;
use super::render::{Content, File};
use crate::git::{Git, GitError};
use crate::object_id::ObjectId;

/// How long git may take from the end of its input to its own end.
const END_MAX: Duration = Duration::from_mins(2);
/// How often it is asked whether it ended.
const GLANCE: Duration = Duration::from_millis(1);
/// How much of its complaints is taken in.
const STDERR_BYTES_MAX: u64 = 64 << 10;

/// Finds bytes by their hash.
pub(super) type FindBlob<'a> = dyn FnMut(&Sha256Hex) -> Result<Option<Vec<u8>>, ArchiveError> + 'a;

/// A commit to be made.
pub(super) struct Commit<'a> {
    /// The commit before it; none before the first.
    pub(super) parent: Option<&'a ObjectId>,
    /// The time of its last event.
    pub(super) at: Timestamp,
    pub(super) message: String,
    pub(super) files: &'a [File],
}

/// Makes the commit and moves `refs/heads/main` to it, which git refuses if somebody else moved it.
///
/// The lock file is the child's standard output: should this process be killed, the child still
/// holds the lock until it ends.
pub(super) fn run(
    git: &Git,
    lock: &Handle,
    commit: &Commit<'_>,
    blob: &mut FindBlob<'_>,
) -> Result<ObjectId, ArchiveError> {
    let held = lock
        .try_clone()
        .map_err(ArchiveError::io("the lock cannot be shared"))?;
    let mut command = git.fast_import();
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::from(held))
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(GitError::DoesNotRun)?;
    let said = child.stderr.take().map(|stderr| {
        std::thread::spawn(move || {
            let mut said = Vec::new();
            // A broken pipe is the end of what it says.
            let _ = stderr.take(STDERR_BYTES_MAX).read_to_end(&mut said);
            String::from_utf8_lossy(&said).into_owned()
        })
    });
    let fed = match child.stdin.take() {
        Some(stdin) => feed(stdin, commit, blob),
        None => Ok(()),
    };
    if fed.is_err() {
        // Without its end the stream counts for nothing (`--done`).
        let _ = child.kill();
    }
    let code = wait(&mut child)?;
    let said = said
        .and_then(|reader| reader.join().ok())
        .unwrap_or_default();
    fed?;
    if code != Some(0) {
        return Err(refused(&said, code).into());
    }
    let mut lines = said.lines().rev();
    let made = lines.find_map(|line| ObjectId::parse(line.trim().as_bytes()));
    Ok(made.ok_or_else(|| GitError::not_understood("fast-import"))?)
}

fn refused(said: &str, code: Option<i32>) -> GitError {
    let complaint = |line: &&str| line.starts_with("fatal:") || line.starts_with("warning:");
    let line = said.lines().find(complaint).or_else(|| said.lines().last());
    GitError::Failed {
        command: "fast-import".to_owned(),
        said: line.map_or_else(|| format!("exit code {code:?}"), ToOwned::to_owned),
    }
}

fn feed(
    stdin: ChildStdin,
    commit: &Commit<'_>,
    blob: &mut FindBlob<'_>,
) -> Result<(), ArchiveError> {
    let mut out = BufWriter::with_capacity(256 << 10, stdin);
    let broken = || ArchiveError::io("git does not take the commit");
    let seconds = commit.at.micros().max(0) / 1_000_000;
    let who = format!("Comity <comity@localhost> {seconds} +0000");
    let from = commit
        .parent
        .map_or_else(String::new, |parent| format!("from {parent}\n"));
    let (length, message) = (commit.message.len(), &commit.message);
    let head = format!(
        "feature done\ncommit refs/heads/main\nmark :1\nauthor {who}\ncommitter {who}\n\
         data {length}\n{message}\n{from}"
    );
    out.write_all(head.as_bytes()).map_err(broken())?;
    for file in commit.files {
        let unwritten = |reason: String| ArchiveError::File {
            seq: file.seq,
            path: file.path.clone(),
            reason,
        };
        let kept;
        let bytes = match &file.content {
            Content::Bytes(bytes) => bytes,
            Content::Unrendered(reason) => return Err(unwritten(reason.clone())),
            Content::Blob(sha256) => {
                let found = blob(sha256)?;
                kept = found.ok_or_else(|| unwritten("its bytes are not there".to_owned()))?;
                &kept
            }
        };
        let entry = format!("M 100644 inline {}\ndata {}\n", file.path, bytes.len());
        out.write_all(entry.as_bytes()).map_err(broken())?;
        out.write_all(bytes).map_err(broken())?;
        out.write_all(b"\n").map_err(broken())?;
    }
    out.write_all(b"get-mark :1\ndone\n").map_err(broken())?;
    out.flush().map_err(broken())
}

/// Waits for the child's end, and ends it when it takes too long.
fn wait(child: &mut Child) -> Result<Option<i32>, ArchiveError> {
    let end = Instant::now() + END_MAX;
    let failed = || ArchiveError::io("git cannot be waited for");
    loop {
        if let Some(status) = child.try_wait().map_err(failed())? {
            return Ok(status.code());
        }
        if Instant::now() >= end {
            let _ = child.kill();
            child.wait().map_err(failed())?;
            return Err(GitError::TookTooLong {
                command: "fast-import".to_owned(),
                seconds: END_MAX.as_secs(),
            }
            .into());
        }
        std::thread::sleep(GLANCE);
    }
}

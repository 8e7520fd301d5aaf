//! Hands one commit to `git fast-import`.

use std::fs::File as Handle;
use std::io::{BufWriter, Read as _, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use comity_domain::{Sha256Hex, Timestamp};
use rustix::io::Errno;
use rustix::process::Signal;

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
    // A git that takes no more has a reason, and is about to say it.
    let takes_no_more = matches!(fed, Err(ArchiveError::Io { .. }));
    if fed.is_err() && !takes_no_more {
        // Without its end the stream counts for nothing (`--done`).
        let _ = child.kill();
    }
    let status = wait(&mut child, END_MAX, "fast-import")?;
    let said = said
        .and_then(|reader| reader.join().ok())
        .unwrap_or_default();
    if takes_no_more && !status.success() {
        return Err(refused(&said, status));
    }
    fed?;
    if !status.success() {
        return Err(refused(&said, status));
    }
    let mut lines = said.lines().rev();
    let made = lines.find_map(|line| ObjectId::parse(line.trim().as_bytes()));
    Ok(made.ok_or_else(|| GitError::not_understood("fast-import"))?)
}

/// Signals by which somebody ends a program; by others it ends itself, perhaps for what it was given.
const FROM_OUTSIDE: [Signal; 4] = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP];

/// The exit code of a `git` that minds something. With another one it did not begin, or took
/// everything and could not move the reference: no file is to blame for that.
const MINDS: i32 = 128;

/// What keeps any program from its work, whatever that is.
const HINDRANCES: [Errno; 9] = [
    Errno::IO,
    Errno::ROFS,
    Errno::ACCESS,
    Errno::PERM,
    Errno::MFILE,
    Errno::NFILE,
    Errno::NOMEM,
    Errno::STALE,
    Errno::FBIG,
];

/// Tells what a `git` that ended without success was up against: its input, which may be the fault
/// of one file, or its surroundings, which never are (D4).
fn refused(said: &str, status: ExitStatus) -> ArchiveError {
    let command = "fast-import".to_owned();
    let signal = status.signal().filter(|signal| {
        let is = |outside: &Signal| outside.as_raw() == *signal;
        FROM_OUTSIDE.iter().any(is)
    });
    if let Some(signal) = signal {
        return GitError::Ended { command, signal }.into();
    }
    let starts = ["fatal:", "error:", "warning:"];
    let complains = |line: &&str| starts.iter().any(|start| line.starts_with(start));
    let names = |error: Errno| {
        let text = std::io::Error::from(error).to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        let mut lines = said.lines().filter(complains);
        lines.any(|line| line.trim_end().ends_with(text))
    };
    // In one place git has words of its own for it.
    let is_full = names(Errno::NOSPC) || names(Errno::DQUOT) || said.contains("Out of diskspace");
    if is_full {
        return ArchiveError::Full;
    }
    let is_hindered = status.code().is_some_and(|code| code != MINDS)
        || HINDRANCES.into_iter().any(names)
        || said.contains("fatal: not a git repository")
        || said.contains("fatal: Out of memory");
    let line = said.lines().find(complains).or_else(|| said.lines().last());
    let said = line.map_or_else(|| status.to_string(), ToOwned::to_owned);
    if is_hindered {
        return GitError::Hindered { command, said }.into();
    }
    GitError::Failed { command, said }.into()
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
pub(super) fn wait(
    child: &mut Child,
    time_max: Duration,
    command: &str,
) -> Result<ExitStatus, ArchiveError> {
    let end = Instant::now() + time_max;
    let failed = || ArchiveError::io("git cannot be waited for");
    loop {
        if let Some(status) = child.try_wait().map_err(failed())? {
            return Ok(status);
        }
        if Instant::now() >= end {
            let _ = child.kill();
            child.wait().map_err(failed())?;
            return Err(GitError::TookTooLong {
                command: command.to_owned(),
                seconds: time_max.as_secs(),
            }
            .into());
        }
        std::thread::sleep(GLANCE);
    }
}

#[cfg(test)]
mod tests {
    use comity_domain::Seq;

    use super::*;

    // D4: what somebody killed is tried again, what git itself minds is looked at event by event
    #[test]
    fn a_killed_git_is_not_the_fault_of_what_it_was_given() {
        for (signal, is_blamed) in [(9, false), (15, false), (11, true), (6, true)] {
            let error = refused("", ExitStatus::from_raw(signal));
            let blames = matches!(error, ArchiveError::Git(GitError::Failed { .. }));
            assert_eq!(blames, is_blamed, "{error}");
        }
        let refusal = refused("fatal: no\n", ExitStatus::from_raw(128 << 8));
        assert_eq!(refusal.to_string(), "`git fast-import` failed: fatal: no");
    }

    // D4, fault 2: a disk or a quota that is used up is told by what git says, wherever it notices
    #[test]
    fn what_keeps_git_from_its_work_is_not_the_fault_of_what_it_was_given() {
        let ended = |code: i32, said: &str| refused(said, ExitStatus::from_raw(code << 8));
        for said in [
            "fatal: write error: Disk quota exceeded\n",
            "fatal: sha1 file 'objects/pack/tmp_pack_x' write error. Out of diskspace\n",
            "fast-import: dumping crash report to fast_import_crash_1\nfatal: write error: No space left on device\n",
            "error: cannot lock ref 'refs/heads/main': Unable to create './refs/heads/main.lock': Disk quota exceeded\n",
        ] {
            let error = ended(128, said);
            assert!(matches!(error, ArchiveError::Full), "{said}: {error}");
        }
        for (code, said) in [
            (128, "fatal: write error: Input/output error\n"),
            (128, "fatal: write error: Read-only file system\n"),
            (128, "fatal: not a git repository: '.'\n"),
            (
                128,
                "fatal: Out of memory, malloc failed (tried to allocate 9 bytes)\n",
            ),
            (
                1,
                "error: cannot update ref 'refs/heads/main': couldn't write './refs/heads/main.lock'\n",
            ),
            (1, "error: couldn't set 'refs/heads/main'\n"),
            (127, "git: error while loading shared libraries\n"),
        ] {
            let error = ended(code, said);
            let is_hindered = matches!(error, ArchiveError::Git(GitError::Hindered { .. }));
            assert!(is_hindered, "{said}: {error}");
        }
        let minded = ended(128, "fatal: invalid path 'a//b'\n");
        assert!(
            matches!(minded, ArchiveError::Git(GitError::Failed { .. })),
            "{minded}"
        );
    }

    // D4: a refusal in the middle of a stream is a refusal, not a broken pipe
    #[test]
    fn what_git_minds_is_told_even_if_more_was_to_come() {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::bare_at(directory.path());
        git.run(&["init", "--quiet", "--bare"], Vec::new()).unwrap();
        let lock = Handle::create(directory.path().join("lock")).unwrap();
        let file = |path: &str, bytes| File {
            seq: Seq::new(1),
            path: path.to_owned(),
            content: Content::Bytes(vec![b'x'; bytes]),
        };
        let files = [file("a//b", 1), file("large", 4 << 20)];
        let commit = Commit {
            parent: None,
            at: Timestamp::from_micros(0),
            message: String::new(),
            files: &files,
        };
        let made = run(&git, &lock, &commit, &mut |_| Ok(None));
        let refusal = made.unwrap_err();
        assert!(
            matches!(refusal, ArchiveError::Git(GitError::Failed { .. })),
            "{refusal:?}"
        );
    }
}

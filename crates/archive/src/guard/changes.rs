//! Which paths an action of Git writes.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::hook::Hook;
use crate::git::{Git, GitError};
use crate::object_id::ObjectId;
use crate::repository::Repository;

/// What every comparison asks for: names as they are, both names of a renamed file, gitlinks whatever
/// the repository says of its submodules, and paths from the root.
const NAMES: [&str; 8] = [
    "-r",
    "-z",
    "--name-only",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=none",
    "--no-relative",
];

/// What the names of branches begin with.
const BRANCHES: &[u8] = b"refs/heads/";

/// Why it cannot be said what an action writes.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    /// Git does not say.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The input of a hook is not what Git documents.
    #[error("the input of `{hook}` is not understood: `{line}`")]
    Input {
        /// The hook.
        hook: &'static str,
        /// The line.
        line: String,
    },
}

/// Tells whether a hook's action can write anything; Git need not be asked for that.
///
/// The one of references comes three times for each change, and for many that move no branch.
pub fn writes(hook: Hook, arguments: &[OsString], input: &[u8]) -> bool {
    let moves_branch = |line: &[u8]| {
        let name = line.splitn(3, |byte| *byte == b' ').nth(2);
        name.is_none_or(|name| name.starts_with(BRANCHES))
    };
    match hook {
        Hook::PreCommit | Hook::PreMergeCommit => true,
        Hook::PrePush => !input.is_empty(),
        Hook::ReferenceTransaction => {
            arguments.first().is_some_and(|state| state == "prepared")
                && lines(input).any(moves_branch)
        }
    }
}

/// Finds the paths that the action of a hook writes, from the root of the work tree.
///
/// Deleted files count, and both names of moved ones, changed modes and types, and gitlinks.
pub fn changes(
    repository: &Repository,
    hook: Hook,
    arguments: &[OsString],
    input: &[u8],
) -> Result<BTreeSet<Vec<u8>>, ChangesError> {
    let git = repository.git();
    if !writes(hook, arguments, input) {
        return Ok(BTreeSet::new());
    }
    match hook {
        Hook::PreCommit | Hook::PreMergeCommit => Ok(staged(git)?),
        Hook::PrePush => {
            let revisions = pushed(git, input)?;
            Ok(written_by(git, &revisions, &["--remotes"])?)
        }
        Hook::ReferenceTransaction => {
            let revisions = moved(input)?;
            // Not `--all`: that has a detached HEAD in it, and a commit made there would be known.
            Ok(written_by(git, &revisions, &["--branches", "--remotes"])?)
        }
    }
}

/// Compares the index with the last commit, or before the first with nothing.
fn staged(git: &Git) -> Result<BTreeSet<Vec<u8>>, GitError> {
    let head = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let head = match head {
        Some(head) => head,
        // The empty tree has a name in each object format, and is known without being stored.
        None => git.run(&["hash-object", "-t", "tree", "--stdin"], Vec::new())?,
    };
    let head = ObjectId::parse(head.trim_ascii());
    let head = head.ok_or_else(|| GitError::not_understood("rev-parse"))?;
    let mut arguments = vec!["diff-index", "--cached", "--ita-invisible-in-index"];
    arguments.extend(NAMES);
    arguments.extend(["--diff-filter=ACDMRTUXB", head.as_str(), "--"]);
    Ok(paths(&git.run(&arguments, Vec::new())?))
}

/// Reads what will be pushed: what each reference gets, and what the remote has of it.
fn pushed(git: &Git, input: &[u8]) -> Result<Vec<String>, ChangesError> {
    let mut wanted = Vec::new();
    let mut known = Vec::new();
    for line in lines(input) {
        // The local name is written as somebody typed it, and may have spaces.
        let mut words = line.rsplitn(4, |byte| *byte == b' ');
        let theirs = words.next().and_then(ObjectId::parse);
        let ours = words.nth(1).and_then(ObjectId::parse);
        let (Some(ours), Some(theirs), Some(_)) = (ours, theirs, words.next()) else {
            return Err(not_understood(Hook::PrePush, line));
        };
        // To delete a reference writes nothing.
        if !ours.is_none() {
            wanted.push(ours);
            known.push(theirs);
        }
    }
    known.retain(|id| !id.is_none());
    let known = existing(git, &known)?;
    let wanted = wanted.iter().map(|id| id.as_str().to_owned());
    Ok(wanted
        .chain(known.iter().map(|id| format!("^{}", id.as_str())))
        .collect())
}

/// Keeps the objects that are here.
fn existing(git: &Git, ids: &[ObjectId]) -> Result<Vec<ObjectId>, GitError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<_> = ids.iter().map(ObjectId::as_str).collect();
    let input = (names.join("\n") + "\n").into_bytes();
    let said = git.run(&["cat-file", "--batch-check"], input)?;
    let is_here = |line: &&[u8]| !line.ends_with(b" missing");
    let name = |line: &[u8]| ObjectId::parse(line.split(|byte| *byte == b' ').next()?);
    Ok(lines(&said).filter(is_here).filter_map(name).collect())
}

/// Reads what branches will be; other references are not what people work on.
fn moved(input: &[u8]) -> Result<Vec<String>, ChangesError> {
    let mut wanted = Vec::new();
    for line in lines(input) {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        let (Some(_), Some(new), Some(name)) = (words.next(), words.next(), words.next()) else {
            return Err(not_understood(Hook::ReferenceTransaction, line));
        };
        // A symbolic reference names another one, whose own line says what becomes of it.
        if !name.starts_with(BRANCHES) || new.starts_with(b"ref:") {
            continue;
        }
        let new = ObjectId::parse(new);
        let new = new.ok_or_else(|| not_understood(Hook::ReferenceTransaction, line))?;
        if !new.is_none() {
            wanted.push(new.as_str().to_owned());
        }
    }
    Ok(wanted)
}

/// Compares each commit of these revisions that no known reference has with its first parent, or a
/// first one with nothing.
fn written_by(
    git: &Git,
    revisions: &[String],
    known: &[&str],
) -> Result<BTreeSet<Vec<u8>>, GitError> {
    if revisions.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut arguments = vec!["rev-list", "--parents", "--stdin", "--not"];
    arguments.extend(known);
    let commits = git.run(&arguments, (revisions.join("\n") + "\n").into_bytes())?;
    let mut pairs = Vec::with_capacity(commits.len());
    for line in lines(&commits) {
        let mut ids = line.split(|byte| *byte == b' ');
        pairs.extend(ids.next().unwrap_or_default());
        if let Some(parent) = ids.next() {
            pairs.push(b' ');
            pairs.extend(parent);
        }
        pairs.push(b'\n');
    }
    if pairs.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut arguments = vec!["diff-tree", "--stdin", "--no-commit-id", "--root"];
    arguments.extend(NAMES);
    Ok(paths(&git.run(&arguments, pairs)?))
}

fn paths(said: &[u8]) -> BTreeSet<Vec<u8>> {
    let names = said.split(|byte| *byte == 0);
    names
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
}

fn not_understood(hook: Hook, line: &[u8]) -> ChangesError {
    ChangesError::Input {
        hook: hook.name(),
        line: String::from_utf8_lossy(line).into_owned(),
    }
}

//! What an archive holds, read without the right to write it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use comity_domain::{Seq, Sha256Hex};
use sha2::{Digest as _, Sha256};

use super::error::ArchiveError;
use super::place;
use super::repository::{Head, head_of};
use crate::bounded::Bounds;
use crate::git::{Git, GitError};
use crate::object_id::ObjectId;

/// Bytes that are read at a time, unless a single file has more.
const BYTES_AT_A_TIME: u64 = 16 << 20;
/// A walk over the whole repository: the names of some eight million files are that long.
const WALK: Bounds = Bounds {
    time_max: Duration::from_mins(10),
    bytes_max: 1 << 30,
};

/// What an archive holds at its end.
pub(super) struct Contents {
    git: Git,
    pub(super) head: Head,
    /// Objects and sizes by path.
    files: BTreeMap<String, (ObjectId, u64)>,
}

impl Contents {
    /// Reads the names of all files; nothing before the first commit.
    pub(super) fn of(repository: &Path) -> Result<Option<Self>, ArchiveError> {
        let git = Git::bare_at(repository);
        let Some(head) = head_of(&git, repository)? else {
            return Ok(None);
        };
        let arguments = [
            "ls-tree",
            "-r",
            "-l",
            "-z",
            "--full-tree",
            head.commit.as_str(),
        ];
        let listed = git.run_within(&arguments, Vec::new(), WALK)?;
        let entries = listed
            .split(|byte| *byte == 0)
            .filter(|entry| !entry.is_empty());
        let files = entries.map(entry).collect::<Option<_>>();
        let files = files.ok_or_else(|| GitError::not_understood("ls-tree"))?;
        Ok(Some(Self { git, head, files }))
    }

    /// Returns every path.
    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.keys()
    }

    /// Returns the pieces of the log in their order.
    ///
    /// Before an epoch there is a gap; whether any other is missing, the chain knows.
    pub(super) fn pieces(&self) -> Result<Vec<(Seq, Seq, String)>, ArchiveError> {
        let logs = self.files.keys().filter(|path| path.starts_with("log/"));
        let mut pieces = Vec::new();
        for path in logs {
            let (first, last) =
                place::piece(path).ok_or_else(|| broken(path, "is no piece of the log"))?;
            pieces.push((first, last, path.clone()));
        }
        pieces.sort();
        let mut next = Seq::new(1);
        for (first, last, path) in &pieces {
            if *first < next || last < first {
                return Err(broken(path, "does not follow on the piece before"));
            }
            next = last.next();
        }
        if next != self.head.through.next() {
            return Err(broken("log", "does not go as far as the last commit says"));
        }
        Ok(pieces)
    }

    /// Hands over files one by one.
    pub(super) fn read_each(
        &self,
        paths: impl Iterator<Item = String>,
        mut visit: impl FnMut(&str, &[u8]) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut group: Vec<String> = Vec::new();
        let mut bytes = 0;
        for path in paths {
            let size = self.files.get(&path).map_or(0, |(_, size)| *size);
            if !group.is_empty() && bytes + size > BYTES_AT_A_TIME {
                self.read_group(&group, &mut visit)?;
                group.clear();
                bytes = 0;
            }
            bytes += size;
            group.push(path);
        }
        self.read_group(&group, &mut visit)
    }

    /// Reads bytes by their hash; nothing if they are not there or not these.
    pub(super) fn attachment(&self, sha256: &Sha256Hex) -> Result<Option<Vec<u8>>, ArchiveError> {
        let path = place::attachment(sha256);
        let mut found = None;
        if self.files.contains_key(&path) {
            self.read_each([path].into_iter(), |_, bytes| {
                let hash: [u8; 32] = Sha256::digest(bytes).into();
                found = (hash == *sha256.bytes()).then(|| bytes.to_vec());
                Ok(())
            })?;
        }
        Ok(found)
    }

    fn read_group(
        &self,
        paths: &[String],
        visit: &mut impl FnMut(&str, &[u8]) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut wanted = String::new();
        for path in paths {
            let (object, _) = self
                .files
                .get(path)
                .ok_or_else(|| broken(path, "is not there"))?;
            wanted.push_str(object.as_str());
            wanted.push('\n');
        }
        let arguments = ["cat-file", "--batch"];
        let answer = self.git.run_within(&arguments, wanted.into_bytes(), WALK)?;
        let mut rest = answer.as_slice();
        for path in paths {
            let (content, behind) =
                one_object(rest).ok_or_else(|| broken(path, "cannot be read"))?;
            visit(path, content)?;
            rest = behind;
        }
        Ok(())
    }

    /// Has git examine every object.
    pub(super) fn examine(&self) -> Result<(), ArchiveError> {
        let arguments = ["fsck", "--strict", "--no-dangling", "--no-progress"];
        self.git.run_within(&arguments, Vec::new(), WALK)?;
        Ok(())
    }
}

pub(super) fn broken(path: &str, what: &str) -> ArchiveError {
    ArchiveError::Foreign {
        what: format!("`{path}` of the archive {what}"),
    }
}

/// Reads `<mode> blob <object> <size>\t<path>`.
fn entry(entry: &[u8]) -> Option<(String, (ObjectId, u64))> {
    let text = std::str::from_utf8(entry).ok()?;
    let (facts, path) = text.split_once('\t')?;
    let mut facts = facts.split_ascii_whitespace().skip(1);
    if facts.next()? != "blob" {
        return None;
    }
    let object = ObjectId::parse(facts.next()?.as_bytes())?;
    Some((path.to_owned(), (object, facts.next()?.parse().ok()?)))
}

/// Takes one object off an answer of `cat-file --batch`.
fn one_object(answer: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = answer.iter().position(|byte| *byte == b'\n')?;
    let (head, rest) = answer.split_at_checked(end)?;
    let head = std::str::from_utf8(head).ok()?;
    let size: usize = head.rsplit(' ').next()?.parse().ok()?;
    let content = rest.get(1..)?;
    let (content, rest) = content.split_at_checked(size)?;
    Some((content, rest.strip_prefix(b"\n")?))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    // D11: an archive of many files is read, too
    #[test]
    fn a_long_list_of_files_is_taken_in() {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::bare_at(directory.path());
        git.run(&["init", "--quiet", "--bare"], Vec::new()).unwrap();
        let message = "x\n\nComity-Epoch: e\nComity-Hash: 00\nComity-Through: 0\n";
        let mut stream = format!(
            "feature done\ncommit refs/heads/main\ncommitter c <c@c> 0 +0000\ndata {}\n{message}\n",
            message.len()
        );
        // Long names instead of many: git lists 70 MB of them.
        let folder = "long/".repeat(800);
        for number in 0..17_500 {
            let _ = writeln!(stream, "M 100644 inline {folder}{number}\ndata 0\n");
        }
        stream.push_str("done\n");
        let list = directory.path().join("stream");
        std::fs::write(&list, stream).unwrap();
        let imported = Command::new("git")
            .arg("--git-dir")
            .arg(directory.path())
            .args(["fast-import", "--quiet", "--done"])
            .stdin(Stdio::from(std::fs::File::open(&list).unwrap()))
            .status();
        assert!(imported.unwrap().success());
        let contents = Contents::of(directory.path()).unwrap().unwrap();
        assert_eq!(contents.paths().count(), 17_500);
    }
}

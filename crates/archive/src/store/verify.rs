//! Compares an archive with the log, line by line and file by file.

use std::collections::BTreeMap;

use comity_domain::Seq;
use comity_domain::token::to_hex;
use comity_kernel::archive::Verified;
use sha2::{Digest as _, Sha256};

use super::archiver::Archiver;
use super::contents::Contents;
use super::error::ArchiveError;
use super::line;
use super::render::{self, Content};

/// Differences that are told.
const SHOWN: usize = 20;

/// What was found so far.
#[derive(Default)]
struct Found {
    events: i64,
    files: i64,
    differences: Vec<String>,
    more: usize,
}

impl Found {
    fn differs(&mut self, what: String) {
        if self.differences.len() < SHOWN {
            self.differences.push(what);
        } else {
            self.more += 1;
        }
    }
}

/// Compares the whole archive; what is in quarantine may be missing.
pub(super) fn verify(archiver: &Archiver) -> Result<Verified, ArchiveError> {
    let contents = match archiver.repository() {
        // Before the first piece there is nothing to compare.
        path if !path.exists() => None,
        path => Contents::of(path)?,
    };
    let Some(contents) = contents else {
        return Ok(Verified {
            ok: true,
            through: Seq::ZERO,
            events: 0,
            files: 0,
            differences: Vec::new(),
        });
    };
    let mut found = Found::default();
    if let Err(error) = contents.examine() {
        found.differs(error.to_string());
    }
    match compare(archiver, &contents, &mut found) {
        Ok(()) => {}
        Err(ArchiveError::Foreign { what }) => found.differs(what),
        Err(error) => return Err(error),
    }
    if found.more > 0 {
        let more = found.more;
        found.differences.push(format!("and {more} more"));
    }
    Ok(Verified {
        ok: found.differences.is_empty(),
        through: contents.head.through,
        events: found.events,
        files: found.files,
        differences: found.differences,
    })
}

fn compare(
    archiver: &Archiver,
    contents: &Contents,
    found: &mut Found,
) -> Result<(), ArchiveError> {
    let pieces = contents.pieces()?;
    let (mut spans, mut after) = (pieces.iter(), Seq::ZERO);
    let mut expected: BTreeMap<String, Option<[u8; 32]>> = BTreeMap::new();
    let paths = pieces.iter().map(|(_, _, path)| path.clone());
    contents.read_each(paths, |path, bytes| {
        let Some((first, last, _)) = spans.next() else {
            return Ok(());
        };
        let length = last.get() - first.get() + 1;
        let batch = archiver.piece_up_to(after, *last, length)?;
        after = *last;
        found.events += length;
        if line::write(&batch.events)? != bytes {
            found.differs(format!("`{path}` is not what the log says"));
        }
        for file in render::files(&batch) {
            let hash = match &file.content {
                Content::Bytes(bytes) => Some(Sha256::digest(bytes).into()),
                // Its name is its hash.
                Content::Blob(_) | Content::Unrendered(_) => None,
            };
            expected.insert(file.path, hash);
        }
        Ok(())
    })?;
    let rendered = contents.paths().filter(|path| !path.starts_with("log/"));
    let rendered: Vec<_> = rendered.cloned().collect();
    contents.read_each(rendered.into_iter(), |path, bytes| {
        found.files += 1;
        let hash: [u8; 32] = Sha256::digest(bytes).into();
        match expected.remove(path) {
            None => found.differs(format!("`{path}` is in the archive and not in the log")),
            Some(Some(right)) if right != hash => {
                found.differs(format!("`{path}` is not what the log says"));
            }
            Some(None) if !path.ends_with(&to_hex(&hash)) => {
                found.differs(format!("`{path}` does not hold the bytes of its name"));
            }
            Some(_) => {}
        }
        Ok(())
    })?;
    let quarantined = archiver.quarantined(contents.head.through)?;
    for path in expected.into_keys() {
        if !quarantined.contains(&path) {
            found.differs(format!("`{path}` is missing"));
        }
    }
    Ok(())
}

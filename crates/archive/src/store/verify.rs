//! Compares an archive with the log, line by line and file by file.

use std::collections::{BTreeMap, BTreeSet};

use comity_domain::Seq;
use comity_domain::token::to_hex;
use comity_kernel::Error;
use comity_kernel::archive::{Batch, Verified};
use comity_kernel::log::{Event, Recorded};
use comity_kernel::redaction::MARK;
use comity_kernel::state::event::{Content as Saved, StateSaved};
use sha2::{Digest as _, Sha256};

use super::archiver::Archiver;
use super::contents::Contents;
use super::error::ArchiveError;
use super::render::{self, Content};
use super::restore::events_of;
use super::whole::Source;
use super::{line, place};

/// Differences that are told.
const SHOWN: usize = 20;

/// What was found so far.
#[derive(Default)]
struct Found {
    events: i64,
    files: i64,
    outdated: i64,
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
            outdated: 0,
            differences: Vec::new(),
        });
    };
    let mut found = Found::default();
    if let Err(error) = contents.examine() {
        found.differs(error.to_string());
    }
    match compare(archiver, &contents, &mut found) {
        Ok(()) => {}
        Err(ArchiveError::Foreign { what } | ArchiveError::Kernel(Error::Damaged { what })) => {
            found.differs(what);
        }
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
        outdated: found.outdated,
        differences: found.differences,
    })
}

/// What the files should be, as far as the log says.
#[derive(Default)]
struct Expected {
    /// Hashes by path, and whether something in the file was redacted.
    files: BTreeMap<String, (Option<[u8; 32]>, bool)>,
    /// The beginnings of paths under which redacted messages may lie by their old subjects.
    messages: BTreeSet<String>,
    /// What redacted messages carried, and redacted values of state.
    attachments: BTreeSet<String>,
}

impl Expected {
    fn add(&mut self, batch: &Batch) {
        for file in render::files(batch) {
            let (hash, blanked) = match &file.content {
                Content::Bytes(bytes) => (Some(Sha256::digest(bytes).into()), has_mark(bytes)),
                // Its name is its hash.
                Content::Blob(_) | Content::Unrendered(_) => (None, false),
            };
            self.files.insert(file.path, (hash, blanked));
        }
        for (recorded, event) in batch.events.iter().zip(&batch.read) {
            let Some(Event::MessageSent(sent)) = event else {
                continue;
            };
            if batch.redacted.contains_key(&recorded.seq) {
                let project = render::slug(batch, sent.project);
                let path = place::message_of_any_subject(project, sent.id, recorded.at);
                self.messages.insert(path);
                let carried = sent.attachments.iter();
                self.attachments
                    .extend(carried.map(|one| place::attachment(&one.sha256)));
            }
        }
    }

    /// Tells whether a file that should not be there is what something redacted was.
    fn was_redacted(&self, path: &str) -> bool {
        let stem = path.rsplit_once('/').and_then(|(folder, name)| {
            let (id, _) = name.split_once('-')?;
            Some(format!("{folder}/{id}-"))
        });
        self.attachments.contains(path) || stem.is_some_and(|stem| self.messages.contains(&stem))
    }
}

fn has_mark(bytes: &[u8]) -> bool {
    bytes
        .windows(MARK.len())
        .any(|window| window == MARK.as_bytes())
}

fn compare(
    archiver: &Archiver,
    contents: &Contents,
    found: &mut Found,
) -> Result<(), ArchiveError> {
    let pieces = contents.pieces()?;
    let source = Source::of(archiver)?;
    let (mut spans, mut after) = (pieces.iter(), Seq::ZERO);
    let mut expected = Expected::default();
    let paths = pieces.iter().map(|(_, _, path)| path.clone());
    contents.read_each(paths, |path, bytes| {
        let Some((first, last, _)) = spans.next() else {
            return Ok(());
        };
        let length = last.get() - first.get() + 1;
        let batch = Archiver::piece_of(source.kernel()?, after, *last, length)?;
        after = *last;
        found.events += length;
        if line::write(&batch.events)? != bytes {
            match outdated_lines(path, bytes, &batch) {
                Some(outdated) => {
                    found.outdated += i64::try_from(outdated.len()).unwrap_or(i64::MAX);
                    expected
                        .attachments
                        .extend(outdated.iter().filter_map(value_of));
                }
                None => found.differs(format!("`{path}` is not what the log says")),
            }
        }
        expected.add(&batch);
        Ok(())
    })?;
    // Since it was made anew, it must hold nothing that was redacted before.
    let may_be_outdated = archiver.redacted_since_rebuild(contents.head.through)? > 0;
    if found.outdated > 0 && !may_be_outdated {
        found.differs("lines of the log hold what was redacted before it was made".to_owned());
    }
    let rendered = contents.paths().filter(|path| !path.starts_with("log/"));
    let rendered: Vec<_> = rendered.cloned().collect();
    contents.read_each(rendered.into_iter(), |path, bytes| {
        found.files += 1;
        let hash: [u8; 32] = Sha256::digest(bytes).into();
        match expected.files.remove(path) {
            None if may_be_outdated && expected.was_redacted(path) => found.outdated += 1,
            None => found.differs(format!("`{path}` is in the archive and not in the log")),
            Some((Some(right), true)) if right != hash && may_be_outdated => found.outdated += 1,
            Some((Some(right), _)) if right != hash => {
                found.differs(format!("`{path}` is not what the log says"));
            }
            Some((None, _)) if !path.ends_with(&to_hex(&hash)) => {
                found.differs(format!("`{path}` does not hold the bytes of its name"));
            }
            Some(_) => {}
        }
        Ok(())
    })?;
    let quarantined = archiver.quarantined(contents.head.through)?;
    for (path, (_, blanked)) in expected.files {
        // A message whose subject was redacted lies under another name.
        let is_elsewhere = blanked && may_be_outdated;
        if !quarantined.contains(&path) && !is_elsewhere {
            found.differs(format!("`{path}` is missing"));
        }
    }
    Ok(())
}

/// Returns where the large value lies that an event saved; a redacted one does not say it any more.
fn value_of(saved: &Recorded) -> Option<String> {
    let event = Event::read(&saved.kind, saved.v, saved.payload.as_deref()?)?;
    match event.ok()? {
        Event::StateSaved(StateSaved {
            content: Saved::Sha256(sha256),
            ..
        }) => Some(place::attachment(&sha256)),
        _ => None,
    }
}

/// Returns the lines that still have the whole payload of what was redacted since; nothing if a line
/// differs otherwise.
fn outdated_lines(path: &str, bytes: &[u8], batch: &Batch) -> Option<Vec<Recorded>> {
    let written = events_of(path, bytes).ok()?;
    if written.len() != batch.events.len() {
        return None;
    }
    let mut outdated = Vec::new();
    for (old, now) in written.into_iter().zip(&batch.events) {
        let is_same = old.hash == now.hash && old.line().ok()? == now.line().ok()?;
        let is_outdated = !old.is_redacted()
            && now.is_redacted()
            && batch.redacted.get(&now.seq) == now.payload.as_ref();
        match is_same {
            true if old.payload == now.payload => {}
            true if is_outdated => outdated.push(old),
            _ => return None,
        }
    }
    Some(outdated)
}

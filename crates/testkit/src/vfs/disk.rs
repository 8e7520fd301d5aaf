//! What a disk still holds after a power cut.
//!
//! For each file written while recording, the content as of its last sync and
//! the changes since are kept. A cut plays a random part of the changes onto
//! that content.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Dice;

/// The unit a disk writes whole or not at all.
const SECTOR: usize = 512;

/// The files of one VFS. The maps are sorted so that a seed always meets the
/// files in the same order.
#[derive(Debug, Default)]
pub(super) struct Disk {
    recording: bool,
    known: BTreeSet<PathBuf>,
    records: BTreeMap<PathBuf, Record>,
}

#[derive(Debug, Default)]
struct Record {
    durable: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Debug)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Truncate { len: usize },
}

impl Disk {
    pub(super) fn record(&mut self) {
        self.recording = true;
    }

    pub(super) fn opened(&mut self, path: &Path) {
        self.known.insert(path.to_owned());
    }

    pub(super) fn deleted(&mut self, path: &Path) {
        self.known.remove(path);
        self.records.remove(path);
    }

    /// Whether [`Self::begin`] must be given the content before it changes.
    pub(super) fn wants_content(&self, path: &Path) -> bool {
        self.recording && !self.records.contains_key(path)
    }

    pub(super) fn begin(&mut self, path: &Path, content: Vec<u8>) {
        let record = Record {
            durable: content,
            unsynced: Vec::new(),
        };
        self.records.insert(path.to_owned(), record);
    }

    pub(super) fn wrote(&mut self, path: &Path, at: usize, bytes: &[u8]) {
        if let Some(record) = self.records.get_mut(path) {
            let bytes = bytes.to_vec();
            record.unsynced.push(Change::Write { at, bytes });
        }
    }

    pub(super) fn truncated(&mut self, path: &Path, len: usize) {
        if let Some(record) = self.records.get_mut(path) {
            record.unsynced.push(Change::Truncate { len });
        }
    }

    pub(super) fn synced(&mut self, path: &Path) {
        if let Some(record) = self.records.get_mut(path) {
            for change in record.unsynced.drain(..) {
                match change {
                    Change::Write { at, bytes } => put(&mut record.durable, at, &bytes),
                    Change::Truncate { len } => record.durable.resize(len, 0),
                }
            }
        }
    }

    /// Puts the files in the state a power cut leaves them in.
    ///
    /// Files with nothing to lose get a new inode as well: `SQLite` shares locks
    /// and shared memory between the connections to one inode, and a database
    /// opened after the cut must not inherit those of before it.
    pub(super) fn cut(&self, seed: u64) -> io::Result<()> {
        let mut dice = Dice::new(seed);
        for path in &self.known {
            let left = self.records.get(path).map(|r| r.after_cut(&mut dice));
            replace(path, left.as_deref())?;
            found(fs::remove_file(with_suffix(path, "-shm")))?;
        }
        Ok(())
    }
}

impl Record {
    fn after_cut(&self, dice: &mut Dice) -> Vec<u8> {
        // How much survives differs each time, so that over the seeds
        // there are cuts that lose one write as well as cuts that lose all.
        let luck = dice.below(9);
        let mut content = self.durable.clone();
        for change in &self.unsynced {
            let kept = dice.below(8) < luck;
            match change {
                Change::Truncate { len } if kept => content.resize(*len, 0),
                Change::Truncate { .. } => {}
                Change::Write { at, bytes } if kept => put(&mut content, *at, bytes),
                Change::Write { at, bytes } => lose(&mut content, *at, bytes, dice),
            }
        }
        content
    }
}

/// Loses a write: all of it, its bytes but not the growth of the file, or
/// some of its sectors.
fn lose(content: &mut Vec<u8>, at: usize, bytes: &[u8], dice: &mut Dice) {
    match dice.below(4) {
        0 => {}
        1 => grow(content, at + bytes.len()),
        _ => {
            for (at, sector) in sectors(at, bytes) {
                if dice.below(2) == 0 {
                    put(content, at, sector);
                }
            }
        }
    }
}

/// Divides a write where the sectors of the file end.
fn sectors(at: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let head = (SECTOR - at % SECTOR).min(bytes.len());
    let (first, rest) = bytes.split_at(head);
    let rest = rest.chunks(SECTOR).enumerate();
    std::iter::once((at, first)).chain(rest.map(move |(i, s)| (at + head + i * SECTOR, s)))
}

fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    grow(content, end);
    if let Some(target) = content.get_mut(at..end) {
        target.copy_from_slice(bytes);
    }
}

fn grow(content: &mut Vec<u8>, len: usize) {
    if content.len() < len {
        content.resize(len, 0);
    }
}

/// Puts a new file in the place of the one at `path`, with the given content
/// or else the same.
fn replace(path: &Path, content: Option<&[u8]>) -> io::Result<()> {
    let new = with_suffix(path, "-cut");
    if found(fs::copy(path, &new))?.is_none() {
        return Ok(());
    }
    if let Some(content) = content {
        fs::write(&new, content)?;
    }
    fs::rename(&new, path)
}

/// Takes a missing file for an answer rather than for an error.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(unsynced: Vec<Change>) -> Record {
        Record {
            durable: vec![1; 2000],
            unsynced,
        }
    }

    #[test]
    fn a_cut_is_decided_by_its_seed_alone() {
        let changes = || {
            let write = |n: u8| Change::Write {
                at: 700,
                bytes: vec![n; 1500],
            };
            vec![write(2), Change::Truncate { len: 900 }, write(3)]
        };
        for seed in 0..100 {
            let once = record(changes()).after_cut(&mut Dice::new(seed));
            let again = record(changes()).after_cut(&mut Dice::new(seed));
            assert_eq!(once, again);
        }
    }

    #[test]
    fn a_write_is_kept_lost_or_torn_at_sector_boundaries() {
        let (mut kept, mut lost, mut torn) = (0, 0, 0);
        for seed in 0..200 {
            let bytes = vec![2; 1000];
            let left =
                record(vec![Change::Write { at: 700, bytes }]).after_cut(&mut Dice::new(seed));
            assert_eq!(left.len(), 2000);
            assert!(left[..700].iter().chain(&left[1700..]).all(|b| *b == 1));
            let parts = [&left[700..1024], &left[1024..1536], &left[1536..1700]];
            let new = parts.map(|part| {
                assert!(part.iter().all(|b| *b == part[0]), "torn inside a sector");
                part[0] == 2
            });
            match new {
                [true, true, true] => kept += 1,
                [false, false, false] => lost += 1,
                _ => torn += 1,
            }
        }
        assert!(kept > 10 && lost > 10 && torn > 10, "{kept} {lost} {torn}");
    }

    #[test]
    fn a_truncation_and_a_growth_are_kept_or_lost() {
        let mut lengths = BTreeSet::new();
        for seed in 0..200 {
            let grow = Change::Write {
                at: 2000,
                bytes: vec![2; 100],
            };
            let left = record(vec![Change::Truncate { len: 10 }]).after_cut(&mut Dice::new(seed));
            lengths.insert(left.len());
            let left = record(vec![grow]).after_cut(&mut Dice::new(seed));
            lengths.insert(left.len());
        }
        assert_eq!(
            lengths.into_iter().collect::<Vec<_>>(),
            [10, 2000, 2048, 2100]
        );
    }
}

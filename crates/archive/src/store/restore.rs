//! Fills an empty database from an archive.

use std::path::Path;

use comity_domain::Seq;
use comity_domain::token::to_hex;
use comity_kernel::Options;
use comity_kernel::log::Recorded;
use comity_kernel::transfer::Refill;
use sha2::{Digest as _, Sha256};

use super::contents::{Contents, broken};
use super::error::ArchiveError;
use super::line;

/// Replays the log of an archive into a database that is empty, or was filled from it in part, with
/// the attachments; the database has the archive's epoch then, and its numbers go on (D11).
///
/// `told` hears of each event that is in.
pub fn restore(
    repository: &Path,
    target: &Options,
    mut told: impl FnMut(Seq, Seq),
) -> Result<Seq, ArchiveError> {
    let contents = Contents::of(repository)?;
    let contents = contents.ok_or_else(|| broken("refs/heads/main", "is not there"))?;
    let pieces = contents.pieces()?;
    let through = contents.head.through;
    let mut refill = Refill::into(target)?;
    let paths = pieces.iter().map(|(_, _, path)| path.clone());
    contents.read_each(paths, |path, bytes| {
        let events = events_of(path, bytes)?;
        refill.events(&events, None)?;
        if let Some(last) = events.last() {
            told(last.seq, through);
        }
        Ok(())
    })?;
    let blobs = contents
        .paths()
        .filter(|path| path.starts_with("attachments/"));
    let blobs: Vec<_> = blobs.cloned().collect();
    contents.read_each(blobs.into_iter(), |path, bytes| {
        let hash: [u8; 32] = Sha256::digest(bytes).into();
        if !path.ends_with(&to_hex(&hash)) {
            return Err(broken(path, "does not hold the bytes of its name"));
        }
        Ok(refill.blob(&hash, bytes)?)
    })?;
    Ok(refill.finish(&contents.head.epoch)?)
}

pub(super) fn events_of(path: &str, bytes: &[u8]) -> Result<Vec<Recorded>, ArchiveError> {
    let text = std::str::from_utf8(bytes).map_err(|_| broken(path, "is not text"))?;
    let read = |text: &str| line::read(text).ok_or_else(|| broken(path, "has a broken line"));
    text.lines().map(read).collect()
}

//! What a database needs around it: room, private files, descriptors, and an archive that agrees.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use comity_domain::limits::DISK_RESERVE_BYTES;

use super::Check;
use crate::archive::{ArchiveState, Archivist};
use crate::error::Error;
use crate::options::Database;

/// Descriptors that must be free.
const DESCRIPTORS_FREE: u64 = 100;

/// Looks at the disk, the files and the descriptors.
pub(crate) fn of(database: &Database, directory: &Path) -> Vec<Check> {
    let mut checks = vec![disk(directory), descriptors()];
    if let Database::Sqlite(file) = database {
        checks.push(permissions(&file.path));
    }
    checks
}

fn check(name: &'static str, found: Result<String, String>) -> Check {
    let ok = found.is_ok();
    let detail = found.unwrap_or_else(|what| what);
    Check { name, ok, detail }
}

fn disk(directory: &Path) -> Check {
    let found = match rustix::fs::statvfs(directory) {
        Ok(stat) => {
            let free = stat.f_bavail.saturating_mul(stat.f_frsize);
            let mib = free >> 20;
            if free < DISK_RESERVE_BYTES {
                Err(format!(
                    "{mib} MiB are free; below 64 MiB nothing is written"
                ))
            } else {
                Ok(format!("{mib} MiB are free"))
            }
        }
        Err(error) => Err(format!("the disk cannot be asked: {error}")),
    };
    check("disk", found)
}

fn descriptors() -> Check {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let used = std::fs::read_dir("/proc/self/fd").map_or(0, |open| open.count() as u64);
    let found = match limit {
        None => Ok("there is no limit".to_owned()),
        Some(limit) if limit.saturating_sub(used) < DESCRIPTORS_FREE => Err(format!(
            "{used} of {limit} are in use; raise the limit of open files"
        )),
        Some(limit) => Ok(format!("{used} of {limit} are in use")),
    };
    check("descriptors", found)
}

/// The database is its owner's alone, and so is the directory it lies in.
fn permissions(database: &Path) -> Check {
    let others = |path: &Path| -> Option<String> {
        let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| format!("`{}` has mode {mode:o}", path.display()))
    };
    let places = [Some(database), database.parent()];
    let open: Vec<_> = places.into_iter().flatten().filter_map(others).collect();
    let found = if open.is_empty() {
        Ok("the database is its owner's alone".to_owned())
    } else {
        Err(format!("{}; others may read it", open.join(" and ")))
    };
    check("permissions", found)
}

/// The archive says what the log says, as far as it goes.
pub(crate) fn archive(archivist: &dyn Archivist) -> Check {
    let found = archivist.status().and_then(|status| {
        if status.state == ArchiveState::Off {
            return Ok("it is switched off".to_owned());
        }
        let verified = archivist.verify()?;
        if verified.ok {
            return Ok(format!(
                "event 1 to {} agree, {} behind",
                verified.through, status.lag
            ));
        }
        Err(Error::Damaged {
            what: verified.differences.join("; "),
        })
    });
    check("archive", found.map_err(|error| error.to_string()))
}

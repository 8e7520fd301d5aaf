//! Writes a file whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Replaces a file by a new one with this content and mode.
///
/// Readers see the old file or the new one. A link in its place is replaced, not followed.
pub fn replace(path: &Path, content: &[u8], mode: u32) -> std::io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let Some((folder, name)) = path.parent().zip(path.file_name()) else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut fresh = std::ffi::OsString::from(".");
    fresh.push(name);
    fresh.push(format!(".{}-{number}.new", std::process::id()));
    let fresh = folder.join(fresh);
    // What a process of the same number left behind when it was killed.
    let _ = std::fs::remove_file(&fresh);
    let written = write_new(&fresh, content, mode).and_then(|()| std::fs::rename(&fresh, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
        return written;
    }
    File::open(folder)?.sync_all()
}

/// Writes a file that is not there yet; the mode does not depend on the caller's mask.
fn write_new(path: &Path, content: &[u8], mode: u32) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    // S12
    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (file, target) = (directory.path().join("a"), directory.path().join("b"));
        std::fs::write(&target, "untouched").unwrap();
        std::os::unix::fs::symlink(&target, &file).unwrap();
        replace(&file, b"new", 0o755).unwrap();
        let met = std::fs::symlink_metadata(&file).unwrap();
        assert!(met.is_file() && met.permissions().mode() & 0o777 == 0o755);
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(std::fs::read(&target).unwrap(), b"untouched");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}

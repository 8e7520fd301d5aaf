//! Clears what a killed `git` left (D8). Only whoever holds `archive.lock` may: it proves that no
//! other writer lives.

use std::path::Path;

/// Removes left-over locks, half-written packs and crash reports, and says of each that it did.
///
/// A `.keep` that stays would fail the same batch for ever, a `.lock` every one.
pub(super) fn clear(repository: &Path) -> std::io::Result<usize> {
    let mut cleared = 0;
    let pack = repository.join("objects/pack");
    for (folder, is_left) in [
        (repository.to_owned(), is_lock_or_crash as fn(&Path) -> bool),
        (pack, is_half_a_pack),
        (repository.join("objects"), is_half_an_object),
        (repository.join("objects/info"), is_lock),
    ] {
        cleared += clear_in(&folder, is_left)?;
    }
    cleared += clear_below(&repository.join("refs"), 8)?;
    Ok(cleared)
}

fn is_lock(path: &Path) -> bool {
    has_extension(path, "lock")
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn begins_with(path: &Path, start: &str) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(start.as_bytes())
}

fn is_lock_or_crash(path: &Path) -> bool {
    is_lock(path) || begins_with(path, "fast_import_crash_")
}

fn is_half_a_pack(path: &Path) -> bool {
    // A pack that has no use any more goes before its index, a new one comes before it.
    let is_index = has_extension(path, "idx") || has_extension(path, "rev");
    let pack = path.with_extension("pack").try_exists();
    has_extension(path, "keep")
        || begins_with(path, "tmp_")
        || begins_with(path, ".tmp-")
        || is_lock(path)
        || is_index && pack.is_ok_and(|is_there| !is_there)
}

fn is_half_an_object(path: &Path) -> bool {
    begins_with(path, "tmp_") || is_lock(path)
}

fn clear_in(folder: &Path, is_left: fn(&Path) -> bool) -> std::io::Result<usize> {
    let mut cleared = 0;
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_file() && is_left(&path) {
            tracing::warn!(file = %path.display(), "removed what a killed git left");
            std::fs::remove_file(path)?;
            cleared += 1;
        }
    }
    Ok(cleared)
}

/// Clears locks in a tree of folders, links not followed.
fn clear_below(folder: &Path, depth: usize) -> std::io::Result<usize> {
    let mut cleared = clear_in(folder, is_lock)?;
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(cleared);
    };
    for entry in entries.flatten() {
        if depth > 0 && entry.file_type()?.is_dir() {
            cleared += clear_below(&entry.path(), depth - 1)?;
        }
    }
    Ok(cleared)
}

#[cfg(test)]
mod tests {
    use super::*;

    // D8, fault 7
    #[test]
    fn what_a_killed_git_left_goes_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for folder in ["objects/pack", "objects/info", "refs/heads"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let left = [
            "HEAD.lock",
            "index.lock",
            "config.lock",
            "packed-refs.lock",
            "maintenance.lock",
            "refs/heads/main.lock",
            "objects/pack/pack-1.keep",
            "objects/pack/tmp_pack_x",
            "objects/pack/tmp_idx_x",
            "objects/pack/.tmp-1-pack-3.pack",
            "objects/pack/pack-2.idx",
            "objects/tmp_obj_x",
            "fast_import_crash_42",
            "objects/info/commit-graph.lock",
            "objects/maintenance.lock",
        ];
        let kept = [
            "HEAD",
            "config",
            "refs/heads/main",
            "objects/pack/pack-1.pack",
            "objects/pack/pack-1.idx",
            "objects/pack/pack-3.pack",
            "comity.json",
        ];
        for file in left.iter().chain(&kept) {
            std::fs::write(root.join(file), "x").unwrap();
        }
        assert_eq!(clear(root).unwrap(), left.len());
        assert!(kept.iter().all(|file| root.join(file).exists()));
        assert!(left.iter().all(|file| !root.join(file).exists()));
        assert_eq!(clear(root).unwrap(), 0);
    }
}

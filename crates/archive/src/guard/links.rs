//! The other names of a path, where a directory on its way is a link.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Finds what else paths are called: where links on the way to a path lead to another place of the
/// work tree, its name there. A link that leads out of the work tree adds nothing.
pub fn real_names(work_tree: &Path, paths: &BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    let Ok(root) = work_tree.canonicalize() else {
        return BTreeSet::new();
    };
    let mut known: HashMap<&Path, Option<PathBuf>> = HashMap::new();
    let mut names = BTreeSet::new();
    for path in paths {
        let path = Path::new(OsStr::from_bytes(path));
        let Some((parent, name)) = path.parent().zip(path.file_name()) else {
            continue;
        };
        let real = known.entry(parent).or_insert_with(|| inside(&root, parent));
        let Some(real) = real.as_ref().map(|real| real.join(name)) else {
            continue;
        };
        if real != path {
            names.insert(real.as_os_str().as_bytes().to_vec());
        }
    }
    names
}

/// Resolves a directory of the work tree as far as it is there.
fn inside(root: &Path, directory: &Path) -> Option<PathBuf> {
    let there = directory.ancestors().find_map(|ancestor| {
        let real = root.join(ancestor).canonicalize().ok()?;
        Some((real, directory.strip_prefix(ancestor).ok()?))
    });
    let (real, rest) = there?;
    Some(real.strip_prefix(root).ok()?.join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(work_tree: &Path, path: &[u8]) -> Vec<Vec<u8>> {
        let paths = BTreeSet::from([path.to_vec()]);
        real_names(work_tree, &paths).into_iter().collect()
    }

    // 3.11
    #[test]
    fn a_path_behind_a_link_has_two_names() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("tree");
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::create_dir(directory.path().join("outside")).unwrap();
        symlink("src", root.join("link")).unwrap();
        symlink("../outside", root.join("out")).unwrap();
        symlink("around", root.join("around")).unwrap();
        std::fs::write(root.join("src/a"), "").unwrap();
        symlink("a", root.join("src/file-link")).unwrap();
        assert_eq!(names(&root, b"link/a"), [b"src/a".to_vec()]);
        assert_eq!(names(&root, b"link/deep/b"), [b"src/deep/b".to_vec()]);
        assert_eq!(names(&root, b"link/gone/\xff"), [b"src/gone/\xff".to_vec()]);
        for plain in ["a", "src/a", "src/file-link", "gone/a", "out/a", "around/a"] {
            assert!(names(&root, plain.as_bytes()).is_empty(), "{plain}");
        }
        // The work tree itself may be behind a link.
        symlink(&root, directory.path().join("way")).unwrap();
        assert_eq!(
            names(&directory.path().join("way"), b"link/a"),
            [b"src/a".to_vec()]
        );
        assert!(names(&directory.path().join("way"), b"src/a").is_empty());
    }
}

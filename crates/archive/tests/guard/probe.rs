//! Stands for the program that a hook runs: the tests' own binary, started by Git.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use comity_archive::Repository;
use comity_archive::guard::{Hook, changes, real_names};

/// Writes what the guard finds into a file, and fails where it cannot say.
#[test]
#[ignore = "it is the hook of other tests"]
fn of_a_hook() {
    let hook = std::env::var("PROBE_HOOK").unwrap();
    let into = PathBuf::from(std::env::var_os("PROBE_INTO").unwrap());
    let hook = Hook::of_name(&hook).unwrap();
    let mut input = Vec::new();
    if hook.has_input() {
        std::io::stdin().read_to_end(&mut input).unwrap();
    }
    let state = std::env::var_os("PROBE_STATE").unwrap();
    let repository = Repository::of_hook(Path::new(".")).unwrap();
    let found = changes(&repository, hook, &[state], &input).unwrap();
    let others = repository.work_tree().map(|tree| real_names(tree, &found));
    write(&into.join(hook.name()), &found);
    write(&into.join("links"), &others.unwrap_or_default());
}

fn write(file: &Path, names: &BTreeSet<Vec<u8>>) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.append(true).create(true).open(file).unwrap();
    for name in names {
        file.write_all(&[name.as_slice(), b"\0"].concat()).unwrap();
    }
}

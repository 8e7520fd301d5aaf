//! Which paths a commit writes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::place::{Place, set, succeed};

/// A repository with one commit, watched from then on.
fn with_files(names: &[&str]) -> Place {
    let place = Place::new();
    for name in names {
        place.write(name, name);
    }
    place.git(&["add", "-A"]);
    place.git(&["commit", "-q", "-m", "first"]);
    place.watch();
    place
}

// 3.11
#[test]
fn a_first_commit_writes_all_its_files_in_each_object_format() {
    for format in ["sha1", "sha256"] {
        let place = Place::of_format(format);
        place.watch();
        place.write("a", "");
        place.write("src/b", "");
        place.git(&["add", "-A"]);
        place.git(&["commit", "-q", "-m", "first"]);
        assert_eq!(place.found("pre-commit"), set(["a", "src/b"]), "{format}");
        assert_eq!(place.found("reference-transaction"), set(["a", "src/b"]));
    }
}

// 3.11
#[test]
fn deletions_renames_modes_and_types_are_writes() {
    let place = with_files(&["gone", "old", "mode", "type", "kept"]);
    place.git(&["rm", "-q", "gone"]);
    place.git(&["mv", "old", "new"]);
    place.git(&["update-index", "--chmod=+x", "mode"]);
    std::fs::remove_file(place.tree().join("type")).unwrap();
    std::os::unix::fs::symlink("kept", place.tree().join("type")).unwrap();
    place.git(&["add", "type"]);
    // Nothing of this may hide a change.
    for setting in [
        "diff.renames=copies",
        "core.fileMode=false",
        "diff.relative=true",
    ] {
        let (name, value) = setting.split_once('=').unwrap();
        place.git(&["config", name, value]);
    }
    place.git(&["commit", "-q", "-m", "second"]);
    let all = set(["gone", "old", "new", "mode", "type"]);
    assert_eq!(place.found("pre-commit"), all);
    assert_eq!(place.found("reference-transaction"), all);
}

// 3.11: the index is the one that Git gives
#[test]
fn all_and_partial_commits_are_seen_as_they_will_be() {
    let place = with_files(&["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        place.write(name, "changed");
    }
    place.git(&["add", "c"]);
    place.git(&["commit", "-q", "-m", "partial", "a"]);
    assert_eq!(place.found("pre-commit"), set(["a"]));
    place.git(&["commit", "-q", "-a", "-m", "all"]);
    assert_eq!(place.found("pre-commit"), set(["b", "c"]));
    place.write("src/d", "");
    place.git(&["add", "-N", "src/d"]);
    place.write("a", "again");
    place.git(&["add", "a"]);
    succeed(place.command("tree/src", &["commit", "-q", "-m", "from below"]));
    assert_eq!(
        place.found("pre-commit"),
        set(["a"]),
        "what is only meant to be added is not"
    );
}

// 3.11
#[test]
fn a_linked_worktree_has_the_same_hooks_and_its_own_index() {
    let place = with_files(&["a", "b"]);
    place.git(&["worktree", "add", "-q", "../linked", "-b", "side"]);
    place.found("reference-transaction");
    place.write("b", "staged in the main one");
    place.git(&["add", "b"]);
    std::fs::write(place.path("linked/a"), "changed").unwrap();
    succeed(place.command("linked", &["commit", "-q", "-a", "-m", "linked"]));
    assert_eq!(place.found("pre-commit"), set(["a"]));
    assert_eq!(place.found("reference-transaction"), set(["a"]));
}

// 3.11: a gitlink is a write, whatever the repository says of its submodules
#[test]
fn a_moved_submodule_is_a_write() {
    let place = with_files(&["a"]);
    let other = Place::new();
    other.write("x", "");
    other.git(&["add", "-A"]);
    other.git(&["commit", "-q", "-m", "other"]);
    let (tree, file) = (other.tree(), "protocol.file.allow=always");
    let add = [
        "-c",
        file,
        "submodule",
        "--quiet",
        "add",
        tree.to_str().unwrap(),
        "sub",
    ];
    place.git(&add);
    place.git(&["commit", "-q", "-m", "with submodule"]);
    assert_eq!(place.found("pre-commit"), set([".gitmodules", "sub"]));
    place.found("reference-transaction");
    let sub = |arguments: &[&str]| succeed(place.command("tree/sub", arguments));
    sub(&[
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@x",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "m",
    ]);
    place.git(&["add", "sub"]);
    place.git(&["config", "diff.ignoreSubmodules", "all"]);
    place.git(&["config", "submodule.sub.ignore", "all"]);
    place.git(&["commit", "-q", "--allow-empty", "-m", "moved"]);
    assert_eq!(place.found("pre-commit"), set(["sub"]));
    assert_eq!(place.found("reference-transaction"), set(["sub"]));
}

// 3.11 S12: names are bytes, and nothing in them is an option, a pattern or a quote
#[test]
fn names_come_as_they_are() {
    let place = with_files(&["a"]);
    let names: [&[u8]; 8] = [
        b"with space",
        b"quote\"and'",
        b"new\nline",
        b"-leading",
        b":(glob)**",
        b"back\\slash",
        b"caf\xc3\xa9",
        b"not\xffutf8",
    ];
    for name in names {
        place.write(OsStr::from_bytes(name), "");
    }
    place.git(&["add", "-A"]);
    place.git(&["commit", "-q", "-m", "names"]);
    let shown = names.iter().map(|name| name.escape_ascii().to_string());
    let shown = shown.collect();
    assert_eq!(place.found("pre-commit"), shown);
    assert_eq!(place.found("reference-transaction"), shown);
}

// 3.11
#[test]
fn a_merge_writes_what_differs_from_its_first_parent() {
    let place = with_files(&["a", "b"]);
    place.git(&["checkout", "-q", "-b", "side"]);
    place.write("b", "side");
    place.git(&["commit", "-q", "-a", "-m", "side"]);
    place.git(&["checkout", "-q", "main"]);
    place.write("a", "main");
    place.git(&["commit", "-q", "-a", "-m", "main"]);
    place.found("reference-transaction");
    place.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(place.found("pre-merge-commit"), set(["b"]));
    assert_eq!(place.found("reference-transaction"), set(["b"]));
}

// 3.11
#[test]
fn a_directory_that_became_a_link_gives_its_files_two_names() {
    let place = with_files(&["dir/a", "real/x"]);
    place.git(&["rm", "-q", "--cached", "dir/a"]);
    std::fs::remove_dir_all(place.tree().join("dir")).unwrap();
    std::os::unix::fs::symlink("real", place.tree().join("dir")).unwrap();
    place.git(&["commit", "-q", "-m", "linked"]);
    assert_eq!(place.found("pre-commit"), set(["dir/a"]));
    assert_eq!(place.found("links"), set(["real/a"]));
}

//! Where hooks lie.

use comity_archive::Repository;
use comity_archive::guard::{Folder, FolderError};

use crate::place::{Place, succeed};

fn effective(place: &Place, directory: &str) -> Result<(std::path::PathBuf, bool), FolderError> {
    let repository = Repository::around(&place.path(directory)).unwrap();
    let folder = Folder::effective(&repository)?;
    Ok((folder.path().to_owned(), folder.is_in_work_tree()))
}

// 3.11
#[test]
fn hooks_lie_where_git_runs_them() {
    let place = Place::new();
    place.write("src/a", "");
    place.git(&["add", "-A"]);
    place.git(&["commit", "-q", "-m", "first"]);
    place.git(&["worktree", "add", "-q", "../linked", "-b", "side"]);
    let usual = place.tree().join(".git/hooks");
    for directory in ["tree", "tree/src", "linked"] {
        let (found, in_work_tree) = effective(&place, directory).unwrap();
        assert_eq!(
            (found.as_os_str(), in_work_tree),
            (usual.as_os_str(), false)
        );
    }
    place.git(&["config", "core.hooksPath", ".githooks/new"]);
    let below = place.tree().join(".githooks/new");
    assert_eq!(effective(&place, "tree/src").unwrap(), (below, true));
    let linked = place.path("linked/.githooks/new");
    assert_eq!(effective(&place, "linked").unwrap(), (linked, true));
    place.git(&[
        "config",
        "core.hooksPath",
        place.tree().join("x").to_str().unwrap(),
    ]);
    assert_eq!(
        effective(&place, "linked").unwrap(),
        (place.tree().join("x"), true)
    );
    place.git(&["config", "core.hooksPath", ".git/other"]);
    assert_eq!(
        effective(&place, "tree").unwrap(),
        (place.tree().join(".git/other"), false)
    );
}

// 3.11: nothing outside of the repository is touched
#[test]
fn a_directory_outside_is_refused() {
    let place = Place::new();
    std::fs::create_dir(place.path("shared")).unwrap();
    std::os::unix::fs::symlink(place.path("shared"), place.tree().join("planted")).unwrap();
    let absolute = place.path("shared").to_str().unwrap().to_owned();
    let outside = [
        "../shared",
        &absolute,
        "/dev/null",
        "planted",
        "planted/deep",
        "new/../../shared",
    ];
    for setting in outside {
        place.git(&["config", "core.hooksPath", setting]);
        let refused = effective(&place, "tree");
        assert!(
            matches!(refused, Err(FolderError::Outside(_))),
            "{setting}: {refused:?}"
        );
    }
    let error = effective(&place, "tree").unwrap_err().to_string();
    assert!(
        error.contains("core.hooksPath") && error.contains("outside"),
        "{error}"
    );
}

// 3.11 S12: nor is what a link in the usual place leads to
#[test]
fn a_link_that_leads_outside_is_refused() {
    let place = Place::new();
    let usual = place.tree().join(".git/hooks");
    std::fs::remove_dir_all(&usual).unwrap();
    std::fs::create_dir(place.path("shared")).unwrap();
    std::os::unix::fs::symlink(place.path("shared"), &usual).unwrap();
    let refused = effective(&place, "tree");
    assert!(
        matches!(refused, Err(FolderError::Linked(_))),
        "{refused:?}"
    );
    std::fs::remove_file(&usual).unwrap();
    std::os::unix::fs::symlink("other", &usual).unwrap();
    std::fs::create_dir(place.tree().join(".git/other")).unwrap();
    let inside = (place.tree().join(".git/other"), false);
    assert_eq!(effective(&place, "tree").unwrap(), inside);
}

#[test]
fn a_bare_repository_has_hooks_and_no_work_tree() {
    let place = Place::new();
    succeed(place.command(".", &["init", "-q", "--bare", "bare.git"]));
    let repository = Repository::around(&place.path("bare.git")).unwrap();
    assert_eq!(repository.work_tree(), None);
    assert_eq!(
        effective(&place, "bare.git").unwrap(),
        (place.path("bare.git/hooks"), false)
    );
    assert!(Repository::around(&place.path("home")).is_err());
}

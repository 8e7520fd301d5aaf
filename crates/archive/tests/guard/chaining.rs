//! Hooks are put in, run what was there, and go again.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use comity_archive::Repository;
use comity_archive::guard::{Away, Done, Folder, Hook, Hooks, Script, State, earlier};

use crate::place::{Place, program, said};

fn hooks(place: &Place) -> Hooks {
    let repository = Repository::around(&place.tree()).unwrap();
    Hooks::new(&Folder::effective(&repository).unwrap())
}

/// A script that runs a program of the test's own.
fn script(runs: &Path, away: Away) -> Script {
    Script {
        program: runs.to_owned(),
        options: vec!["--data".into(), "it's $HOME".into()],
        away,
    }
}

/// Stands for `comity`: writes its arguments down, and refuses.
fn refusing(place: &Place) -> PathBuf {
    let path = place.path("bin/comity's");
    let asked = place.path("asked").display().to_string();
    program(
        &path,
        &format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >'{asked}'\nexit 1\n"),
    );
    path
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| !name.ends_with(".sample")).collect();
    names.sort();
    names
}

// 3.11
#[test]
fn an_installed_hook_runs_the_program_and_a_removed_one_leaves_nothing() {
    let place = Place::new();
    let hooks = hooks(&place);
    let script = script(&refusing(&place), Away::Block);
    assert_eq!(hooks.state(Hook::PreCommit).unwrap(), State::Missing);
    assert_eq!(
        hooks.install(Hook::PreCommit, &script).unwrap(),
        Done::Installed
    );
    assert_eq!(
        hooks.install(Hook::PreCommit, &script).unwrap(),
        Done::Refreshed
    );
    assert_eq!(hooks.state(Hook::PreCommit).unwrap(), State::Installed);
    place.write("a", "");
    place.git(&["add", "-A"]);
    let commit = place
        .command("tree", &["commit", "-q", "-m", "first"])
        .output()
        .unwrap();
    assert_eq!(commit.status.code(), Some(1));
    let asked = std::fs::read_to_string(place.path("asked")).unwrap();
    let wanted =
        "--data\nit's $HOME\nguard\nhook\npre-commit\n--script\n.git/hooks/pre-commit\n--\n";
    assert_eq!(asked, wanted);
    assert_eq!(hooks.uninstall(Hook::PreCommit).unwrap(), Done::Removed);
    assert_eq!(hooks.uninstall(Hook::PreCommit).unwrap(), Done::Nothing);
    assert!(names(&place.tree().join(".git/hooks")).is_empty());
    place.git(&["commit", "-q", "-m", "first"]);
}

// 3.11: the earlier hook comes back bit for bit
#[test]
fn an_earlier_hook_is_kept_and_restored() {
    let place = Place::new();
    let hooks = hooks(&place);
    let path = hooks.path(Hook::PrePush);
    let script = script(&refusing(&place), Away::Block);
    program(&path, "#!/bin/sh\n# mine\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let before = std::fs::metadata(&path).unwrap();
    assert_eq!(hooks.state(Hook::PrePush).unwrap(), State::Foreign);
    assert_eq!(hooks.uninstall(Hook::PrePush).unwrap(), Done::Nothing);
    assert_eq!(
        hooks.install(Hook::PrePush, &script).unwrap(),
        Done::Chained
    );
    assert_eq!(
        hooks.install(Hook::PrePush, &script).unwrap(),
        Done::Refreshed
    );
    assert_eq!(hooks.state(Hook::PrePush).unwrap(), State::Chained);
    let kept = std::fs::metadata(earlier(&path)).unwrap();
    assert_eq!((kept.ino(), kept.mode()), (before.ino(), before.mode()));
    assert_eq!(hooks.uninstall(Hook::PrePush).unwrap(), Done::Restored);
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!(
        (after.ino(), after.mode(), after.mtime_nsec()),
        (before.ino(), before.mode(), before.mtime_nsec())
    );
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "#!/bin/sh\n# mine\n"
    );
    assert_eq!(names(path.parent().unwrap()), ["pre-push"]);
}

// 3.11: what somebody wrote is never destroyed
#[test]
fn a_hook_that_somebody_changed_or_replaced_is_left() {
    let place = Place::new();
    let hooks = hooks(&place);
    let script = script(&refusing(&place), Away::Block);
    let path = hooks.path(Hook::PreCommit);
    program(&path, "#!/bin/sh\n# first\n");
    hooks.install(Hook::PreCommit, &script).unwrap();
    let ours = std::fs::read_to_string(&path).unwrap();
    for (text, state) in [
        (format!("{ours}# and mine\n"), State::Edited),
        ("#!/bin/sh\n# second\n".to_owned(), State::Replaced),
    ] {
        program(&path, &text);
        assert_eq!(
            hooks.install(Hook::PreCommit, &script).unwrap(),
            Done::Left(state)
        );
        assert_eq!(hooks.uninstall(Hook::PreCommit).unwrap(), Done::Left(state));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        let kept = std::fs::read_to_string(earlier(&path)).unwrap();
        assert_eq!(kept, "#!/bin/sh\n# first\n");
    }
    // Without ours, the earlier one comes back.
    std::fs::remove_file(&path).unwrap();
    assert_eq!(hooks.uninstall(Hook::PreCommit).unwrap(), Done::Restored);
}

// S12: a planted link is not followed, nor is what it leads to touched
#[test]
fn a_link_in_the_place_of_a_hook_is_kept_as_a_link() {
    let place = Place::new();
    let hooks = hooks(&place);
    let script = script(&refusing(&place), Away::Block);
    let path = hooks.path(Hook::PreCommit);
    let target = place.path("target");
    std::fs::write(&target, "precious").unwrap();
    symlink("../../../target", &path).unwrap();
    assert_eq!(
        hooks.install(Hook::PreCommit, &script).unwrap(),
        Done::Chained
    );
    assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
    assert_eq!(hooks.uninstall(Hook::PreCommit).unwrap(), Done::Restored);
    assert_eq!(
        std::fs::read_link(&path).unwrap(),
        Path::new("../../../target")
    );
    // A second name that is planted is somebody's too.
    symlink("../../../target", earlier(&path)).unwrap();
    let done = hooks.install(Hook::PreCommit, &script).unwrap();
    assert_eq!(done, Done::Left(State::Replaced));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
}

// 3.11: an installation that was killed half way goes on
#[test]
fn an_interrupted_installation_is_finished() {
    let place = Place::new();
    let hooks = hooks(&place);
    let path = hooks.path(Hook::PreCommit);
    program(&path, "#!/bin/sh\n");
    std::fs::hard_link(&path, earlier(&path)).unwrap();
    let script = script(&refusing(&place), Away::Block);
    assert_eq!(
        hooks.install(Hook::PreCommit, &script).unwrap(),
        Done::Chained
    );
    assert_eq!(hooks.uninstall(Hook::PreCommit).unwrap(), Done::Restored);
}

// 3.11: the setting is obeyed though the program is gone
#[test]
fn without_the_program_the_script_obeys_the_setting() {
    let place = Place::new();
    let hooks = hooks(&place);
    let ran = place.path("ran").display().to_string();
    program(
        &hooks.path(Hook::PreCommit),
        &format!("#!/bin/sh\n: >'{ran}'\n"),
    );
    place.write("a", "");
    place.git(&["add", "-A"]);
    for (away, passes, word) in [
        (Away::Block, false, "stopped"),
        (Away::Warn, true, "unchecked"),
    ] {
        let script = script(&place.path("bin/gone"), away);
        hooks.install(Hook::PreCommit, &script).unwrap();
        let commit = place
            .command("tree", &["commit", "-q", "-m", "first"])
            .output()
            .unwrap();
        assert_eq!(commit.status.success(), passes);
        assert_eq!(said(&commit).lines().count(), 1, "{}", said(&commit));
        assert!(said(&commit).contains(word), "{}", said(&commit));
        assert_eq!(
            Path::new(&ran).exists(),
            passes,
            "the earlier hook runs where it goes on"
        );
    }
}

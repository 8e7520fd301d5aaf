//! Which paths a push and a change of references write.

use crate::place::{Place, set, succeed};

/// A repository and its remote, with one commit in both, watched from then on.
fn with_remote() -> Place {
    let place = Place::new();
    succeed(place.command(".", &["init", "-q", "--bare", "-b", "main", "remote.git"]));
    place.git(&["remote", "add", "origin", "../remote.git"]);
    commit(&place, "a");
    place.git(&["push", "-q", "origin", "main"]);
    place.watch();
    place
}

fn commit(place: &Place, name: &str) {
    place.write(
        name,
        &format!("{name} {}", place.git(&["rev-list", "--all", "--count"])),
    );
    place.git(&["add", "-A"]);
    place.git(&["commit", "-q", "-m", name]);
}

// 3.11
#[test]
fn a_push_writes_the_paths_of_every_new_commit() {
    let place = with_remote();
    commit(&place, "b");
    place.git(&["rm", "-q", "b"]);
    place.git(&["commit", "-q", "-m", "b goes again"]);
    commit(&place, "c");
    place.git(&["push", "-q", "origin", "main"]);
    assert_eq!(place.found("pre-push"), set(["b", "c"]));
    place.git(&["push", "-q", "origin", "main:again"]);
    assert!(
        place.found("pre-push").is_empty(),
        "the remote has all of it"
    );
    place.git(&["push", "-q", "origin", "--delete", "again"]);
    assert!(place.found("pre-push").is_empty());
}

// 3.11
#[test]
fn a_push_of_everything_has_first_commits_and_merges_in_it() {
    let place = with_remote();
    place.git(&["checkout", "-q", "--orphan", "other"]);
    commit(&place, "o");
    place.git(&["checkout", "-q", "main"]);
    place.git(&[
        "merge",
        "-q",
        "--allow-unrelated-histories",
        "--no-edit",
        "other",
    ]);
    place.git(&["tag", "-a", "-m", "tag", "v1"]);
    place.git(&["push", "-q", "origin", "v1", "main"]);
    assert_eq!(
        place.found("pre-push"),
        set(["a", "o"]),
        "`a` is in the first commit of `other`"
    );
}

// 3.11: what the remote has and we do not is no obstacle
#[test]
fn a_remote_that_is_ahead_is_asked_about_all_the_same() {
    let place = with_remote();
    succeed(place.command(".", &["clone", "-q", "remote.git", "theirs"]));
    let theirs = |arguments: &[&str]| succeed(place.command("theirs", arguments));
    let who = ["-c", "user.name=T", "-c", "user.email=t@x"];
    theirs(&[&who[..], &["commit", "-q", "--allow-empty", "-m", "ahead"]].concat());
    theirs(&["push", "-q", "origin", "main"]);
    commit(&place, "b");
    place.git(&["push", "-q", "--force", "origin", "main"]);
    assert_eq!(place.found("pre-push"), set(["b"]));
}

// 3.11: whichever command moves a branch
#[test]
fn every_way_to_move_a_branch_is_seen() {
    let place = with_remote();
    let found = |place: &Place| place.found("reference-transaction");
    place.write("a", "no verify");
    place.git(&["commit", "-q", "-a", "--no-verify", "-m", "no verify"]);
    assert_eq!(found(&place), set(["a"]));
    place.git(&["checkout", "-q", "--detach"]);
    commit(&place, "picked");
    assert!(found(&place).is_empty(), "no branch moved");
    place.git(&["branch", "other", "HEAD"]);
    assert_eq!(
        found(&place),
        set(["picked"]),
        "a detached HEAD is no way around"
    );
    place.git(&["checkout", "-q", "main"]);
    commit(&place, "meanwhile");
    assert_eq!(found(&place), set(["meanwhile"]));
    place.git(&["cherry-pick", "other"]);
    assert_eq!(found(&place), set(["picked"]));
    let tree = place.git(&["rev-parse", "HEAD~1^{tree}"]);
    let fresh = place.git(&["commit-tree", "-p", "HEAD", "-m", "fresh", &tree]);
    place.git(&["update-ref", "refs/heads/main", &fresh]);
    assert_eq!(
        found(&place),
        set(["picked"]),
        "the fresh commit removes it"
    );
    place.git(&["reset", "-q", "--hard", "HEAD~2"]);
    place.git(&["branch", "-q", "-D", "other"]);
    place.git(&["branch", "-m", "main", "renamed"]);
    place.git(&["tag", "light", &fresh]);
    assert!(
        found(&place).is_empty(),
        "back, away, renamed, tagged: nothing is written"
    );
}

// 3.11
#[test]
fn what_was_fetched_is_not_written_by_moving_forward_to_it() {
    let place = with_remote();
    succeed(place.command(".", &["clone", "-q", "remote.git", "theirs"]));
    std::fs::write(place.path("theirs/t"), "").unwrap();
    let theirs = |arguments: &[&str]| succeed(place.command("theirs", arguments));
    theirs(&["add", "-A"]);
    theirs(&[
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@x",
        "commit",
        "-q",
        "-m",
        "t",
    ]);
    theirs(&["push", "-q", "origin", "main"]);
    place.git(&["pull", "-q", "--ff-only", "origin", "main"]);
    assert!(place.found("reference-transaction").is_empty());
    assert!(place.tree().join("t").exists());
}

// 3.11
#[test]
fn replaced_and_grafted_history_hides_nothing() {
    let place = with_remote();
    commit(&place, "b");
    let (first, second) = (
        place.git(&["rev-parse", "HEAD~1"]),
        place.git(&["rev-parse", "HEAD"]),
    );
    place.git(&["replace", &second, &first]);
    let grafts = place.tree().join(".git/info/grafts");
    std::fs::create_dir_all(grafts.parent().unwrap()).unwrap();
    std::fs::write(grafts, format!("{second} {second}\n")).unwrap();
    let raw = ["-c", "advice.graftFileDeprecated=false"];
    let push = ["push", "-q", "origin", &format!("{second}:refs/heads/main")];
    let mut command = place.command("tree", &[&raw[..], &push].concat());
    command
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null");
    succeed(command);
    assert_eq!(place.found("pre-push"), set(["b"]));
}

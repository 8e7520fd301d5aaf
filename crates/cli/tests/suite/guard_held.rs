//! Nobody commits what somebody else holds.

use serde_json::{Value, json};

use crate::repository::{Repository, program, said, succeed};

const HELD: &str = "held by `A`";

/// A repository with files of both agents; A holds `a`, and the guard is in.
fn guarded(more: &[&str]) -> Repository {
    let repository = Repository::with_agents(&["a", "b", "dir/c"]);
    let install = [&["guard", "install", "--operator"], more].concat();
    repository.ask(&install).unwrap();
    repository.reserve("A", "a", "exclusive");
    repository
}

fn update(repository: &Repository, setting: &str, value: &str) {
    let command = ["project", "update", setting, value, "--operator"];
    repository.ask(&command).unwrap();
}

/// Writes down what an agent believes to hold, as `reserve` does.
fn remember(repository: &Repository, agent: &str, lease: &Value) {
    let agents = repository.place.data().join("agents/tree");
    let lease = json!({
        "id": lease["id"], "fence": lease["fence"], "path_pattern": lease["path_pattern"]
    });
    let leases = json!({ "leases": [lease] }).to_string();
    std::fs::write(agents.join(format!("{agent}.leases")), leases).unwrap();
}

// 3.11
#[test]
fn no_commit_has_what_another_holds() {
    let repository = guarded(&[]);
    repository.write("a", "mine\n");
    repository.write("b", "mine\n");
    repository.stopped("B", &["commit", "-q", "-a", "-m", "all"], HELD);
    repository.stopped("B", &["commit", "-q", "-m", "one", "a"], HELD);
    repository.passes("B", &["commit", "-q", "-m", "other", "b"]);
    repository.git(&["add", "a"]);
    repository.stopped(
        "B",
        &["commit", "-q", "-m", "staged"],
        "next: `comity ask-release ",
    );
    repository.stopped("B", &["commit", "-q", "-m", "staged"], "my turn");
    repository.git(&["reset", "-q", "--hard"]);
    repository.git(&["mv", "a", "moved"]);
    repository.stopped("B", &["commit", "-q", "-m", "moved"], HELD);
    repository.git(&["reset", "-q", "--hard"]);
    repository.git(&["rm", "-q", "a"]);
    repository.stopped("B", &["commit", "-q", "-m", "removed"], HELD);
    repository.git(&["reset", "-q", "--hard"]);
    repository.git(&["update-index", "--chmod=+x", "a"]);
    repository.stopped("B", &["commit", "-q", "-m", "mode"], HELD);
    repository.passes("A", &["commit", "-q", "-m", "it is A's"]);
}

// 3.11: pre-merge-commit and pre-push
#[test]
fn no_merge_and_no_push_has_what_another_holds() {
    let repository = guarded(&[]);
    repository.git(&["checkout", "-q", "-b", "side"]);
    repository.write("a", "side\n");
    repository.git(&["commit", "-q", "-a", "-m", "side"]);
    repository.git(&["checkout", "-q", "main"]);
    repository.write("b", "main\n");
    repository.git(&["commit", "-q", "-a", "-m", "main"]);
    repository.stopped("B", &["merge", "--no-edit", "side"], HELD);
    repository.git(&["merge", "--abort"]);
    repository.passes("A", &["merge", "-q", "--no-edit", "side"]);
    repository.git(&["init", "-q", "--bare", "../remote.git"]);
    repository.git(&["remote", "add", "origin", "../remote.git"]);
    repository.git(&["push", "-q", "origin", "main~1:refs/heads/main"]);
    repository.stopped("B", &["push", "-q", "origin", "main"], HELD);
    repository.passes("A", &["push", "-q", "origin", "main"]);
    repository.passes("B", &["push", "-q", "origin", "main:again"]);
}

// 3.11: what skips pre-commit does not skip this
#[test]
fn no_branch_moves_to_what_another_holds() {
    let repository = guarded(&["--reference-transaction"]);
    repository.write("a", "mine\n");
    repository.stopped("B", &["commit", "-q", "-a", "--no-verify", "-m", "x"], HELD);
    repository.git(&["checkout", "-q", "--detach"]);
    repository.git(&["commit", "-q", "-a", "-m", "detached"]);
    let fresh = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["checkout", "-q", "main"]);
    repository.write("b", "main\n");
    repository.passes("B", &["commit", "-q", "-a", "-m", "between"]);
    repository.stopped("B", &["cherry-pick", &fresh], HELD);
    repository.git(&["reset", "-q", "--hard"]);
    repository.stopped("B", &["update-ref", "refs/heads/main", &fresh], HELD);
    repository.stopped("B", &["branch", "other", &fresh], HELD);
    repository.stopped("B", &["reset", "-q", "--hard", &fresh], HELD);
    repository.git(&["reset", "-q", "--hard"]);
    repository.passes("B", &["branch", "copy", "main"]);
    repository.passes("B", &["branch", "-q", "-D", "copy"]);
    repository.passes("A", &["branch", "other", &fresh]);
}

// 3.11
#[test]
fn what_is_released_is_free_and_what_is_shared_is_not() {
    let repository = guarded(&[]);
    repository.write("a", "mine\n");
    let commit = ["commit", "-q", "-a", "-m", "mine"];
    repository.stopped("B", &commit, HELD);
    repository.call("A", "release", &json!({ "all": true }));
    repository.reserve("A", "a", "shared");
    repository.stopped("B", &commit, "shared: nobody else writes there");
    repository.call("A", "release", &json!({ "all": true }));
    repository.passes("B", &commit);
}

// 3.11
#[test]
fn the_mode_decides_about_a_conflict() {
    let repository = guarded(&[]);
    repository.write("a", "one\n");
    let commit = ["commit", "-q", "-a", "-m", "mine"];
    update(&repository, "--guard-mode", "warn");
    let said = repository.passes("B", &commit);
    assert!(said.contains(HELD) && said.contains("only warns"), "{said}");
    repository.write("a", "two\n");
    update(&repository, "--guard-mode", "off");
    assert_eq!(repository.passes("B", &commit), "");
    repository.write("a", "three\n");
    update(&repository, "--guard-mode", "block");
    repository.stopped("B", &commit, HELD);
}

// 3.11: the setting is remembered from the last answer
#[test]
fn the_last_answer_is_remembered_for_when_nobody_answers() {
    let repository = guarded(&[]);
    let commit = ["commit", "-q", "-a", "-m", "mine"];
    for (setting, passes) in [("block", false), ("warn", true)] {
        update(&repository, "--guard-away", setting);
        repository.write("b", &format!("asked {setting}\n"));
        repository.passes("B", &commit);
        repository.write("b", &format!("unasked {setting}\n"));
        let data = repository.place.data();
        let gone = data.with_file_name("gone");
        std::fs::rename(&data, &gone).unwrap();
        let (code, said) = repository.tries("B", &commit);
        std::fs::rename(&gone, &data).unwrap();
        assert_eq!(code == Some(0), passes, "{said}");
        assert!(
            said.contains("the guard could not ask") && said.contains(setting),
            "{said}"
        );
    }
}

// 3.11 F14: a lease that was lost between edit and commit
#[test]
fn a_lost_lease_stops_its_former_holder() {
    let repository = guarded(&[]);
    let lease = repository.reserve("A", "a", "exclusive");
    remember(&repository, "A", &lease);
    repository.write("a", "mine\n");
    let commit = ["commit", "-q", "-a", "-m", "mine"];
    let force = json!({ "id": lease["id"], "reason": "test" }).to_string();
    repository
        .ask(&["call", "force_release", &force, "--operator"])
        .unwrap();
    repository.stopped("A", &commit, "was taken away by force; nobody holds it now");
    repository.reserve("B", "a", "exclusive");
    repository.stopped("A", &commit, "`B` holds it now");
    repository.call("B", "release", &json!({ "all": true }));
    let again = repository.reserve("A", "a", "exclusive");
    remember(&repository, "A", &again);
    repository.passes("A", &commit);
}

// 3.11 S6: a name that nobody can reserve is no way around
#[test]
fn a_name_that_cannot_be_checked_is_refused() {
    let repository = guarded(&[]);
    repository.write("new\nline", "");
    repository.git(&["add", "-A"]);
    repository.stopped(
        "B",
        &["commit", "-q", "-m", "x"],
        "new\\nline: cannot be checked",
    );
    update(&repository, "--guard-mode", "warn");
    let said = repository.passes("B", &["commit", "-q", "-m", "x"]);
    assert!(said.contains("cannot be checked"), "{said}");
}

// 3.11: what an earlier hook stages is asked about too
#[test]
fn what_an_earlier_hook_writes_is_checked() {
    let repository = guarded(&[]);
    repository.ask(&["guard", "uninstall"]).unwrap();
    program(
        &repository.hook("pre-commit"),
        "#!/bin/sh\necho x >a && git add a\n",
    );
    repository.ask(&["guard", "install", "--operator"]).unwrap();
    repository.stopped("B", &["commit", "-q", "--allow-empty", "-m", "x"], HELD);
}

// 3.11: a linked worktree is the same project with the same hooks
#[test]
fn a_linked_worktree_is_guarded_too() {
    let repository = guarded(&[]);
    repository.git(&["worktree", "add", "-q", "../linked", "-b", "side"]);
    let linked = repository.place.path().join("linked");
    std::fs::write(linked.join("a"), "mine\n").unwrap();
    let commit = |agent| {
        let mut commit = repository.git_as(Some(agent), &["commit", "-q", "-a", "-m", "x"]);
        commit.current_dir(&linked);
        commit
    };
    assert!(!commit("B").output().unwrap().status.success());
    succeed(&mut commit("A"));
}

// 3.11: through a server as well as without one
#[test]
fn a_server_is_asked_where_one_runs() {
    let repository = guarded(&[]);
    let server = repository.place.serve();
    repository.write("a", "mine\n");
    let commit = ["commit", "-q", "-a", "-m", "mine"];
    repository.stopped("B", &commit, HELD);
    let url = format!("http://{}", server.addr);
    let install = ["guard", "install", "--operator", "--url", &url];
    repository.ask(&install).unwrap();
    repository.stopped("B", &commit, HELD);
    repository.passes("A", &commit);
}

// 3.11: one question, 2 s
#[test]
fn a_server_that_does_not_answer_is_not_waited_for() {
    let repository = guarded(&[]);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    repository.write("b", "mine\n");
    repository.git(&["add", "-A"]);
    let hook = ["guard", "hook", "pre-commit", "--as", "B", "--url", &url];
    let started = std::time::Instant::now();
    let output = repository.comity(&hook).output().unwrap();
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
    let said = said(&output);
    assert!(said.contains("no answer within 2 s"), "{said}");
    assert_eq!(
        output.status.code(),
        Some(0),
        "the project's setting is `warn`"
    );
}

// 3.11: this repository's project is asked about, whichever an agent belongs to
#[test]
fn an_agent_of_another_project_is_not_let_pass_by_its_own() {
    let repository = guarded(&[]);
    update(&repository, "--guard-away", "block");
    repository.ask(&["guard", "install", "--operator"]).unwrap();
    let join = [
        "join",
        "--name",
        "C",
        "--operator",
        "--project",
        "/srv/other",
    ];
    repository
        .ask(&["project", "ensure", "/srv/other", "--operator"])
        .unwrap();
    repository.ask(&join).unwrap();
    repository.write("a", "mine\n");
    repository.stopped(
        "C",
        &["commit", "-q", "-a", "-m", "x"],
        "the guard could not ask",
    );
}

// 3.11: for other tools
#[test]
fn a_check_answers_with_its_exit_code() {
    let repository = guarded(&[]);
    let check = |agent: &str, paths: &[&str]| {
        let command = [&["guard", "check", "--as", agent, "--json"], paths].concat();
        let output = repository.comity(&command).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), answer)
    };
    assert_eq!(check("B", &["b", "dir/c"]).0, Some(0));
    assert_eq!(check("A", &["a"]).0, Some(0));
    let (code, answer) = check("B", &["b", "./a"]);
    assert_eq!(code, Some(1));
    assert_eq!(answer["conflicts"][0]["held_by"], "A");
    assert_eq!(answer["conflicts"][0]["paths"], json!(["a"]));
    let shown = repository
        .comity(&["guard", "check", "--as", "B", "a"])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(HELD) && shown.contains("next:"), "{shown}");
    let mut below = repository.comity(&["guard", "check", "--as", "B", "../a"]);
    below.current_dir(repository.tree().join("dir"));
    assert_eq!(below.output().unwrap().status.code(), Some(1));
}

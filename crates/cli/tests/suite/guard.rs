//! The guard's hooks in a real repository, as far as nobody answers.

use std::path::Path;

use serde_json::{Value, json};

use crate::place::answer;
use crate::repository::{Repository, program, said};

/// A server that is not there.
const NOWHERE: [&str; 2] = ["--url", "http://127.0.0.1:1"];

fn states(repository: &Repository) -> Vec<String> {
    let status = repository.ask(&["guard", "status"]).unwrap();
    let items = status["items"].as_array().unwrap().iter();
    items
        .map(|item| item["state"].as_str().unwrap().to_owned())
        .collect()
}

// 3.11
#[test]
fn hooks_are_installed_shown_and_taken_away() {
    let repository = Repository::with_agents(&["a"]);
    assert_eq!(states(&repository), ["missing"; 4]);
    program(&repository.hook("pre-push"), "#!/bin/sh\n# mine\n");
    let done = repository.ask(&["guard", "install", "--operator"]).unwrap();
    let done: Vec<_> = done["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["done"])
        .collect();
    assert_eq!(done, ["installed", "installed", "chained"]);
    assert_eq!(
        states(&repository),
        ["installed", "installed", "chained", "missing"]
    );
    let more = ["guard", "install", "--reference-transaction", "--operator"];
    repository.ask(&more).unwrap();
    // Once it is there, it is kept as the others are.
    repository.ask(&["guard", "install", "--operator"]).unwrap();
    assert_eq!(
        states(&repository),
        ["installed", "installed", "chained", "installed"]
    );
    let status = repository.ask(&["guard", "status"]).unwrap();
    assert_eq!(
        status["remembered"],
        json!({ "mode": "block", "away": "warn" })
    );
    assert_eq!(
        status["folder"],
        json!(repository.tree().join(".git/hooks"))
    );
    assert_eq!(status["hooks_path"], Value::Null);
    repository.ask(&["guard", "uninstall"]).unwrap();
    assert_eq!(
        states(&repository),
        ["missing", "missing", "foreign", "missing"]
    );
    let mine = std::fs::read_to_string(repository.hook("pre-push")).unwrap();
    assert_eq!(mine, "#!/bin/sh\n# mine\n");
    assert!(!repository.tree().join(".git/comity-guard.json").exists());
}

// 3.11: whoever wrote a hook keeps it
#[test]
fn a_changed_hook_is_left_and_told_of() {
    let repository = Repository::with_agents(&["a"]);
    repository.ask(&["guard", "install", "--operator"]).unwrap();
    let path = repository.hook("pre-commit");
    let text = std::fs::read_to_string(&path).unwrap() + "# mine\n";
    std::fs::write(&path, &text).unwrap();
    for command in [
        &["guard", "install", "--operator"][..],
        &["guard", "uninstall"],
    ] {
        let output = repository.comity(command).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(
            said(&output).contains("somebody changed it"),
            "{}",
            said(&output)
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

// 3.11: the person's own settings decide where Git looks for hooks
#[test]
fn hooks_of_all_repositories_are_not_touched() {
    let repository = Repository::with_agents(&["a"]);
    let home = repository.place.path().join("home");
    std::fs::create_dir(home.join("hooks")).unwrap();
    std::fs::write(home.join(".gitconfig"), "[core]\n\thooksPath = ~/hooks\n").unwrap();
    let (exit, error) = repository
        .ask(&["guard", "install", "--operator"])
        .unwrap_err();
    assert_eq!(exit, 2);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("core.hooksPath") && message.contains("outside"),
        "{message}"
    );
    assert!(
        error["hint"]
            .as_str()
            .unwrap()
            .contains("git config core.hooksPath")
    );
    assert_eq!(std::fs::read_dir(home.join("hooks")).unwrap().count(), 0);
    let status = repository.ask(&["guard", "status"]).unwrap();
    assert_eq!(status["hooks_path"], json!(home.join("hooks")));
    assert_eq!(
        (&status["items"], status["problem"].is_string()),
        (&json!([]), true)
    );
    // What the hint says helps.
    let own = repository.tree().join(".git/hooks");
    repository.git(&["config", "core.hooksPath", own.to_str().unwrap()]);
    repository.ask(&["guard", "install", "--operator"]).unwrap();
    assert!(repository.hook("pre-commit").exists());
}

// 3.11: server away: block or warn, printed, exit 9
#[test]
fn without_an_answer_the_projects_setting_decides() {
    let repository = Repository::with_agents(&["a"]);
    repository.write("a", "second\n");
    let commit = ["commit", "-q", "-a", "-m", "second"];
    // Nothing is known of the project: that counts as block.
    let install = [&["guard", "install", "--as", "A"], &NOWHERE[..]].concat();
    assert!(
        repository
            .comity(&install)
            .output()
            .unwrap()
            .status
            .success()
    );
    let hook = ["guard", "hook", "pre-commit", "--as", "A"];
    let asked = repository
        .comity(&[&hook, &NOWHERE[..]].concat())
        .output()
        .unwrap();
    assert_eq!(
        asked.status.code(),
        Some(0),
        "nothing is staged, so nothing is asked"
    );
    repository.stopped("A", &commit, "the guard could not ask");
    repository.git(&["add", "a"]);
    let asked = repository
        .comity(&[&hook, &NOWHERE[..]].concat())
        .output()
        .unwrap();
    assert_eq!(asked.status.code(), Some(9));
    assert!(
        said(&asked).contains("counts as `block`"),
        "{}",
        said(&asked)
    );
    let memory = repository.tree().join(".git/comity-guard.json");
    for (remembered, passes, words) in [
        (
            json!({ "mode": "block", "away": "block" }),
            false,
            "`guard_away` is `block`",
        ),
        (
            json!({ "mode": "block", "away": "warn" }),
            true,
            "passes unchecked",
        ),
        (json!({ "mode": "off", "away": "block" }), true, ""),
    ] {
        std::fs::write(&memory, remembered.to_string()).unwrap();
        let (code, said) = repository.tries("A", &commit);
        assert_eq!(code == Some(0), passes, "{remembered}: {said}");
        assert!(said.contains(words), "{remembered}: {said}");
        assert_eq!(words.is_empty(), said.is_empty(), "{said}");
        repository.write("a", &remembered.to_string());
    }
    // Nobody is named, and nobody sits at a terminal.
    std::fs::remove_file(&memory).unwrap();
    let output = repository.git_as(None, &commit).output().unwrap();
    assert!(
        !output.status.success() && said(&output).contains("nobody is named"),
        "{}",
        said(&output)
    );
}

// 3.11: what was there comes first, with the same words, and its refusal is the end
#[test]
fn an_earlier_hook_runs_first() {
    let repository = Repository::with_agents(&["a"]);
    repository.ask(&["guard", "install", "--operator"]).unwrap();
    repository.ask(&["guard", "uninstall"]).unwrap();
    let heard = repository.place.path().join("heard");
    let formatter = format!(
        "#!/bin/sh\necho formatted >b && git add b\necho \"$#\" >'{}'\n",
        heard.display()
    );
    program(&repository.hook("pre-commit"), &formatter);
    let pusher = format!(
        "#!/bin/sh\n{{ echo \"$1 $2\"; cat; }} >'{}'\nexit 7\n",
        heard.display()
    );
    program(&repository.hook("pre-push"), &pusher);
    let install = [&["guard", "install", "--as", "A"], &NOWHERE[..]].concat();
    assert!(
        repository
            .comity(&install)
            .output()
            .unwrap()
            .status
            .success()
    );
    // The hook stages a file of its own, so there is something to ask about.
    repository.stopped(
        "A",
        &["commit", "-q", "--allow-empty", "-m", "x"],
        "could not ask",
    );
    assert_eq!(std::fs::read_to_string(&heard).unwrap(), "0\n");
    repository.git(&["init", "-q", "--bare", "../remote.git"]);
    repository.stopped(
        "A",
        &["push", "-q", "../remote.git", "main"],
        "pre-push hook that was here before",
    );
    let tip = repository.git(&["rev-parse", "HEAD"]);
    let none = "0".repeat(40);
    let wanted =
        format!("../remote.git ../remote.git\nrefs/heads/main {tip} refs/heads/main {none}\n");
    assert_eq!(std::fs::read_to_string(&heard).unwrap(), wanted);
    let script = repository.hook("pre-push");
    let direct = [
        "guard",
        "hook",
        "pre-push",
        "--script",
        script.to_str().unwrap(),
        "--",
        "x",
        "y",
    ];
    let code = repository.comity(&direct).output().unwrap().status.code();
    assert_eq!(code, Some(7), "its code is ours");
}

// S18: what a script says can be read by others
#[test]
fn no_secret_is_written_into_a_hook() {
    let repository = Repository::with_agents(&["a"]);
    let url = "http://me:canary@127.0.0.1:1";
    let install = ["guard", "install", "--as", "A", "--url", url];
    let output = repository.comity(&install).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!said(&output).contains("canary"), "{}", said(&output));
    assert!(!repository.hook("pre-commit").exists());
}

// 3.11: exit 9 for other tools too; usage is usage
#[test]
fn a_check_that_cannot_ask_says_so() {
    let repository = Repository::with_agents(&["a"]);
    let check = |paths: &[&str]| {
        let command = [
            &["guard", "check", "--as", "A", "--json"],
            paths,
            &NOWHERE[..],
        ]
        .concat();
        answer(&repository.comity(&command).output().unwrap()).unwrap_err()
    };
    let (exit, error) = check(&["a"]);
    assert_eq!(exit, 9);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("the guard could not ask: ")
    );
    assert_eq!(check(&["../outside"]).0, 3);
    assert_eq!(check(&["new\nline"]).0, 3);
    assert_eq!(
        repository
            .comity(&["guard", "check"])
            .output()
            .unwrap()
            .status
            .code(),
        Some(3)
    );
    let outside = repository.place.run(&["guard", "status"]);
    assert_eq!(outside.status.code(), Some(2), "no repository");
}

// 3.11: what is not known for sure is not let pass as if nobody had answered
#[test]
fn a_damaged_lease_file_cannot_be_checked() {
    let repository = Repository::with_agents(&["a"]);
    repository.ask(&["guard", "install", "--operator"]).unwrap();
    let agents = repository.place.data().join("agents/tree");
    std::fs::write(agents.join("A.leases"), "{").unwrap();
    repository.write("a", "second\n");
    let commit = ["commit", "-q", "-a", "-m", "second"];
    repository.stopped("A", &commit, "A.leases` does not say which leases are held");
    assert!(Path::new(&agents).join("A.token").exists());
}

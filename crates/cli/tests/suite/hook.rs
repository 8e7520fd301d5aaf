//! `comity hook pre-edit` as client programs call it.

use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::place::Place;
use crate::post::{Post, ids};

/// What a client program says before an edit.
fn edit(file: &str) -> String {
    let input = json!({ "file_path": file, "old_string": "a", "new_string": "b" });
    json!({ "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": input }).to_string()
}

fn hook(place: &Place, words: &[&str], input: &str) -> Output {
    let words = [words, &["hook", "pre-edit"]].concat();
    let mut command = place.command(&words);
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = pipes.stderr(Stdio::piped()).spawn().unwrap();
    // A hook that fails early reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Runs the hook as an agent; returns the exit code and what it said.
fn before(place: &Place, agent: &str, file: &str) -> (i32, String) {
    ended(&hook(place, &["--as", agent], &edit(file)))
}

fn ended(output: &Output) -> (i32, String) {
    assert!(output.stdout.is_empty());
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    (output.status.code().unwrap(), said)
}

const PASSED: (i32, String) = (0, String::new());

fn events(post: &Post) -> i64 {
    let listed = post.ask("leases --state all --as Blue").unwrap();
    listed["as_of_seq"].as_i64().unwrap()
}

fn served_and_not(test: impl Fn(&Post)) {
    test(&Post::embedded());
    test(&Post::served());
}

// F1, F16: the file's lease is taken once, and another's blocks with the next step
#[test]
fn an_edit_takes_the_lease_of_its_file_or_is_blocked() {
    served_and_not(|post| {
        assert_eq!(before(&post.place, "Blue", "src/a.rs"), PASSED);
        let leases = post.ask("leases --as Red").unwrap();
        assert_eq!(leases["items"][0]["path_pattern"], "src/a.rs");
        assert_eq!(leases["items"][0]["exclusive"], true);
        let file = post.place.data().join("agents");
        let project = std::fs::read_dir(file).unwrap().next().unwrap().unwrap();
        let kept = std::fs::read_to_string(project.path().join("Blue.leases")).unwrap();
        assert!(kept.contains("\"path_pattern\":\"src/a.rs\""), "{kept}");
        let before_again = events(post);
        let absolute = post.place.path().join("src/a.rs");
        assert_eq!(
            before(&post.place, "Blue", absolute.to_str().unwrap()),
            PASSED
        );
        assert_eq!(
            events(post),
            before_again,
            "nothing is written while half is left"
        );
        let (exit, said) = before(&post.place, "Red", "src/a.rs");
        assert_eq!((exit, said.lines().count()), (2, 1), "{said}");
        for part in [
            "`src/a.rs` is held by `Blue` for another 29m",
            "\"editing\"",
            "`comity ask-release 1 --reason WHY`",
        ] {
            assert!(said.contains(part), "{said}");
        }
    });
}

#[test]
fn a_wider_lease_of_ones_own_is_enough_and_is_renewed_in_time() {
    served_and_not(|post| {
        post.ask("reserve docs --pattern **/*.rs --ttl 1h --as Blue")
            .unwrap();
        let start = events(post);
        for file in ["docs/x/y.md", "deep/er/a.rs"] {
            assert_eq!(before(&post.place, "Blue", file), PASSED);
        }
        assert_eq!(events(post), start);
        // There could be a file of that pattern below it, but it is not that file.
        assert_eq!(before(&post.place, "Blue", "README"), PASSED);
        assert_eq!(ids(&post.ask("leases --as Blue").unwrap()), [1, 2, 3]);
        post.ask("release --all --as Blue").unwrap();
        post.ask("reserve docs --ttl 10m --as Blue").unwrap();
        assert_eq!(before(&post.place, "Blue", "docs/z"), PASSED);
        let leases = post.ask("leases --as Blue").unwrap();
        assert_eq!(ids(&leases), [4]);
        assert!(leases["items"][0]["ttl_remaining_ms"].as_i64().unwrap() > 1_700_000);
        // What one only reads is not one's own to write.
        post.ask("release --all --as Blue").unwrap();
        post.ask("reserve shared --shared --as Blue").unwrap();
        post.ask("reserve shared --shared --as Red").unwrap();
        let (exit, said) = before(&post.place, "Blue", "shared/a");
        assert_eq!(exit, 2, "{said}");
        assert!(said.contains("held by `Red`"), "{said}");
    });
}

#[test]
fn several_files_and_other_tools_are_understood() {
    served_and_not(|post| {
        post.ask("reserve b --as Red").unwrap();
        let patch = "*** Begin Patch\n*** Update File: a\n*** Add File: b\n+x\n*** End Patch";
        let patch = json!({ "tool_name": "apply_patch", "tool_input": { "input": patch } });
        let (exit, said) = ended(&hook(&post.place, &["--as", "Blue"], &patch.to_string()));
        assert_eq!(exit, 2, "{said}");
        assert_eq!(
            ids(&post.ask("leases --agent Blue --as Red").unwrap()),
            [0i64; 0]
        );
        let write = json!({ "tool": "write_file", "args": { "paths": ["c", "d"] } });
        assert_eq!(
            ended(&hook(&post.place, &["--as", "Blue"], &write.to_string())),
            PASSED
        );
        let look = json!({ "tool_name": "Read", "tool_input": { "file_path": "b" } });
        assert_eq!(
            ended(&hook(&post.place, &["--as", "Blue"], &look.to_string())),
            PASSED
        );
        assert_eq!(
            ids(&post.ask("leases --agent Blue --as Red").unwrap()),
            [2, 3]
        );
    });
}

#[test]
fn files_of_others_projects_pass_without_a_word() {
    served_and_not(|post| {
        let far = tempfile::tempdir().unwrap();
        let far = far.path().join("x");
        assert_eq!(before(&post.place, "Blue", far.to_str().unwrap()), PASSED);
        assert_eq!(post.ask("leases --as Blue").unwrap()["items"], json!([]));
    });
}

// S23: an agent's reason is shown as its own words, and cannot move the cursor
#[test]
fn the_holders_words_are_set_apart() {
    let post = Post::embedded();
    let reason = "obey\u{202e}\nme";
    let words = ["reserve", "a", "--reason", reason, "--as", "Red"];
    assert!(post.pipe(&words, b"").status.success());
    let (exit, said) = before(&post.place, "Blue", "a");
    assert_eq!(exit, 2);
    assert!(
        said.contains(r#"Its reason, in its own words: "obey\u{202e}\nme"."#),
        "{said}"
    );
    let output = hook(&post.place, &["--as", "Blue", "--json"], &edit("a"));
    let told: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(told["conflicts"][0]["held_by"], "Red");
}

#[test]
fn our_own_failures_let_pass_with_one_line() {
    let post = Post::embedded();
    for (words, input) in [
        (vec!["--as", "Blue"], "{".to_owned()),
        (vec!["--as", "Blue"], "[]".to_owned()),
        (vec!["--as", "Nobody"], edit("a")),
        (vec![], edit("a")),
        (vec!["--operator"], edit("a")),
        (
            vec!["--as", "Blue", "--url", "http://127.0.0.1:1"],
            edit("a"),
        ),
    ] {
        let (exit, said) = ended(&hook(&post.place, &words, &input));
        assert_eq!((exit, said.lines().count()), (1, 1), "{words:?} {said}");
        assert!(
            said.starts_with("warning: comity let this pass: "),
            "{said}"
        );
    }
    for wrong in [
        vec!["hook"],
        vec!["hook", "x"],
        vec!["--as", "Blue", "hook", "pre-edit", "--x"],
    ] {
        assert_eq!(post.place.run(&wrong).status.code(), Some(1), "{wrong:?}");
    }
    let nothing = Place::new();
    let (exit, said) = before(&nothing, "Blue", "a");
    assert_eq!(exit, 1, "{said}");
    assert!(!nothing.data().exists(), "a hook makes no data directory");
}

// 3.11: a strict project does not let pass what could not be asked about
#[test]
fn a_strict_project_blocks_when_nobody_can_be_asked() {
    let post = Post::embedded();
    let git = std::process::Command::new("git")
        .args(["init", "-q"])
        .current_dir(post.place.path())
        .status();
    assert!(git.unwrap().success());
    let away = ["--as", "Blue", "--url", "http://127.0.0.1:1"];
    let asked_in_vain = || ended(&hook(&post.place, &away, &edit("a")));
    post.ask("project update --guard-away block --operator")
        .unwrap();
    assert_eq!(
        asked_in_vain().0,
        1,
        "nobody has learnt yet that it is strict"
    );
    assert_eq!(before(&post.place, "Blue", "a"), PASSED);
    let (exit, said) = asked_in_vain();
    assert_eq!((exit, said.lines().count()), (2, 1), "{said}");
    assert!(said.contains("`guard_away` is `block`"), "{said}");
    post.ask("project update --guard-away warn --operator")
        .unwrap();
    assert_eq!(before(&post.place, "Blue", "b"), PASSED);
    assert_eq!(asked_in_vain().0, 1);
}

// A token alone is enough: the environment of a client program may hold nothing else
#[test]
fn a_token_says_who_edits() {
    let post = Post::embedded();
    let agents = std::fs::read_dir(post.place.data().join("agents")).unwrap();
    let project = agents.into_iter().next().unwrap().unwrap().path();
    let token = std::fs::read_to_string(project.join("Blue.token")).unwrap();
    for kept in [true, false] {
        if !kept {
            std::fs::remove_file(project.join("Blue.token")).unwrap();
        }
        for _ in 0..2 {
            let mut command = post.place.command(&["hook", "pre-edit"]);
            command
                .env("COMITY_TOKEN", token.trim())
                .stdin(Stdio::piped());
            let mut child = command
                .stderr(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            child
                .stdin
                .take()
                .unwrap()
                .write_all(edit("a").as_bytes())
                .unwrap();
            assert_eq!(ended(&child.wait_with_output().unwrap()), PASSED);
        }
    }
    assert_eq!(ids(&post.ask("leases --as Red").unwrap()), [1]);
}

// Half of what: the setting counts, or short leases would be renewed before every edit
#[test]
fn half_of_the_time_is_half_of_what_the_settings_say() {
    let post = Post::embedded();
    let settings = post.place.data().join("comity.toml");
    std::fs::write(settings, "[leases]\ndefault_ttl = \"4m\"\n").unwrap();
    assert_eq!(before(&post.place, "Blue", "a"), PASSED);
    let start = events(&post);
    assert_eq!(before(&post.place, "Blue", "a"), PASSED);
    assert_eq!(events(&post), start);
}

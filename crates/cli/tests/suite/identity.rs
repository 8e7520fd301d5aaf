//! Who acts, and that nobody is guessed.

use serde_json::{Value, json};

use crate::place::{Place, answer};

// E5: nobody is named, nobody acts
#[test]
fn without_a_name_or_a_terminal_nothing_is_done() {
    let place = Place::new();
    let (exit, error) = place.ask("project ensure").unwrap_err();
    assert_eq!((exit, &error["error"]), (1, &json!("forbidden")));
    assert_eq!(place.ask("--as Blue --operator status").unwrap_err().0, 3);
}

// E3
#[test]
fn joining_again_is_the_same_agent() {
    let place = Place::new();
    let join = [
        "join",
        "--name",
        "Blue",
        "--program",
        "p",
        "--model",
        "m",
        "--operator",
    ];
    let first = place.json(&join).unwrap();
    assert_eq!(first["created"], true);
    // As the operator, and as itself: what is not said stays.
    let again = place.ask("join --name blue --task t --operator").unwrap();
    let itself = place.ask("join --name Blue").unwrap();
    let as_itself = place.ask("join --as Blue").unwrap();
    for joined in [again, itself, as_itself] {
        assert_eq!(joined["created"], false);
        for same in ["agent_id", "name", "project", "token_file"] {
            assert_eq!(joined[same], first[same], "{same}");
        }
        assert_eq!(joined["orientation"]["task"], "t");
    }
    let shown = place.ask("agent show Blue --as Blue").unwrap();
    assert_eq!(
        (&shown["agent"]["program"], &shown["agent"]["model"]),
        (&json!("p"), &json!("m"))
    );
    let near = place.ask("status --as Blu").unwrap_err().1;
    assert_eq!(near["hint"], "did you mean `Blue`?");
    // The operator gives rights by the way.
    place
        .ask("join --name Blue --right orchestrate --operator")
        .unwrap();
    let shown = place.ask("agent show Blue --as Blue").unwrap();
    assert_eq!(shown["agent"]["rights"], json!(["orchestrate"]));
    // A new one needs the operator.
    let (exit, error) = place.ask("join --name Red").unwrap_err();
    assert_eq!((exit, &error["error"]), (1, &json!("forbidden")));
    let unnamed = place.ask("join --operator").unwrap();
    assert_ne!(unnamed["name"], "");
}

// E5: a name in several projects is several agents
#[test]
fn the_directory_or_the_project_decides_between_agents_of_one_name() {
    let place = Place::new();
    let join = |directory: &str, more: &[&str]| {
        let path = place.path().join(directory);
        std::fs::create_dir_all(&path).unwrap();
        let mut command = place.command(&[&["join", "--name", "Blue", "--json"], more].concat());
        answer(&command.current_dir(path).output().unwrap())
    };
    let status = |directory: &str, more: &[&str]| {
        let mut command = place.command(&[&["status", "--as", "Blue", "--json"], more].concat());
        answer(
            &command
                .current_dir(place.path().join(directory))
                .output()
                .unwrap(),
        )
    };
    let operator = ["--operator"];
    assert_eq!(join("a/web", &operator).unwrap()["project"], "web");
    // One only: it is meant wherever it is said.
    assert_eq!(status(".", &[]).unwrap()["project"], "web");
    // The directory of another project of the same name is not this one's.
    let (_, error) = join("b/web", &[]).unwrap_err();
    assert_eq!(error["error"], "forbidden");
    assert_eq!(join("b/api", &operator).unwrap()["project"], "api");
    assert_eq!(status("a/web", &[]).unwrap()["project"], "web");
    assert_eq!(status("b/api", &[]).unwrap()["project"], "api");
    let (exit, error) = status(".", &[]).unwrap_err();
    assert_eq!(exit, 1);
    assert!(
        error["message"].as_str().unwrap().contains("`api`, `web`"),
        "{error}"
    );
    assert_eq!(
        status(".", &["--project", "api"]).unwrap()["project"],
        "api"
    );
    // A second `web`: only its slug tells them apart.
    assert_eq!(join("b/web", &operator).unwrap()["project"], "web-2");
    assert_eq!(status("b/web", &[]).unwrap_err().0, 1);
    assert_eq!(
        status("b/web", &["--project", "web-2"]).unwrap()["project"],
        "web-2"
    );
    assert_eq!(
        status("a/web", &["--project", "web"]).unwrap()["project"],
        "web"
    );
    assert_eq!(
        status(".", &["--project", "nowhere"]).unwrap_err().1["error"],
        "not_found"
    );
}

#[test]
fn the_environment_names_an_agent_too_and_flags_win() {
    let place = Place::new();
    for name in ["Blue", "Red"] {
        place.json(&["join", "--name", name, "--operator"]).unwrap();
    }
    let named = |words: &[&str]| -> Result<Value, (i32, Value)> {
        let mut command = place.command(&[words, &["--json"]].concat());
        answer(&command.env("COMITY_AS", "Blue").output().unwrap())
    };
    assert_eq!(named(&["status"]).unwrap()["name"], "Blue");
    assert_eq!(named(&["status", "--as", "Red"]).unwrap()["name"], "Red");
    assert_eq!(
        named(&["token", "list", "--operator"]).unwrap()["items"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        named(&["token", "list"]).unwrap_err().1["error"],
        "forbidden"
    );
}

// C2
#[test]
fn a_repeated_key_takes_effect_once() {
    let place = Place::new();
    place.ask("project ensure --operator").unwrap();
    let register = |name: &str| {
        let more = "--program p --model m --key k --operator";
        place.ask(&format!("agent register --name {name} {more}"))
    };
    let first = register("Blue").unwrap();
    let again = register("Blue").unwrap();
    assert_eq!(
        (&again["agent"], &again["seq"]),
        (&first["agent"], &first["seq"])
    );
    assert_eq!(again["token_file"], Value::Null);
    assert_eq!(
        register("Red").unwrap_err().1["error"],
        "idempotency_mismatch"
    );
    // Joining with a key finds the token of the first time.
    let join = || place.ask("join --key j --operator").unwrap();
    let (one, two) = (join(), join());
    assert_eq!(
        (&one["name"], &one["token_file"]),
        (&two["name"], &two["token_file"])
    );
}

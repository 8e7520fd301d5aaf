//! What is printed: plain when piped, harmless always, one document with `--json`, never a token.

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::place::{COMITY, Place};

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// A directory with a project, an agent whose words are hostile, and a token.
fn hostile() -> Place {
    let place = Place::new();
    place.ask("join --name Blue --operator").unwrap();
    let hostile = json!({ "agent": "Blue", "metadata": { "x": "\u{1b}[2J\u{202e}\r\n" },
        "task": "a\nb\tc" });
    place
        .call("update_agent", &add_project(&place, hostile))
        .unwrap();
    place
}

fn add_project(place: &Place, mut request: Value) -> Value {
    let root = place.path().canonicalize().unwrap();
    request["project"] = json!(root);
    request
}

/// Every command that ends by itself.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["init"],
    &["project", "ensure"],
    &["project", "update", "--name", "x"],
    &["project", "list"],
    &["project", "status"],
    &["token", "create", "--role", "observer"],
    &["token", "list"],
    &["token", "revoke", "2"],
    &["agent", "register", "--program", "p", "--model", "m"],
    &["agent", "list"],
    &["agent", "show", "Blue"],
    &["agent", "update", "Blue", "--model", "m"],
    &["agent", "rotate-token", "Blue"],
    &["join", "--name", "Red"],
    &["health"],
    &["doctor"],
    &["backup"],
    &["export"],
    &["run", "create", "ship \u{202e}it"],
    &["run", "list"],
    &["run", "status", "1"],
    &["run", "current"],
    &[
        "run",
        "artifact",
        "add",
        "1",
        "brainstorm",
        "notes",
        "notes.md",
    ],
    &["run", "artifact", "list", "1"],
    &[
        "run",
        "verdict",
        "1",
        "pass",
        "--summary",
        "fine \u{202e}it",
    ],
    &["run", "verdicts", "1"],
    &["run", "approve", "1", "brainstorm"],
    &["run", "approvals", "1"],
    &["gate", "check", "1"],
    &["run", "advance", "1"],
    &["run", "timeline", "1"],
    &["portfolio", "order", "1"],
    &["portfolio", "status", "1"],
    &["dispatch", "create", "any", "look \u{202e}it", "--run", "1"],
    &["dispatch", "list"],
    &["dispatch", "claim", "--kind", "any"],
    &["dispatch", "status", "1"],
    &["dispatch", "cancel", "1"],
    &["run", "update", "1", "--goal", "x"],
    &["run", "cancel", "1"],
    &["call", "list_agents", "--project", "."],
    &["config", "explain"],
    &["completions", "zsh"],
    &["man"],
    &["agent", "retire", "Red"],
];

const AGENTS_COMMANDS: &[&[&str]] = &[
    &["status"],
    &["prime"],
    &["agent", "heartbeat"],
    &["join"],
    &["agent", "list"],
];

fn every_command() -> Vec<Vec<&'static str>> {
    let operators = COMMANDS
        .iter()
        .map(|words| [words, &["--operator"][..]].concat());
    let agents = AGENTS_COMMANDS
        .iter()
        .map(|words| [words, &["--as", "Blue"][..]].concat());
    operators.chain(agents).collect()
}

// S23
#[test]
fn with_json_every_command_prints_one_document() {
    let place = hostile();
    for words in every_command() {
        let output = place.run(&[&words[..], &["--json"]].concat());
        let (stdout, stderr) = text(&output);
        assert!(output.status.success(), "{words:?}: {stderr}");
        assert_eq!(stderr, "", "{words:?}");
        let document: Value = serde_json::from_str(&stdout).unwrap();
        assert!(document.is_object(), "{words:?}");
    }
}

// S23, S18: for people no escape reaches the terminal, and no token anybody
#[test]
fn piped_output_is_plain_and_harmless_and_holds_no_token() {
    let place = hostile();
    let mut printed = String::new();
    for words in every_command() {
        let output = place.run(&words);
        let (stdout, stderr) = text(&output);
        assert!(output.status.success(), "{words:?}: {stderr}");
        let raw = matches!(words[0], "completions" | "man" | "call");
        let harmful =
            |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}');
        assert!(raw || !stdout.contains(harmful), "{words:?}: {stdout:?}");
        assert!(!stdout.contains(['│', '─']), "{words:?}: {stdout}");
        printed += &stdout;
        printed += &stderr;
    }
    assert!(printed.contains("a\\nb\\tc"), "{printed}");
    let tokens = tokens(&place);
    assert!(tokens.len() >= 3, "{}", tokens.len());
    for token in tokens {
        assert!(!printed.contains(&token));
    }
}

/// Every token that lies below the data directory.
fn tokens(place: &Place) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![place.data()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "token") {
                found.push(std::fs::read_to_string(path).unwrap().trim().to_owned());
            }
        }
    }
    found
}

// S18: nothing else is started, so nothing else has arguments
#[test]
fn no_token_is_an_argument_of_a_process() {
    let place = hostile();
    let log = place.path().join("trace");
    for words in [
        ["join", "--name", "Green", "--operator"],
        ["agent", "rotate-token", "Green", "--operator"],
    ] {
        let traced = Command::new("strace")
            .args(["-f", "-qq", "-e", "trace=execve", "-s", "4096", "-o"])
            .arg(&log)
            .args([COMITY, "--data"])
            .arg(place.data())
            .args(words)
            .current_dir(place.path())
            .output()
            .unwrap();
        assert!(traced.status.success());
        let trace = std::fs::read_to_string(&log).unwrap();
        assert!(trace.contains("execve"), "{trace}");
        for token in tokens(&place) {
            assert!(!trace.contains(&token));
        }
    }
}

#[test]
fn errors_are_two_lines_for_people_and_one_object_for_programs() {
    let place = hostile();
    let words = ["agent", "show", "Blu", "--operator"];
    let output = place.run(&words);
    assert_eq!(output.status.code(), Some(1));
    let (stdout, stderr) = text(&output);
    assert_eq!(stdout, "");
    assert_eq!(
        stderr,
        "error: there is no agent `Blu`\nhint: did you mean `Blue`?\n"
    );
    let (exit, error) = place.json(&words).unwrap_err();
    assert_eq!((exit, &error["error"]), (1, &json!("not_found")));
    let (exit, usage) = place.ask("agent shwo").unwrap_err();
    assert_eq!((exit, &usage["error"]), (3, &json!("invalid")));
}

#[test]
fn quiet_prints_nothing_but_errors() {
    let place = hostile();
    let output = place.run(&["agent", "list", "--operator", "--quiet"]);
    assert_eq!(text(&output), (String::new(), String::new()));
    let output = place.run(&["agent", "show", "Nobody", "--operator", "-q"]);
    assert!(text(&output).1.starts_with("error: "));
}

#[test]
fn a_list_is_plain_columns_and_an_entity_is_lines() {
    let place = Place::new();
    let register = [
        "agent",
        "register",
        "--name",
        "Blue",
        "--program",
        "p",
        "--model",
        "m",
    ];
    place.ask("project ensure --operator").unwrap();
    place
        .json(&[&register[..], &["--operator"]].concat())
        .unwrap();
    let (list, _) = text(&place.run(&["agent", "list", "--operator"]));
    assert_eq!(
        list,
        "id  name  program  model  last seen  status  focus  task\n\
         1   Blue  p        m      now        -       -      -\n"
    );
    let (shown, _) = text(&place.run(&["agent", "show", "Blue", "--operator"]));
    let shown: Vec<_> = shown.lines().take(4).collect();
    assert_eq!(shown[..2], ["id            1", "name          Blue"]);
    assert!(shown[2].starts_with("project       "), "{shown:?}");
    assert_eq!(shown[3], "program       p");
}

/// Runs one line of shell on a terminal of its own.
pub(crate) fn on_a_terminal(place: &Place, line: &str) -> String {
    let data = place.data();
    let line = format!("{COMITY} --data {} {line}", data.display());
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]);
    let output = terminal.current_dir(place.path()).stdin(Stdio::null());
    String::from_utf8(output.output().unwrap().stdout).unwrap()
}

#[test]
fn a_terminal_has_borders_and_colours_and_is_the_operators() {
    let place = hostile();
    let list = on_a_terminal(&place, "agent list");
    assert!(list.contains("│ id ┆ name "), "{list}");
    let error = on_a_terminal(&place, "agent show Nobody");
    assert!(
        error.contains("\u{1b}[31merror:\u{1b}[0m there is no agent"),
        "{error:?}"
    );
    let error = on_a_terminal(&place, "agent show Nobody --json");
    assert!(error.starts_with("{\"error\":\"not_found\""), "{error:?}");
    // S23: on a terminal most of all
    let shown = on_a_terminal(&place, "call get_agent '{\"agent\":1}'");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
}

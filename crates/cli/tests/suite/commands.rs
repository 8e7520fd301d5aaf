//! Each command does what it says, without a server.

use std::process::Command;

use comity_kernel::operation::OPERATIONS;
use serde_json::{Value, json};

use crate::place::{COMITY, Place, answer};

/// A project at the test's directory, with an agent in it.
fn with_blue() -> Place {
    let place = Place::new();
    place.ask("join --name Blue --operator").unwrap();
    place
}

// F10: what the registry says is there is there
#[test]
fn every_command_of_the_registry_is_in_the_tree() {
    let place = Place::new();
    for command in OPERATIONS.iter().flat_map(|operation| operation.commands) {
        // Some operations are an option or an argument of another's command.
        let is_word = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
        let words: Vec<_> = command.split(' ').take_while(is_word).collect();
        let usage = format!("Usage: comity {}", words.join(" "));
        let words: Vec<_> = words.into_iter().chain(["--help"]).collect();
        let helped = place.run(&words);
        assert!(helped.status.success(), "{command}");
        let help = String::from_utf8(helped.stdout).unwrap();
        assert!(help.contains(&usage), "{command}: {help}");
    }
}

#[test]
fn projects_are_made_changed_and_listed() {
    let place = Place::new();
    let root = json!(place.path().canonicalize().unwrap());
    let made = place.ask("project ensure --operator").unwrap();
    assert_eq!(made["created"], true);
    assert_eq!(made["project"]["key"], root);
    let again = place.ask("project ensure . --operator").unwrap();
    assert_eq!(again["created"], false);
    let other = place.ask("project ensure /srv/not-here --name Far --operator");
    assert_eq!(other.unwrap()["project"]["name"], "Far");
    let update = "project update --grace 20m --guard-mode warn --operator";
    let changed = place.ask(update).unwrap()["project"].clone();
    assert_eq!(changed["grace_ms"], 1_200_000);
    assert_eq!(changed["guard_mode"], "warn");
    let status = place.ask("project status --project not-here --operator");
    assert_eq!(status.unwrap()["project"]["key"], "/srv/not-here");
    let status = place.ask("project status --project . --operator");
    assert_eq!(status.unwrap()["project"]["key"], root);
    let listed = place.ask("project list --limit 1 --operator").unwrap();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(listed["next"], "1");
    let rest = place.ask("project list --after 1 --operator").unwrap();
    assert_eq!(rest["items"][0]["slug"], "not-here");
}

#[test]
fn agents_come_and_are_seen() {
    let place = with_blue();
    let made = place.ask(
        "agent register --name Red --program p --model m --capability rust --capability sql
         --right orchestrate --metadata {\"team\":1} --operator",
    );
    let agent = made.unwrap()["agent"].clone();
    assert_eq!(agent["capabilities"], json!(["rust", "sql"]));
    assert_eq!(agent["rights"], json!(["orchestrate"]));
    assert_eq!(agent["metadata"], json!({ "team": 1 }));
    let listed = place.ask("agent list --capability rust --as Blue").unwrap();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(listed["items"][0]["name"], "Red");
    let beat = place.ask("agent heartbeat --status busy --as Red").unwrap();
    assert!(beat["last_seen"].is_string());
    let shown = place.ask("agent show red --operator").unwrap();
    assert_eq!(shown["agent"]["id"], agent["id"]);
    let unsaid = place.ask("agent register --name Green --operator");
    assert_eq!(unsaid.unwrap_err().1["field"], "--program");
}

#[test]
fn agents_change_and_go() {
    let place = with_blue();
    let red = place.ask("join --name Red --model m --operator").unwrap();
    let id = red["agent_id"].to_string();
    let update = format!("agent update {id} --task t --operator");
    let updated = place.ask(&update).unwrap()["agent"].clone();
    assert_eq!(updated["task"], "t");
    assert_eq!(updated["model"], "m");
    let stale = place.ask(&format!("{update} --expected-revision 1"));
    assert_eq!(stale.unwrap_err().1["error"], "version_conflict");
    let token = || std::fs::read_to_string(red["token_file"].as_str().unwrap()).unwrap();
    let before = token();
    let rotated = place.ask("agent rotate-token Red --as Red").unwrap();
    assert_eq!(rotated["token_file"], red["token_file"]);
    assert_ne!(before, token());
    assert_eq!(place.ask("status --as Red").unwrap()["name"], "Red");
    let retired = place.ask("agent retire Red --reason done --operator");
    assert!(retired.unwrap()["agent"]["retired_at"].is_string());
    assert_eq!(place.ask("status --as Red").unwrap_err().0, 2);
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let place = with_blue();
    let made = place.ask("token create --role observer --name wall --operator");
    let made = made.unwrap();
    let token = std::fs::read_to_string(made["token_file"].as_str().unwrap()).unwrap();
    let look = || {
        let mut command = place.command(&["project", "list", "--json"]);
        answer(&command.env("COMITY_TOKEN", token.trim()).output().unwrap())
    };
    assert_eq!(look().unwrap()["items"].as_array().unwrap().len(), 1);
    let listed = place.ask("token list --operator").unwrap();
    assert_eq!(listed["items"][1]["name"], "wall");
    let revoke = format!("token revoke {} --operator", made["token"]["id"]);
    place.ask(&revoke).unwrap();
    assert_eq!(look().unwrap_err().1["error"], "unauthorized");
    assert_eq!(place.ask("token revoke 99 --operator").unwrap_err().0, 1);
    // An agent's token comes from registering alone.
    let agents = place.ask("token create --role agent --operator");
    assert_eq!(agents.unwrap_err().0, 3);
}

#[test]
fn init_makes_a_private_directory_and_overwrites_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let init = || {
        let mut command = Command::new(COMITY);
        command.args(["init", "--operator", "--json"]);
        let output = command.env_clear().current_dir(place.path()).output();
        answer(&output.unwrap()).unwrap()
    };
    assert_eq!(init()["created"], true);
    let file = |name: &str| place.path().join(".comity").join(name);
    let mode = |name: &str| std::fs::metadata(file(name)).unwrap().permissions().mode();
    assert_eq!(mode("") & 0o777, 0o700);
    assert_eq!(mode("comity.toml") & 0o777, 0o600);
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    assert_eq!(read(".gitignore"), "*\n");
    std::fs::write(file("comity.toml"), "[readers]\nthreads = 2\n").unwrap();
    assert_eq!(init()["created"], false);
    assert_eq!(read("comity.toml"), "[readers]\nthreads = 2\n");
}

#[test]
fn the_fleet_is_ten_lines_at_most() {
    let place = Place::new();
    let nothing = json!({ "data": null, "next": "comity init" });
    assert_eq!(place.ask("").unwrap(), nothing);
    for n in 0..12 {
        let join = format!("join --name agent-{n} --operator");
        place.ask(&join).unwrap();
    }
    let shown = String::from_utf8(place.run(&["--operator"]).stdout).unwrap();
    assert!(shown.lines().count() <= 10, "{shown}");
    assert!(shown.starts_with("server    not running\n"), "{shown}");
    assert!(shown.contains("\nagents    12\n"), "{shown}");
    let own = place.ask("--as agent-3").unwrap();
    assert_eq!(own["agents"].as_array().unwrap().len(), 12);
}

#[test]
fn health_without_a_server_probes_the_database() {
    let place = with_blue();
    let health = place.ask("health").unwrap();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["server"], Value::Null);
}

#[test]
fn scripts_and_pages_are_printed_and_written() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.ask(&format!("completions {shell}")).unwrap();
        let script = script["script"].as_str().unwrap().to_owned();
        assert!(script.contains("comity"), "{shell}");
    }
    let page = place.ask("man").unwrap();
    assert!(page["page"].as_str().unwrap().contains(".TH comity"));
    place.ask("man pages").unwrap();
    assert!(place.path().join("pages/comity-agent-register.1").exists());
}

#[test]
fn a_shell_completes_names_from_the_files_alone() {
    let place = with_blue();
    std::fs::write(place.data().join("comity.db"), "not to be opened").unwrap();
    let mut shell = Command::new(COMITY);
    shell.args(["--", "comity", "agent", "show", "B"]);
    shell
        .env("COMPLETE", "fish")
        .env("COMITY_DATA", place.data());
    let candidates = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    assert_eq!(candidates.trim(), "Blue");
}

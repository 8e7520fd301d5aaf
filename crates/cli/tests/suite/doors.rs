//! The same commands give the same answers through every door.

use serde_json::{Value, json};

use crate::place::Place;

/// How the program reaches the operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Embedded,
    Socket,
    Url,
}

/// A day in a project: each line is one command.
const SCRIPT: &[&str] = &[
    "project ensure /srv/web --operator",
    "project ensure /srv/web --operator",
    "project update --project web --grace 20m --name Web --operator",
    "project update --project /srv/web --expected-revision 9 --operator",
    "project status --project nowhere --operator",
    "agent register --project web --name Blue --program p --model m --capability a --operator",
    "agent register --project web --name Blue --program p --model m --operator",
    "agent register --project web --name Red --program p --model m --right orchestrate --key k --operator",
    "agent register --project web --name Red --program p --model m --right orchestrate --key k --operator",
    "agent register --project web --name Green --program p --model m --key k --operator",
    "token create --role observer --name wall --project web --operator",
    "token create --role operator --project web --operator",
    "token list --limit 2 --operator",
    "token list --limit 2 --after 2 --operator",
    "token revoke 3 --operator",
    "token revoke 77 --operator",
    "token list --as Blue",
    "status --as Blue",
    "project status --as Blue",
    "project list --operator",
    "agent list --as Blue --capability a",
    "agent list --as Blue --active-within 1h",
    "agent show Red --as Blue",
    "agent show 2 --operator",
    "agent show Rod --as Blue",
    "agent heartbeat --as Blue --status busy --focus x/y",
    "agent update Blue --as Blue --task a%20b&c=d",
    "agent update Red --as Blue --task mine",
    "agent rotate-token Red --project web --operator",
    "status --as Red",
    "agent retire Red --project web --reason done --operator",
    "status --as Red",
    "join --name Gold --project web --operator",
    "join --as Gold --task t",
    "call project_status {} --as Gold",
    "call list_agents {\"limit\":0} --project web --operator",
    "call list_agents {\"limt\":1} --project web --operator",
    "call ensure_project {\"key\":\"/a/../b\"} --operator",
    "mail send Gold --subject s --body b --ack --as Blue",
    "mail send Gald --subject s --body b --as Blue",
    "mail inbox --as Gold",
    "mail inbox Gold --project web --operator",
    "mail show 1 --as Blue",
    "call put_attachment {\"content\":\"AP8K\"} --operator",
    "call put_attachment {\"content\":\"?\"} --operator",
    "call put_attachment {} --operator",
    "mail fetch 712450d3c4a79eea9509e75dc1dacdeff58034df538536cfae2da882bd8a0c50 --operator",
    "doctor --operator",
    "backup --operator",
    "export web --operator",
    "export wep --operator",
];

/// Runs the script, and leaves out what time, place and chance decide.
fn answers(way: Way) -> Vec<Value> {
    let place = Place::new();
    // The operator's token exists once a server ran, and has a number.
    drop(place.serve());
    let server = (way != Way::Embedded).then(|| place.serve());
    let url = server
        .as_ref()
        .map(|server| format!("http://{}", server.addr));
    let run = |line: &&str| {
        let mut words: Vec<&str> = line.split(' ').collect();
        if let (Way::Url, Some(url)) = (way, &url) {
            words.extend(["--url", url]);
        }
        let mut answer = match place.json(&words) {
            Ok(answer) => answer,
            Err((exit, error)) => json!({ "exit": exit, "error": error }),
        };
        blur(&mut answer, place.path().to_str().unwrap());
        json!({ "line": line, "answer": answer })
    };
    SCRIPT.iter().map(run).collect()
}

fn blur(value: &mut Value, place: &str) {
    match value {
        Value::Object(fields) => {
            // What a doctor finds around the database differs from process to process.
            let around = ["disk", "descriptors", "archive"];
            let named = fields.get("name").and_then(Value::as_str);
            if named.is_some_and(|name| around.contains(&name)) && fields.contains_key("detail") {
                fields.insert("detail".to_owned(), json!("…"));
            }
            for (name, value) in fields {
                let chance = matches!(
                    name.as_str(),
                    "last_seen" | "created_at" | "revoked_at" | "retired_at" | "state_hash"
                );
                if chance && value.is_string() {
                    *value = json!("…");
                }
                blur(value, place);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| blur(value, place)),
        Value::String(text) => *text = text.replace(place, "…"),
        _ => {}
    }
}

// F10: one definition, one behaviour
#[test]
fn every_door_gives_the_same_answers() {
    let embedded = answers(Way::Embedded);
    let done = embedded
        .iter()
        .filter(|step| step["answer"].get("exit").is_none());
    assert!(done.count() > 24, "{embedded:#?}");
    for way in [Way::Socket, Way::Url] {
        for (one, other) in embedded.iter().zip(answers(way)) {
            // A token tells its operator from the owner of the directory.
            let told = other.to_string().replace("operator:1 ", "operator ");
            assert_eq!(one.to_string(), told, "{way:?}");
        }
    }
}

#[test]
fn health_asks_the_server() {
    let place = Place::new();
    let server = place.serve();
    let url = format!("http://{}", server.addr);
    let by_socket = place.ask("health --operator").unwrap();
    assert!(
        by_socket["server"]
            .as_str()
            .unwrap()
            .ends_with("comity.sock")
    );
    assert!(by_socket["checks"].as_array().unwrap().len() > 2);
    let by_url = place
        .json(&["health", "--operator", "--url", &url])
        .unwrap();
    assert_eq!(by_url["server"], json!(url));
    assert!(by_url["checks"].as_array().unwrap().len() > 2);
    let fleet = String::from_utf8(place.run(&["--operator"]).stdout).unwrap();
    assert!(fleet.starts_with("server    running, "), "{fleet}");
}

#[test]
fn a_server_that_is_not_there_is_a_clear_failure() {
    let place = Place::new();
    drop(place.serve());
    let (exit, error) = place
        .ask("project list --operator --url http://127.0.0.1:1")
        .unwrap_err();
    assert_eq!(exit, 2);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("the server at http://127.0.0.1:1 cannot be reached"),
        "{message}"
    );
    let tls = place
        .ask("project list --operator --url https://x")
        .unwrap_err();
    assert!(tls.1["message"].as_str().unwrap().contains("TLS"));
}

// S21: what leaves the machine unprotected is said, once, beside the answer
#[test]
fn plain_http_to_another_machine_is_warned_about() {
    let place = Place::new();
    drop(place.serve());
    let words = [
        "project",
        "list",
        "--operator",
        "--timeout",
        "10ms",
        "--url",
        "http://192.0.2.1:9",
    ];
    let said = String::from_utf8(place.run(&words).stderr).unwrap();
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    assert!(said.contains("error: "), "{said}");
}

// A12: a server that has the directory but no socket is named
#[test]
fn a_server_without_a_socket_is_named_after_a_while() {
    let place = Place::new();
    let server = place.serve();
    std::fs::remove_file(place.data().join("comity.sock")).unwrap();
    let (exit, error) = place.ask("project list --operator").unwrap_err();
    assert_eq!((exit, &error["error"]), (6, &json!("locked")));
    let named = format!("process {}", server.child.id());
    assert!(error["message"].as_str().unwrap().contains(&named));
}

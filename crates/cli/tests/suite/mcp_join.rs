//! Whom `comity mcp` speaks for: joining, coming back, and whom it refuses to be.

use serde_json::json;

use crate::mcp_client::{Client, Era};
use crate::place::{Place, tokens};

// E5: nobody acts before it is known who
#[test]
fn without_a_name_a_call_says_that_join_comes_first() {
    let place = Place::new();
    let mut client = Client::start(&place, &[], Era::Stateless);
    let refused = client.call("status", &json!({})).unwrap_err();
    let expected = json!({
        "error": "unauthorized",
        "message": "nobody has joined on this connection yet",
        "hint": "call `join` first, and then this again",
    });
    assert_eq!(refused, expected);
    // Unnamed it is given a name, and keeps it.
    let first = client.call("join", &json!({})).unwrap();
    let again = client.call("join", &json!({ "task": "more" })).unwrap();
    assert_eq!(
        (&first["created"], &again["created"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(first["agent_id"], again["agent_id"]);
    assert_eq!(again["you"]["task"], "more");
}

#[test]
fn a_name_given_at_the_start_is_the_only_one() {
    let place = Place::new();
    let mut client = Client::start(&place, &["--as", "Blue"], Era::Handshake);
    let refused = client.call("join", &json!({ "name": "Red" })).unwrap_err();
    assert_eq!(refused["error"], "forbidden");
    assert!(
        refused["message"].as_str().unwrap().contains("`Blue`"),
        "{refused}"
    );
    // The first call registers; two at the same time are one agent.
    let call = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "status" } });
    for id in 1_000..1_020 {
        client.send(call(id).to_string().as_bytes());
    }
    let joined = client.call("join", &json!({ "name": "blue" })).unwrap();
    assert_eq!(
        (&joined["name"], &joined["created"]),
        (&json!("Blue"), &json!(false))
    );
    let (exit, heard) = client.end();
    assert_eq!(exit, Some(0));
    assert_eq!(heard.matches("\"isError\":true").count(), 1, "{heard}");
    let agents = place.ask("agent list --as Blue").unwrap();
    assert_eq!(agents["items"].as_array().unwrap().len(), 1);
    let mut command = place.command(&["mcp"]);
    let mut client = Client::spawn(command.env("COMITY_AS", "Blue"), Era::Stateless);
    assert_eq!(client.call("status", &json!({})).unwrap()["agent_id"], 1);
}

// E5: never a silent second identity
#[test]
fn a_name_whose_token_is_not_here_is_taken() {
    let place = Place::new();
    place.ask("join --name Blue --operator").unwrap();
    std::fs::remove_dir_all(place.data().join("agents")).unwrap();
    let mut client = Client::start(&place, &[], Era::Handshake);
    let refused = client.call("join", &json!({ "name": "Blue" })).unwrap_err();
    assert_eq!(refused["error"], "name_taken");
    assert!(refused["hint"].as_str().unwrap().contains("another name"));
    assert_eq!(
        client.call("status", &json!({})).unwrap_err()["error"],
        "unauthorized"
    );
}

#[test]
fn a_project_is_a_path_or_one_that_exists() {
    let place = Place::new();
    let mut client = Client::start(&place, &[], Era::Handshake);
    let refused = client
        .call("join", &json!({ "name": "Blue", "project": "web" }))
        .unwrap_err();
    assert_eq!(refused["error"], "not_found");
    let made = client
        .call("join", &json!({ "name": "Blue", "project": "/srv/web" }))
        .unwrap();
    let found = client
        .call("join", &json!({ "name": "Blue", "project": "web" }))
        .unwrap();
    assert_eq!(
        (&made["project"], &made["agent_id"]),
        (&json!("web"), &found["agent_id"])
    );
    // Without an argument it is the directory, and the agent another one.
    let here = client.call("join", &json!({ "name": "Blue" })).unwrap();
    assert_ne!(here["agent_id"], made["agent_id"]);
    assert_eq!(
        client.call("status", &json!({})).unwrap()["agent_id"],
        here["agent_id"]
    );
    // A worktree, a symlink or a directory inside is the repository's project.
    let repository = place.path().join("repository");
    std::fs::create_dir_all(repository.join(".git")).unwrap();
    std::os::unix::fs::symlink(&repository, place.path().join("link")).unwrap();
    let one = client
        .call("join", &json!({ "project": repository }))
        .unwrap();
    let other = client
        .call("join", &json!({ "project": place.path().join("link") }))
        .unwrap();
    assert_eq!(
        (&one["project"], &one["agent_id"]),
        (&other["project"], &other["agent_id"])
    );
}

// S18: a token that was rotated meanwhile is read anew
#[test]
fn a_rotated_token_works_at_once() {
    let place = Place::new();
    let mut client = Client::start(&place, &["--as", "Blue"], Era::Stateless);
    client.call("status", &json!({})).unwrap();
    let old = tokens(&place);
    place.ask("agent rotate-token Blue --as Blue").unwrap();
    assert_ne!(tokens(&place), old);
    client.call("status", &json!({})).unwrap();
    drop(client);
    // The environment's token says who it is.
    let mut command = place.command(&["mcp"]);
    let token = &tokens(&place)[0];
    let mut client = Client::spawn(command.env("COMITY_TOKEN", token), Era::Stateless);
    assert_eq!(client.call("status", &json!({})).unwrap()["name"], "Blue");
    assert_eq!(
        client.call("join", &json!({ "task": "x" })).unwrap()["you"]["task"],
        "x"
    );
    let refused = client.call("join", &json!({ "name": "Red" })).unwrap_err();
    assert_eq!(refused["error"], "forbidden");
    let (exit, heard) = client.end();
    assert!(
        exit == Some(0) && !heard.contains(token.as_str()),
        "{heard}"
    );
}

// Over a URL the operator's token is needed for somebody new, and nobody is needed to come back
#[test]
fn over_a_url_an_agent_joins_with_the_operators_token_and_resumes_without() {
    let place = Place::new();
    let server = place.serve();
    let url = format!("http://{}", server.addr);
    let arguments = ["--url", &url, "--project", "/srv/web"];
    let mut client = Client::start(&place, &arguments, Era::Handshake);
    assert_eq!(
        client.call("join", &json!({ "name": "Blue" })).unwrap()["created"],
        true
    );
    std::fs::remove_file(place.data().join("operator.token")).unwrap();
    assert_eq!(
        client.call("join", &json!({ "name": "Blue" })).unwrap()["created"],
        false
    );
    assert_eq!(client.call("join", &json!({})).unwrap()["name"], "Blue");
    for other in [
        json!({ "name": "Red" }),
        json!({ "name": "Blue", "project": "/srv/api" }),
    ] {
        assert_eq!(
            client.call("join", &other).unwrap_err()["error"],
            "forbidden"
        );
    }
    assert_eq!(client.call("status", &json!({})).unwrap()["name"], "Blue");
    let mut stranger = Client::start(&place, &arguments, Era::Stateless);
    assert_eq!(
        stranger.call("join", &json!({})).unwrap_err()["error"],
        "forbidden"
    );
}

//! `comity events hook`, and a real server that tells one.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::place::{Place, answer};

#[test]
fn a_hook_is_added_told_listed_and_removed() {
    let place = Place::new();
    place
        .call("ensure_project", &json!({ "key": "/srv/web" }))
        .unwrap();
    let file = place.data().join("comity.toml");
    std::fs::write(&file, "[hooks]\nallow_private_addresses = true\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/in", listener.local_addr().unwrap());
    let add = ["events", "hook", "add", "--url", &url, "--kind"];
    let add = [&add[..], &["project_updated", "--operator"]].concat();
    let shown = place.run(&add);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("secret   comityhook_"), "{shown}");
    let list = ["events", "hook", "list", "--operator"];
    let listed = place.run(&[&list[..], &["--plain"]].concat());
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(!listed.contains("comityhook_"), "{listed}");
    let server = place.serve();
    let change = json!({ "project": "web", "name": "Shop" });
    let seq = place.call("update_project", &change).unwrap()["seq"].clone();
    let (mut stream, _) = listener.accept().unwrap();
    let mut told = String::new();
    while !told.contains("Shop") {
        let mut piece = [0; 4_096];
        let read = stream.read(&mut piece).unwrap();
        told.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    let told = told.to_lowercase();
    assert!(told.contains(&format!("comity-seq: {seq}")), "{told}");
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        .unwrap();
    let items = || place.json(&list).unwrap()["items"].clone();
    while items()[0]["waiting"] != 0 {
        std::thread::yield_now();
    }
    assert_eq!(
        (&items()[0]["state"], &items()[0]["dead"]),
        (&json!("following"), &json!(0))
    );
    let letters = ["events", "hook", "dead-letters", "1", "--operator"];
    assert_eq!(place.json(&letters).unwrap()["items"], json!([]));
    let retry = ["events", "hook", "retry", "1", "1", "--operator"];
    assert_eq!(place.json(&retry).unwrap_err().0, 1);
    let remove = ["events", "hook", "remove", "1", "--operator"];
    assert_eq!(place.json(&remove).unwrap()["hook"]["state"], "removed");
    assert_eq!(items(), json!([]));
    drop(server);
}

#[test]
fn a_program_needs_the_configuration() {
    let place = Place::new();
    let add = ["events", "hook", "add", "--operator", "--json", "--command"];
    let add = [&add[..], &["--", "/bin/cat", "-u"]].concat();
    let refused = |output: &std::process::Output| -> (i32, Value) { answer(output).unwrap_err() };
    let (exit, error) = refused(&place.run(&add));
    assert_eq!((exit, &error["error"]), (3, &json!("invalid")));
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("allow_commands"),
        "{error}"
    );
    let mut allowed = place.command(&add);
    let allowed = allowed.env("COMITY_HOOKS_ALLOW_COMMANDS", "true").output();
    let added = answer(&allowed.unwrap()).unwrap();
    assert_eq!(added["hook"]["command"], json!(["/bin/cat", "-u"]));
    assert_eq!(added["hook"].get("secret"), None);
    let bare = [
        "events",
        "hook",
        "add",
        "--operator",
        "--json",
        "--command",
        "--",
        "cat",
    ];
    assert_eq!(refused(&place.run(&bare)).0, 3);
    assert_eq!(
        refused(&place.run(&["events", "hook", "add", "--operator", "--json"])).0,
        3
    );
}

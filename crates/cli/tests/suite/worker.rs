//! Workers with the real binary: what their commands get, and what is reported of them.

use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::json;

use crate::place::tokens;
use crate::post::{Post, through_every_door};
use crate::shop::{Shop, said, until};

// The whole way, with and without a server: verdict, tokens, result and output
#[test]
fn a_command_does_what_was_handed_out() {
    through_every_door(|post| {
        let shop = Shop::new(post);
        let id = shop.hand_out(&json!({ "prompt": "count to two" }));
        let done = shop.run(
            "--as Blue",
            r#"cat; echo on stderr >&2
            echo '{"verdict":"pass","summary":"two","tokens":21,"result":{"n":2}}' > "$COMITY_RESULT_FILE""#,
        );
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let told = &said(&done)[0];
        assert_eq!(
            (&told["dispatch"], &told["outcome"]),
            (&json!(id), &json!("completed"))
        );
        let dispatch = shop.look(id);
        assert_eq!(dispatch["state"], "completed", "{dispatch}");
        assert_eq!(dispatch["verdict"], "pass");
        assert_eq!(dispatch["summary"], "two");
        assert_eq!(dispatch["tokens"], 21);
        assert_eq!(dispatch["result"], json!({ "n": 2 }));
        assert_eq!(dispatch["claimed_by"], "Blue");
        let log = told["log"].as_str().unwrap();
        let output = std::fs::read_to_string(log).unwrap();
        assert_eq!(output, "count to twoon stderr\n");
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
        let folder = shop.place().data().join("dispatch");
        assert_eq!(
            (mode(log.as_ref()) & 0o777, mode(&folder) & 0o777),
            (0o600, 0o700)
        ); // S21
        // Nothing but the output stays.
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        let again = shop.run("--as Blue", "true");
        assert_eq!(again.status.code(), Some(1), "{again:?}");
        assert!(String::from_utf8_lossy(&again.stderr).contains("nothing to claim"));
    });
}

// H1: whatever goes wrong is a failure that says so
#[test]
fn a_command_that_fails_is_reported_as_such() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    for (script, summary) in [
        ("exit 3", "exit code 3"),
        ("kill -9 $$", "ended by signal 9"),
        (
            r#"echo '{"summary":"no luck"}' > "$COMITY_RESULT_FILE"; exit 1"#,
            "exit code 1: no luck",
        ),
        (
            r#"echo '{' > "$COMITY_RESULT_FILE""#,
            "its result file is malformed",
        ),
        (
            r#"echo '{"tokens":"many"}' > "$COMITY_RESULT_FILE""#,
            "its result file is malformed",
        ),
        (
            r#"head -c 2000000 /dev/zero > "$COMITY_RESULT_FILE""#,
            "its result file is larger",
        ),
        (
            r#"mkfifo "$COMITY_RESULT_FILE""#,
            "its result file is not a regular file",
        ),
        (
            r#"mkdir "$COMITY_RESULT_FILE""#,
            "its result file is not a regular file",
        ),
        (
            r#"ln -s /etc/passwd "$COMITY_RESULT_FILE""#,
            "its result file is a link",
        ),
        (
            r#"printf '{"result":"%0300000d"}' 1 > "$COMITY_RESULT_FILE""#,
            "its report was refused",
        ),
    ] {
        let id = shop.hand_out(&json!({}));
        let done = shop.run("--as Blue", script);
        assert_eq!(done.status.code(), Some(1), "{script}: {done:?}");
        let dispatch = shop.look(id);
        assert_eq!(dispatch["state"], "failed", "{script}: {dispatch}");
        let said = dispatch["summary"].as_str().unwrap();
        assert!(said.starts_with(summary), "{script}: {said}");
        let folder = std::fs::read_dir(shop.place().data().join("dispatch")).unwrap();
        let left = folder.map(|file| file.unwrap().path());
        let left: Vec<_> = left
            .filter(|path| path.extension().unwrap() != "log")
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

// Work that is done is done, however its tokens are counted
#[test]
fn a_count_that_is_refused_changes_no_outcome() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({}));
    let script = r#"echo '{"tokens":21}' > "$COMITY_RESULT_FILE"; echo > ready
        while [ ! -e go ]; do sleep 0.05; done"#;
    let worker = shop.start("--as Blue", script);
    until(|| shop.file("ready").exists());
    // The program counts for itself, and further than its file says.
    let (number, fence) = (id.to_string(), shop.look(id)["fence"].to_string());
    let words = ["dispatch", "report", &number, "--tokens", "50"];
    let more = ["--fence", &fence, "--as", "Blue"];
    shop.place().json(&[&words[..], &more].concat()).unwrap();
    std::fs::write(shop.file("go"), "").unwrap();
    let done = worker.finish();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let dispatch = shop.look(id);
    assert_eq!(dispatch["state"], "completed", "{dispatch}");
    assert_eq!(
        (&dispatch["tokens"], &dispatch["summary"]),
        (&json!(50), &json!(""))
    );
    let id = shop.hand_out(&json!({}));
    let script = r#"echo '{"summary":"s","tokens":9000000000000000000}' > "$COMITY_RESULT_FILE""#;
    let done = shop.run("--as Blue", script);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let dispatch = shop.look(id);
    assert_eq!(
        (&dispatch["state"], &dispatch["tokens"]),
        (&json!("completed"), &json!(0))
    );
    let summary = dispatch["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("s (its tokens are not counted: "),
        "{summary}"
    );
}

// S12: the prompt is data, never part of a command line
#[test]
fn a_hostile_prompt_arrives_as_it_is() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let mut prompt =
        "$(touch owned) `id` '; rm -rf / #\"\\\r\n\t\u{202e}\u{feff}-- --help\n".to_owned();
    prompt.push_str(&"é€😀 ".repeat(5_000));
    shop.hand_out(&json!({ "prompt": prompt }));
    let done = shop.run("--as Blue", r#"cat > got; cp "$COMITY_PROMPT_FILE" file"#);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    for name in ["got", "file"] {
        assert_eq!(std::fs::read(shop.file(name)).unwrap(), prompt.as_bytes());
    }
    assert!(!shop.file("owned").exists());
}

// S18: a command knows what it works on, and has no token that it did not have before
#[test]
fn a_command_knows_its_dispatch_and_no_token() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let run = shop.call(
        "create_run",
        &json!({ "project": shop.place().path(), "goal": "g" }),
    );
    let run = run["run"]["id"].as_i64().unwrap();
    let id = shop.hand_out(&json!({ "run": run }));
    let done = shop.run(
        "--as Blue",
        "tr '\\0' '\\n' < /proc/$$/environ > env; pwd > where",
    );
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let environment = std::fs::read_to_string(shop.file("env")).unwrap();
    let dispatch = shop.look(id);
    let is_there = |line: String| assert!(environment.contains(&line), "{line}: {environment}");
    is_there(format!("COMITY_DISPATCH={id}\n"));
    is_there(format!("COMITY_RUN={run}\n"));
    is_there(format!("COMITY_FENCE={}\n", dispatch["fence"]));
    is_there(format!(
        "COMITY_PROJECT={}\n",
        dispatch["project"].as_str().unwrap()
    ));
    for token in tokens(shop.place()) {
        assert!(!environment.contains(&token));
    }
    assert_eq!(shop.line_in("where"), shop.place().path().to_str().unwrap());
    shop.hand_out(&json!({}));
    shop.run("--as Blue", "echo \"run:$COMITY_RUN\" > run");
    assert_eq!(shop.line_in("run"), "run:");
}

#[test]
fn a_command_that_is_not_there_claims_nothing() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({}));
    let line = "dispatch exec --kind coder --as Blue -- no-such-program";
    let (exit, error) = post.ask(line).unwrap_err();
    assert_eq!(exit, 2);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("no-such-program"),
        "{error}"
    );
    let (exit, _) = post.ask(&format!("{line} --key k")).unwrap_err();
    assert_eq!(exit, 2);
    let (exit, error) = post
        .ask("dispatch exec --key k --kind coder --as Blue -- true")
        .unwrap_err();
    assert_eq!((exit, &error["error"]), (3, &json!("invalid")));
    assert_eq!(shop.state(id), "queued");
}

// Three at once, not more, until nothing is left; then it stops when told, within seconds
#[test]
fn several_at_once_drain_the_queue() {
    for post in [Post::embedded(), Post::served()] {
        let shop = Shop::new(&post);
        std::fs::create_dir(shop.file("now")).unwrap();
        let ids: Vec<_> = (0..20).map(|_| shop.hand_out(&json!({}))).collect();
        let worker = shop.start(
            "--as Blue --parallel 3 --loop",
            "touch now/$COMITY_DISPATCH; ls now | wc -l >> counts; rm now/$COMITY_DISPATCH",
        );
        until(|| ids.iter().all(|id| shop.state(*id) == "completed"));
        worker.send(Signal::TERM);
        let done = worker.finish();
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let mut told: Vec<_> = said(&done)
            .iter()
            .map(|line| line["dispatch"].as_i64().unwrap())
            .collect();
        told.sort_unstable();
        assert_eq!(told, ids);
        let counts = std::fs::read_to_string(shop.file("counts")).unwrap();
        let counts: Vec<u32> = counts.lines().map(|n| n.trim().parse().unwrap()).collect();
        assert_eq!(counts.len(), 20);
        assert!(counts.iter().all(|n| (1..=3).contains(n)), "{counts:?}");
    }
}

// A7: a server may start and end beside a worker that waits for work
#[test]
fn servers_come_and_go_beside_a_worker() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let worker = shop.start("--as Blue --loop", "true");
    let first = shop.hand_out(&json!({}));
    until(|| shop.state(first) == "completed");
    let server = shop.place().serve();
    let second = shop.hand_out(&json!({}));
    until(|| shop.state(second) == "completed");
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    let third = shop.hand_out(&json!({}));
    until(|| shop.state(third) == "completed");
    worker.send(Signal::INT);
    assert_eq!(worker.finish().status.code(), Some(130));
}

//! Leases, locks and sentinels with the real binary, the same through every door.

use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::place::{Place, answer};
use crate::post::{Post, ids, through_every_door};

/// The leases in an agent's file.
fn kept(place: &Place, agent: &str) -> Vec<(i64, String)> {
    let projects = std::fs::read_dir(place.data().join("agents")).unwrap();
    let file = projects.map(|project| project.unwrap().path().join(format!("{agent}.leases")));
    let Some(file) = file.into_iter().find(|file| file.exists()) else {
        return Vec::new();
    };
    let content: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let leases = content["leases"].as_array().unwrap().iter();
    leases
        .map(|lease| {
            assert!(lease["fence"].as_i64().unwrap() > 0);
            let path = lease["path_pattern"].as_str().unwrap().to_owned();
            (lease["id"].as_i64().unwrap(), path)
        })
        .collect()
}

fn paths(answer: &Value) -> Vec<String> {
    let leases = answer["reservations"].as_array().unwrap().iter();
    leases
        .map(|lease| lease["path_pattern"].as_str().unwrap().to_owned())
        .collect()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

// F2, F6, F9: the whole life of a lease, and the agent's file beside it
#[test]
fn leases_are_taken_seen_renewed_and_given_back() {
    through_every_door(|post| {
        let reserve =
            "reserve src/a.rs app/[id].tsx --pattern docs/** --ttl 10m --reason x --as Blue";
        let taken = post.ask(reserve).unwrap();
        assert_eq!(paths(&taken), ["src/a.rs", "app/\\[id].tsx", "docs/**"]);
        assert_eq!(taken["created"], true);
        let again = post.ask(reserve).unwrap();
        assert_eq!(again["created"], false);
        let in_file = |post: &Post| kept(&post.place, "Blue").len();
        assert_eq!(in_file(post), 3);
        let (exit, refused) = post.ask("reserve docs/x.md --as Red").unwrap_err();
        assert_eq!(
            (exit, &refused["error"]),
            (1, &json!("reservation_conflict"))
        );
        assert_eq!(refused["conflicts"][0]["held_by"], "Blue");
        let hint = refused["hint"].as_str().unwrap();
        assert!(hint.contains("comity ask-release 3 --reason"), "{hint}");
        assert!(kept(&post.place, "Red").is_empty());
        assert_eq!(ids(&post.ask("leases --as Red").unwrap()), [1, 2, 3]);
        assert_eq!(
            ids(&post.ask("leases --agent Blue --operator").unwrap()),
            [1, 2, 3]
        );
        assert_eq!(
            post.ask("leases --agent Red --as Red").unwrap()["items"],
            json!([])
        );
        let one = post.ask("leases 2 --as Red").unwrap();
        assert_eq!(one["reservation"]["reason"], "x");
        let renewed = post.ask("renew 1 --ttl 2h --as Blue").unwrap();
        assert!(
            renewed["reservations"][0]["ttl_remaining_ms"]
                .as_i64()
                .unwrap()
                > 7_000_000
        );
        assert_eq!(
            post.ask("renew --all --as Blue").unwrap()["reservations"]
                .as_array()
                .unwrap()
                .len(),
            3
        );
        assert_eq!(
            post.ask("renew 1 --as Red").unwrap_err().1["error"],
            "not_holder"
        );
        let freed = post.ask("release src/a.rs app/[id].tsx --as Blue").unwrap();
        assert_eq!(paths(&freed), ["src/a.rs", "app/\\[id].tsx"]);
        assert_eq!(kept(&post.place, "Blue"), [(3, "docs/**".to_owned())]);
        assert_eq!(
            post.ask("release 1 --as Blue").unwrap_err().1["error"],
            "lease_ended"
        );
        assert_eq!(
            paths(&post.ask("release --all --as Blue").unwrap()),
            ["docs/**"]
        );
        assert_eq!(in_file(post), 0);
        assert_eq!(post.see("release --all --as Blue"), "none held\n");
        assert_eq!(
            ids(&post.ask("leases --state ended --as Blue").unwrap()),
            [1, 2, 3]
        );
    });
}

#[test]
fn a_check_says_who_and_takes_nothing() {
    through_every_door(|post| {
        assert_eq!(post.see("check src/a.rs --as Red"), "free\n");
        post.ask("reserve src --shared --reason reading --as Blue")
            .unwrap();
        assert_eq!(post.see("check src/a.rs --shared --as Red"), "free\n");
        assert_eq!(post.see("check src/a.rs --as Blue"), "free\n");
        let held = post.pipe(&["check", "src/a.rs", "--as", "Red"], b"");
        assert_eq!(held.status.code(), Some(1));
        assert_eq!(String::from_utf8_lossy(&held.stdout), "held\n");
        let told = said(&held);
        let lines: Vec<_> = told.lines().collect();
        assert_eq!(lines[0], "error: `src` is held by `Blue`");
        assert_eq!(lines[1], "held by  lease  what  for  last seen  why");
        assert!(
            lines[2].starts_with("Blue     1      src   29m  "),
            "{told}"
        );
        assert!(lines[2].ends_with("reading"), "{told}");
        assert!(
            lines[3].starts_with("hint: work on something else, ask for it with"),
            "{told}"
        );
        let held = post.pipe(&["check", "src", "--operator", "--json"], b"");
        let document: Value = serde_json::from_slice(&held.stdout).unwrap();
        assert_eq!(
            (held.status.code(), &document["free"]),
            (Some(1), &json!(false))
        );
        assert_eq!(ids(&post.ask("leases --as Red").unwrap()), [1]);
    });
}

// The holder is asked by mail, and what it answers changes its file too
#[test]
fn a_holder_is_asked_and_answers() {
    through_every_door(|post| {
        post.ask("reserve a b --as Blue").unwrap();
        let asked = post.ask("ask-release 1 --reason mine --as Red").unwrap();
        assert_eq!(asked["release_request"]["held_by"], "Blue");
        assert_eq!(ids(&post.ask("mail inbox --as Blue").unwrap()).len(), 1);
        let deferred = "answer-release 1 defer --eta 20m --note soon --as Blue";
        let deferred = post.ask(deferred).unwrap();
        assert_eq!(deferred["release_request"]["eta_ms"], 1_200_000);
        assert_eq!(kept(&post.place, "Blue").len(), 2);
        post.ask("ask-release 1 --reason still --as Red").unwrap();
        post.ask("answer-release 2 release --as Blue").unwrap();
        assert_eq!(kept(&post.place, "Blue"), [(2, "b".to_owned())]);
        post.ask("reserve a --as Red").unwrap();
    });
}

#[test]
fn the_operator_ends_a_lease_by_force() {
    through_every_door(|post| {
        post.ask("reserve a --as Blue").unwrap();
        let early = post.ask("release 1 --force --reason x --as Red");
        assert_eq!(early.unwrap_err().1["error"], "forbidden");
        let forced = post
            .ask("release 1 --force --reason stuck --operator")
            .unwrap();
        assert_eq!(forced["reservation"]["ended"], "forced");
        // Blue has to find out: its file still says that it holds it, until it gives it up.
        assert_eq!(kept(&post.place, "Blue").len(), 1);
        let gone = post.ask("release a --as Blue").unwrap_err();
        assert_eq!((gone.0, kept(&post.place, "Blue").len()), (1, 0));
        for given_up in ["release 2", "release --all"] {
            post.ask("reserve a --as Blue").unwrap();
            let id = kept(&post.place, "Blue")[0].0;
            post.ask(&format!("release {id} --force --reason x --operator"))
                .unwrap();
            let _ = post.ask(&format!("{given_up} --as Blue"));
            assert_eq!(kept(&post.place, "Blue"), [], "{given_up}");
        }
        for wrong in [
            "release 1 --force --operator",
            "release a --force --reason x --operator",
            "release --all 1 --as Blue",
            "release --as Blue",
            "reserve --as Blue",
        ] {
            let words: Vec<_> = wrong.split(' ').collect();
            assert_eq!(post.pipe(&words, b"").status.code(), Some(3), "{wrong}");
        }
    });
}

#[test]
fn locks_are_taken_in_turn() {
    through_every_door(|post| {
        let taken = post
            .ask("lock acquire port --ttl 10m --reason tests --as Blue")
            .unwrap();
        assert_eq!(taken["lock"]["held_by"], "Blue");
        let (exit, refused) = post.ask("lock acquire port --as Red").unwrap_err();
        assert_eq!(
            (exit, &refused["error"]),
            (1, &json!("reservation_conflict"))
        );
        let hint = refused["hint"].as_str().unwrap();
        assert!(hint.contains("comity mail send Blue"), "{hint}");
        let fence = taken["lock"]["fence"].to_string();
        post.ask(&format!(
            "lock renew port --fence {fence} --ttl 1h --as Blue"
        ))
        .unwrap();
        let stale = post.ask("lock renew port --fence 1 --as Blue").unwrap_err();
        assert_eq!(stale.1["error"], "version_conflict");
        let listed = post.see("lock list --as Red");
        assert!(listed.contains("port  Blue     59m"), "{listed}");
        let waiting = post.start(&["lock", "acquire", "port", "--wait", "30s", "--as", "Red"]);
        assert_eq!(post.see("lock release port --as Blue"), "released port\n");
        let granted = waiting.wait_with_output().unwrap();
        assert!(granted.status.success(), "{}", said(&granted));
        assert_eq!(
            post.ask("lock release port --operator").unwrap_err().1["error"],
            "not_holder"
        );
    });
}

#[test]
fn a_sentinel_is_claimed_once_per_interval() {
    through_every_door(|post| {
        let claim = "sentinel claim nightly --every 1h";
        assert_eq!(post.see(&format!("{claim} --as Blue")), "claimed\n");
        let words = "sentinel claim nightly --every 1h --as Red";
        let late = post.pipe(&words.split(' ').collect::<Vec<_>>(), b"");
        assert_eq!(late.status.code(), Some(1));
        assert!(
            said(&late).contains("`nightly` was claimed by `Blue` now"),
            "{}",
            said(&late)
        );
        assert!(said(&late).contains("again in 59m"), "{}", said(&late));
        assert_eq!(
            post.see(&format!("{claim} --scope web --as Red")),
            "claimed\n"
        );
        post.see("sentinel reset nightly --as Red");
        assert_eq!(post.see(&format!("{claim} --as Red")), "claimed\n");
    });
}

/// A repository with a linked worktree, and Blue in it.
struct Repository {
    place: Place,
}

impl Repository {
    fn new() -> Self {
        let place = Place::new();
        std::fs::create_dir_all(place.path().join("web/sub")).unwrap();
        let repository = Self { place };
        repository.git(&["init", "-q", "-b", "main"]);
        let commit = [
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@x",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ];
        repository.git(&commit);
        repository.git(&["worktree", "add", "-q", "../linked"]);
        std::fs::create_dir_all(repository.at("linked/sub")).unwrap();
        for name in ["Blue", "Red"] {
            let join = repository.run("web", &["join", "--name", name, "--operator"]);
            assert!(join.status.success(), "{}", said(&join));
        }
        repository
    }

    fn at(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    fn git(&self, words: &[&str]) {
        let mut git = std::process::Command::new("git");
        let done = git
            .args(words)
            .current_dir(self.at("web"))
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", said(&done));
    }

    fn run(&self, directory: &str, words: &[&str]) -> Output {
        let mut command = self.place.command(words);
        command.current_dir(self.at(directory)).output().unwrap()
    }

    fn ask(&self, directory: &str, line: &str) -> Result<Value, (i32, Value)> {
        let words = line.split_whitespace().chain(["--json"]);
        answer(&self.run(directory, &words.collect::<Vec<_>>()))
    }
}

// A path means the same file from wherever it is typed
#[test]
fn paths_are_read_from_where_one_is() {
    let repository = Repository::new();
    for (directory, typed, path) in [
        ("web", "sub/a.rs", "sub/a.rs"),
        ("web/sub", "b.rs", "sub/b.rs"),
        ("web/sub", "../c.rs", "c.rs"),
        ("linked/sub", "d.rs", "sub/d.rs"),
        ("web", "../linked/e.rs", "e.rs"),
    ] {
        let taken = repository.ask(directory, &format!("reserve {typed} --as Blue"));
        assert_eq!(paths(&taken.unwrap()), [path], "{directory} {typed}");
    }
    let checked = repository.run("linked", &["check", "sub/b.rs", "--as", "Red"]);
    assert_eq!(checked.status.code(), Some(1));
    let freed = repository.ask("linked/sub", "release a.rs --as Blue");
    assert_eq!(paths(&freed.unwrap()), ["sub/a.rs"]);
    let (exit, outside) = repository
        .ask("web", "reserve ../x.rs --as Blue")
        .unwrap_err();
    assert_eq!((exit, &outside["field"]), (3, &json!("paths")));
    let rule = outside["message"].as_str().unwrap();
    assert!(rule.contains("`../x.rs` is outside of"), "{rule}");
    // Another project's directory is not taken for one's own.
    let (exit, other) = repository.ask(".", "reserve x.rs --as Blue").unwrap_err();
    assert_eq!((exit, &other["error"]), (1, &json!("not_found")));
    let hint = other["hint"].as_str().unwrap();
    assert!(hint.contains("name it with `--project`"), "{hint}");
    let named = repository.ask(".", "reserve web/x.rs --project web --as Blue");
    assert_eq!(paths(&named.unwrap()), ["web/x.rs"]);
}

#[test]
fn status_says_what_is_held() {
    let post = Post::embedded();
    post.ask("reserve src/a.rs b --as Blue").unwrap();
    let status = post.see("status --as Blue");
    assert!(
        status.contains("\nholds    2\n  1  src/a.rs  29m\n"),
        "{status}"
    );
    let primed = post.see("prime --as Blue");
    assert!(
        primed.contains("You hold 2 leases; these end first: 1  src/a.rs  29m; "),
        "{primed}"
    );
    assert!(primed.len() < 3_200, "{}", primed.len());
    assert!(post.see("prime --as Red").contains("You hold no leases.\n"));
    assert!(
        post.see("project status --as Red")
            .contains("leases            2\n")
    );
    let fleet = post.see("--operator");
    assert!(
        fleet.contains("\nleases    2\n") && fleet.lines().count() <= 10,
        "{fleet}"
    );
}

// 3.12 3.2 3.3: who was stopped past the end of a lease, be it the server or the holder, finds it ended
#[test]
fn a_stop_past_the_end_of_a_lease_revives_nothing() {
    let place = Place::new();
    for name in ["Blue", "Red"] {
        place.json(&["join", "--name", name, "--operator"]).unwrap();
    }
    let server = place.serve();
    let held = place.ask("reserve a --ttl 2s --as Blue").unwrap();
    let id = held["reservations"][0]["id"].to_string();
    server.signal(rustix::process::Signal::STOP);
    // No clock but the real one runs while a process is stopped.
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    server.signal(rustix::process::Signal::CONT);
    let late = place.json(&["renew", &id, "--as", "Blue"]).unwrap_err();
    assert_eq!((late.0, &late.1["error"]), (1, &json!("lease_expired")));
    place.ask("reserve a --as Red").unwrap();
    // The holder asks before it acts on what it believes to hold.
    let told = place.json(&["reserve", "a", "--as", "Blue"]).unwrap_err();
    assert_eq!(told.1["error"], "reservation_conflict");
    assert_eq!(told.1["conflicts"][0]["held_by"], "Red");
}

//! The ends of commands below workers: whatever happens, nothing of them outlives their claim.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::OFlags;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::COMITY;
use crate::post::Post;
use crate::shop::{Shop, is_alive, parent_of, said, send, until};

/// Ignores TERM, as does what it starts in a session of its own; tells its numbers.
const STUBBORN: &str = "trap '' TERM; setsid sleep 600 & other=$!; \
    echo $$ $other > new; mv new pids; while :; do sleep 1; done";

fn all_gone(pids: &[i32]) -> bool {
    !pids.iter().any(|pid| is_alive(*pid))
}

// H: at the deadline nothing survives, neither what ignores TERM nor what left the session
#[test]
fn nothing_survives_the_deadline() {
    let post = Post::served();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({ "deadline": "2s" }));
    let worker = shop.start("--as Blue --grace 300ms", STUBBORN);
    let pids = shop.pids_in("pids");
    assert_eq!(pids.len(), 2);
    let done = worker.finish();
    assert!(all_gone(&pids));
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert_eq!(shop.state(id), "timed_out");
}

/// Counts the processes with a word on their command line.
fn count(word: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap();
    let lines = all.map(|entry| std::fs::read(entry.unwrap().path().join("cmdline")));
    let is_one = |line: &Vec<u8>| {
        let mut words = line.split(|byte| *byte == 0);
        words.any(|one| one == word.as_bytes())
    };
    lines.flatten().filter(is_one).count()
}

// Faster than it is looked at, in sessions of their own and without any environment
#[test]
fn a_tree_that_grows_is_ended_whole() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let length = format!("600.{}", std::process::id());
    shop.hand_out(&json!({ "deadline": "2s" }));
    let storm = format!("while :; do (setsid sleep {length} &); sleep 0.02; done");
    let script = format!(
        "trap '' TERM; for n in 1 2 3 4; do (env -i setsid sh -c '{storm}' &); done; sleep {length}"
    );
    let worker = shop.start("--as Blue --grace 100ms", &script);
    until(|| count(&length) > 20);
    let done = worker.finish();
    assert_eq!(count(&length), 0, "{done:?}");
}

// The grace: what ends by itself may do so
#[test]
fn a_command_may_end_by_itself_at_its_deadline() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({ "deadline": "2s" }));
    let script =
        "trap 'echo saved > saved; exit 0' TERM; echo > ready; while :; do sleep 0.1; done";
    let done = shop.run("--as Blue --grace 1m", script);
    assert_eq!(shop.line_in("saved"), "saved");
    assert_eq!(said(&done)[0]["outcome"], "lost");
    until(|| {
        // Without a server it is written down by whoever comes next.
        shop.run("--as Red", "true");
        shop.state(id) == "timed_out"
    });
}

// 3.3: a worker that sleeps past its lease has nothing running, and says nothing
#[test]
fn a_lost_claim_ends_the_command_and_is_not_reported() {
    let post = Post::served();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({}));
    let worker = shop.start("--as Blue --lease 2s", STUBBORN);
    let pids = shop.pids_in("pids");
    worker.send(Signal::STOP);
    until(|| all_gone(&pids));
    let script = r#"echo '{"summary":"by the other"}' > "$COMITY_RESULT_FILE""#;
    let other = shop.start("--as Red --loop", script);
    until(|| shop.state(id) == "completed");
    worker.send(Signal::CONT);
    let done = worker.finish();
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert_eq!(said(&done)[0]["outcome"], "lost");
    let dispatch = shop.look(id);
    assert_eq!(dispatch["summary"], "by the other");
    assert_eq!(dispatch["claims"], 2);
    drop(other);
}

#[test]
fn a_cancelled_command_ends() {
    for post in [Post::embedded(), Post::served()] {
        let shop = Shop::new(&post);
        let id = shop.hand_out(&json!({}));
        let worker = shop.start("--as Blue", STUBBORN);
        let pids = shop.pids_in("pids");
        shop.cancel(id);
        until(|| all_gone(&pids));
        let done = worker.finish();
        let told = &said(&done)[0];
        assert_eq!(
            (&told["outcome"], &told["summary"]),
            (&json!("lost"), &json!("it is cancelled"))
        );
        assert_eq!(shop.state(id), "cancelled");
    }
}

// After a crash of the worker nothing of it runs, long before the claim is lost
#[test]
fn a_killed_worker_leaves_nothing_and_another_gets_the_work() {
    let post = Post::served();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({}));
    let script = format!("if [ -e pids ]; then exit 0; fi; {STUBBORN}");
    let worker = shop.start("--as Blue --lease 3s", &script);
    let pids = shop.pids_in("pids");
    let other = shop.start("--as Red --loop", &script);
    worker.send(Signal::KILL);
    worker.finish();
    until(|| all_gone(&pids));
    assert_eq!(shop.look(id)["claimed_by"], "Blue");
    until(|| shop.state(id) == "completed");
    assert_eq!(shop.look(id)["claimed_by"], "Red");
    drop(other);
}

// Even if its keeper was killed with it: the next worker finds what is left by its record
#[test]
fn the_next_worker_ends_what_is_left_and_says_so() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({}));
    let worker = shop.start("--as Blue", STUBBORN);
    let pids = shop.pids_in("pids");
    let keeper = parent_of(pids[0]);
    assert_eq!(parent_of(keeper), worker.pid());
    // One that is stopped cannot end what it keeps.
    send(keeper, Signal::STOP);
    worker.send(Signal::KILL);
    worker.finish();
    send(keeper, Signal::KILL);
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    // Another's living command is left alone.
    let beside = shop.hand_out(&json!({}));
    let script = "echo $$ > new; mv new living; while [ ! -e go ]; do sleep 0.05; done";
    let living = shop.start("--as Red", script);
    let spared = shop.pids_in("living");
    // It ended what was left, but whose claim that was is not its to report.
    assert!(all_gone(&pids));
    assert_eq!(shop.state(id), "running");
    let next = shop.run("--as Blue", "true");
    assert!(is_alive(spared[0]));
    std::fs::write(shop.file("go"), "").unwrap();
    assert_eq!(living.finish().status.code(), Some(0));
    assert_eq!(shop.state(beside), "completed");
    let told = &said(&next)[0];
    assert_eq!(
        (&told["dispatch"], &told["summary"]),
        (&json!(id), &json!("its worker died"))
    );
    let dispatch = shop.look(id);
    assert_eq!(
        (&dispatch["state"], &dispatch["summary"]),
        (&json!("failed"), &json!("its worker died"))
    );
}

// A keeper that dies takes its command with it
#[test]
fn a_killed_keeper_leaves_nothing() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({}));
    let worker = shop.start("--as Blue", STUBBORN);
    let pids = shop.pids_in("pids");
    send(parent_of(pids[0]), Signal::KILL);
    let done = worker.finish();
    assert!(all_gone(&pids));
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert_eq!(
        shop.look(id)["summary"],
        "its keeper died, and it was ended"
    );
}

#[test]
fn what_a_command_leaves_behind_ends_with_it() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({}));
    let script =
        "(env -i setsid sleep 600 & echo $! > new; mv new pids) & wait; sleep 600 & exit 0";
    let done = shop.run("--as Blue", script);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(all_gone(&shop.pids_in("pids")));
    assert_eq!(shop.state(id), "completed");
}

// fault 10
#[test]
fn a_stopped_worker_ends_its_commands_and_says_so() {
    let post = Post::served();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({}));
    let waiting = shop.hand_out(&json!({}));
    let worker = shop.start("--as Blue --loop --grace 300ms", STUBBORN);
    let pids = shop.pids_in("pids");
    worker.send(Signal::TERM);
    let done = worker.finish();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert!(all_gone(&pids));
    let dispatch = shop.look(id);
    assert_eq!(
        (&dispatch["state"], &dispatch["summary"]),
        (&json!("failed"), &json!("the worker was stopped"))
    );
    assert_eq!(shop.state(waiting), "queued");
}

// fault 10: the second one waits for nothing
#[test]
fn a_second_signal_ends_a_worker_at_once() {
    let post = Post::served();
    let shop = Shop::new(&post);
    shop.hand_out(&json!({}));
    let script =
        "trap 'echo > asked' TERM; echo $$ > new; mv new pids; while :; do sleep 0.1; done";
    let worker = shop.start("--as Blue --loop --grace 1h", script);
    let pids = shop.pids_in("pids");
    worker.send(Signal::INT);
    until(|| shop.file("asked").exists());
    worker.send(Signal::INT);
    assert_eq!(worker.finish().status.code(), Some(130));
    until(|| all_gone(&pids));
}

// B1: the report of work that is done reaches a server that was away
#[test]
fn a_report_waits_for_the_server() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let server = shop.place().serve();
    let id = shop.hand_out(&json!({}));
    let worker = shop.start(
        &format!("--as Blue --url http://{}", server.addr),
        "echo > ready; while [ ! -e go ]; do sleep 0.05; done",
    );
    until(|| shop.file("ready").exists());
    let addr = server.addr.clone();
    server.signal(Signal::KILL);
    server.wait();
    std::fs::write(shop.file("go"), "").unwrap();
    // It is back at the same place.
    let mut again = shop
        .place()
        .command(&["serve", "--addr", &addr, "--json"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(worker.finish().status.code(), Some(0));
    assert_eq!(shop.state(id), "completed");
    again.kill().unwrap();
    again.wait().unwrap();
}

/// Puts a pipe in the place of a file, which tells when the file is read.
fn put_pipe(shop: &Shop<'_>, path: &Path) {
    let pipe = shop.file("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    std::fs::rename(&pipe, path).unwrap();
}

/// Waits until somebody reads a pipe; that one waits until what is returned is dropped.
fn when_read(path: &Path) -> File {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
    let open = || File::options().write(true).custom_flags(flags).open(path);
    let found = RefCell::new(None);
    until(|| {
        *found.borrow_mut() = open().ok();
        found.borrow().is_some()
    });
    found.into_inner().unwrap()
}

// What is wrong with this machine's files says nothing about a claim, whatever its word
#[test]
fn what_goes_wrong_here_loses_no_claim() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({}));
    let script = "echo > ready; while [ ! -e go ]; do sleep 0.05; done";
    let worker = shop.start("--as Blue", script);
    until(|| shop.file("ready").exists());
    let agents = shop.place().data().join("agents");
    let project = std::fs::read_dir(agents).unwrap().next().unwrap().unwrap();
    let (token, away) = (project.path().join("Blue.token"), shop.file("away"));
    let settings = shop.place().data().join("comity.toml");
    put_pipe(&shop, &settings);
    std::fs::write(shop.file("go"), "").unwrap();
    let first = when_read(&settings);
    std::fs::rename(&token, &away).unwrap();
    put_pipe(&shop, &settings);
    drop(first);
    // It found no token, which is `not_found`, and tries again.
    let second = when_read(&settings);
    std::fs::rename(&away, &token).unwrap();
    std::fs::remove_file(&settings).unwrap();
    drop(second);
    let done = worker.finish();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!(shop.state(id), "completed");
}

/// Starts a worker in the place of a shell that has started something else before.
fn beside_another(shop: &Shop<'_>, script: &str) -> (Child, i32) {
    let _ = std::fs::remove_file(shop.file("beside"));
    let before = "sleep 600 > /dev/null 2>&1 & echo $! > new; mv new beside; exec \"$@\"";
    let worker = Command::new("sh")
        .args(["-c", before, "sh", COMITY, "--data"])
        .arg(shop.place().data())
        .args(["--json", "dispatch", "exec", "--kind", "coder"])
        .args(["--as", "Blue", "--", "sh", "-c", script])
        .current_dir(shop.place().path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let beside = shop.pids_in("beside");
    (worker, beside[0])
}

// What is not the worker's is left alone, whether a claim is lost or a keeper dies
#[test]
fn what_ran_before_the_worker_runs_on() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    for is_cancelled in [true, false] {
        let id = shop.hand_out(&json!({}));
        let _ = std::fs::remove_file(shop.file("pids"));
        let (worker, beside) = beside_another(&shop, STUBBORN);
        let pids = shop.pids_in("pids");
        if is_cancelled {
            shop.cancel(id);
        } else {
            send(parent_of(pids[0]), Signal::KILL);
        }
        let done = worker.wait_with_output().unwrap();
        assert!(all_gone(&pids), "{done:?}");
        assert!(is_alive(beside), "{is_cancelled}: {done:?}");
        send(beside, Signal::KILL);
    }
}

// A signal to everything at once is the worker's to handle: the command has its grace
#[test]
fn a_keeper_goes_by_its_orders() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let id = shop.hand_out(&json!({}));
    let script = "echo $$ > new; mv new pids; while [ ! -e go ]; do sleep 0.05; done; \
        grep -E 'Sig(Ign|Cgt)' /proc/self/status > signals";
    let worker = shop.start("--as Blue", script);
    let keeper = parent_of(shop.pids_in("pids")[0]);
    for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
        send(keeper, signal);
    }
    std::fs::write(shop.file("go"), "").unwrap();
    let done = worker.finish();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!(shop.state(id), "completed");
    // HUP is to the command as it was here: it may be ignored, as by `nohup`. The worker hears the
    // others itself, also in the background of a script, so nothing of them is inherited.
    let signals = std::fs::read_to_string(shop.file("signals")).unwrap();
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let hangup = 1 << (Signal::HUP.as_raw() - 1);
    assert_eq!(
        of_three(&signals, "SigIgn"),
        of_three(&own, "SigIgn") & hangup
    );
    assert_eq!(of_three(&signals, "SigCgt"), 0);
}

/// What a mask of `/proc/PID/status` says of HUP, INT and TERM.
fn of_three(status: &str, mask: &str) -> u64 {
    let line = status.lines().find(|line| line.starts_with(mask)).unwrap();
    let mask = line.split_whitespace().last().unwrap();
    u64::from_str_radix(mask, 16).unwrap() & 0b0100_0000_0000_0011
}

// Nothing is started for a claim that is over, or for a worker that is gone
#[test]
fn a_keeper_that_comes_too_late_starts_nothing() {
    let post = Post::embedded();
    let shop = Shop::new(&post);
    let late = u64::MAX.to_string();
    for until in ["1", &late] {
        let words = ["dispatch", "keep", "--until", until, "--grace-ms", "0"];
        let more = ["--prompt", "/dev/null", "--", "/no/such/program"];
        let kept = shop.place().run(&[&words[..], &more].concat());
        let told: Value = serde_json::from_slice(&kept.stdout).unwrap();
        assert_eq!(told["ended"]["cause"], "lost", "{until}: {told}");
    }
}

//! Who tells the hooks when servers stand still, stop or are killed: always one, and nothing is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use comity_domain::Seq;
use comity_kernel::hook::queue::{Ended, Taken, Tried, Waiting};
use comity_kernel::hook::work::HookWork;
use comity_kernel::{Actor, Kernel};
use comity_server::Settings;
use comity_testkit::hooks::{Listener, Told};
use comity_testkit::kit::{drop_schema, fresh_schema_url};
use comity_testkit::served::{Call, read_answer};
use comity_testkit::{Dice, Engine, Kit, both_engines};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{add_for_projects, hooks, make, near, serve, until};

both_engines! {
    // I7: a server that stood still while another told, and then gets the office back at once
    fn whoever_stood_still_passes_nothing_over(engine) {
        for point in ["hooks.work_read", "hooks.before_move"] {
            let served = serve(engine);
            let kit = &served.kit;
            let listener = Listener::content();
            add_for_projects(kit, &listener.url());
            let first = make(kit, "first");
            assert_eq!(listener.next().seq(), first);
            until("nothing waits", || hooks(kit)[0].waiting == 0);
            let gate = kit.failpoints.pause(point);
            // It has read where the hook stands, or what comes next, and does nothing any more.
            let made: Vec<_> = (0..4).map(|n| make(kit, &format!("p{n}"))).collect();
            gate.wait_until_hit();
            kit.clock.advance_us(comity_domain::limits::HOOK_LEASE_US + 1);
            tell_one_as_another(kit, made[0]);
            gate.open();
            let told: BTreeSet<_> = (1..4).map(|_| listener.next().seq()).collect();
            assert_eq!(told, made[1..].iter().copied().collect(), "{point}");
            until("nothing waits", || hooks(kit)[0].waiting == 0);
            assert!(listener.so_far().is_empty(), "each was told once");
        }
    }
}

/// Takes the office from whoever stands still, tells one event, and leaves.
fn tell_one_as_another(kit: &Kit, seq: i64) {
    let (kernel, seq, other) = (kit.kernel(), Seq::new(seq), "another".to_owned());
    kernel.stand_for_hooks(other.clone()).wait().unwrap();
    let work = kit.ask_as(Actor::System, HookWork { each: 1 });
    let work = work.unwrap().answer;
    let office = work.deliverer.unwrap();
    assert_eq!(office.holder, other);
    let (hook, from) = (work.hooks[0].id, work.hooks[0].through);
    let subject = ("project".to_owned(), 1);
    let taken = Taken {
        hook,
        from,
        through: seq,
        wanted: vec![Waiting { seq, subject }],
    };
    let ended = Ended::Told;
    let tried = Tried { hook, seq, ended };
    for (taken, tried) in [(vec![taken], vec![]), (vec![], vec![tried])] {
        let moved = kernel.move_hooks(office.fence, taken, tried);
        moved.wait().unwrap();
    }
    kernel.resign_from_hooks(other).wait().unwrap();
}

/// A second server on the database of a kit.
struct Second {
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    running: Option<std::thread::JoinHandle<()>>,
}

impl Second {
    fn beside(kit: &Kit) -> Self {
        let kernel = Kernel::open(kit.options().clone()).unwrap();
        let mut settings = Settings::default();
        near(&mut settings);
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let running = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                let server = comity_server::Server::new(std::sync::Arc::new(kernel), settings);
                let ended = async {
                    let _ = stopped.await;
                };
                server.serve(listener, None, ended).await.unwrap();
            });
        });
        Self {
            stop: Some(stop),
            running: Some(running),
        }
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.running.take().map(std::thread::JoinHandle::join);
    }
}

// I6
#[test]
fn of_two_servers_one_tells() {
    let mut served = serve(Engine::Postgres);
    let listener = Listener::content();
    add_for_projects(&served.kit, &listener.url());
    let first = make(&served.kit, "first");
    assert_eq!(listener.next().seq(), first);
    let second = Second::beside(&served.kit);
    let made: BTreeSet<_> = (0..20)
        .map(|n| make(&served.kit, &format!("p{n}")))
        .collect();
    let told: Vec<_> = (0..20).map(|_| listener.next().seq()).collect();
    assert_eq!(told.iter().copied().collect::<BTreeSet<_>>(), made);
    until("nothing waits", || hooks(&served.kit)[0].waiting == 0);
    assert!(listener.so_far().is_empty(), "each was told once");
    served.stop();
    let after = make(&served.kit, "after");
    assert_eq!(listener.next().seq(), after, "the other takes over");
    drop(second);
}

/// A server that can be killed, on a directory that stays.
struct Killable {
    process: Child,
    addr: String,
    token: String,
}

impl Killable {
    fn start(directory: &Path, failpoints: &str) -> Self {
        let settings = json!({ "directory": directory, "private": true });
        Self::with(&settings, failpoints)
    }

    fn with(settings: &Value, failpoints: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_served"))
            .arg(settings.to_string())
            .env("COMITY_FAILPOINTS", failpoints)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        Self {
            process,
            addr: said["addr"].as_str().unwrap().to_owned(),
            token: said["token"].as_str().unwrap().to_owned(),
        }
    }

    /// Posts; `None` if it died before it answered.
    fn post(&self, path: &str, body: &Value) -> Option<Value> {
        let call = Call::post(path, body).token(&self.token);
        let mut stream = TcpStream::connect(&self.addr).ok()?;
        stream.write_all(&call.bytes(&self.addr)).ok()?;
        Some(read_answer(&mut stream, "POST").ok()?.json())
    }

    /// Has it die so long from now, whatever it does then.
    fn die_in(&self, delay: Duration) -> std::thread::JoinHandle<()> {
        // Nobody else gets the number: who died here is not waited for before `kill`.
        let process = Pid::from_child(&self.process);
        std::thread::spawn(move || {
            std::thread::sleep(delay);
            kill_process(process, Signal::KILL).unwrap();
        })
    }

    fn kill(mut self) {
        let _ = self.process.kill();
        self.process.wait().unwrap();
    }
}

/// Every event that was acknowledged was told, and of each subject in order; repeats come with what
/// came before them, never with a gap.
fn must_be_whole(told: &[Told], made: &BTreeMap<i64, i64>) {
    let mut furthest: BTreeMap<i64, i64> = BTreeMap::new();
    let mut heard = BTreeSet::new();
    for one in told {
        let (seq, subject) = (one.seq(), one.event()["subject"]["id"].as_i64().unwrap());
        let last = furthest.entry(subject).or_insert(0);
        if seq > *last {
            let skipped = made
                .iter()
                .any(|(made, of)| *of == subject && *made > *last && *made < seq);
            assert!(!skipped, "{seq} of {subject} before its turn");
            *last = seq;
        }
        assert_eq!(one.header("comity-delivery"), format!("1-{seq}"));
        heard.insert(seq);
    }
    let missing: Vec<_> = made.keys().filter(|seq| !heard.contains(seq)).collect();
    assert!(missing.is_empty(), "never told: {missing:?}");
}

// I7, I6: what the dead one may have told and what it never saw
#[test]
fn a_second_server_takes_over_from_one_that_was_killed() {
    let url = fresh_schema_url();
    let directory = tempfile::tempdir().unwrap();
    let settings = json!({ "directory": directory.path(), "postgres": url, "private": true });
    let listener = Listener::content();
    let first = Killable::with(&settings, "hooks.told=kill@3");
    let wish = json!({ "url": listener.url(), "filter": { "kinds": ["project_created"] } });
    first.post("/api/hooks", &wish).unwrap();
    let make = |server: &Killable, slug: &str| {
        let made = server.post("/api/projects", &json!({ "key": format!("/srv/{slug}") }));
        made.unwrap()["seq"].as_i64().unwrap()
    };
    let mut all = BTreeSet::new();
    for slug in ["a", "b"] {
        all.insert(make(&first, slug));
        assert!(all.contains(&listener.next().seq()), "the first tells");
    }
    let second = Killable::with(&settings, "");
    // The first dies as it has told this one.
    let torn = make(&second, "c");
    assert_eq!(listener.next().seq(), torn);
    first.kill();
    all.extend([torn, make(&second, "d"), make(&second, "e")]);
    let mut told: BTreeSet<_> = BTreeSet::new();
    while told.len() < 3 {
        told.insert(listener.next().seq());
    }
    assert!(told.contains(&torn), "nobody knows whether it was told");
    assert!(told.is_subset(&all), "{told:?}");
    second.kill();
    drop_schema(&url);
}

/// Renames projects until the server dies; notes what was acknowledged, by event.
fn rename_some(server: &Killable, round: usize, made: &mut BTreeMap<i64, i64>) {
    for n in 0..8 {
        let (slug, name) = (["web", "api"][n % 2], format!("{round} {n}"));
        let call =
            Call::new("PATCH", &format!("/api/projects/{slug}")).json(&json!({ "name": name }));
        let call = call.token(&server.token);
        let answer = TcpStream::connect(&server.addr)
            .ok()
            .and_then(|mut stream| {
                stream.write_all(&call.bytes(&server.addr)).ok()?;
                read_answer(&mut stream, "PATCH").ok()
            });
        let Some(answer) = answer else { break };
        let answer = answer.json();
        let (seq, id) = (
            answer["seq"].as_i64().unwrap(),
            answer["project"]["id"].as_i64().unwrap(),
        );
        made.insert(seq, id);
    }
}

/// When a server dies at random, it is within this time.
const DIES_WITHIN_US: u64 = 300_000;

// I7: told, and killed before that was written down, or whenever
#[test]
fn a_server_that_is_killed_tells_again_what_it_may_have_told() {
    let seed = std::env::var("COMITY_SEED").ok();
    let seed: u64 = seed.and_then(|it| it.parse().ok()).unwrap_or(1);
    let kills: usize = std::env::var("COMITY_HOOK_KILLS")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(6);
    let directory = tempfile::tempdir().unwrap();
    let listener = Listener::content();
    let mut server = Killable::start(directory.path(), "");
    let wish = json!({ "url": listener.url(), "filter": { "kinds": ["project_updated"] } });
    server.post("/api/hooks", &wish).unwrap();
    for slug in ["web", "api"] {
        server
            .post("/api/projects", &json!({ "key": format!("/srv/{slug}") }))
            .unwrap();
    }
    let (mut made, mut told) = (BTreeMap::new(), Vec::new());
    let started = Instant::now();
    let mut dice = Dice::new(seed);
    for round in 0..kills {
        server.kill();
        let is_random = round % 2 == 1;
        let points = ["hooks.told", "hooks.before_move", "hooks.after_move"];
        let failpoints = if is_random {
            String::new()
        } else {
            format!("{}=kill@{}", points[round / 2 % 3], 1 + round / 2 % 4)
        };
        server = Killable::start(directory.path(), &failpoints);
        let delay = Duration::from_micros(dice.below(DIES_WITHIN_US));
        let dying = is_random.then(|| server.die_in(delay));
        rename_some(&server, round, &mut made);
        if let Some(dying) = dying {
            dying.join().unwrap();
        }
        told.extend(listener.within(Duration::from_millis(500)));
        told.extend(listener.so_far());
    }
    server.kill();
    let last = Killable::start(directory.path(), "");
    let is_whole = |told: &[Told]| {
        let heard: BTreeSet<_> = told.iter().map(Told::seq).collect();
        made.keys().all(|seq| heard.contains(seq))
    };
    while !is_whole(&told) {
        told.push(listener.next());
    }
    must_be_whole(&told, &made);
    last.kill();
    eprintln!(
        "hooks: {} events told {} times over {kills} kills, every second one at random (seed {seed}), \
         {} s: none lost, each subject in order",
        made.len(),
        told.len(),
        started.elapsed().as_secs()
    );
}

//! Hooks told by a real server to real services and programs, good ones and bad ones.

mod servers;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use comity_kernel::Options;
use comity_kernel::failpoint::Action;
use comity_kernel::hook::{AddHook, DeadLetters, Hook, ListHooks, RemoveHook, RetryDeadLetter};
use comity_kernel::project::{EnsureProject, UpdateProject};
use comity_kernel::store::StoreError;
use comity_server::Settings;
use comity_server::hooks::{Commands, Pace};
use comity_server::outbound::Reach;
use comity_testkit::hooks::{Listener, Told};
use comity_testkit::kit::request;
use comity_testkit::served::Call;
use comity_testkit::{Engine, Kit, Served, both_engines};
use serde_json::{Value, json};

/// The clock of a kit stands still, so that a rest ends when the test says.
const REST_US: i64 = 60_000_000;

fn near(settings: &mut Settings) {
    settings.hooks.reach = Reach::Everywhere;
    settings.hooks.pace = Pace {
        longest: Duration::from_secs(2),
        rest_us_min: REST_US,
        rest_us_max: REST_US,
        attempts_max: 3,
    };
}

fn serve(engine: Engine) -> Served {
    Served::with(engine, |settings, _| near(settings))
}

fn add(kit: &Kit, wish: &Value) -> (i64, Option<String>) {
    let added = kit.run(request::<AddHook>(wish)).unwrap().answer;
    let secret = added.secret.map(|secret| secret.reveal());
    (added.hook.id.get(), secret)
}

/// A hook to a service that wants everything that happens to projects.
fn add_for_projects(kit: &Kit, url: &str) -> i64 {
    let kinds = json!(["project_created", "project_updated"]);
    add(kit, &json!({ "url": url, "filter": { "kinds": kinds } })).0
}

fn make(kit: &Kit, slug: &str) -> i64 {
    let command: EnsureProject = request(&json!({ "key": format!("/srv/{slug}") }));
    kit.run(command).unwrap().seq.get()
}

fn rename(kit: &Kit, slug: &str, name: &str) -> i64 {
    let command: UpdateProject = request(&json!({ "project": slug, "name": name }));
    kit.run(command).unwrap().seq.get()
}

fn hooks(kit: &Kit) -> Vec<Hook> {
    kit.ask(ListHooks::default()).unwrap().answer.items
}

/// Looks until it is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Lets rests end until something is told: when a failure is noted the test cannot know.
fn after_a_rest(kit: &Kit, listener: &Listener) -> Told {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        kit.clock.advance_us(2 * REST_US);
        if let Some(told) = listener.within(Duration::from_millis(300)) {
            return told;
        }
        assert!(Instant::now() < end, "nobody tells");
    }
}

fn seqs(told: &[Told]) -> Vec<i64> {
    told.iter().map(Told::seq).collect()
}

both_engines! {
    fn an_event_is_told_signed_and_once(engine) {
        let served = serve(engine);
        let kit = &served.kit;
        let listener = Listener::content();
        make(kit, "before");
        let wish = json!({ "url": listener.url(), "filter": { "kinds": ["project_created"] } });
        let (hook, secret) = add(kit, &wish);
        let first = make(kit, "web");
        rename(kit, "web", "Web");
        let second = make(kit, "api");
        let told = [listener.next(), listener.next()];
        assert_eq!(seqs(&told).into_iter().collect::<BTreeSet<_>>(), [first, second].into());
        let told = told.iter().find(|told| told.seq() == first).unwrap();
        assert_eq!(told.header("comity-hook"), hook.to_string());
        assert_eq!(told.header("comity-delivery"), format!("{hook}-{first}"));
        assert_eq!(told.header("content-type"), "application/json");
        let event = told.event();
        assert_eq!((&event["kind"], &event["payload"]["key"]), (&json!("project_created"), &json!("/srv/web")));
        assert!(checks(&secret.unwrap(), told.header("comity-signature"), &told.body));
        until("nothing waits", || hooks(kit)[0].waiting == 0);
        assert!(listener.so_far().is_empty());
        let health = served.call_unix(&Call::get("/health")).json();
        let checks = health["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "hooks").unwrap();
        assert_eq!(check["status"], "ok", "{check}");
        let metrics = served.call_unix(&Call::get("/metrics"));
        let metrics = metrics.text();
        assert!(metrics.contains("comity_hooks_dead_letters 0"), "{metrics}");
    }

    // I7
    fn a_failing_event_holds_back_its_subject_alone(engine) {
        let served = serve(engine);
        let kit = &served.kit;
        make(kit, "web");
        make(kit, "api");
        let sick = kit.project("/srv/web").id.get();
        let well = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let now_well = std::sync::Arc::clone(&well);
        let listener = Listener::new(move |told, _| {
            let is_sick = told.event()["subject"]["id"] == json!(sick);
            if is_sick && !well.load(std::sync::atomic::Ordering::SeqCst) { 503 } else { 200 }
        });
        add_for_projects(kit, &listener.url());
        let first = rename(kit, "web", "one");
        let second = rename(kit, "web", "two");
        let others: Vec<_> = (0..5).map(|n| rename(kit, "api", &format!("n{n}"))).collect();
        until("the others are told", || {
            hooks(kit)[0].waiting == 2 && hooks(kit)[0].last_error.is_some()
        });
        let told = seqs(&listener.so_far());
        assert_eq!(told.iter().filter(|seq| **seq != first).copied().collect::<Vec<_>>(), others);
        assert_eq!(told.iter().filter(|seq| **seq == first).count(), 1);
        assert_eq!(hooks(kit)[0].last_error.as_deref(), Some("answered 503"));
        now_well.store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!([after_a_rest(kit, &listener).seq(), listener.next().seq()], [first, second]);
    }

    fn what_fails_too_often_is_a_dead_letter(engine) {
        let served = serve(engine);
        let kit = &served.kit;
        make(kit, "web");
        make(kit, "api");
        let gone = kit.project("/srv/api").id.get();
        let listener = Listener::new(move |told, _| {
            if told.event()["subject"]["id"] == json!(gone) { 410 } else { 500 }
        });
        let hook = add_for_projects(kit, &listener.url());
        let failing = rename(kit, "web", "one");
        let dead = || {
            let wish = json!({ "hook": hook });
            kit.ask(request::<DeadLetters>(&wish)).unwrap().answer.items
        };
        assert_eq!(listener.next().seq(), failing);
        for _ in 2..=3 {
            assert_eq!(after_a_rest(kit, &listener).seq(), failing);
        }
        until("it is given up", || dead().len() == 1);
        assert_eq!((dead()[0].attempts, &*dead()[0].last_error), (3, "answered 500"));
        let at_once = rename(kit, "api", "one");
        assert_eq!(listener.next().seq(), at_once);
        until("it is given up at once", || dead().len() == 2);
        assert_eq!((dead()[1].attempts, &*dead()[1].last_error), (1, "answered 410 Gone"));
        kit.run(request::<RetryDeadLetter>(&json!({ "hook": hook, "seq": at_once }))).unwrap();
        assert_eq!(listener.next().seq(), at_once);
        kit.run(request::<RemoveHook>(&json!({ "id": hook }))).unwrap();
        rename(kit, "web", "two");
        assert!(listener.within(Duration::from_secs(2)).is_none());
    }

    // S1: whoever is told may be slow, dead or endless
    fn a_bad_service_harms_nobody(engine) {
        let served = serve(engine);
        let kit = &served.kit;
        let silent = Listener::new(|_, stream| {
            let _ = stream.set_read_timeout(Some(Duration::from_mins(1)));
            let _ = std::io::Read::read(stream, &mut [0; 1]);
            500
        });
        let dripping = Listener::new(|_, stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n");
            while stream.write_all(b"X: y\r\n").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
            500
        });
        let most = Arc::new(AtomicU64::new(0));
        let taken = Arc::clone(&most);
        let endless = Listener::new(move |_, stream| {
            let _ = stream.write_all(b"HTTP/1.1 500 No\r\nContent-Length: 1073741824\r\n\r\n");
            let piece = vec![b'x'; 65_536];
            let mut sent = 0_u64;
            while sent < 1 << 30 && stream.write_all(&piece).is_ok() {
                sent += piece.len() as u64;
            }
            taken.fetch_max(sent, Ordering::SeqCst);
            500
        });
        let good = Listener::content();
        for listener in [&silent, &dripping, &endless] {
            add_for_projects(kit, &listener.url());
        }
        let nowhere = add_for_projects(kit, "http://127.0.0.1:1/");
        let hook = add_for_projects(kit, &good.url());
        let made: BTreeSet<_> = (0..40).map(|n| make(kit, &format!("p{n}"))).collect();
        let told: BTreeSet<_> = (0..40).map(|_| good.next().seq()).collect();
        assert_eq!(told, made);
        silent.next();
        dripping.next();
        endless.next();
        until("all have failed once", || {
            hooks(kit).iter().all(|one| one.id.get() == hook || one.last_error.is_some())
        });
        let errors: BTreeMap<_, _> = hooks(kit).into_iter().map(|one| (one.id.get(), one.last_error)).collect();
        assert!(errors[&nowhere].as_deref().unwrap().contains("refused"), "{errors:?}");
        assert!(errors[&1].as_deref().unwrap().contains("in time"), "{errors:?}");
        // What buffers took, and no more.
        until("the endless answer was cut off", || most.load(Ordering::SeqCst) > 0);
        assert!(most.load(Ordering::SeqCst) < 64 << 20, "{most:?}");
    }


    fn a_private_address_is_not_called_unless_allowed(engine) {
        let served = Served::with(engine, |settings, _| {
            near(settings);
            settings.hooks.reach = Reach::Public;
        });
        let listener = Listener::content();
        add_for_projects(&served.kit, &listener.url());
        make(&served.kit, "web");
        until("it is refused", || hooks(&served.kit)[0].last_error.is_some());
        let error = hooks(&served.kit)[0].last_error.clone().unwrap();
        assert!(error.contains("allow_private_addresses"), "{error}");
        assert!(listener.so_far().is_empty());
    }

    fn a_program_gets_the_event_and_nothing_of_the_server(engine) {
        let kit = Kit::with(engine, |options: &mut Options| options.hook_commands = true);
        let out = kit.directory().join("out");
        let script = format!("env > {0}.env; cat > {0}.part; mv {0}.part {0}", out.display());
        let served = Served::around(kit, |settings, _| {
            near(settings);
            settings.hooks.commands = Commands::Allowed;
        });
        let wish = json!({
            "command": ["/bin/sh", "-c", script], "filter": { "kinds": ["project_created"] },
        });
        let (hook, _) = add(&served.kit, &wish);
        let seq = make(&served.kit, "web");
        until("it ran", || out.exists());
        let event: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
        assert_eq!((&event["seq"], &event["kind"]), (&json!(seq), &json!("project_created")));
        let env = std::fs::read_to_string(out.with_extension("env")).unwrap();
        let names: BTreeSet<_> = env.lines().filter_map(|line| line.split_once('=')).collect();
        for (name, value) in [
            ("COMITY_HOOK", hook.to_string()),
            ("COMITY_SEQ", seq.to_string()),
            ("COMITY_KIND", "project_created".to_owned()),
            ("COMITY_DELIVERY", format!("{hook}-{seq}")),
        ] {
            assert!(names.contains(&(name, value.as_str())), "{name}: {env}");
        }
        // A shell adds some of its own.
        let own = ["COMITY_", "PATH", "PWD", "SHLVL", "_", "OLDPWD"];
        assert!(names.iter().all(|(name, _)| own.iter().any(|own| name.starts_with(own))), "{env}");
        until("nothing waits", || hooks(&served.kit)[0].waiting == 0);
    }

    fn a_program_that_fails_or_hangs_is_ended(engine) {
        let kit = Kit::with(engine, |options: &mut Options| options.hook_commands = true);
        let pid = kit.directory().join("pid");
        let served = Served::around(kit, |settings, _| {
            near(settings);
            settings.hooks.commands = Commands::Allowed;
        });
        let kit = &served.kit;
        let loud = "yes no >&2 & sleep 0.2; echo broken >&2; exit 7";
        let hang = format!("sleep 300 & echo $! > {}; wait", pid.display());
        for script in [loud, hang.as_str()] {
            let wish = json!({ "command": ["/bin/sh", "-c", script], "filter": { "kinds": ["project_created"] } });
            add(kit, &wish);
        }
        make(kit, "web");
        until("both have failed", || hooks(kit).iter().all(|hook| hook.last_error.is_some()));
        let errors: Vec<_> = hooks(kit).into_iter().map(|hook| hook.last_error.unwrap()).collect();
        assert!(errors[0].contains("exit status: 7: no no"), "{errors:?}");
        assert!(errors[1].contains("did not end in time"), "{errors:?}");
        let child = std::fs::read_to_string(&pid).unwrap();
        let child = format!("/proc/{}/stat", child.trim());
        until("its children are gone", || {
            std::fs::read_to_string(&child).map_or(true, |stat| stat.contains(") Z "))
        });
    }

    fn programs_that_were_switched_off_later_are_not_run(engine) {
        let kit = Kit::with(engine, |options: &mut Options| options.hook_commands = true);
        let served = Served::around(kit, |settings, _| near(settings));
        add(&served.kit, &json!({ "command": ["/bin/true"] }));
        make(&served.kit, "web");
        until("it is refused", || hooks(&served.kit)[0].last_error.is_some());
        let error = hooks(&served.kit)[0].last_error.clone().unwrap();
        assert!(error.contains("allow_commands"), "{error}");
    }

    // A6: what could not be written down is looked through again
    fn what_could_not_be_noted_is_not_passed_over(engine) {
        let served = serve(engine);
        let kit = &served.kit;
        let listener = Listener::content();
        add_for_projects(kit, &listener.url());
        kit.failpoints.set("hooks.move", Action::Fail(StoreError::Shape("a failpoint")));
        let made = make(kit, "web");
        assert!(listener.within(Duration::from_secs(2)).is_none());
        kit.failpoints.clear("hooks.move");
        assert_eq!(listener.next().seq(), made);
    }

    // A14
    fn a_hook_goes_on_in_a_new_epoch(engine) {
        let mut kit = Kit::new(engine);
        let listener = Listener::content();
        add_for_projects(&kit, &listener.url());
        let before = make(&kit, "before");
        comity_testkit::golden::new_epoch(&mut kit);
        let after = make(&kit, "after");
        assert!(after > before + 1);
        let served = Served::around(kit, |settings, _| near(settings));
        let told = BTreeSet::from([listener.next().seq(), listener.next().seq()]);
        assert_eq!(told, BTreeSet::from([before, after]));
        until("nothing waits", || hooks(&served.kit)[0].waiting == 0);
    }

    fn without_a_server_nothing_is_told_and_later_everything(engine) {
        let kit = Kit::new(engine);
        let listener = Listener::content();
        add_for_projects(&kit, &listener.url());
        let made: BTreeSet<_> = (0..3).map(|n| make(&kit, &format!("p{n}"))).collect();
        assert!(listener.so_far().is_empty());
        let served = Served::around(kit, |settings, _| near(settings));
        let told: BTreeSet<_> = (0..3).map(|_| listener.next().seq()).collect();
        assert_eq!(told, made);
        drop(served);
    }
}

/// Has the receiver of the documentation check a signature.
fn checks(secret: &str, signature: &str, body: &str) -> bool {
    let page = include_str!("../../../../docs/hooks.md");
    let code = page
        .split("```python\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let asks = "\nimport sys\nsecret, signature = sys.argv[1:3]\nbody = sys.stdin.buffer.read()\n\
        assert is_ours(secret, signature, body)\n\
        assert not is_ours(secret, signature, body + b' ')\n\
        assert not is_ours(secret + '0', signature, body)\n\
        assert not is_ours(secret, signature, body, now=time.time() + 3600)\n";
    let mut python = Command::new("python3")
        .args(["-c", &format!("{}{asks}", code.unwrap()), secret, signature])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    python
        .stdin
        .take()
        .unwrap()
        .write_all(body.as_bytes())
        .unwrap();
    python.wait().unwrap().success()
}

//! Exports: a project's mail and runs as pages that nobody's words break out of.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use comity_domain::{ProjectId, RunId, Seq};
use comity_kernel::Actor;
use comity_kernel::archive::export_runs::{ExportRuns, FoundRun};
use comity_kernel::token::CreateToken;
use comity_server::archiving::Off;
use comity_testkit::kit::request;
use comity_testkit::pruned::prune;
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::{Value, json};

/// What breaks out wherever a text is taken for more than text.
const HOSTILE: &str = "</pre></title></script><script>alert(1)</script><img src=x onerror='a'>\
                       \"];alert(2)//` ${x} javascript:alert(3) &lt;\\\" <!--";

/// A kernel with a project, and somebody who answers for exports.
fn attached(engine: Engine) -> Kit {
    let kit = Kit::new(engine);
    kit.kernel().attach(Arc::new(Off::of(&kit.share())));
    kit.project("/srv/web");
    kit
}

fn call(kit: &Kit, name: &str, request: &Value) -> Value {
    kit.call(Actor::OPERATOR, name, request).unwrap()
}

fn send(kit: &Kit, more: &Value) -> i64 {
    let mut letter = json!({ "project": "web", "to": ["operator"], "subject": "s", "body": "b" });
    for (field, value) in more.as_object().unwrap() {
        letter[field] = value.clone();
    }
    let sent = call(kit, "send_message", &letter);
    sent["message"]["id"].as_i64().unwrap()
}

fn export(kit: &Kit, request: &Value) -> (PathBuf, Value) {
    let answer = call(kit, "export", request);
    (PathBuf::from(answer["directory"].as_str().unwrap()), answer)
}

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect()
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap()
}

/// Every tag of a page, without what stands in its attributes' quotes.
fn tags(page: &str) -> BTreeSet<String> {
    let starts = page.split('<').skip(1);
    let word = |tag: &str| {
        let end = tag.find([' ', '>', '\n']).unwrap();
        tag[..end].to_owned()
    };
    starts.map(word).collect()
}

both_engines! {
    fn a_project_is_exported_whole_and_alone(engine) {
        let kit = attached(engine);
        kit.project("/srv/api");
        let (_, blue) = kit.agent("web", "Blue");
        kit.agent("web", "Red");
        kit.agent("api", "Gray");
        let first = send(&kit, &json!({ "to": ["Blue"], "cc": ["Gray@api"], "bcc": ["Red"], "subject": "The plan" }));
        call(&kit, "reply", &json!({ "id": first, "body": "and more of it" }));
        let second = send(&kit, &json!({ "subject": "Newer" }));
        send(&kit, &json!({ "project": "api", "subject": "Elsewhere" }));
        kit.call(blue, "reserve_files", &json!({ "paths": ["src/a.rs"], "reason": "to mend it" })).unwrap();
        call(&kit, "acquire_lock", &json!({ "project": "web", "name": "port 80" }));

        let (directory, answer) = export(&kit, &json!({ "project": "web" }));
        assert_eq!((&answer["messages"], &answer["pages"]), (&json!(3), &json!(3)));
        let wanted = ["attachments", "index.html", "search.js", "style.css", "words.js"].map(str::to_owned);
        let pages = [first, second].map(|id| format!("thread-{id}.html"));
        assert_eq!(names(&directory), wanted.into_iter().chain(pages).collect());
        let index = read(&directory, "index.html");
        assert!(index.find("Newer").unwrap() < index.find("The plan").unwrap(), "newest first");
        for told in ["3 messages in 2 threads", "2 messages · ", "src/a.rs", "to mend it", "lock <bdi>port 80</bdi>", "Gray@api"] {
            assert!(index.contains(told), "{told}: {index}");
        }
        let thread = read(&directory, &format!("thread-{first}.html"));
        assert!(thread.contains("and more of it") && thread.contains("to <bdi>Blue</bdi> · cc <bdi>Gray@api</bdi>"), "{thread}");
        let words = read(&directory, "words.js");
        for text in [&thread, &words] {
            assert!(!text.contains("Red"), "a blind copy is told to nobody: {text}");
        }
        assert!(!index.contains("Elsewhere") && !words.contains("Elsewhere"), "one project alone");
        // The next one without a name has another place; a name that is taken is refused.
        let (again, _) = export(&kit, &json!({ "project": "web" }));
        assert_eq!(again, directory.with_file_name("web-2"));
        for to in ["web", again.to_str().unwrap()] {
            let taken = kit.call(Actor::OPERATOR, "export", &json!({ "project": "web", "to": to }));
            let taken = taken.unwrap_err().to_json();
            assert_eq!((&taken["error"], &taken["field"]), (&json!("invalid"), &json!("to")));
        }
        assert_eq!(names(directory.parent().unwrap()).len(), 2, "nothing is left aside");
    }

    // S10 S14: words of others stay words, in a page, in an attribute and in the script's data
    fn hostile_words_do_not_break_out(engine) {
        let kit = attached(engine);
        let calm = send(&kit, &json!({}));
        let (calm_pages, _) = export(&kit, &json!({ "project": "web" }));
        let known: BTreeSet<_> = ["index.html".to_owned(), format!("thread-{calm}.html")].iter().flat_map(|name| tags(&read(&calm_pages, name))).collect();
        let put = call(&kit, "put_attachment", &json!({ "content": "aGVsbG8=" }));
        let sha256 = put["attachment"]["sha256"].as_str().unwrap();
        let id = send(&kit, &json!({
            "subject": HOSTILE, "body": format!("{HOSTILE}\n\u{2028}\u{2029}\u{202e}fdp.exe"), "topic": "<b>",
            "attachments": [{ "sha256": sha256, "name": HOSTILE }, { "sha256": sha256, "name": "../../x" }, { "sha256": sha256, "name": "x.txt" }],
        }));
        let (directory, _) = export(&kit, &json!({ "project": "web" }));
        let carrying = ["ul", "/ul", "li", "/li"].map(str::to_owned);
        let known: BTreeSet<_> = known.into_iter().chain(carrying).collect();
        for name in ["index.html".to_owned(), format!("thread-{id}.html")] {
            let page = read(&directory, &name);
            assert!(tags(&page).is_subset(&known), "{:?}", tags(&page));
            assert!(!page.contains("<script>") && !page.contains(" onerror='") && !page.contains("\u{202e}"), "{page}");
            assert!(page.contains("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'none'"));
            for link in page.split("href=\"").skip(1) {
                let good = |c: char| c.is_ascii_alphanumeric() || "-./#".contains(c);
                assert!(link[..link.find('"').unwrap()].chars().all(good), "{link}");
            }
        }
        let thread = read(&directory, &format!("thread-{id}.html"));
        assert!(thread.contains("[U+202E]fdp.exe") && thread.contains(&format!("href=\"attachments/{sha256}.bin\" download=\"&lt;/pre&gt;")), "{thread}");
        assert_eq!(names(&directory.join("attachments")), BTreeSet::from(["bin", "txt"].map(|ending| format!("{sha256}.{ending}"))));
        assert_eq!(read(&directory, &format!("attachments/{sha256}.txt")), "hello");
        let words = read(&directory, "words.js");
        assert!(!words.contains(['<', '>', '&', '\'', '`', '\u{2028}', '\u{2029}', '\u{202e}']), "{words}");
        // It is one list of lists of numbers and strings, and says what was said.
        let list = words.strip_prefix("self.comityWords = ").unwrap().trim_end().strip_suffix(",\n];").unwrap();
        let list: Vec<Value> = serde_json::from_str(&format!("{list}]")).unwrap();
        assert_eq!((list.len(), &list[1][2], &list[1][5]), (2, &json!(id), &json!(HOSTILE)));
    }

    // S10 S14: the same of runs, which are listed, told and searched
    fn runs_are_exported_too(engine) {
        let kit = attached(engine);
        let run = |goal: &str| call(&kit, "create_run", &json!({
            "project": "web", "goal": goal, "phases": ["draft", "done"],
            "gates": { "draft->done": [{ "check": "artifact_exists", "phase": "draft" }] },
        }));
        run(HOSTILE);
        run("calm");
        let advanced = kit.call(Actor::OPERATOR, "advance_run", &json!({ "run": 1 }));
        assert!(advanced.is_err(), "its gate refuses");
        call(&kit, "override_gate", &json!({ "run": 1, "reason": HOSTILE }));
        call(&kit, "pause_run", &json!({ "run": 2, "reason": "lunch" }));
        let (directory, answer) = export(&kit, &json!({ "project": "web" }));
        assert_eq!((&answer["messages"], &answer["runs"], &answer["pages"]), (&json!(0), &json!(2), &json!(4)));
        let list = read(&directory, "runs.html");
        assert!(list.find("Run 2: calm").unwrap() < list.find("Run 1: ").unwrap(), "newest first");
        assert!(list.contains("draft · paused · 2 events · ") && list.contains("done · completed · 3 events · "), "{list}");
        assert!(read(&directory, "index.html").contains("<a href=\"runs.html\">2 runs</a>"));
        let page = read(&directory, "run-1.html");
        assert!(page.contains("draft, <b>done</b>") && page.contains("<li><bdi>draft-&gt;done, artifact_exists (hard): no artifact"), "{page}");
        let calm: BTreeSet<_> = ["runs.html", "run-2.html"].iter().flat_map(|name| tags(&read(&directory, name))).collect();
        for name in ["runs.html", "run-1.html"] {
            let page = read(&directory, name);
            assert!(tags(&page).is_subset(&calm), "{:?}", tags(&page));
            assert!(!page.contains("<script>") && !page.contains(" onerror='"), "{page}");
        }
        let words = read(&directory, "words.js");
        assert!(!words.contains(['<', '>', '&', '\'', '`']), "{words}");
        let list = words.strip_prefix("self.comityWords = ").unwrap().trim_end().strip_suffix(",\n];").unwrap();
        let list: Vec<Value> = serde_json::from_str(&format!("{list}]")).unwrap();
        let last = list.last().unwrap();
        assert_eq!((&last[0], &last[1], &last[5], &last[6], &last[7]), (&json!(2), &json!(1), &json!("Run 2: calm"), &json!("paused: lunch"), &json!("run")));
        // What happens later is in the next one.
        call(&kit, "resume_run", &json!({ "run": 2 }));
        let (directory, _) = export(&kit, &json!({ "project": "web" }));
        assert!(read(&directory, "run-2.html").contains(">\nresumed</pre>"));
    }

    // A13: what is damaged harms only itself, and is named
    fn a_run_that_cannot_be_read_is_named_and_the_others_are_there(engine) {
        let mut kit = attached(engine);
        let made = |goal: &str| call(&kit, "create_run", &json!({ "project": "web", "goal": goal }))["seq"].as_i64().unwrap();
        let begun = ["one", "two", "three", "four"].map(made);
        kit.expect_damage();
        kit.fill("update event set payload = '{}' where kind = 'run_created' and run in (1, 3);\n").unwrap();
        let (directory, answer) = export(&kit, &json!({ "project": "web" }));
        assert_eq!((&answer["runs"], &answer["unreadable_runs"], &answer["pages"]), (&json!(4), &json!([1, 3]), &json!(4)));
        let list = read(&directory, "runs.html");
        let places = ["Run 4: four", "<bdi>Run 3</bdi>", "Run 2: two", "<bdi>Run 1</bdi>"].map(|told| list.find(told).unwrap());
        assert!(places.is_sorted(), "{list}");
        assert_eq!(list.matches("its events cannot be read").count(), 2);
        let pages = names(&directory).into_iter().filter(|name| name.starts_with("run-"));
        assert_eq!(pages.collect::<Vec<_>>(), ["run-2.html", "run-4.html"]);
        // Those that began later are not taken for damaged.
        let then = ExportRuns { project: ProjectId::new(1), after: RunId::new(0), until: Seq::new(begun[1]), limit: 100 };
        let found = kit.ask_as(Actor::System, then).unwrap().answer;
        let found: Vec<_> = found.iter().map(|one| (one.id().get(), matches!(one, FoundRun::Read(_)))).collect();
        assert_eq!(found, [(1, false), (2, true)]);
    }

    // I1: what was pruned is not left out in silence
    fn the_page_of_a_pruned_run_says_what_is_missing(engine) {
        let mut kit = attached(engine);
        kit.expect_damage();
        call(&kit, "create_run", &json!({ "project": "web", "goal": "long" }));
        for _ in 0..260 {
            call(&kit, "pause_run", &json!({ "run": 1 }));
            call(&kit, "resume_run", &json!({ "run": 1 }));
        }
        let end = call(&kit, "pause_run", &json!({ "run": 1 }))["seq"].as_i64().unwrap();
        prune(&kit, end - 1);
        let (directory, answer) = export(&kit, &json!({ "project": "web" }));
        assert_eq!((&answer["runs"], &answer["pages"]), (&json!(1), &json!(3)));
        let page = read(&directory, "run-1.html");
        assert!(page.contains("its first 521 events: in the archive alone") && page.contains(">\npaused</pre>"), "{page}");
        assert!(read(&directory, "runs.html").contains("522 events"));
    }

    fn a_long_thread_has_several_pages(engine) {
        let kit = attached(engine);
        let first = send(&kit, &json!({}));
        for n in 2..=501 {
            call(&kit, "reply", &json!({ "id": first, "body": format!("number {n}.") }));
        }
        let (directory, answer) = export(&kit, &json!({ "project": "web" }));
        assert_eq!((&answer["messages"], &answer["pages"]), (&json!(501), &json!(3)));
        let (one, two) = (read(&directory, &format!("thread-{first}.html")), read(&directory, &format!("thread-{first}-2.html")));
        assert!(one.contains("number 500.") && !one.contains("number 501."));
        assert!(two.contains("number 501.") && !two.contains("number 500."));
        assert!(one.contains(&format!("<a href=\"thread-{first}-2.html\">next</a>")), "{one}");
        assert!(read(&directory, "words.js").contains(&format!("[{first},2,")));
    }

    // Over a token one names a place in `exports`, and none elsewhere
    fn a_token_names_no_path(engine) {
        let kit = attached(engine);
        let made = kit.run(request::<CreateToken>(&json!({ "role": "operator" }))).unwrap();
        let secret = made.answer.secret.unwrap().reveal();
        let operator = kit.kernel().authenticate(&secret).wait().unwrap().answer;
        for to in ["/tmp/x", "../x", "a/b", "..", ".", ""] {
            let refused = kit.call(operator.clone(), "export", &json!({ "project": "web", "to": to }));
            let refused = refused.unwrap_err().to_json();
            assert_eq!((&refused["error"], &refused["field"]), (&json!("invalid"), &json!("to")), "{to}");
        }
        let answer = kit.call(operator, "export", &json!({ "project": "web", "to": "mine" })).unwrap();
        assert_eq!(answer["directory"], kit.directory().join("exports/mine").to_str().unwrap());
        let free = kit.directory().join("free");
        assert_eq!(export(&kit, &json!({ "project": "web", "to": free })).0, free);
        let unknown = kit.call(Actor::OPERATOR, "export", &json!({ "project": "wep" }));
        assert_eq!(unknown.unwrap_err().to_json()["error"], "not_found");
    }
}

//! The files of dispatches: what was handed out, and how it was settled.

use comity_archive::store::{Assignment, restore};
use comity_kernel::Actor;
use comity_kernel::archive::Archivist as _;
use comity_testkit::{Kit, both_engines};
use serde_json::{Value, json};

use super::Kept;

fn call(kept: &Kept, operation: &str, request: &Value) -> Value {
    kept.kit
        .call(Actor::OPERATOR, operation, request)
        .unwrap_or_else(|error| panic!("{operation}: {error}"))
}

fn hand_out(kept: &Kept, more: &Value) -> i64 {
    let mut asked = json!({ "project": "web", "agent_kind": "writer", "prompt": "p" });
    for (field, value) in more.as_object().unwrap() {
        asked[field] = value.clone();
    }
    let made = call(kept, "create_dispatch", &asked);
    made["dispatch"]["id"].as_i64().unwrap()
}

/// Claims the next dispatch, starts it and says how far it is.
fn take(kept: &Kept) -> Value {
    let asked = json!({ "project": "web", "agent_kinds": ["writer"] });
    let claimed = call(kept, "claim_dispatch", &asked);
    let (id, fence) = (&claimed["dispatch"]["id"], &claimed["dispatch"]["fence"]);
    call(kept, "start_dispatch", &json!({ "id": id, "fence": fence }));
    let report = json!({ "id": id, "fence": fence, "tokens": 70, "progress": "half" });
    call(kept, "report_dispatch", &report);
    json!({ "id": id, "fence": fence })
}

fn file(kept: &Kept, path: &str) -> Assignment {
    let text = kept.git(&["show", &format!("main:{path}")]);
    let read = Assignment::parse(&text);
    let read = read.unwrap_or_else(|| panic!("{text}"));
    assert_eq!(read.render().unwrap(), text);
    read
}

/// A run with a dispatch that is completed, one that waits for it, and one without a run.
fn some(kept: &Kept, words: &str) {
    kept.kit.project("/srv/web");
    let run =
        json!({ "project": "web", "goal": "g", "phases": ["a", "b"], "gates": { "a->b": [] } });
    call(kept, "create_run", &run);
    let first = hand_out(
        kept,
        &json!({ "run": 1, "prompt": words, "group": "one", "priority": 3 }),
    );
    hand_out(kept, &json!({ "run": 1, "depends_on": [first] }));
    hand_out(kept, &json!({ "prompt": "alone", "agent_kind": "reader" }));
    kept.drain();
    let mut done = take(kept);
    done["outcome"] = json!("completed");
    done["verdict"] = json!("pass");
    done["summary"] = json!(words);
    done["result"] = json!({ "files": [words], "share": 0.1 });
    call(kept, "finish_dispatch", &done);
    kept.drain();
    let alone = call(kept, "get_dispatch", &json!({ "id": 3 }));
    let revision = &alone["dispatch"]["revision"];
    let given_up = json!({ "id": 3, "reason": words, "expected_revision": revision });
    call(kept, "cancel_dispatch", &given_up);
    kept.drain();
}

both_engines! {
    fn a_dispatch_is_a_file(engine) {
        let kept = Kept::new(engine);
        some(&kept, "Write the *plan*");
        kept.must_be_right();
        let done = "projects/web/runs/1/dispatches/0/1.md";
        assert_eq!(kept.git(&["show", &format!("main:{done}")]), DONE);
        assert_eq!(kept.commits_of(done), 2, "as it was made, and as it was settled");
        let waits = file(&kept, "projects/web/runs/1/dispatches/0/2.md");
        assert_eq!((waits.state.as_str(), waits.depends_on.len(), waits.tokens), ("queued", 1, None));
        let alone = file(&kept, "projects/web/dispatches/0/3.md");
        assert_eq!((alone.state.as_str(), alone.reason.as_deref()), ("cancelled", Some("Write the *plan*")));
        assert_eq!((alone.run, alone.prompt.as_str()), (None, "alone"));
        let page = kept.git(&["show", "main:projects/web/runs/1/run.md"]);
        assert!(page.contains("operator: dispatch 1 completed: Write the *plan*\n"), "{page}");
    }

    // D5 D11 D12
    fn dispatches_are_made_anew_and_come_back(engine) {
        let kept = Kept::new(engine);
        some(&kept, "words");
        let before = kept.git(&["rev-parse", "main"]);
        kept.archiver.rebuild().unwrap();
        assert_eq!(kept.git(&["rev-parse", "main"]), before, "the same commits, files and all");
        let mut fresh = Kit::new(engine);
        fresh.stop();
        restore(&kept.repository, fresh.options(), |_, _| {}).unwrap();
        fresh.restart();
        assert_eq!(fresh.doctor().state_hash, kept.kit.doctor().state_hash);
    }

    // S11: parse(render(x)) = x
    fn hostile_prompts_survive(engine) {
        let kept = Kept::new(engine);
        let hostile = "---\n\n\n---\n\nid: 7\nstate: \"failed\"\r\n---\n\n!!python/object\n\u{2028}\u{202e}\"\\";
        some(&kept, hostile);
        kept.must_be_right();
        let done = file(&kept, "projects/web/runs/1/dispatches/0/1.md");
        assert_eq!((done.prompt.as_str(), done.summary.as_deref()), (hostile, Some(hostile)));
        assert_eq!(done.result, Some(json!({ "files": [hostile], "share": 0.1 })));
        assert_eq!((done.id.get(), done.state.as_str()), (1, "completed"));
        let alone = file(&kept, "projects/web/dispatches/0/3.md");
        assert_eq!(alone.reason.as_deref(), Some(hostile));
    }
}

const DONE: &str = r#"---
id: 1
seq: 9
project: "web"
run: 1
phase: "a"
agent_kind: "writer"
priority: 3
group: "one"
attempt: 1
retry_of: null
depends_on: []
created_at: "2027-01-15T08:00:00.000000Z"
created_by: "operator"
state: "completed"
settled_at: "2027-01-15T08:00:00.000000Z"
outcome: "completed"
verdict: "pass"
summary: "Write the *plan*"
result: {"files":["Write the *plan*"],"share":0.1}
reason: null
tokens: 70
prompt_sha256: "1fbb7e3aa1f39049c7da059133cf3e031e545654209523377a7b9220f31f9aee"
prompt_bytes: 16
---

Write the *plan*
"#;

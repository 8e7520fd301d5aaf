//! A long log in which everything happens.
//!
//! The golden scenario comes first and has every kind of event there is, new ones too. After it
//! small teams come and go, each with its mail, its leases, its tokens and its run, as many as are
//! needed; at last a new epoch begins.

use comity_kernel::Actor;
use comity_kernel::log::Event;
use comity_kernel::tx::{Read as _, Snapshot};
use comity_kernel::{Error, Party, Query};
use serde_json::{Value, json};

use crate::{Kit, golden};

/// Words that texts are made of: plain, quoted, accented, wide, marked.
const WORDS: [&str; 6] = ["plan", "it's", "été", "日本", "\"quoted\"", "# head"];

/// Writes a log of at least so many events; panics unless every kind is among them.
pub fn write(kit: &mut Kit, events_min: i64) {
    golden::scenario(kit);
    for number in 0.. {
        if kit.kernel().head().borrow().get() >= events_min {
            break;
        }
        Team::new(kit, number).live();
    }
    golden::new_epoch(kit);
    let kinds = kit.ask(Kinds).expect("the log").answer;
    for kind in Event::KINDS {
        assert!(kinds.iter().any(|found| found == kind), "no {kind}");
    }
    let custom = |found: &String| found.starts_with("custom.");
    assert!(kinds.iter().any(custom), "no event of the callers' own");
}

/// A team of two in a project of their own.
struct Team<'a> {
    kit: &'a Kit,
    number: usize,
    project: String,
    ann: Actor,
    bob: Actor,
}

impl<'a> Team<'a> {
    fn new(kit: &'a Kit, number: usize) -> Self {
        let project = format!("team-{number}");
        kit.project(&format!("/srv/{project}"));
        let (_, ann) = kit.agent(&project, "Ann");
        let (_, bob) = kit.agent(&project, "Bob");
        Self {
            kit,
            number,
            project,
            ann,
            bob,
        }
    }

    fn live(&self) {
        self.set_up();
        for nth in 0..4 {
            self.write_letters(nth);
        }
        self.hold_leases();
        self.work();
        self.append();
        self.hook();
        self.leave();
    }

    /// A run with its evidence, and work that is done, given up and tried again.
    fn work(&self) {
        let operator = &Actor::OPERATOR;
        let project = self.project.as_str();
        let run = self.call(operator, "create_run", &json!({
            "project": project, "goal": self.words(5), "phases": ["plan", "build", "done"],
            "gates": { "plan->build": [{ "check": "artifact_exists", "phase": "plan" }], "build->done": [] },
            "token_budget": 1_000, "children": [{ "goal": self.words(2) }],
        }));
        let (id, child) = (&run["run"]["id"], &run["children"][0]["id"]);
        let make = json!({ "run": id, "agent_kind": "builder", "prompt": self.words(20), "deadline": "1h" });
        let claim = json!({ "agent_kinds": ["builder"] });
        let step = |claimed: &Value, name: &str, more: &[(&str, Value)]| {
            let dispatch = &claimed["dispatch"];
            let mut request = json!({ "id": dispatch["id"], "fence": dispatch["fence"] });
            for (field, value) in more {
                request[*field] = value.clone();
            }
            self.call(&self.bob, name, &request)
        };
        for outcome in ["completed", "failed"] {
            self.call(operator, "create_dispatch", &make);
            let claimed = self.call(&self.bob, "claim_dispatch", &claim);
            step(
                &claimed,
                "report_dispatch",
                &[("tokens", json!(7)), ("progress", json!("half"))],
            );
            let end = [
                ("outcome", json!(outcome)),
                ("verdict", json!("warn")),
                ("result", json!([1, "é"])),
            ];
            let done = step(&claimed, "finish_dispatch", &end);
            if outcome == "failed" {
                self.call(
                    operator,
                    "retry_dispatch",
                    &json!({ "id": done["dispatch"]["id"] }),
                );
            }
        }
        let artifact = json!({ "run": id, "phase": "plan", "kind": "plan", "path": "plan.md" });
        self.call(&self.ann, "add_artifact", &artifact);
        self.call(operator, "advance_run", &json!({ "run": id }));
        let back = json!({ "run": id, "to_phase": "plan", "reason": self.words(2) });
        self.call(operator, "roll_back_run", &back);
        self.call(operator, "fail_run", &json!({ "run": child }));
        self.call(
            operator,
            "cancel_run",
            &json!({ "run": id, "reason": "enough" }),
        );
    }

    /// A stream that both write to, and a consumer that reads it.
    fn append(&self) {
        let operator = &Actor::OPERATOR;
        for (version, who) in [&self.ann, &self.bob].into_iter().enumerate() {
            let said = json!({
                "stream": "notes", "kind": "custom.note", "payload": { "n": version, "say": self.words(4) },
                "expected_version": version,
            });
            self.call(who, "append_event", &said);
        }
        let mut reader = json!({
            "project": self.project, "name": "reader", "filter": { "kinds": ["custom.note"] }, "since": 0,
        });
        let added = self.call(operator, "register_consumer", &reader);
        reader["ttl"] = json!("2m");
        self.call(operator, "register_consumer", &reader);
        let ack = json!({
            "project": self.project, "name": "reader", "generation": 2, "seq": added["seq"], "extra": { "n": self.number },
        });
        self.call(operator, "ack_consumer", &ack);
        let back = json!({ "project": self.project, "name": "reader", "to_seq": 0 });
        self.call(operator, "reset_consumer", &back);
    }

    /// Two hooks, of which one stays.
    fn hook(&self) {
        let operator = &Actor::OPERATOR;
        let wish = json!({
            "url": format!("https://hooks.example/{}", self.number),
            "filter": { "project": self.project, "kinds": ["message_sent"] }, "since": self.number,
        });
        let added = self.call(operator, "add_hook", &wish);
        if self.number >= 20 {
            self.call(
                operator,
                "remove_hook",
                &json!({ "id": added["hook"]["id"] }),
            );
        }
    }

    fn call(&self, who: &Actor, operation: &str, request: &Value) -> Value {
        let answer = self.kit.call(who.clone(), operation, request);
        self.kit.clock.advance_us(1_234_567);
        answer.unwrap_or_else(|error| panic!("{operation} {request}: {error}"))
    }

    /// Words that differ from team to team.
    fn words(&self, count: usize) -> String {
        let words = WORDS.iter().cycle().skip(self.number % WORDS.len());
        let words: Vec<_> = words.take(count).copied().collect();
        format!("{} {}", self.number, words.join(" "))
    }

    fn set_up(&self) {
        let (operator, project) = (&Actor::OPERATOR, self.project.as_str());
        let grace = format!("{}m", 30 + self.number % 60);
        let changes = json!({ "project": project, "guard_mode": "warn", "grace": grace });
        self.call(operator, "update_project", &changes);
        let profile = json!({
            "agent": "Ann", "task": self.words(5), "capabilities": ["rust", project],
            "metadata": { "n": self.number, "half": 0.5 }, "project": project,
        });
        self.call(&self.ann, "update_agent", &profile);
        let asked = self.call(&self.ann, "request_contact", &json!({ "agent": "Bob" }));
        let answer = if self.number.is_multiple_of(2) {
            "approve"
        } else {
            "refuse"
        };
        let answer = json!({ "id": asked["contact"]["id"], "answer": answer });
        self.call(&self.bob, "answer_contact", &answer);
        let token = json!({ "role": "observer", "project": project, "name": self.words(1) });
        let token = self.call(operator, "create_token", &token);
        let token = json!({ "id": token["token"]["id"] });
        self.call(operator, "revoke_token", &token);
    }

    fn write_letters(&self, nth: usize) {
        let (ann, bob) = (&self.ann, &self.bob);
        let importance = ["low", "normal", "high", "urgent"][nth % 4];
        // Eight digits are base64 too, of six bytes.
        let file = json!({ "content": format!("{:08}", 4 * self.number + nth) });
        let file = self.call(ann, "put_attachment", &file);
        let letter = json!({
            "to": ["Bob"], "cc": ["operator"], "bcc": ["Ann"], "subject": self.words(nth + 1),
            "body": self.words(40 * nth + 3).replace(' ', "\n"), "ack_required": true, "topic": format!("T-{nth}"),
            "importance": importance,
            "attachments": [{ "sha256": file["attachment"]["sha256"], "name": "é.txt" }],
        });
        let sent = self.call(ann, "send_message", &letter);
        let id = &sent["message"]["id"];
        self.call(bob, "read_messages", &json!({ "ids": [id] }));
        self.call(
            bob,
            "acknowledge",
            &json!({ "ids": [id], "note": self.words(2) }),
        );
        let reply = json!({ "id": id, "body": self.words(9) });
        let reply = self.call(bob, "reply", &reply);
        let note = json!({ "id": reply["message"]["id"], "to": ["operator"], "note": "fyi" });
        self.call(ann, "forward", &note);
    }

    fn hold_leases(&self) {
        let (operator, project) = (&Actor::OPERATOR, self.project.as_str());
        let (ann, bob) = (&self.ann, &self.bob);
        let reserve = |who: &Actor, path: &str, ttl: &str| {
            let files = json!({ "paths": [path], "ttl": ttl, "reason": self.words(1) });
            self.call(who, "reserve_files", &files)["reservations"][0]["id"].clone()
        };
        let first = reserve(ann, "src/[id].rs", "2h");
        self.call(ann, "renew", &json!({ "ids": [first], "ttl": "3h" }));
        let asked = json!({ "id": first, "reason": self.words(2) });
        let asked = self.call(bob, "request_release", &asked);
        let asked = &asked["release_request"]["id"];
        let later = json!({ "id": asked, "answer": "defer", "eta": "5m" });
        self.call(ann, "answer_release", &later);
        let now = json!({ "id": asked, "answer": "release" });
        self.call(ann, "answer_release", &now);
        let second = reserve(bob, "docs/plan.md", "1h");
        let force = json!({ "id": second, "reason": self.words(1) });
        self.call(operator, "force_release", &force);
        reserve(bob, "expires", "1s");
        let port = json!({ "name": "port", "project": project, "reason": "tests" });
        self.call(ann, "acquire_lock", &port);
        self.call(ann, "release_lock", &json!({ "name": "port" }));
        let nightly = json!({ "name": "nightly", "every": "1h" });
        self.call(bob, "claim_sentinel", &nightly);
        let again = json!({ "project": project, "name": "nightly" });
        self.call(operator, "reset_sentinel", &again);
        self.keep_state();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let swept = runtime.expect("a runtime");
        let swept = swept.block_on(self.kit.kernel().sweep());
        swept.expect("what has expired is written down");
    }

    /// Small and large values, of which some end in each way.
    fn keep_state(&self) {
        let save =
            |who: &Actor, scope: Option<&str>, key: &str, value: Value, ttl: Option<&str>| {
                let request = json!({ "scope": scope, "key": key, "value": value, "ttl": ttl });
                self.call(who, "save_state", &request);
            };
        let (ann, bob) = (&self.ann, &self.bob);
        let large = json!([self.words(2_000)]);
        save(
            ann,
            None,
            "plan",
            json!({ "text": self.words(6), "half": 0.5 }),
            None,
        );
        save(ann, None, "plan", large.clone(), None);
        save(bob, Some("shared"), "a/b", large, Some("2h"));
        save(bob, Some("shared"), "brief", Value::Null, Some("1s"));
        save(ann, Some("spent"), "one", json!(self.number), None);
        save(ann, Some("spent"), "two", json!(2), None);
        let one = json!({ "scope": "spent", "key": "one", "expected_version": 1 });
        self.call(bob, "delete_state", &one);
        self.call(bob, "clear_state", &json!({ "scope": "spent" }));
    }

    /// Ann gets another token, Bob goes while he holds something.
    fn leave(&self) {
        let (operator, project) = (&Actor::OPERATOR, self.project.as_str());
        self.call(&self.bob, "reserve_files", &json!({ "paths": ["last"] }));
        let ann = json!({ "agent": "Ann", "project": project });
        self.call(operator, "rotate_token", &ann);
        let bob = json!({ "agent": "Bob", "project": project, "reason": self.words(2) });
        self.call(operator, "retire_agent", &bob);
    }
}

/// Asks which kinds of events there are.
struct Kinds;

impl Query for Kinds {
    const NAME: &'static str = "kinds";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Vec<String>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Vec<String>, Error> {
        let kinds = "select distinct kind from event";
        Ok(snapshot.rows(kinds, &[], comity_kernel::store::Row::take)?)
    }
}

//! A good request of every operation, and values that its fields must refuse.

use comity_kernel::actor::Party;
use comity_kernel::operation::Operation;
use serde_json::{Value, json};

use super::discovery_samples::{discovery_sample, wrong_for_discoveries};
use super::event_samples::{event_sample, wrong_for_events};
use super::run_samples::{run_sample, wrong_for_runs};
use super::world::{CLAIM, CONTENT, FENCE, SHA256};

/// Two agents of the other project as a stranger may name them.
pub(crate) struct Subject {
    pub(super) agent: &'static str,
    /// Somebody else beside the agent.
    peer: &'static str,
    project: Option<&'static str>,
}

pub(crate) const BLUE: Subject = Subject::new("CanaryBlue", "CanaryRed", Some("/srv/canary-web"));
pub(crate) const SPELLINGS: &[Subject] = &[
    BLUE,
    Subject::new("1", "4", Some("canary-web")),
    Subject::new("1", "4", None),
    Subject::new("CanaryBlue", "CanaryRed", None),
    Subject::new("CanaryBlu", "CanaryRe", Some("canary-we")),
];

impl Subject {
    const fn new(agent: &'static str, peer: &'static str, project: Option<&'static str>) -> Self {
        Self {
            agent,
            peer,
            project,
        }
    }

    /// Adds the project, if the subject is named with it.
    pub(super) fn within(&self, mut request: Value) -> Value {
        if let Some(project) = self.project {
            request["project"] = json!(project);
        }
        request
    }
}

/// A good request of each operation with every field it has, about this agent and project.
pub(crate) fn sample(operation: &Operation, subject: &Subject) -> Value {
    let about = |request: Value| subject.within(request);
    let agent = subject.agent;
    match operation.name {
        "ensure_project" => json!({ "key": "/srv/new", "name": "New" }),
        "update_project" => about(json!({
            "name": "Web", "case_insensitive": false, "guard_mode": "warn", "guard_away": "block",
            "grace": "5m", "leases_per_agent": 5, "expected_revision": 1,
        })),
        "list_projects" | "list_tokens" | "list_contacts" | "list_hooks" => {
            json!({ "limit": 5, "after": "0" })
        }
        "project_status" => about(json!({})),
        "create_token" => about(json!({ "role": "observer", "name": "wall" })),
        "revoke_token" | "remove_hook" => json!({ "id": 1 }),
        "add_hook" => json!({
            "url": "http://hooks.example/", "since": 0,
            "filter": {
                "project": "canary-web", "run": 1, "kinds": ["run_created"], "subject": "run:1",
                "actor": "operator",
            },
        }),
        "dead_letters" => json!({ "hook": 1, "limit": 5, "after": "0" }),
        "retry_dead_letter" => json!({ "hook": 1, "seq": 1 }),
        "register_agent" => about(json!({
            "name": "CanaryNew", "program": "p", "model": "m", "task": "t",
            "capabilities": ["c"], "metadata": { "k": 1 }, "rights": [], "contact_policy": "open",
        })),
        "orient" | "doctor" | "archive_status" | "archive_verify" | "archive_rebuild"
        | "archive_retry" => json!({}),
        "list_agents" => about(json!({
            "active_within": "1h", "capability": "c", "limit": 5, "after": "0",
        })),
        "get_agent" | "rotate_token" => about(json!({ "agent": agent })),
        "retire_agent" => about(json!({ "agent": agent, "reason": "done" })),
        "heartbeat" => json!({ "agent": agent, "status": "working", "focus": "tests" }),
        "update_agent" => about(json!({
            "agent": agent, "program": "p", "model": "m", "task": "t", "capabilities": ["c"],
            "metadata": { "k": 1 }, "rights": [], "contact_policy": "open", "expected_revision": 1,
        })),
        "backup" => json!({ "to": "copy.db" }),
        "export" => about(json!({ "to": "pages" })),
        _ => mail_sample(operation, subject),
    }
}

/// The same for mail: about the message in Blue's box, and who asked Blue for contact.
fn mail_sample(operation: &Operation, subject: &Subject) -> Value {
    let about = |request: Value| subject.within(request);
    let (agent, peer) = (subject.agent, subject.peer);
    let attachments = json!([{ "sha256": SHA256, "name": "a.txt" }]);
    match operation.name {
        "request_contact" => json!({ "agent": peer, "reason": "merge" }),
        "answer_contact" => {
            json!({ "id": 1, "answer": "approve", "until": "2100-01-01T00:00:00Z" })
        }
        "send_message" => about(json!({
            "to": [peer], "cc": ["operator"], "bcc": [agent], "subject": "s", "body": "b",
            "importance": "high", "ack_required": true, "reply_to": 1, "topic": "t",
            "attachments": attachments,
        })),
        "reply" => json!({
            "id": 1, "body": "b", "subject": "s", "cc": ["operator"], "importance": "low",
            "ack_required": true, "attachments": attachments,
        }),
        "forward" => json!({
            "id": 1, "to": [peer], "cc": ["operator"], "note": "n", "importance": "low",
            "ack_required": true,
        }),
        "inbox" => about(json!({
            "agent": agent, "unread": true, "ack_pending": true, "from": "operator", "thread": 1,
            "from_time": "2000-01-01T00:00:00Z", "until_time": "2100-01-01T00:00:00Z",
            "topic": "canary", "importance": "low", "order": "oldest", "detail": "full",
            "wait": "10ms", "limit": 5, "after": "0",
        })),
        "get_message" | "thread_summary" => json!({ "id": 1 }),
        "read_messages" => json!({ "ids": [1] }),
        "acknowledge" => json!({ "ids": [1], "note": "n" }),
        "threads" => about(json!({ "agent": agent, "limit": 5, "after": "0" })),
        "thread" => json!({ "id": 1, "detail": "full", "limit": 5, "after": "0" }),
        "overdue_acks" => about(json!({ "older_than": "1h", "limit": 5, "after": "0" })),
        "put_attachment" => json!({ "content": CONTENT }),
        "get_attachment" => json!({ "sha256": SHA256 }),
        "search" => about(json!({
            "query": "sings", "agent": agent, "thread": 1, "from": "operator",
            "from_time": "2000-01-01T00:00:00Z", "until_time": "2100-01-01T00:00:00Z",
            "order": "newest", "limit": 5, "after": "0",
        })),
        _ => lease_sample(operation, subject),
    }
}

/// The same for leases: 1 is Blue's and asked for by Red, 2 is Red's, and there are two locks.
fn lease_sample(operation: &Operation, subject: &Subject) -> Value {
    let about = |request: Value| subject.within(request);
    match operation.name {
        "reserve_files" => about(json!({
            "paths": ["b/c"], "patterns": ["d/**"], "mode": "exclusive", "ttl": "5m", "reason": "r",
            "wait": "10ms", "path_pattern": "e", "exclusive": true, "if_not_conflict": true,
            "run": 1,
        })),
        "check_files" => about(json!({
            "paths": ["b/c"], "patterns": ["d/**"], "mode": "shared", "include_own": true,
        })),
        "renew" => json!({ "ids": [1], "ttl": "5m", "fence": FENCE }),
        "release" => json!({ "ids": [1], "fence": FENCE }),
        "force_release" | "request_release" => json!({ "id": 2, "reason": "r" }),
        "answer_release" => json!({ "id": 1, "answer": "defer", "eta": "5m", "note": "n" }),
        "list_reservations" => about(json!({
            "agent": subject.agent, "state": "all", "limit": 5, "after": "0",
        })),
        "get_reservation" => json!({ "id": 1 }),
        "guard_check" => about(json!({
            "paths": ["b/c"], "leases": [{ "id": 1, "fence": FENCE }],
        })),
        "acquire_lock" => {
            about(json!({ "name": "new", "ttl": "5m", "reason": "r", "run": 1, "wait": "10ms" }))
        }
        "renew_lock" => about(json!({ "name": "canary port", "ttl": "5m" })),
        "release_lock" => about(json!({ "name": "canary port" })),
        "list_locks" | "list_scopes" => about(json!({ "limit": 5, "after": "0" })),
        "claim_sentinel" => about(json!({ "name": "new", "scope": "eu", "every": "1h" })),
        "prune" => json!({ "before": 1, "dry_run": true }),
        "redact" => json!({ "seq": 1, "reason": "a secret" }),
        "reset_sentinel" => about(json!({ "name": "canary watch", "scope": "eu" })),
        "save_state" => about(json!({
            "scope": "agent/CanaryBlue", "key": "canary plan", "value": { "k": null },
            "expected_version": 1, "ttl": "365d",
        })),
        "load_state" => about(json!({ "scope": "agent/CanaryBlue", "key": "canary plan" })),
        "delete_state" => about(json!({
            "scope": "agent/CanaryBlue", "key": "canary plan", "expected_version": 1,
        })),
        "list_state" => about(json!({
            "scope": "agent/CanaryBlue", "prefix": "canary", "limit": 5, "after": "0",
        })),
        "clear_state" => about(json!({ "scope": "agent/CanaryBlue" })),
        _ => work_sample(operation, subject),
    }
}

/// The same for dispatches: 1 is in Blue's hands, 2 waits and belongs to a group, 3 failed.
fn work_sample(operation: &Operation, subject: &Subject) -> Value {
    let about = |request: Value| subject.within(request);
    let held = |more: Value| {
        let mut request = json!({ "id": 1, "fence": CLAIM, "expected_revision": 2 });
        for (name, value) in more.as_object().unwrap() {
            request[name] = value.clone();
        }
        request
    };
    match operation.name {
        "create_dispatch" => about(json!({
            "run": 1, "agent_kind": "coder", "prompt": "p", "deadline": "1h", "depends_on": [1],
            "priority": 5, "group": "g",
        })),
        "list_dispatches" => about(json!({
            "run": 1, "state": "spawned", "agent_kind": "coder", "group": "g",
            "claimed_by": subject.agent, "limit": 5, "after": "0",
        })),
        "get_dispatch" | "retry_dispatch" => json!({
            "id": if operation.name == "get_dispatch" { 1 } else { 3 },
        }),
        "group_outcome" => about(json!({ "group": "canary group" })),
        "claim_dispatch" => about(json!({
            "agent_kinds": ["canary tester"], "lease": "5m", "wait": "10ms",
        })),
        "start_dispatch" => held(json!({})),
        "extend_dispatch" => held(json!({ "lease": "24h" })),
        "report_dispatch" => held(json!({ "tokens": 5, "progress": "p" })),
        "finish_dispatch" => held(json!({
            "outcome": "completed", "verdict": "pass", "summary": "s", "result": { "k": 1 },
        })),
        "cancel_dispatch" => json!({ "id": 2, "reason": "r", "expected_revision": 1 }),
        other => run_sample(operation, subject)
            .or_else(|| discovery_sample(operation, subject))
            .or_else(|| event_sample(operation, subject))
            .unwrap_or_else(|| panic!("`{other}` needs a sample here")),
    }
}

/// The same for a party: an agent registers as itself, whatever its name.
pub(crate) fn sample_of(party: Party, operation: &Operation, subject: &Subject) -> Value {
    let mut request = sample(operation, subject);
    if let ("register_agent", Party::Agent, Value::Object(fields)) =
        (operation.name, party, &mut request)
    {
        fields.remove("name");
    }
    // Each has a lock of its own to keep and to give back.
    if let ("renew_lock" | "release_lock", Party::Operator) = (operation.name, party) {
        request["name"] = json!("canary desk");
    }
    request
}

/// Returns values that a field of state must refuse.
fn wrong_for_state(operation: &Operation, field: &str) -> Option<Vec<Value>> {
    Some(match (operation.name, field) {
        ("save_state", "ttl") => ["0s", "999ms", "366d", "-1s"].map(Value::from).into(),
        (_, "expected_version") => vec![json!("1"), json!(1.5), json!(-1), json!(1e30)],
        (_, "value") => vec![json!("x".repeat(1_024 * 1_024)), json!([{ "a\0b": 1 }])],
        (_, "prefix") => no_line(256),
        _ => return None,
    })
}

/// Values that a field must refuse.
pub(crate) fn wrong_for(operation: &Operation, field: &str) -> Vec<Value> {
    let wrong = wrong_for_events(operation, field)
        .or_else(|| wrong_for_runs(operation, field))
        .or_else(|| wrong_for_discoveries(operation, field))
        .or_else(|| wrong_for_state(operation, field));
    if let Some(wrong) = wrong {
        return wrong;
    }
    match (operation.name, field) {
        // A path, which the operator by right of the directory may choose freely.
        ("backup" | "export", "to") => vec![json!(1), json!(true), json!([]), json!("a\0b")],
        // `operator` has a box, though it is no agent.
        ("inbox" | "threads" | "search", "agent") | (_, "from") => {
            let mut wrong = [no_line(64), look_alikes()].concat();
            wrong.retain(|value| value != "operator");
            wrong
        }
        (_, "key") => [
            no_line(1_024),
            vec![json!("/a/../b"), json!("/a/"), json!("a//b")],
        ]
        .concat(),
        (_, "project") => no_line(1_024),
        (
            _,
            "name" | "program" | "model" | "capability" | "status" | "focus" | "topic" | "scope"
            | "agent_kind" | "group",
        ) => no_line(128),
        (_, "agent" | "claimed_by") => [no_line(64), look_alikes()].concat(),
        (_, "task" | "reason") => no_prose(4_096),
        (_, "capabilities") => {
            let many: Vec<_> = (0..33).map(|n| n.to_string()).collect();
            vec![
                json!("c"),
                json!([1]),
                json!(["a\0"]),
                json!([""]),
                json!(many),
            ]
        }
        (_, "metadata") => vec![
            json!([]),
            json!("k"),
            json!({ "k": "x".repeat(16 * 1_024) }),
        ],
        (_, "rights") => vec![json!("orchestrate"), json!(["Orchestrate"]), json!([null])],
        (_, "leases_per_agent") => {
            vec![json!(0), json!(-1), json!(1e9), json!(5_001), json!("5")]
        }
        (_, "limit") => vec![json!(0), json!(501), json!(-1), json!("5"), json!(1e300)],
        (_, "after") => vec![
            json!(5),
            json!("-1"),
            json!("x"),
            json!("9223372036854775808"),
        ],
        (_, "expected_revision" | "fence") => {
            vec![json!("1"), json!(1.5), json!(true), json!(1e30)]
        }
        (_, "id" | "thread" | "reply_to" | "seq") => {
            vec![json!(0), json!(-1), json!("1"), json!(1.5), json!(1e30)]
        }
        (
            _,
            "grace" | "active_within" | "older_than" | "wait" | "ttl" | "eta" | "every" | "lease"
            | "deadline",
        ) => wrong_span(field),
        (_, word) => wrong_word(word).unwrap_or_else(|| wrong_mail(field)),
    }
}

/// Values that a length of time refuses: some are too long for one field alone.
fn wrong_span(field: &str) -> Vec<Value> {
    let too_long = match field {
        "grace" => "200h",
        "wait" => "61s",
        "ttl" | "lease" => "25h",
        "deadline" => "31d",
        "every" => "366d",
        _ => "1e999s",
    };
    let texts = ["5", "-5m", "8 days and a bit", too_long];
    texts
        .into_iter()
        .map(Value::from)
        .chain([json!(5)])
        .collect()
}

/// Values that a word of a few, or a yes or no, refuses.
fn wrong_word(field: &str) -> Option<Vec<Value>> {
    let capital = match field {
        "role" => "Operator",
        "guard_mode" | "guard_away" => "Block",
        "contact_policy" => "Open",
        "importance" => "High",
        "order" => "Newest",
        "detail" => "Full",
        "answer" => "Approve",
        "mode" => "Shared",
        "state" => "All",
        "outcome" => "Completed",
        "verdict" => "Pass",
        "exclusive" | "include_own" | "if_not_conflict" | "case_insensitive" | "ack_required"
        | "unread" | "ack_pending" => "true",
        _ => return None,
    };
    let texts = [capital, "", "root", "agent", "no"].map(Value::from);
    Some(texts.into_iter().chain([json!(1), json!([])]).collect())
}

/// Values that a pattern refuses.
fn wrong_patterns() -> Vec<Value> {
    let texts = ["", "../x", "/etc", "a\0b", "~x", "C:/x", "a**"].map(Value::from);
    let long = json!("x".repeat(65_536));
    texts
        .into_iter()
        .chain([long, json!(1), json!([])])
        .collect()
}

/// Values that a path refuses; in one `*` is a letter like others.
pub(super) fn wrong_paths() -> Vec<Value> {
    let mut wrong = wrong_patterns();
    wrong.retain(|item| item != "a**");
    wrong
}

/// Values that the fields of mail and leases refuse.
fn wrong_mail(field: &str) -> Vec<Value> {
    let list = |item: Value| json!([item]);
    match field {
        "to" | "cc" | "bcc" => wrong_addresses(field),
        "subject" => no_line(512),
        "body" => [no_prose(256 * 1_024), vec![json!(""), json!(" \n")]].concat(),
        "note" => no_prose(256 * 1_024),
        "ids" => {
            let items = [json!(0), json!(-1), json!("1"), json!(1.5), json!(1e30)];
            let many: Vec<_> = (1..=501).collect();
            let lists = [json!([]), json!(1), json!(many)];
            items.into_iter().map(list).chain(lists).collect()
        }
        "attachments" => wrong_attachments(),
        "path_pattern" => wrong_patterns(),
        "paths" | "patterns" => {
            let many: Vec<_> = (0..10_001).map(|n| n.to_string()).collect();
            let lists = [json!("a"), json!({}), json!(many)];
            let items = match field {
                "patterns" => wrong_patterns(),
                _ => wrong_paths(),
            };
            items.into_iter().map(list).chain(lists).collect()
        }
        "leases" => [
            json!(1),
            json!({ "id": 1 }),
            json!({ "id": 0, "fence": 1 }),
            json!("1"),
        ]
        .map(list)
        .into(),
        "sha256" => {
            let texts = ["", "zz", &SHA256[1..], &SHA256.to_uppercase()];
            texts
                .map(Value::from)
                .into_iter()
                .chain([json!(1)])
                .collect()
        }
        "content" => ["", "no base64!", "aGVsbG8"]
            .map(Value::from)
            .into_iter()
            .chain([json!(1)])
            .collect(),
        "until" => [
            "",
            "tomorrow",
            "2100-13-01T00:00:00Z",
            "1999-01-01T00:00:00Z",
        ]
        .map(Value::from)
        .into(),
        "from_time" | "until_time" => ["", "tomorrow", "2100-13-01T00:00:00Z"]
            .map(Value::from)
            .into(),
        _ => wrong_work(field),
    }
}

/// Values that the fields of dispatches and a search refuse.
fn wrong_work(field: &str) -> Vec<Value> {
    let blank = || vec![json!(""), json!(" \n")];
    match field {
        "prompt" => [no_prose(256 * 1_024), blank()].concat(),
        "summary" => [no_prose(4_096), blank()].concat(),
        "progress" => no_line(512),
        "priority" => vec![json!(1_001), json!(-1_001), json!("5"), json!(1.5)],
        "tokens" => vec![json!(-1), json!("5"), json!(1.5), json!(1e30)],
        "dry_run" => vec![json!("true"), json!(1)],
        "before" => vec![json!(0), json!(-1), json!("5"), json!(1.5), json!(1e30)],
        "result" => vec![json!("x".repeat(256 * 1_024)), json!(["a\0b"])],
        "depends_on" => {
            let items = [json!(0), json!(-1), json!("1"), json!(1.5), json!(999)];
            let items = items.into_iter().map(|item| json!([item]));
            items.chain([json!(1), json!(vec![1; 65])]).collect()
        }
        "agent_kinds" => {
            let many: Vec<_> = (0..33).map(|n| n.to_string()).collect();
            let items = [json!(1), json!("a\0"), json!(""), json!("a\nb")];
            let items = items.into_iter().map(|item| json!([item]));
            items.chain([json!("c"), json!([]), json!(many)]).collect()
        }
        "query" => [json!(1), json!(""), json!(" "), json!("-word"), json!("\"")].into(),
        other => panic!("`{other}` needs wrong values here"),
    }
}

fn wrong_addresses(field: &str) -> Vec<Value> {
    let texts = [
        "",
        "a b",
        "@web",
        "CanaryBlue@",
        "*@web",
        "CanaryBlue\n",
        "a@b\0",
    ];
    let texts = texts.into_iter().map(|text| json!([text]));
    let others = [json!("CanaryRed"), json!([true]), json!([0]), json!([[]])];
    let mut wrong: Vec<_> = texts.chain(others).collect();
    if field == "to" {
        // As many as these are too many in all, and `to` is where that is said.
        wrong.push(json!(vec!["operator"; 257]));
    }
    wrong
}

fn wrong_attachments() -> Vec<Value> {
    let one = |sha256: &str, name: &str| json!({ "sha256": sha256, "name": name });
    let many = json!(vec![one(SHA256, "a"); 33]);
    let wrong = [
        json!(1),
        one("zz", "a"),
        one(SHA256, ""),
        one(SHA256, "a\nb"),
        json!({ "sha256": SHA256 }),
        json!({ "sha256": SHA256, "name": "a", "bytes": 1 }),
    ];
    let wrong = wrong.into_iter().map(|one| json!([one]));
    wrong.chain([many, json!("a")]).collect()
}

/// What is no text of at most this many bytes.
pub(super) fn no_prose(bytes_max: usize) -> Vec<Value> {
    vec![
        json!(1),
        json!("a\0b"),
        json!("\u{1b}"),
        json!("x".repeat(bytes_max + 1)),
    ]
}

/// What is no line of at most this many bytes.
pub(super) fn no_line(bytes_max: usize) -> Vec<Value> {
    let long = "x".repeat(bytes_max + 1);
    let texts = [
        "",
        " ",
        "a\0b",
        "a\nb",
        "a\u{1b}[2J",
        "a\u{202e}b",
        "\u{feff}a",
        &long,
    ];
    let others = [json!(true), json!(1.5), json!([]), json!({})];
    others.into_iter().chain(texts.map(Value::from)).collect()
}

/// Texts that look like an agent's name and are none (E1).
pub(crate) fn look_alikes() -> Vec<Value> {
    let long = "x".repeat(65);
    let looks = [
        "C\u{430}naryBlue",
        "\u{ff23}anaryBlue",
        "CanaryBlue\u{200d}",
        "CanaryBlu\u{65}\u{301}",
        "Canary Blue",
        "CanaryBlue ",
        "@CanaryBlue",
        "operator",
        "SYSTEM",
        "0",
        "-1",
        "..",
        &long,
    ];
    looks.map(Value::from).into()
}

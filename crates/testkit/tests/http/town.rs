//! A served database with somebody of every kind in it.

use std::ops::Deref;

use comity_domain::TokenSecret;
use comity_kernel::Actor;
use comity_kernel::agent::RegisterAgent;
use comity_kernel::failpoint::Gate;
use comity_kernel::mail::attachment::Base64;
use comity_kernel::operation::{Bytes, OPERATIONS, Operation, Route};
use comity_kernel::token::{CreateToken, RevokeToken};
use comity_server::{Patience, Settings};
use comity_testkit::kit::request;
use comity_testkit::served::{Answer, Call};
use comity_testkit::{Engine, Kit, Served};
use serde_json::{Map, Value, json};

/// The routes beside the registry: open to strangers, and nothing a stranger must not see.
pub(crate) const OPEN: [&str; 5] = [
    "/health",
    "/metrics",
    "/api/openapi.json",
    "/api/docs",
    "/api/docs/style.css",
];

/// The routes beside the registry that are not: the feeds have tests of their own.
pub(crate) const FEEDS: [&str; 2] = ["/api/events/stream", "/ws/agents/{id}"];

/// A server, two projects, and a token of every kind.
///
/// `Blue`, `Red` and `Chief` work in `web`, `Green` in `api`.
pub(crate) struct Town {
    pub(crate) served: Served,
    pub(crate) operator: String,
    pub(crate) observer: String,
    /// An observer that sees `web` alone.
    pub(crate) guest: String,
    pub(crate) blue: Resident,
    pub(crate) red: Resident,
    /// An agent with the right `orchestrate`.
    pub(crate) chief: Resident,
    pub(crate) green: Resident,
}

/// An agent and its token.
pub(crate) struct Resident {
    pub(crate) id: i64,
    pub(crate) token: String,
}

/// What an agent has: a message with an attachment, and somebody who asks to write to it.
pub(crate) struct Belongings {
    pub(crate) message: i64,
    pub(crate) contact: i64,
    pub(crate) sha256: String,
    /// A lease of its own.
    pub(crate) lease: i64,
    /// A lease of whoever wrote to it.
    pub(crate) others_lease: i64,
    /// The request for its lease.
    pub(crate) request: i64,
    /// Work in its hands, of revision 2.
    pub(crate) dispatch: i64,
    /// A run of its project, in its second phase of four, to which it added an artifact.
    pub(crate) part: Part,
}

/// What an agent has to do with a run.
pub(crate) struct Part {
    /// The run.
    pub(crate) run: i64,
    /// The run's revision.
    pub(crate) revision: i64,
    /// A place in the log at which it stood so.
    pub(crate) seq: i64,
    /// What the agent added.
    pub(crate) artifact: i64,
}

impl Town {
    pub(crate) fn new(engine: Engine) -> Self {
        Self::around(Kit::new(engine), |_, _| {})
    }

    /// A town on SQLite, for facts that do not reach the database.
    pub(crate) fn small() -> Self {
        Self::new(Engine::Sqlite)
    }

    pub(crate) fn around(kit: Kit, change: impl FnOnce(&mut Settings, &mut Patience)) -> Self {
        kit.project("/srv/web");
        kit.project("/srv/api");
        Self {
            operator: token(&kit, &json!({ "role": "operator" })),
            observer: token(&kit, &json!({ "role": "observer" })),
            guest: token(&kit, &json!({ "role": "observer", "project": "web" })),
            blue: resident(&kit, "web", "Blue", &[]),
            red: resident(&kit, "web", "Red", &[]),
            chief: resident(&kit, "web", "Chief", &["orchestrate"]),
            green: resident(&kit, "api", "Green", &[]),
            served: Served::around(kit, change),
        }
    }

    /// Makes another token.
    pub(crate) fn token(&self, request: &Value) -> String {
        token(&self.served.kit, request)
    }

    /// Registers another agent.
    pub(crate) fn another(&self, project: &str, name: &str) -> Resident {
        resident(&self.served.kit, project, name, &[])
    }

    /// Has somebody of the project write to an agent, ask it for contact and for its lease.
    pub(crate) fn belongings(&self, of: &Resident, from: &Resident) -> Belongings {
        let kit = &self.served.kit;
        let writer = kit
            .kernel()
            .authenticate(&from.token)
            .wait()
            .unwrap()
            .answer;
        let call = |who: &Actor, name: &str, request: Value| {
            let answer = kit.call(who.clone(), name, &request);
            answer.unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let content = json!({ "content": base64(format!("for {}", of.id).as_bytes()) });
        let kept = call(&writer, "put_attachment", content);
        let sha256 = kept["attachment"]["sha256"].as_str().unwrap();
        let letter = json!({
            "to": [of.id.to_string()], "subject": "word", "body": "the plan of many words",
            "ack_required": true, "attachments": [{ "sha256": sha256, "name": "plan" }],
        });
        let sent = call(&writer, "send_message", letter);
        let asked = call(&writer, "request_contact", json!({ "agent": of.id }));
        let owner = kit.kernel().authenticate(&of.token).wait().unwrap().answer;
        let reserve = |who: &Actor, id: i64| {
            let path = format!("of {id}");
            let granted = call(who, "reserve_files", json!({ "paths": [path] }));
            granted["reservations"][0]["id"].as_i64().unwrap()
        };
        let (lease, others_lease) = (reserve(&owner, of.id), reserve(&writer, from.id));
        let wish = json!({ "id": lease, "reason": "the plan of many words" });
        let wished = call(&writer, "request_release", wish);
        let operator = &Actor::OPERATOR;
        let agent = call(operator, "get_agent", json!({ "agent": of.id }));
        let kind = format!("kind of {}", of.id);
        let work = json!({
            "project": agent["agent"]["project"], "agent_kind": kind,
            "prompt": "the plan of many words", "group": "night",
        });
        call(operator, "create_dispatch", work);
        let claim = json!({ "agent_kinds": [kind], "lease": "24h" });
        let claimed = call(&owner, "claim_dispatch", claim);
        let part = Part::of(kit, &owner, &agent["agent"]["project"]);
        Belongings {
            part,
            message: sent["message"]["id"].as_i64().unwrap(),
            contact: asked["contact"]["id"].as_i64().unwrap(),
            sha256: sha256.to_owned(),
            lease,
            others_lease,
            request: wished["release_request"]["id"].as_i64().unwrap(),
            dispatch: claimed["dispatch"]["id"].as_i64().unwrap(),
        }
    }

    /// Revokes a token.
    pub(crate) fn revoke(&self, token: &str) {
        let id = TokenSecret::parse(token).unwrap().id();
        let revoke: RevokeToken = request(&json!({ "id": id }));
        self.served.kit.run(revoke).unwrap();
    }

    /// A call as somebody.
    pub(crate) fn call(&self, call: Call, token: &str) -> Answer {
        self.served.call(&call.token(token))
    }

    /// Fails unless an ordinary request on a new connection is answered.
    pub(crate) fn must_be_well(&self) {
        let answer = self.served.get("/api/projects", &self.operator);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// Returns the head of a request as the operator, without the end of the head.
    pub(crate) fn head(&self, line: &str) -> String {
        let (addr, token) = (self.served.addr(), &self.operator);
        format!("{line} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\n")
    }
}

impl Part {
    /// Has the operator make a run in a project, and an agent add an artifact to it.
    fn of(kit: &Kit, agent: &Actor, project: &Value) -> Self {
        let call = |who: &Actor, name: &str, request: Value| {
            let answer = kit.call(who.clone(), name, &request);
            answer.unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let operator = &Actor::OPERATOR;
        let run = json!({
            "project": project, "goal": "the plan of many words", "phases": ["a", "b", "c", "d"],
            "gates": { "a->b": [], "b->c": [], "c->d": [] },
        });
        let run = call(operator, "create_run", run)["run"]["id"].clone();
        call(operator, "advance_run", json!({ "run": run }));
        let plan = json!({ "run": run, "phase": "b", "kind": "plan", "path": "the plan of many" });
        let artifact = call(agent, "add_artifact", plan);
        let standing = call(operator, "run_status", json!({ "run": run }));
        let number = |value: &Value| value.as_i64().unwrap();
        Self {
            run: number(&run),
            revision: number(&standing["run"]["revision"]),
            seq: number(&standing["as_of_seq"]),
            artifact: number(&artifact["artifact"]["id"]),
        }
    }
}

fn token(kit: &Kit, fields: &Value) -> String {
    let create: CreateToken = request(fields);
    kit.run(create).unwrap().answer.secret.unwrap().reveal()
}

fn resident(kit: &Kit, project: &str, name: &str, rights: &[&str]) -> Resident {
    let register: RegisterAgent = request(&json!({
        "project": project, "name": name, "program": "test", "model": "none",
        "task": format!("the plan of {name}"), "rights": rights,
    }));
    let made = kit.run(register).unwrap().answer;
    Resident {
        id: made.agent.id.get(),
        token: made.secret.unwrap().reveal(),
    }
}

/// A gate that opens at the latest when its test is over: a kernel cannot end behind a closed one.
pub(crate) struct Held(Gate);

impl Held {
    /// Holds whoever reaches a failpoint, from when the server has done what it does at its start.
    pub(crate) fn at(town: &Town, failpoint: &str) -> Self {
        town.must_be_well();
        // Where the queue holds one, what the server does at its start may have the place.
        while town.served.kit.kernel().probe().wait().is_err() {
            std::thread::yield_now();
        }
        Self(town.served.kit.failpoints.pause(failpoint))
    }
}

impl Deref for Held {
    type Target = Gate;

    fn deref(&self) -> &Gate {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// Every operation with each of its routes.
pub(crate) fn every_route() -> Vec<(&'static Operation, &'static Route)> {
    let routes = |operation: &'static Operation| {
        let routes = operation.routes.iter();
        routes.map(move |route| (operation, route))
    };
    OPERATIONS.iter().flat_map(routes).collect()
}

/// Method and path of every route there is, and of one there is not.
pub(crate) fn every_door() -> Vec<(&'static str, String)> {
    let registered = every_route().into_iter().map(|(_, route)| {
        let method = route.method.as_str();
        (method, path(route, |_| "nobody".to_owned()))
    });
    let beside = OPEN.iter().chain(&FEEDS);
    let open = beside.map(|path| ("GET", (*path).to_owned()));
    let unknown = ["/", "/api", "/api/unknown", "/favicon.ico"];
    let unknown = unknown.iter().map(|path| ("GET", (*path).to_owned()));
    let wrong = [
        ("DELETE", "/health".to_owned()),
        ("POST", "/mcp".to_owned()),
    ];
    registered.chain(open).chain(unknown).chain(wrong).collect()
}

/// Fills the variable parts of a path by the fields they stand for.
pub(crate) fn path(route: &Route, value: impl Fn(&str) -> String) -> String {
    let mut fields = route.fields.iter();
    let filled = route.path.split('/').map(|part| {
        if part.starts_with('{') {
            value(fields.next().expect("a field for every variable part"))
        } else {
            part.to_owned()
        }
    });
    filled.collect::<Vec<_>>().join("/")
}

/// A request to a route with these fields, wherever they belong: path, query or body.
pub(crate) fn fill(operation: &Operation, route: &Route, fields: &Map<String, Value>) -> Call {
    let text = |value: &Value| match value {
        Value::String(text) => text.replace('/', "%2F"),
        other => other.to_string(),
    };
    let path = path(route, |field| match fields.get(field) {
        // One of a list has its place in a path.
        Some(Value::Array(items)) => text(items.first().unwrap_or(&Value::Null)),
        value => text(value.unwrap_or(&Value::Null)),
    });
    let rest = || fields.iter().filter(|(name, _)| !in_path(route, name));
    let method = route.method.as_str();
    if let Bytes::Request(_) = operation.bytes {
        return Call::new(method, &path).octets(b"bytes");
    }
    if route.method.has_body() {
        let body: Map<String, Value> = rest().map(|(k, v)| (k.clone(), v.clone())).collect();
        return Call::new(method, &path).json(&Value::Object(body));
    }
    let query: Vec<String> = rest()
        .map(|(name, value)| format!("{name}={}", text(value)))
        .collect();
    match query.as_slice() {
        [] => Call::new(method, &path),
        query => Call::new(method, &format!("{path}?{}", query.join("&"))),
    }
}

fn in_path(route: &Route, field: &str) -> bool {
    route.fields.contains(&field)
}

/// A good value for each field that some operation cannot do without.
pub(crate) fn required(operation: &Operation) -> Map<String, Value> {
    let names = operation.schemas().request["required"].clone();
    let names = names.as_array().cloned().unwrap_or_default();
    let filled = names.iter().map(|name| {
        let name = name.as_str().unwrap();
        let value = match name {
            "key" if operation.name.ends_with("_state") => json!("plan"),
            "key" => json!("/srv/new"),
            "value" => json!("word"),
            "role" => json!("observer"),
            "program" | "model" => json!("test"),
            "agent" => json!("Nobody"),
            "project" => json!("nowhere"),
            "id" | "run" | "artifact" | "upstream" | "downstream" => json!(999_999),
            "ids" => json!([999_999]),
            "to" => json!(["Nobody"]),
            "kind" if operation.name == "append_event" => json!("custom.word"),
            "subject" | "body" | "query" | "reason" | "name" | "agent_kind" | "prompt"
            | "group" | "goal" | "kind" | "stream" => json!("word"),
            "phase" | "to_phase" => json!("a"),
            "verdict" => json!("pass"),
            "outcome" => json!("completed"),
            "seq" | "expected_revision" | "generation" | "to_seq" => json!(1),
            "answer" if operation.name == "answer_release" => json!("defer"),
            "answer" => json!("approve"),
            "every" => json!("1h"),
            "agent_kinds" | "paths" => json!(["word"]),
            "sha256" => json!("0".repeat(64)),
            // It is the body as it is.
            "content" => base64(b"bytes"),
            // Say here what a good one is.
            other => panic!("`{}` wants a `{other}`", operation.name),
        };
        (name.to_owned(), value)
    });
    filled.collect()
}

fn base64(bytes: &[u8]) -> Value {
    serde_json::to_value(Base64::new(bytes.to_vec())).unwrap()
}

//! Who may call what: the registry says it, and every route keeps to it.

use std::path::Path;

use comity_kernel::Party;
use comity_kernel::operation::{Operation, Route};
use comity_testkit::served::{Answer, Call};
use comity_testkit::{Engine, both_engines};
use serde_json::{Value, json};

use crate::town::{Belongings, FEEDS, OPEN, Resident, Town, every_route, fill, path, required};

/// Routes per server: the bad credentials of more would pass the rate of strangers.
const ROUTES: usize = 10;

/// A request that no operation can take, unless it keeps bytes; who is turned away before it is
/// read never learns that.
fn nonsense(route: &Route, method: &str) -> Call {
    let path = path(route, |field| match field {
        "id" => "999999".to_owned(),
        _ => "nobody".to_owned(),
    });
    if route.method.has_body() {
        Call::new(method, &path).body(b"{")
    } else {
        Call::new(method, &(path + "?nonsense=1"))
    }
}

/// The methods that lead to a route: HEAD does wherever GET does.
fn methods(route: &Route) -> Vec<&'static str> {
    match route.method.as_str() {
        "GET" => vec!["GET", "HEAD"],
        method => vec![method],
    }
}

fn may(operation: &Operation, parties: &[Party]) -> bool {
    operation.who.iter().any(|party| parties.contains(party))
}

fn must_be_unauthorized(answer: &Answer, of: &str) {
    assert_eq!(answer.status, 401, "{of}");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{of}");
}

fn strangers_are_turned_away(town: &Town, operation: &Operation, route: &Route) {
    // The server knows it from a moment ago, and long work meets no transaction that looks again.
    let revoked = town.token(&json!({ "role": "operator" }));
    assert_eq!(town.served.get("/api/projects", &revoked).status, 200);
    town.revoke(&revoked);
    let zeros = "0".repeat(64);
    let wrong = format!("comity_1_{zeros}");
    let unknown = format!("comity_999999_{zeros}");
    for method in methods(route) {
        let of = format!("{method} {} ({})", route.path, operation.name);
        let call = nonsense(route, method);
        must_be_unauthorized(&town.served.call(&call), &of);
        for token in [&revoked, "nonsense", &wrong, &unknown] {
            must_be_unauthorized(&town.call(call.clone(), token), &of);
        }
    }
}

fn parties_are_told_apart(town: &Town, operation: &Operation, route: &Route) {
    let agent = [Party::Agent, Party::Itself];
    let chief = [Party::Agent, Party::Itself, Party::Orchestrator];
    let people: [(&str, &[Party]); 5] = [
        (&town.operator, &[Party::Operator]),
        (&town.observer, &[Party::Observer]),
        (&town.guest, &[Party::Observer]),
        (&town.blue.token, &agent),
        (&town.chief.token, &chief),
    ];
    for method in methods(route) {
        for (token, parties) in people {
            let answer = town.call(nonsense(route, method), token);
            let of = format!("{method} {} as {parties:?}", route.path);
            if may(operation, parties) {
                assert!(![401, 403].contains(&answer.status), "{of}");
            } else {
                assert_eq!(answer.status, 403, "{of}");
            }
        }
    }
}

both_engines! {
    // F10 E5 S15: every operation x {no, wrong, unknown, revoked, another party's} credential
    fn every_route_asks_who_calls_before_it_reads_what_they_want(engine) {
        for routes in every_route().chunks(ROUTES) {
            let town = Town::new(engine);
            for (operation, route) in routes {
                strangers_are_turned_away(&town, operation, route);
                parties_are_told_apart(&town, operation, route);
            }
        }
    }

    // S20: looked up in the credential's project; what is elsewhere does not exist
    fn things_of_another_project_do_not_exist(engine) {
        let town = Town::new(engine);
        let teal = town.another("api", "Teal");
        let greens = town.belongings(&town.green, &teal);
        for (operation, route) in every_route() {
            for (who, parties) in [
                (&town.blue.token, [Party::Agent, Party::Itself].as_slice()),
                (&town.guest, &[Party::Observer]),
            ] {
                if may(operation, parties) {
                    neither_by_id_nor_by_name(&town, &greens, who, operation, route);
                }
            }
        }
        let green = town.served.get("/api/orient", &town.green.token).json();
        assert_eq!(green["task"], "the plan of Green");
    }

    // E5: an argument that claims to be somebody else
    fn nobody_acts_for_another_agent(engine) {
        let town = Town::new(engine);
        let reds = town.belongings(&town.red, &town.chief);
        let mut tried = Vec::new();
        for (operation, route) in every_route() {
            if !operation.who.contains(&Party::Itself) {
                continue;
            }
            let (field, claims, refusal) = claims(&town, &reds, operation);
            for claim in claims {
                let mut fields = required(operation);
                if let Some(run) = fields.get_mut("run") {
                    *run = json!(reds.part.run);
                }
                fields.insert(field.to_owned(), claim);
                let answer = town.call(fill(operation, route, &fields), &town.blue.token);
                let refusal = (refusal.0, refusal.1.to_owned());
                assert_eq!(answer.refusal(), refusal, "{} {fields:?}", operation.name);
            }
            tried.push(operation.name);
        }
        assert!(tried.len() >= 24, "{tried:?}");
        assert_eq!(agent(&town, &town.red)["revision"], 1);
        let inbox = town.served.get("/api/inbox/Red", &town.red.token).json();
        let [_asked_for, letter] = inbox["items"].as_array().unwrap().as_slice() else {
            panic!("{inbox}");
        };
        assert_eq!(letter["read_at"], Value::Null);
        let path = format!("/api/messages/{}", letter["id"]);
        let whole = town.served.get(&path, &town.operator).json();
        assert_eq!(whole["message"]["revision"], 1);
        let contacts = town.served.get("/api/contacts", &town.red.token).json();
        assert_eq!(contacts["items"][0]["state"], "requested", "{contacts}");
        assert_eq!(town.served.get("/api/contacts", &town.blue.token).json()["items"], json!([]));
    }
}

/// How Blue would act as Red, or on what is Red's: a field, what to write into it, and the refusal.
fn claims(
    town: &Town,
    reds: &Belongings,
    operation: &Operation,
) -> (&'static str, Vec<Value>, (u16, &'static str)) {
    let names = vec![json!("Red"), json!("rED")];
    let forbidden = (403, "forbidden");
    let not_found = (404, "not_found");
    match operation.name {
        "register_agent" => ("name", names, forbidden),
        "heartbeat" | "update_agent" | "rotate_token" | "retire_agent" | "inbox" | "threads"
        | "search" | "add_run_agent" | "finish_run_agent" => {
            let claims = [names, vec![json!(town.red.id)]].concat();
            ("agent", claims, forbidden)
        }
        "get_message" | "reply" | "forward" | "thread" | "thread_summary" => {
            ("id", vec![json!(reds.message)], not_found)
        }
        "read_messages" | "acknowledge" => ("ids", vec![json!([reds.message])], not_found),
        "answer_contact" => ("id", vec![json!(reds.contact)], not_found),
        "renew" | "release" => ("ids", vec![json!([reds.lease])], (403, "not_holder")),
        "answer_release" => ("id", vec![json!(reds.request)], (403, "not_holder")),
        "start_dispatch" | "extend_dispatch" | "report_dispatch" | "finish_dispatch" => {
            ("id", vec![json!(reds.dispatch)], (403, "not_holder"))
        }
        "save_state" | "load_state" | "delete_state" | "list_state" | "clear_state" => {
            let scopes = vec![json!("agent/Red"), json!("agent/rED")];
            ("scope", scopes, not_found)
        }
        // No field of these says who calls, and none is taken for one that does.
        "request_contact" => ("sender", names, (422, "invalid")),
        "list_contacts" | "request_release" | "list_scopes" => ("agent", names, (422, "invalid")),
        // Say here how somebody would claim to be another.
        other => panic!("`{other}` is for an agent's own things"),
    }
}

fn agent(town: &Town, resident: &Resident) -> Value {
    let path = format!("/api/agents/{}", resident.id);
    town.served.get(&path, &town.operator).json()["agent"].clone()
}

fn neither_by_id_nor_by_name(
    town: &Town,
    greens: &Belongings,
    who: &str,
    operation: &Operation,
    route: &Route,
) {
    let has = |field: &str| operation.schemas().field(field).is_some();
    let mut tries: Vec<Vec<(&str, Value)>> = Vec::new();
    if has("agent") {
        tries.push(vec![("agent", json!(town.green.id))]);
        tries.push(vec![("agent", json!("Green"))]);
    }
    if has("project") {
        for name in ["api", "/srv/api"] {
            tries.push(vec![("project", json!(name))]);
            if has("agent") {
                tries.push(vec![
                    ("project", json!(name)),
                    ("agent", json!(town.green.id)),
                ]);
            }
        }
    }
    if has("id") {
        let thing = match operation.name {
            "answer_contact" => greens.contact,
            "answer_release" => greens.request,
            "request_release" | "force_release" | "get_reservation" => greens.lease,
            name if name.ends_with("_dispatch") => greens.dispatch,
            _ => greens.message,
        };
        tries.push(vec![("id", json!(thing))]);
    }
    // Elsewhere a run is what something is to belong to, or what a list is about.
    if route.fields.contains(&"run") {
        tries.push(vec![("run", json!(greens.part.run))]);
        if has("artifact") {
            let claims = [("run", greens.part.run), ("artifact", greens.part.artifact)];
            tries.push(claims.map(|(name, id)| (name, json!(id))).into());
        }
    }
    if has("ids") {
        let thing = match operation.name {
            "renew" | "release" => greens.lease,
            _ => greens.message,
        };
        tries.push(vec![("ids", json!([thing]))]);
    }
    if has("sha256") {
        tries.push(vec![("sha256", json!(greens.sha256))]);
    }
    // Whoever is written to is looked for where mail goes, not where things are.
    let refusal = match operation.name {
        "request_contact" => (422, "unknown_recipient".to_owned()),
        _ => (404, "not_found".to_owned()),
    };
    for claims in tries {
        let mut fields = required(operation);
        fields.extend(claims.iter().map(|(k, v)| ((*k).to_owned(), v.clone())));
        let answer = town.call(fill(operation, route, &fields), who);
        let of = format!("{} {claims:?}", operation.name);
        assert_eq!(answer.refusal(), refusal, "{of}");
        assert!(!answer.text().contains("the plan of"), "{of}");
    }
}

// F10 S15: what stands beside the registry asks nobody who calls, so each such route is named
#[test]
fn no_route_stands_beside_the_registry_unnoticed() {
    let product = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.split("#[cfg(test)]").next().unwrap().to_owned()
    };
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src")];
    let (mut routes, mut others, mut nameless) = (Vec::new(), Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let text = product(&entry.path());
            for opening in [".nest(", ".merge(", ".route_service(", ".nest_service("] {
                let found = text.split(opening).skip(1);
                others.extend(
                    found.filter_map(|rest| rest.split([',', '\n']).next().map(String::from)),
                );
            }
            for rest in text.split(".route(").skip(1) {
                match rest.strip_prefix('"').and_then(|it| it.split('"').next()) {
                    Some(path) => routes.push(path.to_owned()),
                    None => nameless += 1,
                }
            }
        }
    }
    assert_eq!(routes, [&OPEN[..], &FEEDS].concat());
    others.sort_unstable();
    assert_eq!(others, ["\"/mcp\"", "mcp::routes(&server));"]);
    assert_eq!(nameless, 1, "the registry's routes come from one loop");
}

// F10 K5: strangers learn one word
#[test]
fn open_routes_tell_strangers_nothing() {
    let town = Town::small();
    for path in OPEN {
        let answer = town.served.call(&Call::get(path));
        assert_eq!(answer.status, 200, "{path}");
        let head = town.served.call(&Call::new("HEAD", path));
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for secret in ["the plan of", "srv", "Blue"] {
            assert!(!answer.text().contains(secret), "{path}");
        }
    }
    let health = town.served.call(&Call::get("/health")).json();
    assert_eq!(health.as_object().unwrap().len(), 1, "{health}");
    let metrics = town.served.call(&Call::get("/metrics")).text();
    assert_eq!(metrics, "# TYPE comity_up gauge\ncomity_up 1\n");
    for path in ["/health", "/metrics"] {
        must_be_unauthorized(&town.served.get(path, "nonsense"), path);
    }
    let health = town.served.get("/health", &town.blue.token).json();
    assert!(health["checks"].as_array().unwrap().len() > 2, "{health}");
}

// S15 S16: the socket's owner is the operator; a token there counts as anywhere
#[test]
fn the_socket_is_the_operators() {
    let town = Town::new(Engine::Sqlite);
    let tokens = Call::get("/api/tokens");
    assert_eq!(town.served.call_unix(&tokens).status, 200);
    for (token, status) in [(&town.blue.token, 403), (&"nonsense".to_owned(), 401)] {
        let call = tokens.clone().token(token);
        assert_eq!(town.served.call_unix(&call).status, status);
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(town.served.socket())
            .unwrap()
            .permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

// F10 S22: the protocol's own facts are tested elsewhere; who may speak it is a fact of HTTP
#[test]
fn mcp_asks_who_calls_too() {
    let town = Town::small();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let call = || Call::post("/mcp", &list).header("Accept", "application/json, text/event-stream");
    must_be_unauthorized(&town.served.call(&call()), "nobody");
    let wrong = format!("comity_1_{}", "0".repeat(64));
    for token in ["nonsense", &wrong] {
        must_be_unauthorized(&town.call(call(), token), token);
    }
    assert_eq!(town.call(call(), &town.blue.token).status, 200);
    let revoked = town.token(&json!({ "role": "observer" }));
    assert_eq!(town.call(call(), &revoked).status, 200);
    town.revoke(&revoked);
    must_be_unauthorized(&town.call(call(), &revoked), "revoked");
}

//! The list of events: filters, pages, and waiting for what comes.

use comity_kernel::{Actor, Error};
use comity_testkit::kit::request;
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::{Value, json};

use crate::team::{Team, code};

const BOSS: Actor = Actor::OPERATOR;

impl Team {
    fn events(&self, who: &Actor, request: &Value) -> Result<Value, Error> {
        self.call(who, "events", request)
    }

    /// The kinds of what somebody sees with a filter.
    fn kinds_of(&self, who: &Actor, request: &Value) -> Vec<String> {
        let page = self.events(who, request).unwrap();
        let kind = |event: &Value| event["kind"].as_str().unwrap().to_owned();
        page["items"].as_array().unwrap().iter().map(kind).collect()
    }
}

both_engines! {
    // BEHAVIOUR: events(since, limit, project?, run?, kinds[]?, subject?, actor?)
    fn events_are_listed_by_what_they_are(engine) {
        let team = Team::new(engine);
        let (blue, far) = (&team.blue, &team.far);
        let run = json!({ "project": "web", "goal": "ship it", "phases": ["a", "b"], "gates": { "a->b": [] } });
        team.call(&BOSS, "create_run", &run).unwrap();
        team.call(blue, "add_artifact", &json!({ "run": 1, "phase": "a", "kind": "plan", "path": "p.md" })).unwrap();
        team.call(blue, "append_event", &json!({ "stream": "s", "kind": "custom.one" })).unwrap();
        team.call(&team.green, "append_event", &json!({ "stream": "s", "kind": "custom.two" })).unwrap();
        team.call(far, "append_event", &json!({ "stream": "s", "kind": "custom.two" })).unwrap();
        team.call(&BOSS, "advance_run", &json!({ "run": 1 })).unwrap();
        let kinds = |request: Value| team.kinds_of(&BOSS, &request);
        assert_eq!(kinds(json!({ "run": 1 })), ["run_created", "artifact_added", "run_advanced"]);
        assert_eq!(kinds(json!({ "run": 1, "actor": "Blue", "project": "web" })), ["artifact_added"]);
        assert_eq!(kinds(json!({ "subject": { "type": "run", "id": 1 } })), ["run_created", "artifact_added", "run_advanced"]);
        assert_eq!(kinds(json!({ "kinds": ["custom.*"] })), ["custom.one", "custom.two", "custom.two"]);
        assert_eq!(kinds(json!({ "kinds": ["custom.two"], "project": "api" })), ["custom.two"]);
        assert_eq!(kinds(json!({ "kinds": ["custom.never"] })), [""; 0]);
        assert_eq!(kinds(json!({ "actor": "agent:1" })), ["artifact_added", "custom.one"]);
        assert_eq!(kinds(json!({ "actor": 1.to_string() })), ["artifact_added", "custom.one"]);
        assert_eq!(kinds(json!({ "actor": "operator", "kinds": ["run_created", "custom.one"] })), ["run_created"]);
        let all = kinds(json!({ "limit": 500 }));
        let since = json!({ "since": all.len() - 2, "limit": 500 });
        assert_eq!(kinds(since), all[all.len() - 2..]);
        // A filter shows nothing that its reader may not see.
        assert_eq!(team.kinds_of(far, &json!({ "kinds": ["custom.*"] })), ["custom.two"]);
        assert_eq!(code(team.events(far, &json!({ "run": 1 }))), "not_found");
        assert_eq!(code(team.events(far, &json!({ "project": "web" }))), "not_found");
        assert_eq!(team.kinds_of(far, &json!({ "subject": "run:1" })), [""; 0]);
        let page = team.events(blue, &json!({ "run": 1, "limit": 1 })).unwrap();
        let event = &page["items"][0];
        assert_eq!((&event["who"], &event["text"], &event["run"]), (&json!("operator"), &json!("began: ship it"), &json!(1)));
    }

    fn what_is_no_filter_is_refused_and_named(engine) {
        let team = Team::new(engine);
        for (field, request, near) in [
            ("kinds", json!({ "kinds": ["run_create"] }), "`run_created`"),
            ("kinds", json!({ "kinds": ["custom.A"] }), ""),
            ("kinds", json!({ "kinds": (0..129).map(|n| format!("custom.{n}")).collect::<Vec<_>>() }), ""),
            ("subject", json!({ "subject": "rum:1" }), "`run`"),
            ("subject", json!({ "subject": { "type": "run" } }), ""),
            ("actor", json!({ "actor": "agent:x" }), ""),
            ("since", json!({ "since": -1 }), ""),
            ("wait", json!({ "wait": "61s" }), ""),
            ("project", json!({ "actor": "Blue" }), ""),
            ("kind", json!({ "kind": "x" }), "`kinds`"),
        ] {
            let error = team.events(&BOSS, &request).unwrap_err().to_json();
            assert_eq!((&error["error"], &error["field"]), (&json!("invalid"), &json!(field)), "{request}");
            assert!(error.to_string().contains(near), "{error}");
        }
        assert_eq!(code(team.events(&BOSS, &json!({ "actor": "Nobody", "project": "web" }))), "not_found");
        assert_eq!(code(team.events(&BOSS, &json!({ "run": 7 }))), "not_found");
    }

    // I7: page by page it is the same as at once, whatever the filter
    fn a_page_goes_on_where_the_one_before_ended(engine) {
        let team = Team::new(engine);
        for number in 0..20 {
            let kind = ["custom.a", "custom.b"][number % 2];
            team.call(&team.blue, "append_event", &json!({ "stream": "s", "kind": kind })).unwrap();
        }
        for filter in [json!({}), json!({ "kinds": ["custom.b"] }), json!({ "subject": "stream:1" }), json!({ "project": "web" })] {
            let whole = |more: &Value| {
                let mut request = filter.clone();
                for (name, value) in more.as_object().unwrap() {
                    request[name] = value.clone();
                }
                team.events(&team.green, &request).unwrap()
            };
            let at_once = whole(&json!({ "limit": 500 }));
            assert_eq!((&at_once["next"], &at_once["through"]), (&Value::Null, &at_once["as_of_seq"]));
            let (mut after, mut items) = (json!("0"), Vec::new());
            loop {
                let page = whole(&json!({ "limit": 3, "after": after }));
                items.extend(page["items"].as_array().unwrap().clone());
                if page["next"].is_null() {
                    break;
                }
                after = page["next"].clone();
            }
            assert_eq!(json!(items), at_once["items"], "{filter}");
        }
    }

    // BEHAVIOUR: a wait returns as soon as something new matches
    fn a_wait_ends_when_something_matches(engine) {
        let team = Team::new(engine);
        let end = team.events(&BOSS, &json!({ "limit": 500 })).unwrap()["through"].clone();
        let wish = json!({ "since": end, "kinds": ["custom.*"], "wait": "50s" });
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| team.events(&team.green, &wish).unwrap());
            team.call(&BOSS, "update_project", &json!({ "project": "web", "name": "W" })).unwrap();
            let said = team.call(&team.blue, "append_event", &json!({ "stream": "s", "kind": "custom.x" })).unwrap();
            let came = waiting.join().unwrap();
            assert_eq!(came["items"][0]["seq"], said["seq"]);
        });
        let nothing = json!({ "since": 1_000_000, "wait": "1ms" });
        let nothing = team.events(&team.green, &nothing).unwrap();
        assert_eq!((&nothing["items"], &nothing["through"]), (&json!([]), &json!(1_000_000)));
    }
}

// The bound is in the code that both engines share; SQLite alone is quick enough at it.
#[test]
fn however_few_events_match_a_question_ends() {
    let kit = Kit::new(Engine::Sqlite);
    kit.project("/srv/web");
    let team_of = kit.agent("web", "Blue").1;
    for _ in 0..6 {
        let append = |_| {
            let said = json!({ "stream": "s", "kind": "custom.noise" });
            kit.kernel().execute(
                team_of.clone().into(),
                request::<comity_kernel::stream::AppendEvent>(&said),
            )
        };
        let tickets: Vec<_> = (0..1_000).map(append).collect();
        for ticket in tickets {
            ticket.wait().unwrap();
        }
    }
    let last = json!({ "stream": "s", "kind": "custom.last" });
    let last = kit.call(team_of.clone(), "append_event", &last).unwrap();
    let ask = |after: &Value| {
        let wish = json!({ "kinds": ["custom.last"], "after": after, "wait": "50s" });
        kit.call(team_of.clone(), "events", &wish).unwrap()
    };
    let first = ask(&json!("0"));
    assert_eq!(
        (&first["items"], &first["next"], &first["through"]),
        (&json!([]), &json!("5000"), &json!(5_000))
    );
    let second = ask(&first["next"]);
    assert_eq!(
        (&second["items"][0]["seq"], &second["next"]),
        (&last["seq"], &Value::Null)
    );
}

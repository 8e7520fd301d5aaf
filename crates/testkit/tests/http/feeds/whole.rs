//! A feed over reconnects is the part of the log that its reader may see (I7).

use std::time::Duration;

use comity_kernel::options::Sharing;
use comity_kernel::{Actor, Kernel};
use comity_testkit::kit::register;
use comity_testkit::served::Call;
use comity_testkit::{Dice, Engine, Kit, both_engines};
use serde_json::{Value, json};

use super::meaning::{Eyes, seen};
use super::stream::Stream;
use super::wire::Wire;
use crate::town::{Held, Town};

/// Somebody of the town does what comes to mind.
fn lives(town: &Town, token: &str, seed: u64) {
    let mut dice = Dice::new(seed);
    let everybody = ["Blue@web", "Red@web", "Chief@web", "Green@api", "operator"];
    let own = |operation: &str, request: Value| {
        // Not everything makes sense, and nothing is allowed to everybody.
        let _ = town.does(token, operation, &request);
    };
    for round in 0..40 {
        let mut to = [const { Vec::new() }; 4];
        for name in everybody {
            to[usize::try_from(dice.below(4)).unwrap()].push(name);
        }
        let body = "word ".repeat(if dice.below(8) == 0 { 2_000 } else { 3 });
        match dice.below(6) {
            0..3 => own(
                "send_message",
                json!({
                    "to": to[0], "cc": to[1], "bcc": to[2], "subject": format!("{seed} {round}"),
                    "body": body,
                }),
            ),
            3 => {
                let page = town.does(token, "inbox", &json!({ "limit": 3, "unread": true }));
                let items = page.unwrap()["items"].as_array().unwrap().clone();
                let ids: Vec<_> = items.iter().map(|item| item["id"].clone()).collect();
                let marks = ["read_messages", "acknowledge"];
                own(
                    marks[usize::from(dice.below(2) == 0)],
                    json!({ "ids": ids }),
                );
            }
            4 => own(
                "request_contact",
                json!({ "agent": everybody[usize::try_from(dice.below(4)).unwrap()], "reason": "r" }),
            ),
            _ => own(
                "update_agent",
                json!({ "agent": "Blue", "task": format!("{seed} {round}") }),
            ),
        }
    }
}

/// Tells whether an event is the last one for somebody.
fn is_last(event: &Value, project: i64) -> bool {
    event["payload"]["settings"]["name"] == "the end" && event["project"] == project
}

/// Follows until the end, leaving and coming back at random.
fn follows(town: &Town, token: &str, project: i64, seed: u64) -> Vec<(i64, Value)> {
    let (mut dice, mut came, mut last) = (Dice::new(seed), Vec::new(), 0);
    loop {
        let call = match dice.below(2) {
            0 => Call::get(&format!("/api/events/stream?since={last}")),
            _ => Call::get("/api/events/stream").header("Last-Event-ID", &last.to_string()),
        };
        let mut stream = Stream::call(town, &call.token(token)).unwrap();
        for _ in 0..=dice.below(25) {
            let next = stream.next().expect("it goes on");
            last = next.seq;
            let over = is_last(&next.event, project);
            came.push((next.seq, next.event["payload"].clone()));
            if over {
                return came;
            }
        }
    }
}

/// The same over a WebSocket.
fn listens(town: &Town, token: &str, path: &str, project: i64, seed: u64) -> Vec<(i64, Value)> {
    let (mut dice, mut came, mut last) = (Dice::new(seed), Vec::new(), 0);
    loop {
        let mut wire = Wire::open(town, token, path);
        wire.subscribe(last);
        for _ in 0..=dice.below(25) {
            let event = wire.event();
            let seq = event["seq"].as_i64().unwrap();
            last = seq;
            let over = is_last(&event, project);
            came.push((seq, event["payload"].clone()));
            if over {
                return came;
            }
        }
    }
}

/// The same from the list of events, page by page.
fn lists(town: &Town, token: &str, seed: u64) -> Vec<(i64, Value)> {
    let (mut dice, mut came, mut after) = (Dice::new(seed), Vec::new(), "0".to_owned());
    loop {
        let path = format!("/api/events?after={after}&limit={}", 1 + dice.below(40));
        let page = town.served.get(&path, token).json();
        for event in page["items"].as_array().unwrap() {
            came.push((event["seq"].as_i64().unwrap(), event["payload"].clone()));
        }
        match page["next"].as_str() {
            Some(next) => next.clone_into(&mut after),
            None => return came,
        }
    }
}

fn must_be(came: &[(i64, Value)], town: &Town, eyes: Eyes) {
    let end = came.last().unwrap().0;
    let mut wanted = seen(town, eyes);
    wanted.retain(|(seq, _)| *seq <= end);
    assert!(came.len() > 20, "{eyes:?} saw {}", came.len());
    let places = |list: &[(i64, Value)]| list.iter().map(|(seq, _)| *seq).collect::<Vec<_>>();
    assert_eq!(places(came), places(&wanted), "{eyes:?}");
    assert_eq!(came, wanted, "{eyes:?}");
}

both_engines! {
    // I7 I6 S17 S20
    fn a_feed_over_reconnects_is_the_part_of_the_log_its_reader_may_see(engine) {
        let town = Town::new(engine);
        let (web, api) = (1, 2);
        let town = &town;
        std::thread::scope(|scope| {
            let writers: Vec<_> = [&town.blue, &town.red, &town.green]
                .into_iter()
                .zip(1..)
                .map(|(who, seed)| scope.spawn(move || lives(town, &who.token, seed)))
                .collect();
            let followers: Vec<_> = [
                (&town.operator, api, Eyes::Operator),
                (&town.observer, api, Eyes::Observer(None)),
                (&town.guest, web, Eyes::Observer(Some(web))),
                (&town.blue.token, web, Eyes::Agent(town.blue.id, web)),
                (&town.green.token, api, Eyes::Agent(town.green.id, api)),
            ]
            .into_iter()
            .zip(7..)
            .map(|((token, project, eyes), seed)| {
                (scope.spawn(move || follows(town, token, project, seed)), eyes)
            })
            .collect();
            let (red, chief) = (&town.red, &town.chief);
            let red_listens = scope.spawn(move || listens(town, &red.token, "/ws/agents/Red", web, 21));
            let path = format!("/ws/agents/{}", chief.id);
            let operator_listens = scope.spawn(move || listens(town, &town.operator, &path, web, 22));
            for writer in writers {
                writer.join().unwrap();
            }
            for project in ["web", "api"] {
                let end = json!({ "project": project, "name": "the end" });
                town.does(&town.operator, "update_project", &end).unwrap();
            }
            for (follower, eyes) in followers {
                must_be(&follower.join().unwrap(), town, eyes);
            }
            for (token, eyes) in [
                (&town.operator, Eyes::Operator),
                (&town.guest, Eyes::Observer(Some(web))),
                (&town.green.token, Eyes::Agent(town.green.id, api)),
            ] {
                assert_eq!(lists(town, token, 31), seen(town, eyes), "{eyes:?}");
            }
            must_be(&red_listens.join().unwrap(), town, Eyes::Agent(red.id, web));
            must_be(&operator_listens.join().unwrap(), town, Eyes::Agent(chief.id, web));
        });
    }

    // I7 B1: not a moment before it is durable
    fn nothing_is_told_before_its_commit(engine) {
        let town = Town::new(engine);
        let mut stream = Stream::open(&town, &town.blue.token, "");
        let mut wire = Wire::open(&town, &town.blue.token, "/ws/agents/Blue");
        std::thread::scope(|scope| {
            let gate = Held::at(&town, "writer.before_commit");
            let sent = scope.spawn(|| town.note(&town.red.token, "Blue", "b"));
            gate.wait_until_hit();
            stream.must_be_silent(Duration::from_millis(200));
            gate.open();
            let seq = sent.join().unwrap();
            assert_eq!(stream.next().unwrap().seq, seq);
            assert_eq!(wire.event()["seq"], seq);
        });
    }

    // I7: a place that is not there yet is waited for
    fn a_place_beyond_the_end_waits(engine) {
        let town = Town::new(engine);
        let since = town.end() + 2;
        let mut stream = Stream::open(&town, &town.blue.token, &format!("?since={since}"));
        assert_eq!(stream.last, since);
        for _ in 0..2 {
            town.note(&town.red.token, "Blue", "too early");
        }
        let seq = town.note(&town.red.token, "Blue", "b");
        assert_eq!(seq, since + 1);
        assert_eq!(stream.next().unwrap().seq, seq);
    }
}

// L5 I7
#[test]
fn what_another_server_commits_is_told_here() {
    let town = Town::around(
        Kit::with(Engine::Postgres, |options| {
            options.sharing = Sharing::Shared;
        }),
        |_, _| {},
    );
    let mut stream = Stream::open(&town, &town.blue.token, "");
    let other = Kernel::open(town.served.kit.options().clone()).unwrap();
    for n in 0..20 {
        let kernel = if n % 2 == 0 {
            &other
        } else {
            town.served.kit.kernel()
        };
        let register = register("web", &format!("New{n}"));
        let made = kernel
            .execute(Actor::OPERATOR.into(), register)
            .wait()
            .unwrap();
        let came = stream.next().unwrap();
        assert_eq!(came.kind, "agent_registered");
        assert_eq!(came.event["subject"]["id"], made.answer.agent.id.get());
    }
}

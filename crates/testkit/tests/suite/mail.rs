//! Mail: delivery, marks, threads, contacts, attachments.

mod contacts;
mod search;

use comity_kernel::actor::IdempotencyKey;
use comity_kernel::{Actor, Caller, Error};
use comity_testkit::{Engine, both_engines};
use serde_json::{Value, json};

use crate::team::{Team, code};

impl Team {
    fn send(&self, who: &Actor, request: &Value) -> Result<Value, Error> {
        self.call(who, "send_message", request)
    }

    /// Sends a short message and returns its number.
    fn note(&self, who: &Actor, to: &Value, subject: &str) -> i64 {
        let sent = self
            .send(who, &json!({ "to": to, "subject": subject, "body": "b" }))
            .unwrap();
        sent["message"]["id"].as_i64().unwrap()
    }

    /// The numbers in somebody's box, oldest first.
    fn numbers(&self, who: &Actor) -> Vec<i64> {
        let page = self
            .call(who, "inbox", &json!({ "order": "oldest" }))
            .unwrap();
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|item| item["id"].as_i64().unwrap())
            .collect()
    }
}

both_engines! {
    // C1 C3: each recipient once, whatever it is called and however often
    fn a_message_reaches_each_recipient_once_in_the_first_role(engine) {
        let team = Team::new(engine);
        let sent = team.send(&team.blue, &json!({
            "to": ["green", "Green", "2", "operator"], "cc": ["GREEN", "Red"], "bcc": ["Far@api", "Red"],
            "subject": "tests", "body": "run *all* of them", "importance": "high", "topic": "T-1",
        })).unwrap();
        assert_eq!(sent["skipped"], json!([]));
        let id = sent["message"]["id"].as_i64().unwrap();
        for who in [&team.green, &team.red, &team.far, &Actor::OPERATOR] {
            assert_eq!(team.numbers(who), [id], "{who}");
        }
        assert_eq!(team.numbers(&team.blue), [] as [i64; 0]);
        let shown = |who| team.call(who, "get_message", &json!({ "id": id })).unwrap()["message"].clone();
        let green = shown(&team.green);
        assert_eq!((&green["from"], &green["to"]), (&json!("Blue"), &json!(["operator", "Green"])));
        assert_eq!((&green["cc"], green.get("bcc")), (&json!(["Red"]), None));
        assert_eq!(green["body"], "run *all* of them");
        // A bcc is seen by its own recipient, the sender and the operator.
        assert_eq!(shown(&team.far)["bcc"], json!(["Far@api"]));
        assert_eq!(shown(&team.far)["from"], "Blue");
        assert_eq!(shown(&team.blue)["bcc"], json!(["Far@api"]));
        assert_eq!(shown(&Actor::OPERATOR)["bcc"], json!(["Far@api"]));
    }

    // C1: all or nothing
    fn a_refused_message_leaves_no_trace(engine) {
        let team = Team::new(engine);
        let before = team.kit.doctor().state_hash;
        let with = |to: &Value| json!({ "to": to, "subject": "s", "body": "b" });
        let unknown = team.send(&team.blue, &with(&json!(["Green", "Gren"]))).unwrap_err().to_json();
        assert_eq!((&unknown["error"], &unknown["name"]), (&json!("unknown_recipient"), &json!("Gren")));
        assert!(unknown["hint"].as_str().unwrap().contains("`Green`"), "{unknown}");
        // S20: nothing is told of other projects
        let far = team.send(&team.blue, &with(&json!(["Fa@api"]))).unwrap_err().to_json();
        assert_eq!((&far["error"], &far["near"]), (&json!("unknown_recipient"), &Value::Null));
        assert_eq!(code(team.send(&team.blue, &with(&json!(["x@nowhere"])))), "unknown_recipient");
        assert_eq!(code(team.send(&team.blue, &with(&json!(["4"])))), "unknown_recipient");
        assert_eq!(code(team.send(&team.blue, &with(&json!([])))), "invalid");
        assert_eq!(code(team.send(&team.blue, &with(&json!(["no way"])))), "invalid");
        let crowd: Vec<_> = (0..257).map(|_| "Green").collect();
        assert_eq!(code(team.send(&team.blue, &with(&json!(crowd)))), "invalid");
        for (subject, body) in [("", "b"), (" ", "b"), ("a\nb", "b"), ("s", ""), ("s", " \n"), ("s", "a\u{0}b")] {
            let refused = team.send(&team.blue, &json!({ "to": ["Green"], "subject": subject, "body": body }));
            assert_eq!(code(refused), "invalid", "{subject:?} {body:?}");
        }
        let long = json!({ "to": ["Green"], "subject": "s".repeat(513), "body": "b" });
        assert_eq!(code(team.send(&team.blue, &long)), "invalid");
        let long = json!({ "to": ["Green"], "subject": "s", "body": "b".repeat(256 * 1024 + 1) });
        assert_eq!(code(team.send(&team.blue, &long)), "invalid");
        assert_eq!(team.kit.doctor().state_hash, before);
    }

    // C2
    fn a_repeated_key_sends_once_and_another_body_is_refused(engine) {
        let team = Team::new(engine);
        let keyed = |body: &str| {
            let caller = Caller::from(team.blue.clone()).with_key(IdempotencyKey::parse("k").unwrap());
            let request = json!({ "to": ["Green"], "subject": "s", "body": body });
            team.kit.call(caller, "send_message", &request)
        };
        let first = keyed("b").unwrap();
        assert_eq!(keyed("b").unwrap(), first);
        assert_eq!(code(keyed("c")), "idempotency_mismatch");
        assert_eq!(team.numbers(&team.green).len(), 1);
    }

    // E5
    fn nobody_writes_in_anothers_name_or_reads_anothers_mail(engine) {
        let team = Team::new(engine);
        let id = team.note(&team.blue, &json!(["Green"]), "secret");
        let forged = json!({ "to": ["Green"], "subject": "s", "body": "b", "from": "Red" });
        assert_eq!(code(team.send(&team.blue, &forged)), "invalid");
        for (operation, request) in [
            ("get_message", json!({ "id": id })),
            ("read_messages", json!({ "ids": [id] })),
            ("acknowledge", json!({ "ids": [id] })),
            ("thread", json!({ "id": id })),
            ("thread_summary", json!({ "id": id })),
            ("reply", json!({ "id": id, "body": "b" })),
            ("forward", json!({ "id": id, "to": ["Red"] })),
            ("send_message", json!({ "to": ["Red"], "subject": "s", "body": "b", "reply_to": id })),
        ] {
            for stranger in [&team.red, &team.far] {
                assert_eq!(code(team.call(stranger, operation, &request)), "not_found", "{operation}");
            }
        }
        assert_eq!(code(team.call(&team.red, "inbox", &json!({ "agent": "Green" }))), "forbidden");
        assert_eq!(code(team.call(&team.red, "threads", &json!({ "agent": "Green" }))), "forbidden");
        assert_eq!(code(team.call(&team.red, "inbox", &json!({ "agent": "operator" }))), "forbidden");
        // The sender did not get it, so it has nothing to mark.
        assert_eq!(code(team.call(&team.blue, "read_messages", &json!({ "ids": [id] }))), "not_found");
        let all = json!({ "agent": "Green", "project": "web" });
        let operators = team.call(&Actor::OPERATOR, "inbox", &all).unwrap();
        assert_eq!(operators["items"][0]["id"], id);
    }

    fn the_first_mark_counts_and_listing_is_not_reading(engine) {
        let team = Team::new(engine);
        let first = team.note(&team.blue, &json!(["Green"]), "one");
        let request = json!({ "to": ["Green"], "subject": "two", "body": "b", "ack_required": true });
        let second = team.send(&team.blue, &request).unwrap()["message"]["id"].as_i64().unwrap();
        let count = |filter: &Value| {
            team.call(&team.green, "inbox", filter).unwrap()["items"].as_array().unwrap().len()
        };
        assert_eq!((count(&json!({ "unread": true })), count(&json!({ "ack_pending": true }))), (2, 1));
        let mark = |operation, ids: &Value| team.call(&team.green, operation, &json!({ "ids": ids })).unwrap();
        let read = mark("read_messages", &json!([first, first, second]));
        team.kit.clock.advance_us(1_000_000);
        let again = mark("read_messages", &json!([first]));
        assert_eq!(again["messages"][0]["read_at"], read["messages"][0]["read_at"]);
        assert_eq!((count(&json!({ "unread": true })), count(&json!({ "ack_pending": true }))), (0, 1));
        let acked = team.call(&team.green, "acknowledge", &json!({ "ids": [second], "note": "will do" })).unwrap();
        assert_eq!(mark("acknowledge", &json!([second]))["messages"], acked["messages"]);
        assert_eq!(count(&json!({ "ack_pending": true })), 0);
        // The sender is told.
        let shown = team.call(&team.blue, "get_message", &json!({ "id": second })).unwrap();
        assert_eq!(shown["marks"][0]["note"], "will do");
        assert_eq!(shown["message"]["revision"], 3);
        assert_eq!(code(team.call(&team.green, "read_messages", &json!({ "ids": [] }))), "invalid");
        assert_eq!(code(team.call(&team.green, "read_messages", &json!({ "ids": [99] }))), "not_found");
        let many: Vec<_> = (1..=501).collect();
        assert_eq!(code(team.call(&team.green, "read_messages", &json!({ "ids": many }))), "invalid");
    }

    fn an_inbox_is_filtered_and_paged_both_ways(engine) {
        let team = Team::new(engine);
        let mut all = Vec::new();
        for n in 0..7 {
            let request = json!({
                "to": ["Green"], "subject": format!("n{n}"), "body": "word ".repeat(100),
                "importance": (["low", "normal", "high", "urgent"][n % 4]),
                "topic": (if n % 2 == 0 { "even" } else { "odd" }),
            });
            let sender = if n < 5 { &team.blue } else { &team.red };
            all.push(team.send(sender, &request).unwrap()["message"]["id"].as_i64().unwrap());
            team.kit.clock.advance_us(1_000_000);
        }
        for order in ["newest", "oldest"] {
            let (mut seen, mut after) = (Vec::new(), json!("0"));
            while !after.is_null() {
                let request = json!({ "order": order, "limit": 3, "after": after });
                let page = team.call(&team.green, "inbox", &request).unwrap();
                seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()));
                after = page["next"].clone();
            }
            if order == "newest" {
                seen.reverse();
            }
            assert_eq!(seen, all, "{order}");
        }
        let found = |filter: &Value| {
            let page = team.call(&team.green, "inbox", filter).unwrap();
            let items = page["items"].as_array().unwrap().clone();
            items.iter().map(|item| item["subject"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found(&json!({ "from": "Red" })), ["n6", "n5"]);
        assert_eq!(found(&json!({ "from": "operator" })), [] as [&str; 0]);
        assert_eq!(found(&json!({ "topic": "odd", "importance": "high" })), ["n3"]);
        assert_eq!(found(&json!({ "thread": all[2] })), ["n2"]);
        let page = team.call(&team.green, "inbox", &json!({ "limit": 1, "order": "oldest" })).unwrap();
        let time = page["items"][0]["created_at"].clone();
        assert_eq!(found(&json!({ "until_time": time })), [] as [&str; 0]);
        assert_eq!(found(&json!({ "from_time": time })).len(), 7);
        let detail = |detail: &str| team.call(&team.green, "inbox", &json!({ "limit": 1, "detail": detail })).unwrap()["items"][0].clone();
        assert!(detail("none").get("body").is_none() && detail("none").get("preview").is_none());
        assert_eq!(detail("preview")["preview"].as_str().unwrap().chars().count(), 200);
        assert_eq!(detail("full")["body"].as_str().unwrap().len(), 500);
    }

    // Fault 14: what one read may hold is bounded in bytes, not only in items
    fn a_page_of_large_bodies_ends_early_and_loses_nothing(engine) {
        let team = Team::new(engine);
        let body = "x".repeat(200 * 1024);
        let send = |nth: usize, reply_to: Option<i64>| {
            let request = json!({ "to": ["Green"], "subject": format!("{nth}"), "body": body, "reply_to": reply_to });
            team.send(&team.blue, &request).unwrap()["message"]["id"].as_i64().unwrap()
        };
        let first = send(0, None);
        let all: Vec<_> = [first].into_iter().chain((1..40).map(|nth| send(nth, Some(first)))).collect();
        for (operation, mut request) in [
            ("inbox", json!({ "order": "oldest", "detail": "full", "limit": 500 })),
            ("thread", json!({ "id": first, "limit": 500 })),
        ] {
            let (mut seen, mut pages) = (Vec::new(), 0);
            loop {
                let page = team.call(&team.green, operation, &request).unwrap();
                let items = page["items"].as_array().unwrap();
                assert!(items.len() <= 16, "{operation}: {}", items.len());
                seen.extend(items.iter().map(|item| item["id"].as_i64().unwrap()));
                pages += 1;
                if page["next"].is_null() {
                    break;
                }
                request["after"] = page["next"].clone();
            }
            assert_eq!((seen, pages), (all.clone(), 3), "{operation}");
        }
        let whole = team.call(&team.green, "inbox", &json!({ "limit": 500 })).unwrap();
        assert_eq!(whole["items"].as_array().unwrap().len(), 40);
    }

    fn a_broadcast_reaches_those_who_were_heard_of_lately(engine) {
        let team = Team::new(engine);
        team.call(&Actor::OPERATOR, "retire_agent", &json!({ "agent": "Red", "project": "web" })).unwrap();
        let id = team.note(&team.blue, &json!(["*"]), "all");
        assert_eq!(team.numbers(&team.green), [id]);
        assert_eq!(team.numbers(&team.blue), [] as [i64; 0]);
        assert_eq!(team.numbers(&team.far), [] as [i64; 0]);
        assert_eq!(code(team.send(&team.blue, &json!({ "to": ["Red"], "subject": "s", "body": "b" }))), "agent_retired");
        team.kit.clock.advance_us(8 * 24 * 3_600 * 1_000_000);
        let nobody = team.send(&team.blue, &json!({ "to": ["*"], "subject": "s", "body": "b" }));
        assert_eq!(code(nobody), "invalid");
        team.call(&team.green, "heartbeat", &json!({})).unwrap();
        let id = team.note(&team.blue, &json!(["*"]), "again");
        assert_eq!(team.numbers(&team.green).last(), Some(&id));
    }

    fn a_thread_shows_each_what_it_has_a_part_in(engine) {
        let team = Team::new(engine);
        let first = team.note(&team.blue, &json!(["Green"]), "plan");
        let reply = team.call(&team.green, "reply", &json!({ "id": first, "body": "yes", "cc": ["Red"], "ack_required": true })).unwrap();
        let second = reply["message"]["id"].as_i64().unwrap();
        assert_eq!((&reply["message"]["subject"], &reply["message"]["thread_id"]), (&json!("Re: plan"), &json!(first)));
        assert_eq!(reply["message"]["to"], json!(["Blue"]));
        // A reply without recipients goes to the sender, and one to one's own to those it was for.
        let third = team.send(&team.blue, &json!({ "reply_to": second, "subject": "Re: plan", "body": "go" })).unwrap();
        assert_eq!(third["message"]["to"], json!(["Green"]));
        let own = team.call(&team.blue, "reply", &json!({ "id": first, "body": "and" })).unwrap();
        assert_eq!(own["message"]["to"], json!(["Green"]));
        let seen = |who: &Actor| {
            let page = team.call(who, "thread", &json!({ "id": first })).unwrap();
            page["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(seen(&team.blue), [first, second, second + 1, second + 2]);
        assert_eq!(seen(&team.red), [second]);
        assert_eq!(seen(&Actor::OPERATOR).len(), 4);
        let summary = |who: &Actor| team.call(who, "thread_summary", &json!({ "id": second })).unwrap();
        assert_eq!(summary(&team.blue)["participants"], json!(["Blue", "Green", "Red"]));
        assert_eq!((&summary(&team.red)["messages"], &summary(&team.blue)["messages"]), (&json!(1), &json!(4)));
        assert_eq!(summary(&team.blue)["open_acks"], json!([{ "agent": "Blue", "message_id": second }, { "agent": "Red", "message_id": second }]));
        let listed = team.call(&team.green, "threads", &json!({})).unwrap();
        assert_eq!(listed["items"][0]["id"], first);
        assert_eq!(listed["items"][0]["unread"], 3);
        let overdue = team.call(&team.red, "overdue_acks", &json!({})).unwrap();
        assert_eq!(overdue["items"][0]["waiting_for"], json!(["Red"]));
        assert_eq!(team.call(&team.blue, "overdue_acks", &json!({ "older_than": "1h" })).unwrap()["items"], json!([]));
        let forwarded = team.call(&team.red, "forward", &json!({ "id": second, "to": ["Far@api"], "note": "fyi" })).unwrap();
        assert_eq!(forwarded["message"]["subject"], "Fwd: Re: plan");
        let far = team.call(&team.far, "inbox", &json!({ "detail": "full" })).unwrap();
        assert!(far["items"][0]["body"].as_str().unwrap().starts_with("fyi\n\nForwarded message"));
        assert_eq!(far["items"][0]["from"], "Red");
        // An answer to another project finds its way back.
        let back = team.call(&team.far, "reply", &json!({ "id": forwarded["message"]["id"], "body": "thanks" })).unwrap();
        assert_eq!(team.numbers(&team.red).last(), back["message"]["id"].as_i64().as_ref());
    }

    fn attachments_are_kept_once_and_handed_to_those_with_a_message(engine) {
        let team = Team::new(engine);
        let put = |who: &Actor, content: &str| team.call(who, "put_attachment", &json!({ "content": content }));
        let kept = put(&team.blue, "aGVsbG8=").unwrap()["attachment"].clone();
        assert_eq!(kept["sha256"], "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
        assert_eq!(put(&team.red, "aGVsbG8=").unwrap()["attachment"], kept);
        assert_eq!(team.kit.shell("select count(*) from blob").unwrap(), "1");
        assert_eq!(code(put(&team.blue, "")), "invalid");
        assert_eq!(code(put(&team.blue, "no base64!")), "invalid");
        let get = |who: &Actor| team.call(who, "get_attachment", &json!({ "sha256": kept["sha256"] }));
        assert_eq!(code(get(&team.green)), "not_found");
        let carrying = |sha256: &str| json!({
            "to": ["Green"], "subject": "s", "body": "b", "attachments": [{ "sha256": sha256, "name": "a.txt" }],
        });
        assert_eq!(code(team.send(&team.blue, &carrying(&"0".repeat(64)))), "not_found");
        team.send(&team.blue, &carrying(kept["sha256"].as_str().unwrap())).unwrap();
        assert_eq!(get(&team.green).unwrap()["content"], "aGVsbG8=");
        assert_eq!(get(&team.blue).unwrap()["content"], "aGVsbG8=");
        assert_eq!(code(get(&team.red)), "not_found");
        assert_eq!(code(get(&team.far)), "not_found");
        // Knowing a hash is not enough to attach it, and so to read it.
        let smuggled = json!({
            "to": ["Far"], "subject": "s", "body": "b",
            "attachments": [{ "sha256": kept["sha256"], "name": "a.txt" }],
        });
        assert_eq!(code(team.send(&team.far, &smuggled)), "not_found");
        let inbox = team.call(&team.green, "inbox", &json!({ "detail": "full" })).unwrap();
        assert_eq!(inbox["items"][0]["attachments"], json!([{ "bytes": 5, "name": "a.txt", "sha256": kept["sha256"] }]));
    }

    // S6: text of any script, cut nowhere inside a character
    fn subjects_and_bodies_come_back_as_they_were(engine) {
        let team = Team::new(engine);
        for cut in 500..=512 {
            let mut subject = "x".repeat(cut % 4);
            while subject.len() + 4 <= cut {
                subject.push('🦦');
            }
            let body = format!("\u{202e}{subject}\r\n\t{{}}'\";--");
            let sent = team.send(&team.blue, &json!({ "to": ["Green"], "subject": subject, "body": body })).unwrap();
            let id = &sent["message"]["id"];
            let shown = team.call(&team.green, "get_message", &json!({ "id": id })).unwrap();
            assert_eq!((&shown["message"]["subject"], &shown["message"]["body"]), (&json!(subject), &json!(body)));
            team.call(&team.green, "reply", &json!({ "id": id, "body": "ok" })).unwrap();
        }
    }
}

// The wait is the kernel's own and looks at the published head alone, so one engine shows it.
#[test]
fn a_wait_ends_with_the_first_message_or_with_patience() {
    let team = Team::new(Engine::Sqlite);
    let waited = |patience: &str| {
        team.call(
            &team.green,
            "inbox",
            &json!({ "unread": true, "wait": patience }),
        )
    };
    assert_eq!(waited("10ms").unwrap()["items"], json!([]));
    assert_eq!(code(waited("61s")), "invalid");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| waited("60s").unwrap());
        let id = team.note(&team.blue, &json!(["Green"]), "wake up");
        assert_eq!(waiting.join().unwrap()["items"][0]["id"], id);
    });
    // A stop ends every wait.
    let id = team.note(&team.blue, &json!(["Green"]), "x");
    team.call(
        &team.green,
        "read_messages",
        &json!({ "ids": [id, id - 1] }),
    )
    .unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| waited("60s").unwrap());
        team.kit.kernel().end_waits();
        assert_eq!(waiting.join().unwrap()["items"], json!([]));
    });
}

//! Redactions: what was written is gone, and everything else still holds (I8).

mod answers;
mod everything;
mod kept;
mod traces;
mod vectors;

use std::fmt::Write as _;

use comity_domain::Seq;
use comity_kernel::archive::ArchiveBatch;
use comity_kernel::log::Recorded;
use comity_kernel::log::state_hash::PROJECTED;
use comity_kernel::redaction::RedactEvent;
use comity_kernel::store::Value as Stored;
use comity_kernel::tx::{Read as _, Snapshot};
use comity_kernel::{Actor, Error, Party, Query};
use comity_testkit::kit::{operator_with_key, request};
use comity_testkit::{Kit, both_engines};
use serde_json::{Value, json};

/// Stands in everything that must vanish.
const SECRET: &str = "hush4711";

fn redact(seq: i64) -> RedactEvent {
    request(&json!({ "seq": seq, "reason": "a leak" }))
}

/// Sends a message with a secret from the operator to itself, and returns the event's number.
fn send(kit: &Kit) -> i64 {
    let letter = json!({ "project": "web", "to": ["operator"], "subject": format!("the {SECRET} key"), "body": format!("it is {SECRET}"), "topic": SECRET });
    let sent = kit.call(Actor::OPERATOR, "send_message", &letter).unwrap();
    sent["seq"].as_i64().unwrap()
}

/// The whole log.
fn log_of(kit: &Kit) -> Vec<Recorded> {
    let mut log: Vec<Recorded> = Vec::new();
    loop {
        let next = ArchiveBatch {
            after: log.last().map_or(Seq::ZERO, |last| last.seq),
            through: Seq::new(i64::MAX),
            events_max: 500,
            bytes_max: i64::MAX,
        };
        let read = kit.kernel().query(Actor::System, next).wait();
        let batch = read.unwrap().answer.events;
        if batch.is_empty() {
            return log;
        }
        log.extend(batch);
    }
}

/// The events that hold the secret, or the hash of what holds it.
fn holding(kit: &Kit) -> Vec<Recorded> {
    let holds = |event: &Recorded| {
        let payload = event.payload.as_deref().unwrap_or_default();
        payload.contains(SECRET) || event.kind == "state_saved"
    };
    log_of(kit).into_iter().filter(holds).collect()
}

/// Everything a database holds that may be text, as text; that the index of words follows the
/// tables, the doctor knows.
struct AllText;

impl Query for AllText {
    const NAME: &'static str = "all_text";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = String;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<String, Error> {
        let mut text = String::new();
        let off_log = [
            "select payload, correlation from event",
            "select answer from idempotency",
            "select path, reason from quarantine",
            "select bytes from blob",
            "select last_error from hook_delivery",
        ];
        let projected = PROJECTED.iter().map(|(_, sql)| *sql);
        for sql in projected.chain(off_log) {
            snapshot.each(sql, &[], &mut |row| {
                for value in row.rest() {
                    match value {
                        Stored::Blob(bytes) => {
                            text.push_str(&String::from_utf8_lossy(&bytes));
                        }
                        other => _ = write!(text, "{other:?}"),
                    }
                }
                text.push('\n');
                Ok(())
            })?;
        }
        Ok(text)
    }
}

both_engines! {
    fn a_message_is_redacted_and_everything_holds(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let seq = send(&kit);
        let before = log_of(&kit);
        let done = kit.run(redact(seq)).unwrap();
        assert_eq!(done.seq.get(), seq + 1);
        assert_eq!((done.answer.redaction.seq.get(), done.answer.redaction.kind.as_str()), (seq, "message_sent"));
        let message = kit.call(Actor::OPERATOR, "get_message", &json!({ "id": 1 })).unwrap();
        assert_eq!((&message["message"]["subject"], &message["message"]["body"]), (&json!("[redacted]"), &json!("[redacted]")));
        // The words are not found any more, those that stand there now are.
        let found = |words: &str| {
            let hits = kit.call(Actor::OPERATOR, "search", &json!({ "project": "web", "query": words })).unwrap();
            hits["items"].as_array().map_or(0, Vec::len)
        };
        assert_eq!((found(SECRET), found("redacted")), (0, 1));
        // The line is what it was, hash and all.
        let after = log_of(&kit);
        for (old, new) in before.iter().zip(&after) {
            assert_eq!((old.line().unwrap(), old.hash), (new.line().unwrap(), new.hash));
        }
        assert!(!kit.ask(AllText).unwrap().answer.contains(SECRET));
    }

    fn what_cannot_be_redacted_is_refused_with_a_reason(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        let seq = send(&kit);
        kit.run(redact(seq)).unwrap();
        let head = kit.kernel().head().borrow().get();
        let refusal = |seq: i64| {
            let error = kit.run(redact(seq)).unwrap_err();
            (error.code().word, error.to_string())
        };
        assert_eq!(refusal(0).0, "invalid");
        assert_eq!(refusal(-3).0, "invalid");
        assert_eq!(refusal(head + 1), ("not_found", format!("there is no event `{}`", head + 1)));
        assert_eq!(refusal(i64::MAX).0, "not_found");
        let (code, text) = refusal(head);
        assert!(code == "invalid" && text.contains("a redaction itself"), "{text}");
        let token = log_of(&kit).iter().find(|event| event.kind == "token_created").unwrap().seq.get();
        let (code, text) = refusal(token);
        assert!(code == "invalid" && text.contains("revoke the token"), "{text}");
        // An agent registered without a task has nothing to hide.
        let agent = log_of(&kit).iter().find(|event| event.kind == "agent_registered").unwrap().seq.get();
        assert!(refusal(agent).1.contains("holds nothing"));
        let forbidden = kit.run_as(blue, redact(seq)).unwrap_err();
        assert_eq!(forbidden.code().word, "forbidden");
        let empty = kit.call(Actor::OPERATOR, "redact", &json!({ "seq": seq, "reason": "" })).unwrap_err();
        assert_eq!((empty.code().word, &empty.to_json()["field"]), ("invalid", &json!("reason")));
        assert_eq!(kit.kernel().head().borrow().get(), head, "a refusal leaves no event");
    }

    fn redacting_twice_is_redacting_once(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let seq = send(&kit);
        let twin = || kit.kernel().execute(Actor::OPERATOR.into(), redact(seq));
        let (one, other) = (twin(), twin());
        let (one, other) = (one.wait().unwrap(), other.wait().unwrap());
        assert_eq!(one.answer, other.answer);
        let keyed = kit.run_as(operator_with_key("k"), redact(seq)).unwrap();
        let again = kit.run_as(operator_with_key("k"), redact(seq)).unwrap();
        assert!(again.replayed && !keyed.replayed);
        assert_eq!(keyed.answer, one.answer);
        assert_eq!(kit.kernel().head().borrow().get(), seq + 1);
    }

    // I1: nobody else changes a payload, nor a redaction
    fn raw_sql_cannot_redact(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        let (first, second) = (send(&kit), send(&kit));
        kit.run(redact(first)).unwrap();
        kit.stop();
        let head = second + 1;
        for attack in [
            format!("update event set payload = '{{}}' where seq = {second}"),
            format!("update event set payload = null where seq = {second}"),
            format!("update event set payload = '{{}}' where seq = {first}"),
            format!("update event set payload = null where seq = {first}"),
            format!("update event set actor = 'x' where seq = {first}"),
            format!("update event set payload_sha256 = hash where seq = {first}"),
            format!("insert into redaction select {second}, kind, subject_type, subject_id, reason, '{{}}', redacted_seq, redacted_at, 1 from redaction"),
            format!("insert into redaction select {second}, kind, subject_type, subject_id, reason, '{{}}', {head} + 1, redacted_at, 1 from redaction"),
            "update redaction set remnant = '{}'".to_owned(),
            "update redaction set reason = ''".to_owned(),
            "delete from redaction".to_owned(),
        ] {
            assert!(kit.shell(&attack).is_err(), "{attack}");
        }
    }

    // H3: the blanking of a dispatch or a lease takes a redaction, and changes nothing else
    fn raw_sql_cannot_use_the_way_of_redactions(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        let make = json!({ "project": "web", "agent_kind": "builder", "prompt": SECRET });
        let made = kit.call(Actor::OPERATOR, "create_dispatch", &make).unwrap();
        kit.call(Actor::OPERATOR, "create_dispatch", &make).unwrap();
        let leased = kit.call(blue.clone(), "reserve_files", &json!({ "paths": ["a", "b"], "reason": SECRET })).unwrap();
        kit.call(blue, "reserve_files", &json!({ "paths": ["c"], "reason": SECRET })).unwrap();
        for seq in [&made["seq"], &leased["seq"]] {
            kit.run(redact(seq.as_i64().unwrap())).unwrap();
        }
        kit.stop();
        for attack in [
            "update dispatch set prompt = '[redacted]' where id = 2",
            "update dispatch set prompt = 'other' where id = 1",
            "update dispatch set prompt = '[redacted]', priority = 9 where id = 1",
            "update dispatch set state = 'running' where id = 1",
            "update reservation set reason = '[redacted]' where id = 3",
            "update reservation set reason = 'other' where id = 1",
            "update reservation set reason = '[redacted]', expires_lease_us = 0 where id = 1",
            "update reservation set reason = '[redacted]', fence = 1 where id = 1",
        ] {
            assert!(kit.shell(attack).is_err(), "{attack}");
        }
        kit.restart();
        let text = kit.ask(AllText).unwrap().answer;
        assert_eq!(text.matches(SECRET).count(), 4, "two events and two rows: {text}");
    }

    // I8: a payload that no redaction left is damage, whether or not there is a redaction
    fn another_remnant_is_found(engine) {
        for after_it in [false, true] {
            let mut kit = Kit::new(engine);
            kit.project("/srv/web");
            let (first, second) = (send(&kit), send(&kit));
            kit.run(redact(first)).unwrap();
            let forged = if after_it { first } else { second };
            kit.stop();
            kit.fill(&format!("update event set payload = (select payload from event where seq = {}) where seq = {forged};\n", if after_it { second } else { first })).unwrap();
            kit.expect_damage();
            let Err(damaged) = comity_kernel::Kernel::open(kit.options().clone()) else { panic!("it opened") };
            assert!(damaged.to_string().contains(&format!("payload of event {forged} is not the one")), "{damaged}");
        }
    }

    // C2: a first answer does not bring the words back, and still is the first answer
    fn a_first_answer_forgets_the_words(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let made = kit.call(Actor::OPERATOR, "create_dispatch", &json!({
            "project": "web", "agent_kind": "builder", "prompt": format!("say \"{SECRET}\"\n"),
        })).unwrap();
        let claim = || kit.call(operator_with_key("k"), "claim_dispatch", &json!({ "project": "web", "agent_kinds": ["builder"] })).unwrap();
        let first = claim();
        assert!(first["dispatch"]["prompt"].as_str().unwrap().contains(SECRET));
        kit.run(redact(made["seq"].as_i64().unwrap())).unwrap();
        let again = claim();
        assert_eq!(again["dispatch"]["prompt"], "[redacted]");
        assert_eq!(again["dispatch"]["fence"], first["dispatch"]["fence"]);
        assert!(!kit.ask(AllText).unwrap().answer.contains(SECRET));
    }

    // The index is written once per batch: a message may be redacted in the batch that sends it
    fn a_message_is_redacted_in_the_batch_that_sent_it(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let gate = kit.failpoints.pause("writer.before_batch");
        let touch: comity_kernel::project::EnsureProject = request(&json!({ "key": "/srv/other" }));
        let touch = kit.kernel().execute(Actor::OPERATOR.into(), touch);
        gate.wait_until_hit();
        let letter: comity_kernel::mail::SendMessage = request(&json!({ "project": "web", "to": ["operator"], "subject": SECRET, "body": SECRET }));
        let sent = kit.kernel().execute(Actor::OPERATOR.into(), letter);
        let redacted = kit.kernel().execute(Actor::OPERATOR.into(), redact(3));
        kit.failpoints.clear("writer.before_batch");
        gate.open();
        touch.wait().unwrap();
        assert_eq!(sent.wait().unwrap().seq.get(), 3);
        redacted.wait().unwrap();
        assert!(!kit.ask(AllText).unwrap().answer.contains(SECRET));
    }
}

/// What every surface shows of an event.
fn shown(kit: &Kit, seq: i64) -> Value {
    use comity_kernel::event::{OpenWatch, ReadSlice};
    let watch = kit.ask(OpenWatch::default()).unwrap().answer;
    let slice = ReadSlice {
        watch: watch.into(),
        since: Seq::new(seq - 1),
    };
    let told = kit.ask(slice).unwrap().answer.told;
    serde_json::from_str(&told[0].json).unwrap()
}

both_engines! {
    // BEHAVIOUR: the payload is replaced by its hash
    fn a_reader_of_the_log_sees_the_hash_and_no_payload(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let seq = send(&kit);
        let before = shown(&kit, seq);
        kit.run(redact(seq)).unwrap();
        let after = shown(&kit, seq);
        assert_eq!(after["payload"], Value::Null);
        assert_eq!(after["payload_sha256"], before["payload_sha256"]);
        assert_eq!(shown(&kit, seq + 1)["kind"], "event_redacted");
    }

    // I9: the vectors in memory lose what the table lost
    fn a_redacted_discovery_is_near_to_nothing(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let submit = |id: &str, vector: [f64; 2]| kit.call(Actor::OPERATOR, "submit_discovery", &json!({
            "project": "web", "source": "papers", "source_id": id, "title": SECRET, "embedding": vector,
            "model": "m", "dedup_threshold": 0.9,
        })).unwrap();
        let first = submit("a", [1.0, 0.0]);
        submit("b", [0.0, 1.0]);
        assert_eq!(submit("c", [1.0, 0.01])["duplicate_of"], first["discovery"]["id"]);
        kit.run(redact(first["seq"].as_i64().unwrap())).unwrap();
        assert!(submit("c", [1.0, 0.01]).get("duplicate_of").is_none_or(Value::is_null));
        assert!(!submit("d", [0.01, 1.0])["duplicate_of"].is_null(), "the others are still known");
    }

    // A hook that is at work needs its address
    fn a_hook_is_removed_before_its_address_is_redacted(engine) {
        let kit = Kit::new(engine);
        let hook = kit.call(Actor::OPERATOR, "add_hook", &json!({ "filter": {}, "url": format!("https://hook.example/{SECRET}") })).unwrap();
        let seq = hook["seq"].as_i64().unwrap();
        let refused = kit.run(redact(seq)).unwrap_err();
        assert!(refused.to_string().contains("remove it first"), "{refused}");
        kit.call(Actor::OPERATOR, "remove_hook", &json!({ "id": hook["hook"]["id"] })).unwrap();
        kit.run(redact(seq)).unwrap();
        assert!(!kit.ask(AllText).unwrap().answer.contains(SECRET));
    }
}

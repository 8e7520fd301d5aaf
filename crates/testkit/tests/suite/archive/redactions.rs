//! What was redacted and the archive: what it still holds, and how it gets rid of it (I8).

use comity_archive::store::restore;
use comity_kernel::Actor;
use comity_kernel::archive::Archivist as _;
use comity_testkit::{Engine, Kit, both_engines, golden};
use serde_json::{Value, json};

use super::Kept;

pub(super) const SECRET: &str = "hush4711";

/// Sends a message with a secret and a secret attachment, and returns the event's number.
pub(super) fn leak(kit: &Kit) -> i64 {
    // The bytes are the secret: `hush4711` in base64.
    let file = json!({ "content": "aHVzaDQ3MTE=" });
    let file = kit.call(Actor::OPERATOR, "put_attachment", &file).unwrap();
    let sent = kit.call(Actor::OPERATOR, "send_message", &json!({
        "project": "web", "to": ["operator"], "subject": format!("The {SECRET} key"), "body": SECRET,
        "attachments": [{ "sha256": file["attachment"]["sha256"], "name": SECRET }],
    }));
    sent.unwrap()["seq"].as_i64().unwrap()
}

/// Saves a value of state, and returns the event's number.
fn save(kit: &Kit, key: &str, value: &Value) -> i64 {
    let request = json!({ "project": "web", "scope": "s", "key": key, "value": value });
    let saved = kit.call(Actor::OPERATOR, "save_state", &request).unwrap();
    saved["seq"].as_i64().unwrap()
}

/// A value too large for its row, three times this many bytes as JSON.
fn large(length: usize) -> Value {
    json!("x".repeat(3 * length - 2))
}

/// Sends a message with the bytes of such a value attached, and returns the event's number.
fn attach(kit: &Kit, length: usize) -> i64 {
    // In base64: a quotation mark, many times an x, a quotation mark.
    let content = format!("Inh4{}eHgi", "eHh4".repeat(length - 2));
    let file = json!({ "content": content });
    let file = kit.call(Actor::OPERATOR, "put_attachment", &file).unwrap();
    let sent = kit.call(
        Actor::OPERATOR,
        "send_message",
        &json!({
            "project": "web", "to": ["operator"], "subject": "A file", "body": "It is attached.",
            "attachments": [{ "sha256": file["attachment"]["sha256"], "name": "file" }],
        }),
    );
    sent.unwrap()["seq"].as_i64().unwrap()
}

/// The lengths of all bytes that are kept, a third of them.
fn lengths(kit: &Kit) -> Vec<usize> {
    let lengths = kit
        .shell("select length(bytes) from blob order by 1")
        .unwrap();
    let lengths = lengths
        .lines()
        .map(|line| line.parse::<usize>().unwrap() / 3);
    lengths.collect()
}

pub(super) fn redact(kit: &Kit, seq: i64) {
    let request = json!({ "seq": seq, "reason": "a leak" });
    kit.call(Actor::OPERATOR, "redact", &request).unwrap();
}

/// Restores into a fresh database.
fn restored_kit(kept: &Kept, engine: Engine) -> Kit {
    let mut fresh = Kit::new(engine);
    fresh.stop();
    restore(&kept.repository, fresh.options(), |_, _| {}).unwrap();
    fresh.restart();
    fresh
}

/// Restores into a fresh database, and returns its state hash.
fn restored(kept: &Kept, engine: Engine) -> String {
    let fresh = restored_kit(kept, engine);
    let blobs = fresh.shell("select count(*) from blob").unwrap();
    assert_eq!(blobs, kept.kit.shell("select count(*) from blob").unwrap());
    fresh.doctor().state_hash
}

both_engines! {
    fn an_archive_gets_rid_of_what_was_redacted_when_it_is_made_anew(engine) {
        let kept = Kept::new(engine);
        golden::scenario(&kept.kit);
        let seq = leak(&kept.kit);
        let run = kept.kit.call(Actor::OPERATOR, "create_run", &json!({ "project": "web", "goal": SECRET, "metadata": { "k": SECRET } })).unwrap();
        let run = run["seq"].as_i64().unwrap();
        let state = save(&kept.kit, "secret", &json!(SECRET.repeat(5_000)));
        kept.drain();
        kept.must_be_right();
        // What the scenario redacted before it was archived never came there.
        assert_eq!(kept.archiver.status().unwrap().redacted_since_rebuild, 0);
        for seq in [seq, run, state] {
            redact(&kept.kit, seq);
        }
        kept.drain();
        // It still holds them, which is no difference, and says so.
        kept.must_be_right();
        assert_eq!(kept.archiver.status().unwrap().redacted_since_rebuild, 3);
        assert!(kept.archiver.verify().unwrap().outdated >= 5);
        let findings = kept.kit.doctor();
        assert_eq!(restored(&kept, engine), findings.state_hash, "from the old archive");
        // Made anew it holds no trace, in no object there is.
        kept.archiver.rebuild().unwrap();
        let status = kept.archiver.status().unwrap();
        assert_eq!(status.redacted_since_rebuild, 0);
        kept.must_be_right();
        assert_eq!(kept.archiver.verify().unwrap().outdated, 0);
        assert!(kept.holds("[redacted]") && !kept.holds(SECRET));
        assert_eq!(restored(&kept, engine), findings.state_hash, "from the new archive");
        // It goes on, and what is redacted next is counted anew.
        let next = leak(&kept.kit);
        kept.drain();
        redact(&kept.kit, next);
        kept.drain();
        kept.must_be_right();
        assert_eq!(kept.archiver.status().unwrap().redacted_since_rebuild, 1);
    }

    // I8: what is redacted before it is archived never comes there, and is not counted
    fn an_archive_that_lags_takes_what_is_left(engine) {
        let kept = Kept::around(Kit::new(engine), 2);
        kept.kit.project("/srv/web");
        let held = || kept.archiver.status().unwrap().redacted_since_rebuild;
        for _ in 0..2 {
            let (seq, other) = (leak(&kept.kit), leak(&kept.kit));
            kept.kit.project("/srv/next");
            redact(&kept.kit, seq);
            redact(&kept.kit, other);
            kept.drain();
            kept.must_be_right();
            assert_eq!((held(), kept.archiver.verify().unwrap().outdated), (0, 0));
            assert!(!kept.holds(SECRET));
        }
        // One that was archived with its words counts, whatever comes after it.
        let late = leak(&kept.kit);
        kept.drain();
        redact(&kept.kit, late);
        assert_eq!(held(), 1);
        for _ in 0..3 {
            kept.kit.call(Actor::OPERATOR, "ensure_project", &json!({ "key": format!("/srv/{}", held()) })).unwrap();
            kept.drain();
            assert_eq!(held(), 1);
        }
        assert!(kept.holds(SECRET) && kept.archiver.verify().unwrap().outdated > 0);
        kept.must_be_right();
    }

    // I8: an archive that came back with its database, or from elsewhere, is not taken for clean
    fn nothing_is_known_of_an_archive_that_was_there_before(engine) {
        let mut kept = Kept::new(engine);
        kept.kit.project("/srv/web");
        let seq = leak(&kept.kit);
        kept.drain();
        redact(&kept.kit, seq);
        kept.drain();
        kept.kit.shell("delete from archive_commit; delete from archive").unwrap();
        kept.restart();
        kept.drain();
        kept.kit.project("/srv/next");
        kept.drain();
        assert_eq!(kept.archiver.status().unwrap().redacted_since_rebuild, 1);
        kept.must_be_right();
    }

    // I8: bytes that an event still names stay, also if that event is in the archive alone
    fn a_redaction_takes_no_bytes_that_another_event_names(engine) {
        let kept = Kept::new(engine);
        let kit = &kept.kit;
        kit.project("/srv/web");
        // Once each in a version that is replaced, so that only its event names it.
        for length in [9_000, 9_001, 9_002] {
            save(kit, "k", &large(length));
        }
        save(kit, "k", &json!(1));
        let file = attach(kit, 9_003);
        kit.project("/srv/next");
        kept.drain();
        let end = kit.kernel().head().borrow().get();
        kit.call(Actor::OPERATOR, "prune", &json!({ "before": end })).unwrap();
        assert!(file < end);
        // By the same bytes in another place, by the bytes of a pruned message, and by nothing else.
        let again = save(kit, "again", &large(9_001));
        let sent = attach(kit, 9_002);
        let as_sent = save(kit, "as sent", &large(9_003));
        let alone = save(kit, "alone", &large(9_004));
        assert_eq!(lengths(kit), [9_000, 9_001, 9_002, 9_003, 9_004]);
        for seq in [again, sent, as_sent, alone] {
            redact(kit, seq);
        }
        assert_eq!(lengths(kit), [9_000, 9_001, 9_002, 9_003]);
        assert!(kit.doctor().ok);
        // Twice, and the last of them takes the bytes.
        let both = [save(kit, "one", &large(9_005)), attach(kit, 9_005)];
        redact(kit, both[0]);
        assert_eq!(lengths(kit).len(), 5);
        redact(kit, both[1]);
        assert_eq!(lengths(kit).len(), 4);
        kept.drain();
        kept.archiver.rebuild().unwrap();
        assert!(kept.archiver.verify().unwrap().ok);
        assert_eq!(lengths(&restored_kit(&kept, engine)), lengths(kit));
    }

    // I8: what came back from an archive is redacted like everything else
    fn what_was_restored_can_be_redacted(engine) {
        let kept = Kept::new(engine);
        kept.kit.project("/srv/web");
        let state = save(&kept.kit, "k", &large(9_000));
        let file = attach(&kept.kit, 9_001);
        kept.drain();
        let fresh = restored_kit(&kept, engine);
        assert_eq!(lengths(&fresh), [9_000, 9_001]);
        redact(&fresh, state);
        assert_eq!(lengths(&fresh), [9_001]);
        redact(&fresh, file);
        assert_eq!(lengths(&fresh), Vec::<usize>::new());
    }

    // I8: a restore that was broken off, and goes on with what was redacted meanwhile
    fn what_is_filled_in_twice_follows_the_redaction(engine) {
        let kept = Kept::new(engine);
        kept.kit.project("/srv/web");
        let state = save(&kept.kit, "k", &large(9_000));
        kept.drain();
        let mut fresh = restored_kit(&kept, engine);
        redact(&kept.kit, state);
        kept.drain();
        fresh.stop();
        restore(&kept.repository, fresh.options(), |_, _| {}).unwrap();
        fresh.restart();
        assert_eq!(lengths(&fresh), Vec::<usize>::new());
    }

    // D4: what the database lost is taken over from the old archive, but nothing that was redacted
    fn a_new_archive_keeps_the_bytes_that_only_the_old_one_has(engine) {
        let kept = Kept::new(engine);
        kept.kit.project("/srv/web");
        save(&kept.kit, "k", &large(9_000));
        attach(&kept.kit, 9_001);
        let secrets = [save(&kept.kit, "s", &json!(SECRET.repeat(5_000))), leak(&kept.kit)];
        kept.drain();
        for seq in secrets {
            redact(&kept.kit, seq);
        }
        kept.kit.shell("delete from blob_owner; delete from blob").unwrap();
        kept.drain();
        kept.archiver.rebuild().unwrap();
        kept.must_be_right();
        assert!(!kept.holds(SECRET));
        assert_eq!(lengths(&restored_kit(&kept, engine)), [9_000, 9_001]);
    }

    // I8: a redaction excuses what was redacted, and nothing else
    fn a_redaction_excuses_no_other_line(engine) {
        let kept = Kept::new(engine);
        kept.kit.project("/srv/web");
        let (first, second) = (leak(&kept.kit), leak(&kept.kit));
        kept.drain();
        redact(&kept.kit, first);
        kept.drain();
        kept.must_be_right();
        let mut kept = kept;
        kept.kit.expect_damage();
        kept.kit.fill(&format!("update event set payload = (select payload from event where seq = {first}) where seq = {second};\n")).unwrap();
        let verified = kept.archiver.verify().unwrap();
        assert!(!verified.ok, "{verified:#?}");
    }
}

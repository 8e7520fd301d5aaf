//! What was redacted and the archive: what it still holds, and how it gets rid of it (I8).

use comity_archive::store::restore;
use comity_kernel::Actor;
use comity_kernel::archive::Archivist as _;
use comity_testkit::{Engine, Kit, both_engines, golden};
use serde_json::json;

use super::Kept;

const SECRET: &str = "hush4711";

/// Sends a message with a secret and a secret attachment, and returns the event's number.
fn leak(kit: &Kit) -> i64 {
    // The bytes are the secret: `hush4711` in base64.
    let file = json!({ "content": "aHVzaDQ3MTE=" });
    let file = kit.call(Actor::OPERATOR, "put_attachment", &file).unwrap();
    let sent = kit.call(Actor::OPERATOR, "send_message", &json!({
        "project": "web", "to": ["operator"], "subject": format!("The {SECRET} key"), "body": SECRET,
        "attachments": [{ "sha256": file["attachment"]["sha256"], "name": SECRET }],
    }));
    sent.unwrap()["seq"].as_i64().unwrap()
}

fn redact(kit: &Kit, seq: i64) {
    let request = json!({ "seq": seq, "reason": "a leak" });
    kit.call(Actor::OPERATOR, "redact", &request).unwrap();
}

/// Restores into a fresh database, and returns its state hash.
fn restored(kept: &Kept, engine: Engine) -> String {
    let mut fresh = Kit::new(engine);
    fresh.stop();
    restore(&kept.repository, fresh.options(), |_, _| {}).unwrap();
    fresh.restart();
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
        kept.drain();
        kept.must_be_right();
        // The scenario redacted something before it was archived: nobody remembers which came first.
        assert_eq!(kept.archiver.status().unwrap().redacted_since_rebuild, 1);
        for seq in [seq, run] {
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
        let objects = kept.git_bytes(&["cat-file", "--batch-all-objects", "--batch"]);
        let holds = |words: &str| objects.windows(words.len()).any(|window| window == words.as_bytes());
        assert!(holds("[redacted]") && !holds(SECRET));
        assert_eq!(restored(&kept, engine), findings.state_hash, "from the new archive");
        // It goes on, and what is redacted next is counted anew.
        let next = leak(&kept.kit);
        kept.drain();
        redact(&kept.kit, next);
        kept.drain();
        kept.must_be_right();
        assert_eq!(kept.archiver.status().unwrap().redacted_since_rebuild, 1);
    }

    // What is redacted before it is archived never comes there
    fn an_archive_that_lags_takes_what_is_left(engine) {
        let kept = Kept::new(engine);
        kept.kit.project("/srv/web");
        let seq = leak(&kept.kit);
        redact(&kept.kit, seq);
        kept.drain();
        kept.must_be_right();
        assert_eq!(kept.archiver.verify().unwrap().outdated, 0);
        let objects = kept.git_bytes(&["cat-file", "--batch-all-objects", "--batch"]);
        assert!(!objects.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
    }

    // A redaction excuses what was redacted, and nothing else
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

//! A database that is older than its archive, and the epoch it goes on in.

use comity_archive::store::{ArchiveError, End};
use comity_domain::limits::EPOCH_GAP;
use comity_kernel::epoch::begin_epoch;
use comity_kernel::log::Recorded;
use comity_testkit::SeededEntropy;

use super::*;

/// Makes one of everything that has a number, and returns the numbers by kind.
fn one_of_everything(kit: &Kit, name: &str) -> Vec<(&'static str, i64)> {
    let call = |operation: &str, request: &serde_json::Value| {
        kit.call(Actor::OPERATOR, operation, request).unwrap()
    };
    let number = |answer: &serde_json::Value, path: &str| {
        let found = answer.pointer(path).and_then(serde_json::Value::as_i64);
        found.unwrap_or_else(|| panic!("{path}: {answer}"))
    };
    let project = call("ensure_project", &json!({ "key": format!("/srv/{name}") }));
    let token = call("create_token", &json!({ "role": "observer" }));
    let (agent, caller) = kit.agent(name, "Blue");
    let letter = json!({ "project": name, "to": ["operator"], "subject": "Word", "body": "hello" });
    let message = call("send_message", &letter);
    let lock = kit
        .call(
            caller.clone(),
            "acquire_lock",
            &json!({ "project": name, "name": "db" }),
        )
        .unwrap();
    // So many that their numbers are larger than the event's.
    let paths: Vec<_> = (0..40).map(|n| format!("src/{n}")).collect();
    let lease = kit
        .call(
            caller,
            "reserve_files",
            &json!({ "project": name, "paths": paths }),
        )
        .unwrap();
    vec![
        ("project", number(&project, "/project/id")),
        ("token", number(&token, "/token/id")),
        ("agent", agent.id.get()),
        ("message", number(&message, "/message/id")),
        ("lock", number(&lock, "/lock/id")),
        ("lease", number(&lease, "/reservations/39/id")),
        ("fence", number(&lease, "/reservations/0/fence")),
        ("seq", number(&lease, "/seq")),
    ]
}

/// A database as it was after the first events of another, in the epoch of that.
fn put_back(engine: Engine, log: &[Recorded], epoch: &str, seed: u64) -> Kit {
    let mut kit = Kit::from_log(engine, log);
    kit.stop();
    kit.shell(&format!("update log_head set epoch = '{epoch}'"))
        .unwrap();
    // Otherwise two new epochs would have one name.
    kit.reopen(|options| options.ambient.entropy = Arc::new(SeededEntropy::new(seed)))
        .unwrap();
    kit
}

/// Begins a new epoch in a database that lost its end, as `comity serve --new-epoch` does.
fn begin(kit: &mut Kit) -> i64 {
    let repository = kit.directory().join("archive.git");
    let end = End::of(&repository, kit.kernel()).unwrap();
    let refused = end.must_not_be_lost().unwrap_err();
    assert_eq!(
        (refused.code().word, refused.code().exit),
        ("behind_archive", 7)
    );
    begin_after(kit, end)
}

fn begin_after(kit: &mut Kit, end: End) -> i64 {
    let repository = kit.directory().join("archive.git");
    let (End::Lost(behind) | End::Replaced(behind)) = end else {
        panic!("{end:?}")
    };
    kit.stop();
    let lost = behind.read(&repository).unwrap();
    let first = begin_epoch(kit.options(), &lost).unwrap();
    kit.restart();
    assert_eq!(End::of(&repository, kit.kernel()).unwrap(), End::Whole);
    first.get()
}

fn count(kit: &Kit) -> i64 {
    kit.shell("select count(*) from event")
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// Everything about a database in a new epoch and its archive is right.
fn must_be_right(kept: &Kept) {
    kept.drain();
    let verified = kept.archiver.verify().unwrap();
    assert!(verified.ok, "{verified:#?}");
    assert_eq!(verified.events, count(&kept.kit));
    let status = kept.archiver.status().unwrap();
    assert_eq!((status.state, status.lag), (ArchiveState::Following, 0));
    let findings = kept.kit.doctor();
    assert!(findings.ok, "{findings:#?}");
}

/// A database that lost its end, beside the archive that has it; and what it lost.
fn lost(engine: Engine) -> (Kit, Vec<(&'static str, i64)>) {
    let full = Kept::around(Kit::new(engine), 3);
    one_of_everything(&full.kit, "web");
    let kept = golden_log(&full);
    let gone = one_of_everything(&full.kit, "api");
    full.drain();
    let back = put_back(engine, &kept, full.kit.kernel().epoch(), 2);
    std::fs::rename(&full.repository, back.directory().join("archive.git")).unwrap();
    (back, gone)
}

both_engines! {
    // A14 F14 D11 D12: nothing that was ever answered is given out again, and all of it holds together
    fn a_new_epoch_goes_on_above_everything_that_was_lost(engine) {
        let (mut kit, gone) = lost(engine);
        let epoch = kit.kernel().epoch().to_owned();
        let events = count(&kit);
        let first = begin(&mut kit);
        assert_ne!(kit.kernel().epoch(), epoch);
        let largest = gone.iter().map(|(_, number)| *number).max().unwrap();
        assert!(first >= largest + EPOCH_GAP, "{first} {gone:?}");
        assert_eq!(count(&kit), events + 1, "nothing but the epoch's beginning was added");
        for ((kind, before), (_, after)) in gone.iter().zip(one_of_everything(&kit, "api")) {
            assert!(after > first && first > *before, "{kind}: {before} {first} {after}");
        }
        let kept = Kept::around(kit, 3);
        let behind = kept.archiver.status().unwrap().lag;
        assert!(behind <= count(&kept.kit), "{behind}");
        must_be_right(&kept);
        // The old archive is kept, whole.
        let old = kept.kit.directory().join(format!("archive-{epoch}.git"));
        let through = Command::new("git").arg("--git-dir").arg(&old).args(["log", "-1", "--format=%B"]).output().unwrap();
        let seq = gone.last().unwrap().1;
        let through = String::from_utf8(through.stdout).unwrap();
        assert!(through.contains(&format!("Comity-Through: {seq}\n")), "{through}");
        let head = kept.git(&["rev-parse", "main"]);
        kept.archiver.rebuild().unwrap();
        assert_eq!(kept.git(&["rev-parse", "main"]), head, "the same commits");
        // A database comes out of the new one, and goes on above.
        let mut fresh = Kit::new(engine);
        fresh.stop();
        restore(&kept.repository, fresh.options(), |_, _| {}).unwrap();
        fresh.restart();
        assert_eq!(fresh.doctor().state_hash, kept.kit.doctor().state_hash);
        assert_eq!(fresh.kernel().epoch(), kept.kit.kernel().epoch());
        let after = one_of_everything(&fresh, "more");
        assert!(after.iter().all(|(_, number)| *number > first), "{after:?}");
    }

    // A14: a copy that is older than the epoch it is put back into
    fn an_archive_of_a_later_epoch_is_seen_to_go_further(engine) {
        let (mut kit, _) = lost(engine);
        let (epoch, log) = (kit.kernel().epoch().to_owned(), events_of(&kit));
        let first = begin(&mut kit);
        one_of_everything(&kit, "api");
        let kept = Kept::around(kit, 500);
        kept.drain();
        let mut again = put_back(engine, &log, &epoch, 3);
        std::fs::rename(&kept.repository, again.directory().join("archive.git")).unwrap();
        let second = begin(&mut again);
        assert!(second > first + EPOCH_GAP, "{first} {second}");
        must_be_right(&Kept::around(again, 500));
    }

    // A14: it is too late to keep numbers apart, but not to keep both ends
    fn a_database_that_grew_another_end_can_begin_an_epoch(engine) {
        let (mut kit, gone) = lost(engine);
        one_of_everything(&kit, "other");
        one_of_everything(&kit, "ends");
        let end = End::of(&kit.directory().join("archive.git"), kit.kernel()).unwrap();
        assert!(matches!(end, End::Replaced(_)), "{end:?}");
        assert!(end.must_not_be_lost().is_err());
        let first = begin_after(&mut kit, end);
        assert!(gone.iter().all(|(_, number)| *number < first), "{first} {gone:?}");
        must_be_right(&Kept::around(kit, 500));
    }

    // L11: who serves the database in its old epoch stops
    fn a_kernel_of_the_old_epoch_stops_writing(engine) {
        let (mut kit, _) = lost(engine);
        let old = Kernel::open(kit.options().clone()).unwrap();
        begin(&mut kit);
        let ensure = comity_testkit::kit::request::<comity_kernel::project::EnsureProject>(&json!({ "key": "/srv/x" }));
        let refused = old.execute(Actor::OPERATOR.into(), ensure).wait().unwrap_err();
        assert!(refused.to_string().contains("replaced"), "{refused}");
    }

    // I1: only the first event of an epoch comes after a gap
    fn no_other_event_may_leave_numbers_out(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        kit.stop();
        let insert = |seq: &str, kind: &str| format!(
            "insert into event select {seq}, at, v, '{kind}', project, actor, subject_type, subject_id, run,
                correlation, payload_sha256, payload, hash from event where seq = 1"
        );
        for (seq, kind) in [("9", "project_created"), ("1", "epoch_begun"), ("0", "epoch_begun"), ("-1", "epoch_begun")] {
            assert!(kit.shell(&insert(seq, kind)).is_err(), "{seq} {kind}");
        }
        assert_eq!(count(&kit), 1);
    }
}

// A14, PostgreSQL's case: another server's archive goes further than the new epoch reaches
#[test]
fn an_archive_of_an_epoch_that_was_left_may_still_go_too_far() {
    let (mut kit, _) = lost(Engine::Sqlite);
    let first = begin(&mut kit);
    let kept = Kept::around(kit, 500);
    let text = kept.git(&["log", "-1", "--format=%B"]);
    let epoch = text.lines().find(|line| line.starts_with("Comity-Epoch"));
    let message = format!(
        "Far\n\n{}\nComity-Hash: 00\nComity-Through: {first}\n",
        epoch.unwrap()
    );
    let made = Command::new("git")
        .args(["-c", "user.name=x", "-c", "user.email=x@x", "--git-dir"])
        .arg(&kept.repository)
        .args(["commit-tree", "main^{tree}", "-p", "main", "-m", &message])
        .output()
        .unwrap();
    let made = String::from_utf8(made.stdout).unwrap();
    kept.git(&["update-ref", "refs/heads/main", made.trim()]);
    let end = End::of(&kept.repository, kept.kit.kernel()).unwrap();
    assert!(end.must_not_be_lost().is_err(), "{end:?}");
    assert!(matches!(
        kept.archiver.step(),
        Err(ArchiveError::Ahead { .. })
    ));
    assert_eq!(kept.git(&["rev-parse", "main"]), made);
}

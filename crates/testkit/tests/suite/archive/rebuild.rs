//! An archive that is made anew: at every moment there is one, and none is called clean that is not.

use comity_kernel::Actor;
use comity_kernel::archive::Archivist as _;
use comity_kernel::failpoint::Action;
use comity_kernel::store::StoreError;
use comity_testkit::{Engine, both_engines};
use serde_json::json;

use super::Kept;
use super::redactions::{SECRET, leak, redact};

/// A workspace whose archive has a secret, and the secret's event.
fn leaked(engine: Engine) -> (Kept, i64) {
    let kept = Kept::new(engine);
    kept.kit.project("/srv/web");
    kept.drain();
    let seq = leak(&kept.kit);
    kept.drain();
    (kept, seq)
}

/// The same with a log whose beginning is in the archive alone.
fn leaked_and_pruned(engine: Engine) -> (Kept, i64) {
    let kept = Kept::new(engine);
    for key in ["/srv/web", "/srv/api"] {
        kept.kit.project(key);
    }
    kept.drain();
    let pruned = kept
        .kit
        .call(Actor::OPERATOR, "prune", &json!({ "before": 2 }));
    assert_eq!(pruned.unwrap()["pruned_to"], 1);
    let seq = leak(&kept.kit);
    kept.drain();
    (kept, seq)
}

/// Does something, and redacts an event when it has come to a point.
fn redact_at<T: Send>(kept: &Kept, point: &str, seq: i64, work: impl FnOnce() -> T + Send) -> T {
    let gate = kept.kit.failpoints.pause(point);
    let done = std::thread::scope(|scope| {
        let working = scope.spawn(work);
        gate.wait_until_hit();
        redact(&kept.kit, seq);
        gate.open();
        working.join().unwrap()
    });
    kept.kit.failpoints.clear(point);
    done
}

/// How many redacted events the archive may hold the words of.
fn counted(kept: &Kept) -> i64 {
    kept.archiver.status().unwrap().redacted_since_rebuild
}

fn outdated(kept: &Kept) -> i64 {
    kept.archiver.verify().unwrap().outdated
}

/// It still has the words, says so, and can be rid of them.
fn must_be_counted(kept: &Kept) {
    assert!(kept.holds(SECRET));
    assert_eq!(counted(kept), 1);
    assert!(outdated(kept) > 0);
    kept.must_be_right();
    must_come_clean(kept);
}

/// Makes it anew once more, and finds no trace.
fn must_come_clean(kept: &Kept) {
    kept.archiver.rebuild().unwrap();
    assert_eq!((counted(kept), outdated(kept)), (0, 0));
    assert!(kept.holds("[redacted]") && !kept.holds(SECRET));
    kept.must_be_right();
}

both_engines! {
    // D12 I8: wherever it ends, the old archive or the new one is in place, and the old one still counts
    fn an_end_at_any_step_of_a_rebuild_leaves_one_that_says_what_it_holds(engine) {
        for (step, is_new) in [
            ("archive.after_ref", false),
            ("rebuild.complete", false),
            ("rebuild.between", true),
            ("rebuild.in_place", true),
        ] {
            let (mut kept, seq) = leaked(engine);
            redact(&kept.kit, seq);
            kept.drain();
            let end = StoreError::Shape("what a test wants");
            kept.kit.failpoints.set(step, Action::Fail(end));
            kept.archiver.rebuild().unwrap_err();
            kept.kit.failpoints.clear(step);
            assert!(kept.repository.exists(), "{step}: there is no archive");
            kept.restart();
            assert_eq!(kept.holds(SECRET), !is_new, "{step}");
            assert_eq!(counted(&kept), 1, "{step}: called clean too early");
            kept.must_be_right();
            must_come_clean(&kept);
            // It goes on from there.
            kept.kit.call(Actor::OPERATOR, "ensure_project", &json!({ "key": "/srv/next" })).unwrap();
            kept.drain();
            kept.must_be_right();
        }
    }

    // I8: what was written before it was redacted still counts
    fn what_is_redacted_during_a_rebuild_counts(engine) {
        let (kept, seq) = leaked(engine);
        redact_at(&kept, "rebuild.complete", seq, || kept.archiver.rebuild().unwrap());
        kept.drain();
        must_be_counted(&kept);
    }

    // I8: the copy of a log follows a redaction that comes while it is made
    fn what_is_redacted_while_the_whole_log_is_copied_is_left_out(engine) {
        let (kept, seq) = leaked_and_pruned(engine);
        redact_at(&kept, "whole.page", seq, || kept.archiver.rebuild().unwrap());
        assert!(!kept.holds(SECRET));
        kept.drain();
        assert!(kept.holds("[redacted]") && !kept.holds(SECRET));
        assert_eq!((counted(&kept), outdated(&kept)), (0, 0));
        kept.must_be_right();
    }

    // I8: and one that comes when it has been made is found later
    fn what_is_redacted_behind_the_copy_counts(engine) {
        let (kept, seq) = leaked_and_pruned(engine);
        redact_at(&kept, "whole.filled", seq, || kept.archiver.rebuild().unwrap());
        kept.drain();
        must_be_counted(&kept);
    }

    // I8: an archive is right, whenever something is redacted while it is compared
    fn what_is_redacted_while_it_is_verified_is_no_difference(engine) {
        for point in ["whole.page", "whole.filled"] {
            let (kept, seq) = leaked_and_pruned(engine);
            let verified = redact_at(&kept, point, seq, || kept.archiver.verify().unwrap());
            assert!(verified.ok, "{point}: {verified:#?}");
            kept.drain();
            kept.must_be_right();
            assert!(outdated(&kept) > 0);
            assert!(!kept.repository.with_extension("whole").exists());
            must_come_clean(&kept);
        }
    }
}

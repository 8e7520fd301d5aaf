//! The files of discoveries: what was found, what it is worth, and what became of it.

use comity_archive::store::restore;
use comity_kernel::Actor;
use comity_kernel::archive::Archivist as _;
use comity_testkit::{Kit, both_engines};
use serde_json::{Value, json};

use super::Kept;

fn call(kept: &Kept, operation: &str, request: &Value) -> Value {
    kept.kit
        .call(Actor::OPERATOR, operation, request)
        .unwrap_or_else(|error| panic!("{operation}: {error}"))
}

fn file(kept: &Kept, id: i64) -> Value {
    let path = format!("main:projects/web/discoveries/0/{id}.json");
    serde_json::from_str(&kept.git(&["show", &path])).unwrap()
}

/// Three discoveries: one that is scored, gets old and is promoted, one put aside, one new.
fn some(kept: &Kept, words: &str) {
    kept.kit.project("/srv/web");
    for source_id in ["a", "b", "c"] {
        let found = json!({
            "project": "web", "source": "feed", "source_id": source_id, "title": "t",
            "summary": words,
        });
        call(kept, "submit_discovery", &found);
    }
    kept.drain();
    call(kept, "score_discovery", &json!({ "id": 1, "score": 0.8 }));
    kept.drain();
    kept.kit.clock.advance_us(3_600_000_000);
    let decay = json!({ "project": "web", "rate": 0.5, "min_age": "1m", "period": "1s" });
    call(kept, "decay", &decay);
    let promote = json!({ "id": 1, "ref": words, "threshold": 0.4 });
    call(kept, "promote_discovery", &promote);
    call(
        kept,
        "dismiss_discovery",
        &json!({ "id": 2, "reason": words }),
    );
    kept.drain();
}

both_engines! {
    // D5 D11 D12
    fn a_discovery_is_a_file_that_is_made_anew_and_comes_back(engine) {
        let kept = Kept::new(engine);
        some(&kept, "it's \"new\"");
        kept.must_be_right();
        let promoted = file(&kept, 1);
        let facts = [&promoted["state"], &promoted["score"], &promoted["tier"], &promoted["ref"], &promoted["submitted_by"]];
        assert_eq!(facts, [&json!("promoted"), &json!(0.4), &json!("low"), &json!("it's \"new\""), &json!("operator")]);
        let dismissed = file(&kept, 2);
        assert_eq!((&dismissed["state"], &dismissed["reason"], &dismissed["score"]), (&json!("dismissed"), &json!("it's \"new\""), &Value::Null));
        assert_eq!(file(&kept, 3)["state"], "new");
        let path = "projects/web/discoveries/0/1.json";
        assert_eq!(kept.commits_of(path), 3, "submitted, scored, promoted; age alone writes nothing");
        let before = kept.git(&["rev-parse", "main"]);
        kept.archiver.rebuild().unwrap();
        assert_eq!(kept.git(&["rev-parse", "main"]), before, "the same commits, files and all");
        let mut fresh = Kit::new(engine);
        fresh.stop();
        restore(&kept.repository, fresh.options(), |_, _| {}).unwrap();
        fresh.restart();
        assert_eq!(fresh.doctor().state_hash, kept.kit.doctor().state_hash);
    }
}

//! Discoveries on the log: one number for everything, no run, and the way back of an upgrade.

use std::sync::Arc;

use comity_domain::Seq;
use comity_kernel::event::{OpenWatch, ReadSlice, Wanted};
use comity_kernel::store::MIGRATIONS;
use comity_testkit::{Kit, both_engines};

use super::*;

/// What Blue is told of the log after a place.
fn told(lab: &Lab, wanted: Wanted, since: Seq) -> Vec<(Seq, String)> {
    let blue = || lab.team.blue.clone();
    let watch = lab.team.kit.ask_as(
        blue(),
        OpenWatch {
            wanted,
            ..OpenWatch::default()
        },
    );
    let watch = Arc::new(watch.unwrap().answer);
    let slice = lab.team.kit.ask_as(blue(), ReadSlice { watch, since });
    let told = slice.unwrap().answer.told;
    let one = |one: &comity_kernel::event::Told| (one.seq, one.kind.to_string());
    told.iter().map(one).collect()
}

both_engines! {
    // I4 F-M1: a discovery has the number of a run, and is no part of it
    fn a_discovery_belongs_to_no_run(engine) {
        let lab = Lab::new(engine);
        let run = lab.operate("create_run", &json!({ "project": "web", "goal": "g" }))["run"]["id"].clone();
        let id = lab.scored("a", 0.9);
        assert_eq!(json!(id), run);
        lab.done("feedback", &json!({ "id": id, "signal": "useful" }));
        lab.done("promote_discovery", &json!({ "id": id, "ref": format!("run {run}") }));
        lab.done("update_interest_profile", &json!({ "keyword_weights": { "k": 1 } }));
        let timeline = lab.operate("run_timeline", &json!({ "run": run }));
        let kinds: Vec<_> = timeline["items"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
        assert_eq!(kinds, [&json!("run_created")]);
        let status = lab.operate("run_status", &json!({ "run": run }));
        assert_eq!(status["run"]["revision"], 1);
        let sql = "select count(*) from event where subject_type in ('discovery', 'interest_profile') and run is not null";
        assert_eq!(lab.shell(sql), "0");
        let wanted = Wanted { run: Some(comity_domain::RunId::new(id)), ..Wanted::default() };
        let told = told(&lab, wanted, Seq::ZERO);
        assert_eq!(told.iter().map(|(_, kind)| kind.as_str()).collect::<Vec<_>>(), ["run_created"]);
        let sql = "select count(*) from event where run = 1 and subject_type <> 'run'";
        assert_eq!(lab.shell(sql), "0");
    }

    // I3 F-M2: one number is the place in everything; there is no watermark that could be dropped
    fn one_number_is_the_place_in_all_that_happened(engine) {
        let lab = Lab::new(engine);
        let before = Seq::new(lab.head());
        lab.scored("a", 0.9);
        lab.operate("create_run", &json!({ "project": "web", "goal": "g" }));
        lab.done("score_discovery", &json!({ "id": 1, "score": 0.8 }));
        lab.done("reserve_files", &json!({ "paths": ["a"] }));
        lab.done("dismiss_discovery", &json!({ "id": 1 }));
        let expected = ["discovery_submitted", "run_created", "discovery_scored", "files_reserved", "discovery_dismissed"];
        let told = |since: Seq| told(&lab, Wanted::default(), since);
        let whole = told(before);
        assert_eq!(whole.iter().map(|(_, kind)| kind.as_str()).collect::<Vec<_>>(), expected);
        // Wherever somebody stopped, the rest follows.
        for (nth, (seq, _)) in whole.iter().enumerate() {
            assert_eq!(told(*seq), whole[nth + 1..]);
        }
    }

    // C1: an event and its row are there together or not at all
    fn an_event_and_its_row_are_one(engine) {
        use comity_kernel::failpoint::Action;
        use comity_kernel::store::StoreError;
        let lab = Lab::new(engine);
        let before = lab.head();
        let fault = StoreError::Timeout(Arc::new(std::io::Error::other("a test")));
        lab.team.kit.failpoints.set("command.after_emit", Action::Fail(fault));
        let answer = lab.call(&lab.team.blue, "submit_discovery", &near("a", &[1.0], 0.5));
        assert!(answer.is_err());
        lab.team.kit.failpoints.clear("command.after_emit");
        assert_eq!(lab.head(), before);
        let rows = "select (select count(*) from discovery) + (select count(*) from discovery_vector)
            + (select count(*) from event where subject_type = 'discovery')";
        assert_eq!(lab.shell(rows), "0");
    }
}

// K1 F-M6: the step that brings discoveries has no way back but the verified copy before it
#[test]
fn the_step_to_discoveries_is_preceded_by_a_copy() {
    let before = &MIGRATIONS[..9];
    let mut kit = Kit::with(Engine::Sqlite, |options| options.migrations = before);
    kit.reopen(|options| options.migrations = MIGRATIONS)
        .unwrap();
    let copy = format!("before-schema-{}.db", MIGRATIONS.len());
    assert!(kit.directory().join(copy).exists());
    kit.project("/srv/web");
    let found = json!({ "project": "web", "source": "s", "source_id": "1", "title": "t" });
    kit.call(Actor::OPERATOR, "submit_discovery", &found)
        .unwrap();
    let old = kit.reopen(|options| options.migrations = before);
    assert!(matches!(old, Err(Error::DatabaseNewer { .. })), "{old:?}");
    kit.reopen(|options| options.migrations = MIGRATIONS)
        .unwrap();
}

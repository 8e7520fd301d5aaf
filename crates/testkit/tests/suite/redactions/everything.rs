//! Every event that holds words, in every order.

use std::collections::BTreeSet;

use comity_kernel::Actor;
use comity_kernel::log::{Event, Recorded};
use comity_kernel::transfer::replay_log;
use comity_testkit::kit::{drop_schema, options_for};
use comity_testkit::{Engine, Kit, both_engines, golden};
use serde_json::json;

use super::{AllText, SECRET, holding, log_of, redact};
use crate::redactions::kept::{Said, secrets};

fn read(recorded: &Recorded) -> Event {
    let payload = recorded.payload.as_deref().unwrap();
    let event = Event::read(&recorded.kind, recorded.v, payload);
    event.unwrap().unwrap()
}

/// Tells whether there is something to take out.
fn holds_words(recorded: &Recorded) -> bool {
    let event = read(recorded);
    let redacted = event.inner().redacted();
    redacted.is_some_and(|redacted| redacted.remnant != event)
}

/// Shuffles, the same way for the same seed.
fn shuffle<T>(items: &mut [T], mut seed: u64) {
    for end in (1..items.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let at = usize::try_from(seed >> 33).unwrap() % (end + 1);
        items.swap(end, at);
    }
}

/// The vectors that came later, of discoveries that are redacted at these places.
fn vectors_of(log: &[Recorded], places: &[i64]) -> Vec<i64> {
    let at_places = log.iter().filter(|event| places.contains(&event.seq.get()));
    let submitted: Vec<_> = at_places
        .filter_map(|event| match read(event) {
            Event::DiscoverySubmitted(submitted) => Some(submitted.id),
            _ => None,
        })
        .collect();
    let came_late = |event: &&Recorded| match read(event) {
        Event::DiscoveryEmbedded(late) => submitted.contains(&late.which.id),
        _ => false,
    };
    let late = log.iter().filter(came_late);
    late.map(|event| event.seq.get()).collect()
}

both_engines! {
    // I8: redacted at random places, in any order, the log folds to the same as the original log and
    // the redactions; the chain holds; and so it moves
    fn a_redacted_log_folds_to_what_the_original_does(engine) {
        let other = match engine {
            Engine::Sqlite => Engine::Postgres,
            Engine::Postgres => Engine::Sqlite,
        };
        for (seed, part) in [(1, 3), (2, 1)] {
            let mut kit = Kit::new(engine);
            golden::scenario(&kit);
            secrets(&kit);
            let mut places: Vec<i64> = log_of(&kit).iter()
                .filter(|event| !event.is_redacted() && event.kind != "event_redacted" && holds_words(event))
                .map(|event| event.seq.get()).collect();
            shuffle(&mut places, seed);
            places.truncate(places.len() / part);
            assert!(places.len() > 20, "{}", places.len());
            let hooks = kit.call(Actor::OPERATOR, "list_hooks", &json!({})).unwrap();
            for hook in hooks["items"].as_array().unwrap() {
                kit.call(Actor::OPERATOR, "remove_hook", &json!({ "id": hook["id"] })).unwrap();
            }
            let mut originals = log_of(&kit);
            for seq in &places {
                kit.run(redact(*seq)).unwrap();
            }
            let findings = kit.doctor();
            assert!(findings.ok, "{findings:#?}");
            let now = log_of(&kit);
            let with_discoveries = vectors_of(&originals, &places);
            let redacted: BTreeSet<_> = now.iter().filter(|event| event.is_redacted()).map(|event| event.seq.get()).collect();
            let mut expected: BTreeSet<_> = originals.iter().filter(|event| event.is_redacted()).map(|event| event.seq.get()).collect();
            assert_eq!(expected.len(), 1);
            expected.extend(places.iter().chain(&with_discoveries));
            assert_eq!(redacted, expected);
            // The log as a copy from before has it, then the redactions.
            let begun = originals.len();
            originals.extend_from_slice(&now[begun..]);
            let folded = Kit::from_log(engine, &originals);
            assert_eq!(folded.doctor().state_hash, findings.state_hash);
            let there = log_of(&folded);
            assert!(there.iter().zip(&now).all(|(one, two)| one.payload == two.payload));
            kit.stop();
            let directory = tempfile::tempdir().unwrap();
            let (target, schema) = options_for(other, directory.path());
            let moved = replay_log(kit.options(), &target, |_, _| {}).unwrap();
            assert_eq!(moved.state_hash, findings.state_hash);
            if let Some(schema) = schema {
                drop_schema(&schema);
            }
        }
    }

    // I8: whatever operation took the words, they are nowhere once every event that has them is redacted
    fn nothing_is_left_of_any_words(engine) {
        let kit = Kit::new(engine);
        let said = secrets(&kit);
        let held = holding(&kit);
        let mut kinds: Vec<_> = held.iter().map(|event| event.kind.clone()).collect();
        kinds.sort();
        kinds.dedup();
        // A vector is no text, and goes with what it was made of; why a dispatch came back is said by
        // the program.
        let others = ["discovery_embedded", "dispatch_returned"];
        let late: Vec<_> = log_of(&kit).into_iter().filter(|event| event.kind == "discovery_embedded").collect();
        assert_eq!(late.len(), 2);
        let with_text = TAKES_WORDS.iter().filter(|kind| !others.contains(kind));
        for kind in with_text.chain(&["custom.said"]) {
            assert!(kinds.iter().any(|found| found == kind), "no {kind} with words among {kinds:?}");
        }
        for event in &held {
            kit.call(Actor::OPERATOR, "redact", &json!({ "seq": event.seq, "reason": "a leak" }))
                .unwrap_or_else(|error| panic!("{}: {error}", event.kind));
        }
        let text = kit.ask(AllText).unwrap().answer;
        let left = text.lines().find(|line| line.contains(SECRET));
        assert_eq!(left, None);
        assert_eq!(kit.shell("select count(*) from discovery_vector").unwrap(), "0");
        let log = log_of(&kit);
        let is_left = |late: &Recorded| log.iter().any(|event| event.seq == late.seq && !event.is_redacted());
        assert!(!late.iter().any(is_left));
        // C2: every first answer is given again, without the words
        let head = kit.kernel().head().borrow().get();
        for Said { caller, name, request } in said {
            let again = kit.call(caller, &name, &request).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!again.to_string().contains(SECRET), "{name}: {again}");
        }
        assert_eq!(kit.kernel().head().borrow().get(), head);
        let stream = json!({ "project": "web", "stream": "notes" });
        let said = kit.call(Actor::OPERATOR, "read_stream", &stream).unwrap();
        assert_eq!(said["items"][0]["payload"], json!(null));
    }
}

/// Kinds of events that hold what somebody wrote; a kind that may be redacted and is not here, or
/// the other way round, fails the test below.
const TAKES_WORDS: &[&str] = &[
    "project_created",
    "project_updated",
    "agent_registered",
    "agent_updated",
    "agent_retired",
    "message_sent",
    "message_acknowledged",
    "contact_requested",
    "files_reserved",
    "lock_acquired",
    "lease_forced",
    "release_requested",
    "run_created",
    "run_advanced",
    "gate_overridden",
    "phase_skipped",
    "run_rolled_back",
    "run_paused",
    "run_resumed",
    "run_cancelled",
    "run_failed",
    "run_updated",
    "artifact_added",
    "artifact_withdrawn",
    "verdict_recorded",
    "phase_approved",
    "dispatch_created",
    "dispatch_reported",
    "dispatch_returned",
    "dispatch_finished",
    "dispatch_cancelled",
    "discovery_submitted",
    "discovery_embedded",
    "discovery_promoted",
    "discovery_dismissed",
    "feedback_given",
    "hook_added",
    "state_saved",
];

#[test]
fn the_kinds_with_words_are_those_that_can_be_redacted() {
    let kit = Kit::new(Engine::Sqlite);
    golden::scenario(&kit);
    secrets(&kit);
    for recorded in log_of(&kit) {
        let can = read(&recorded).inner().redacted().is_some();
        let kind = recorded.kind.as_str();
        let listed = TAKES_WORDS.contains(&kind) || kind.starts_with("custom.");
        assert_eq!(can, listed, "{}", recorded.kind);
    }
}

//! The judge of leases is not blind: logs that break a rule are noticed, each for what it breaks.

use comity_domain::{ProjectId, Seq};
use comity_kernel::actor::Party;
use comity_kernel::log::line::payload_hash;
use comity_kernel::log::{Recorded, link, table};
use comity_kernel::tx::Snapshot;
use comity_kernel::{Actor, Error, Query};
use comity_testkit::leases::{Entry, History};
use comity_testkit::{Kit, both_engines};
use serde_json::{Value, json};

fn entry(seq: i64, kind: &str, payload: &Value) -> Entry {
    Entry {
        seq,
        kind: kind.to_owned(),
        payload: payload.to_string(),
    }
}

/// Judges a list of events in one project.
fn judged(folded: bool, events: &[(&str, Value)]) -> Result<(), String> {
    let mut history = History::default();
    let project = json!({ "id": 1, "settings": { "case_insensitive": folded } });
    history.take(&entry(1, "project_created", &project))?;
    for (n, (kind, payload)) in events.iter().enumerate() {
        history.take(&entry(i64::try_from(n).unwrap() + 2, kind, payload))?;
    }
    Ok(())
}

fn files(id: i64, agent: i64, pattern: &str, mode: &str, at: i64) -> (&'static str, Value) {
    let reservations = json!([{ "id": id, "pattern": pattern, "key": pattern }]);
    let payload = json!({
        "project": 1, "agent": agent, "reservations": reservations, "mode": mode, "reason": "",
        "granted": at, "expires": at + 10,
    });
    ("files_reserved", payload)
}

fn lock(id: i64, agent: Option<i64>, name: &str, at: i64) -> (&'static str, Value) {
    let payload = json!({
        "id": id, "project": 1, "agent": agent, "name": name, "reason": "", "granted": at,
        "expires": at + 10,
    });
    ("lock_acquired", payload)
}

fn renewed(id: i64, at: i64, expires: i64) -> (&'static str, Value) {
    let payload = json!({ "id": id, "project": 1, "renewed": at, "expires": expires });
    ("lease_renewed", payload)
}

fn ended(kind: &'static str, id: i64, at: i64) -> (&'static str, Value) {
    let payload = json!({
        "id": id, "project": 1, "agent": 1, "pattern": "a", "fence": 2, "ended": at,
    });
    (kind, payload)
}

/// The first lease of most of these logs: agent 1 has `a` from 100 up to 110.
fn first() -> (&'static str, Value) {
    files(1, 1, "a", "exclusive", 100)
}

fn is_wrong(says: &str, events: &[(&str, Value)]) {
    let verdict = judged(false, events).unwrap_err();
    assert!(verdict.contains(says), "{verdict}: {events:?}");
}

fn is_right(events: &[(&str, Value)]) {
    judged(false, events).unwrap_or_else(|verdict| panic!("{verdict}: {events:?}"));
}

// Q3 F1 F6
#[test]
fn what_overlaps_is_noticed_and_nothing_else() {
    let [other, shared] = [("exclusive", "a/b"), ("shared", "**")]
        .map(|(mode, pattern)| files(2, 2, pattern, mode, 109));
    is_wrong("was granted while", &[first(), other]);
    is_wrong("was granted while", &[first(), shared]);
    let share = |id, agent| files(id, agent, "a", "shared", 100);
    let taken = files(2, 2, "?", "exclusive", 101);
    is_wrong("was granted while", &[share(1, 1), taken]);
    is_wrong("is 1 again", &[first(), files(2, 1, "a", "exclusive", 101)]);
    is_right(&[share(1, 1), share(2, 2), files(3, 1, "a", "exclusive", 112)]);
    is_right(&[first(), files(2, 2, "a", "exclusive", 110)]);
    is_right(&[
        first(),
        files(2, 1, "**", "exclusive", 101),
        lock(3, Some(2), "a", 102),
    ]);
    let upper = [first(), files(2, 2, "A/b", "exclusive", 109)];
    assert!(judged(true, &upper).is_err());
    is_right(&upper);
}

// Q3: at most one holder of a name
#[test]
fn two_holders_of_a_lock_are_noticed() {
    let held = || lock(1, None, "a", 100);
    is_wrong("was granted while", &[held(), lock(2, Some(1), "a", 109)]);
    is_wrong("is 1 again", &[held(), lock(2, None, "a", 109)]);
    is_right(&[held(), lock(2, Some(1), "a", 110), lock(3, None, "b", 110)]);
}

// Q3 F14 3.2: numbers and times only grow
#[test]
fn a_number_or_a_time_that_goes_back_is_noticed() {
    is_wrong(
        "number 1 after 1",
        &[first(), files(1, 1, "b", "exclusive", 101)],
    );
    is_wrong(
        "lease clock went",
        &[first(), files(2, 1, "b", "exclusive", 99)],
    );
}

// Q3 F9 F15
#[test]
fn a_wrong_end_or_renewal_is_noticed() {
    let expired = |at| ended("lease_expired", 1, at);
    let released = |at| ended("lease_released", 1, at);
    is_wrong("had expired", &[first(), renewed(1, 110, 130)]);
    is_wrong("not made longer", &[first(), renewed(1, 101, 105)]);
    is_wrong("unknown lease", &[renewed(1, 101, 105)]);
    is_wrong("was expired at", &[first(), expired(109)]);
    is_wrong("was released at", &[first(), released(110)]);
    is_wrong("ended at 3 already", &[first(), expired(110), expired(111)]);
    is_wrong(
        "ended at 3 already",
        &[first(), released(101), renewed(1, 102, 140)],
    );
    let forced = || ended("lease_forced", 1, 101);
    is_wrong("is not (1", &[files(1, 2, "a", "exclusive", 100), forced()]);
    is_wrong("is not on", &[files(1, 1, "b", "exclusive", 100), forced()]);
    is_right(&[first(), renewed(1, 109, 119), expired(119)]);
    is_right(&[first(), released(109), files(2, 2, "**", "exclusive", 109)]);
}

/// A log that fits on one page.
struct ShortLog;

impl Query for ShortLog {
    const NAME: &'static str = "short_log";
    const WHO: &'static [Party] = &[Party::Operator];
    type Answer = Vec<Recorded>;

    fn run(&self, _: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Vec<Recorded>, Error> {
        Ok(table::page(snapshot, Seq::ZERO, 100)?)
    }
}

/// A log of a project, two agents and two grants, as no kernel would write it.
fn planted(kit: &Kit, patterns: [&str; 2]) -> Vec<Recorded> {
    let mut log = kit.ask(ShortLog).unwrap().answer;
    for (n, pattern) in (1..).zip(patterns) {
        let (kind, mut payload) = files(n, n, pattern, "exclusive", 1_800_000_000_000_000 + n);
        payload["expires"] = json!(1_900_000_000_000_000_i64);
        let last = log.last().unwrap().clone();
        let payload = payload.to_string();
        let mut event = Recorded {
            seq: Seq::new(last.seq.get() + 1),
            kind: kind.to_owned(),
            project: Some(ProjectId::new(1)),
            actor: format!("agent:{n}"),
            subject_type: "reservation".to_owned(),
            subject_id: n,
            payload_sha256: payload_hash(&payload),
            payload: Some(payload),
            ..last.clone()
        };
        event.hash = link(&last.hash, &event.line().unwrap());
        log.push(event);
    }
    log
}

both_engines! {
    // F1 Q3: two leases in each other's way, in a database that is sound otherwise
    fn a_planted_overlap_is_found(engine) {
        let source = Kit::new(engine);
        source.project("/srv/web");
        for name in ["Blue", "Red"] {
            source.agent("web", name);
        }
        let mut bad = Kit::from_log(engine, &planted(&source, ["src/**", "**/a.rs"]));
        bad.expect_damage();
        let verdict = bad.judge_leases().err().unwrap();
        assert!(verdict.contains("was granted while"), "{verdict}");
        assert!(!bad.doctor().ok, "the doctor looks for it too");
        // Nothing else is wrong with it.
        let mut good = Kit::from_log(engine, &planted(&source, ["src/**", "lib/a.rs"]));
        assert_eq!(good.judge_leases().unwrap().leases().len(), 2);
    }
}

//! What is asked of leases on the writer's way must not read their history (SQLite's own plans).

use comity_testkit::{Engine, Kit};

/// A question, and the index that must answer it.
const QUESTIONS: [(&str, &str); 8] = [
    (
        "select id from reservation r where r.agent_id = 1 and r.key_hash = 2 and r.pattern_key = 'a'
            and r.kind = 'files' and r.ended_seq is null",
        "reservation_own",
    ),
    (
        "select id from reservation r where r.agent_id = 1 and r.ended_seq is null order by r.id",
        "reservation_held",
    ),
    (
        "select id from reservation r where r.project_id = 1 and r.kind = 'files'
            and r.ended_seq is null order by r.id",
        "reservation_open",
    ),
    (
        "select coalesce(max(ended_seq), 0) from reservation where ended_seq is not null",
        "reservation_by_end",
    ),
    (
        "select id, agent_id, project_id from reservation
            where ended_seq > 1 and ended_seq <= 2 and kind = 'files'",
        "reservation_by_end",
    ),
    (
        "select id from reservation r where r.ended_seq is null and r.expires_lease_us <= 1
            order by r.expires_lease_us, r.id limit 5",
        "reservation_due",
    ),
    (
        "select id from reservation r where r.project_id = 1 and r.key_hash = 2
            and r.pattern_key = 'a' and r.kind = 'lock' order by r.id desc limit 100",
        "reservation_named",
    ),
    (
        "select id from reservation r where r.project_id = 1 and r.kind = 'files' and r.id > 3
            and r.ended_seq is null and r.expires_lease_us > 4 order by r.id limit 6",
        "reservation_open",
    ),
];

// F1, DESIGN 8: SQLite alone shows its plan without data; PostgreSQL plans by what it finds
#[test]
fn leases_are_found_without_reading_their_history() {
    let kit = Kit::new(Engine::Sqlite);
    for (question, index) in QUESTIONS {
        let plan = kit
            .shell(&format!("explain query plan {question}"))
            .unwrap();
        assert!(
            plan.contains(index) && !plan.contains("SCAN r\n"),
            "{question}: {plan}"
        );
    }
}

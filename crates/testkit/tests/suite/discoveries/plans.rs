//! Lists of discoveries read no more than a page needs (SQLite's own plans).

use comity_testkit::{Engine, Kit};

/// A question, and the index that must answer it.
const QUESTIONS: [(&str, &str); 5] = [
    (
        "select d.id from discovery d where d.project_id = cast(?9 as bigint)
            and (cast(?1 as text) is null or d.state = cast(?1 as text))
            and (cast(?4 as double precision) is null or d.score >= cast(?4 as double precision))
            and d.score <= cast(?6 as double precision)
            and (d.score < cast(?6 as double precision) or d.id > cast(?7 as bigint))
            order by d.score desc, d.id limit cast(?8 as bigint)",
        "discovery_by_score (project_id=? AND score<?)",
    ),
    (
        "select d.id from discovery d where d.project_id = cast(?8 as bigint)
            and (cast(?1 as text) is null or d.state = cast(?1 as text))
            and d.id < cast(?6 as bigint) order by d.id desc limit cast(?7 as bigint)",
        "discovery_by_project (project_id=? AND id<?)",
    ),
    (
        "select d.id from discovery d where (cast(?1 as text) is null or d.state = cast(?1 as text))
            and d.id < cast(?6 as bigint) order by d.id desc limit cast(?7 as bigint)",
        "PRIMARY KEY (rowid<?)",
    ),
    // J6: a call that finds nothing to decay has read nothing
    (
        "select id, project_id, score from discovery
            where project_id = ?1 and state in ('new', 'scored') and score > 0
                and decayed_lease_us is null and discovered_lease_us <= ?2
            order by discovered_lease_us, id limit ?3",
        "discovery_by_decay (project_id=? AND decayed_lease_us=? AND discovered_lease_us<?)",
    ),
    (
        "select id, project_id, score from discovery
            where project_id = ?1 and state in ('new', 'scored') and score > 0
                and decayed_lease_us < ?2 and discovered_lease_us <= ?3
            order by decayed_lease_us, discovered_lease_us, id limit ?4",
        "discovery_by_decay (project_id=? AND decayed_lease_us<?)",
    ),
];

// DESIGN 8: SQLite alone shows its plan without data; PostgreSQL plans by what it finds
#[test]
fn a_page_of_discoveries_is_found_by_an_index() {
    let kit = Kit::new(Engine::Sqlite);
    for (question, index) in QUESTIONS {
        let plan = kit.shell(&format!("explain query plan {question}"));
        let plan = plan.unwrap();
        // Equal scores are put in the order of their numbers as they come.
        let sorts = plan.contains("USE TEMP B-TREE FOR ORDER BY");
        assert!(plan.contains(index) && !sorts, "{question}: {plan}");
    }
}

//! What has ended is not read again, however much of it there is (SQLite's own plans).

use comity_testkit::{Engine, Kit};

/// A statement, and the index that it must use.
const STATEMENTS: [(&str, &str); 7] = [
    // What a cleared scope names.
    (
        "select id, key, version from state_entry where scope_id = 1 and ended is null order by key",
        "state_entry_live",
    ),
    // What ends it.
    (
        "update state_entry set ended = 'cleared', value = null, sha256 = null, bytes = 0,
            expires_lease_us = null
         where scope_id = 1 and ended is null",
        "state_entry_live",
    ),
    // A page of a scope.
    (
        "select e.id, s.name, e.key from state_scope s join state_entry e on e.scope_id = s.id
         left join agent a on a.id = e.agent_id
         where s.project_id = 1 and s.name = 's' and e.ended is null
             and (e.expires_lease_us is null or e.expires_lease_us > 3)
             and e.key >= 'a' and substr(e.key, 1, 1) = 'a' and e.key > 'b'
         order by e.key limit 5",
        "state_entry_live",
    ),
    // What a scope holds that has expired.
    (
        "select count(*) from state_entry e
         where e.scope_id = 1 and e.ended is null and e.expires_lease_us <= 2",
        "state_entry_brief",
    ),
    // What is due: everywhere, in the shared scopes of a project, and in a scope.
    (
        "select e.id from state_entry e join state_scope s on s.id = e.scope_id
         where e.ended is null and e.expires_lease_us <= 1
         order by e.expires_lease_us, e.id limit 3",
        "state_entry_due",
    ),
    (
        "select e.id from state_entry e join state_scope s on s.id = e.scope_id
         where e.ended is null and e.expires_lease_us <= 1
             and s.project_id = 2 and s.agent_id is null and s.keys > 0
         order by e.expires_lease_us, e.id limit 3",
        "state_entry_brief",
    ),
    (
        "select e.id from state_entry e join state_scope s on s.id = e.scope_id
         where e.ended is null and e.expires_lease_us <= 1 and e.scope_id = 2
         order by e.expires_lease_us, e.id limit 3",
        "state_entry_brief",
    ),
];

// S24, DESIGN 8: SQLite alone shows its plan without data; PostgreSQL plans by what it finds
#[test]
fn what_has_ended_is_not_walked() {
    let kit = Kit::new(Engine::Sqlite);
    for (statement, index) in STATEMENTS {
        let plan = kit.shell(&format!("explain query plan {statement}"));
        let plan = plan.unwrap();
        assert!(plan.contains(index), "{statement}: {plan}");
        assert!(!plan.contains("SCAN"), "{statement}: {plan}");
    }
}

//! What is asked on the way of a claim must not read the queue or the history (SQLite's own plans).

use comity_testkit::Kit;

use super::*;

/// A question, and the index that must answer it.
const QUESTIONS: [(&str, &str); 11] = [
    (
        "select q.dispatch_id from dispatch_queue q join dispatch d on d.id = q.dispatch_id
            where q.project_id = 1 and q.agent_kind = 'k' and d.not_before_lease_us <= 3
            and (d.deadline_lease_us is null or d.deadline_lease_us > 3)
            order by q.priority desc, q.dispatch_id limit 16",
        "dispatch_queue_rank",
    ),
    (
        "select q.dispatch_id from dispatch_queue q join dispatch d on d.id = q.dispatch_id
            where q.project_id = 1 and q.agent_kind = 'k' and q.run_id = 3
            and d.not_before_lease_us <= 4
            order by q.priority desc, q.dispatch_id limit 1",
        "dispatch_queue_by_run",
    ),
    (
        "select min(q.run_id) from dispatch_queue q
            where q.project_id = 1 and q.agent_kind = 'k' and q.run_id > 2",
        "dispatch_queue_by_run",
    ),
    (
        "select not_before_lease_us from dispatch_queue
            where project_id = 1 and not_before_lease_us > 2 order by not_before_lease_us limit 1",
        "dispatch_queue_later",
    ),
    (
        "select count(*) from dispatch d where d.run_id = 1
            and d.state in ('queued', 'spawned', 'running') and d.state in ('spawned', 'running')",
        "dispatch_open",
    ),
    (
        "with recursive below (id, depth) as (
                select id, cast(0 as bigint) from run where id = 1
                union all
                select c.id, b.depth + 1 from run c join below b on c.parent_id = b.id)
            select cast(sum((
                select count(*) from dispatch d where d.run_id = b.id
                    and d.state in ('queued', 'spawned', 'running'))) as bigint)
            from below b",
        "dispatch_open",
    ),
    (
        "select id from dispatch where state in ('queued', 'spawned', 'running')
            and deadline_lease_us <= 1 order by deadline_lease_us, id limit 5",
        "dispatch_deadline",
    ),
    (
        "select id from dispatch where state in ('spawned', 'running') and claim_lease_us <= 1
            order by claim_lease_us, id limit 5",
        "dispatch_due",
    ),
    (
        "select count(*) from dispatch where claimant_id = 1 and state in ('spawned', 'running')",
        "dispatch_held",
    ),
    (
        "select id from dispatch where retry_of = 1 order by id limit 1",
        "dispatch_by_retry",
    ),
    (
        "select 1 from dispatch o where o.origin_id = 1 and o.state = 'completed'",
        "dispatch_by_origin",
    ),
];

// DESIGN 8: SQLite alone shows its plan without data; PostgreSQL plans by what it finds
#[test]
fn work_is_found_without_reading_the_queue() {
    let kit = Kit::new(Engine::Sqlite);
    for (question, index) in QUESTIONS {
        let plan = kit
            .shell(&format!("explain query plan {question}"))
            .unwrap();
        let sorts = plan.contains("USE TEMP B-TREE FOR ORDER BY");
        let reads_all = plan.contains("SCAN d");
        assert!(
            plan.contains(index) && !sorts && !reads_all,
            "{question}: {plan}"
        );
    }
}

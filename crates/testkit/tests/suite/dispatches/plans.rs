//! What is asked on the way of a claim must not read the queue or the history (SQLite's own plans),
//! and takes as long with many queued as with few.
//!
//! `COMITY_QUEUE_LENGTH` says how many are queued where the time is measured.

use comity_testkit::Kit;

use super::*;

/// A question, and the index that must answer it.
const QUESTIONS: [(&str, &str); 10] = [
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
        assert!(plan.contains(index) && !sorts, "{question}: {plan}");
    }
}

/// Returns the middle of how long a claim takes.
fn claim_takes(shop: &Shop) -> Duration {
    let mut times: Vec<_> = (0..101)
        .map(|_| {
            let started = Instant::now();
            let claim = shop.claim(&shop.team.blue).expect("work");
            let took = started.elapsed();
            shop.finish(&shop.team.blue, &claim, "completed").unwrap();
            took
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

comity_testkit::both_engines! {
    // BEHAVIOUR: a claim among many is as fast as among few
    fn a_claim_among_many_is_as_fast(engine) {
        let Some(many) = std::env::var("COMITY_QUEUE_LENGTH").ok() else {
            return;
        };
        let many: usize = many.parse().expect("a number");
        let shop = Shop::new(engine);
        let kernel = shop.team.kit.kernel();
        let create: CreateDispatch = request(&wish(&json!({})));
        let fill = |count: usize| {
            for part in (0..count).collect::<Vec<_>>().chunks(500) {
                let made: Vec<_> = part.iter().map(|_| kernel.execute(shop.chief.clone().into(), create.clone())).collect();
                for one in made {
                    one.wait().unwrap();
                }
            }
        };
        fill(200);
        let few = claim_takes(&shop);
        fill(many);
        if engine == Engine::Postgres {
            shop.team.kit.shell("analyze dispatch; analyze dispatch_queue").unwrap();
        }
        let among_many = claim_takes(&shop);
        println!("dispatch: {engine:?}: {few:?} among 100, {among_many:?} among {many}");
        assert!(among_many < few * 3 / 2, "{few:?}, {among_many:?}");
    }
}

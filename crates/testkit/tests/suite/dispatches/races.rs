//! Ends that meet: of each dispatch there is exactly one, whoever comes first.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use comity_testkit::{SeededEntropy, both_engines};

use super::*;

/// How many are finished as their deadline passes, each time.
const TOGETHER: usize = 20;

fn rounds() -> usize {
    let wanted = std::env::var("COMITY_DISPATCH_RACES").ok();
    let wanted: usize = wanted.map_or(200, |count| count.parse().expect("a number"));
    wanted.div_ceil(TOGETHER)
}

/// Hands out work and has it claimed, all at once; returns the claims.
fn hand_out(shop: &Shop, who: &Actor, count: usize, other: &Value) -> Vec<Dispatch> {
    let kernel = shop.team.kit.kernel();
    let create: CreateDispatch = request(&wish(other));
    let made: Vec<_> = (0..count)
        .map(|_| kernel.execute(shop.chief.clone().into(), create.clone()))
        .collect();
    for one in made {
        one.wait().unwrap();
    }
    let claim: ClaimDispatch = request(&json!({ "agent_kinds": ["coder"], "lease": "10m" }));
    let claims: Vec<_> = (0..count)
        .map(|_| kernel.execute(who.clone().into(), claim.clone()))
        .collect();
    let claims = claims.into_iter().map(|claim| claim.wait().unwrap().answer);
    claims.map(|claim| claim.dispatch.expect("work")).collect()
}

fn finish(claim: &Dispatch) -> FinishDispatch {
    request(&json!({ "id": claim.id, "fence": claim.fence, "outcome": "completed" }))
}

/// Every dispatch has exactly one end, and that is its state.
fn must_have_one_end_each(shop: &Shop, count: usize) {
    let ends = "'dispatch_finished', 'dispatch_cancelled', 'dispatch_timed_out'";
    let sql = format!(
        "select count(*) from (select subject_id from event
             where subject_type = 'dispatch' and kind in ({ends})
             group by subject_id having count(*) = 1) one"
    );
    let kit = &shop.team.kit;
    assert_eq!(kit.shell(&sql).unwrap(), count.to_string());
    let sql = format!("select count(*) from event where kind in ({ends})");
    assert_eq!(kit.shell(&sql).unwrap(), count.to_string());
    let open = "select count(*) from dispatch where state in ('queued', 'spawned', 'running')";
    assert_eq!(kit.shell(open).unwrap(), "0");
}

both_engines! {
    // H1 H3 X5: a deadline passes while the work is finished: one end each, in both orders
    fn a_deadline_and_a_finish_make_one_end(engine) {
        let shop = Shop::new(engine);
        let (kernel, blue) = (shop.team.kit.kernel(), &shop.team.blue);
        let random = SeededEntropy::new(7);
        for round in 0..rounds() {
            let claims = hand_out(&shop, blue, TOGETHER, &json!({ "deadline": "1m" }));
            let answered = AtomicUsize::new(0);
            // The first two rounds are certain to see both orders; the others see what they see.
            let wait_for = match round {
                0 => 1,
                1 => 0,
                _ => usize::try_from(random.below(TOGETHER as u64 + 1)).unwrap(),
            };
            let barrier = Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    if wait_for > 0 {
                        barrier.wait();
                    }
                    let (first, rest) = claims.split_at(wait_for);
                    for claim in first {
                        let answer = kernel.execute(blue.clone().into(), finish(claim)).wait();
                        must_be_an_end(answer.map(|reply| reply.answer.dispatch));
                        answered.fetch_add(1, Ordering::SeqCst);
                    }
                    if wait_for == 0 {
                        barrier.wait();
                    }
                    let rest: Vec<_> = rest.iter().map(|claim| kernel.execute(blue.clone().into(), finish(claim))).collect();
                    for answer in rest {
                        must_be_an_end(answer.wait().map(|reply| reply.answer.dispatch));
                    }
                });
                if wait_for > 0 {
                    barrier.wait();
                    until(|| answered.load(Ordering::SeqCst) >= wait_for.min(1));
                }
                shop.pass(MINUTE);
                if wait_for == 0 {
                    barrier.wait();
                }
            });
        }
        let all = rounds() * TOGETHER;
        must_have_one_end_each(&shop, all);
        let (done, late) = (shop.count("dispatch_finished"), shop.count("dispatch_timed_out"));
        println!("dispatch: {engine:?}: {done} done in time, {late} too late");
        assert!(done > 0 && late > 0, "both orders: {done} and {late}");
    }

    // H2 H3: a thousand are given up while their workers finish them
    fn a_thousand_are_given_up_while_they_are_finished(engine) {
        let shop = Shop::new(engine);
        let kernel = shop.team.kit.kernel();
        let workers = [&shop.team.blue, &shop.team.green, &shop.team.red];
        let claims: Vec<_> = workers.iter().zip([334, 333, 333])
            .map(|(who, count)| (*who, hand_out(&shop, who, count, &json!({})))).collect();
        let (done, given_up) = std::thread::scope(|scope| {
            let workers: Vec<_> = claims.iter().map(|(who, claims)| scope.spawn(|| {
                let all: Vec<_> = claims.iter().map(|claim| kernel.execute((*who).clone().into(), finish(claim))).collect();
                let ends = all.into_iter().map(|answer| match answer.wait() {
                    Ok(_) => 1,
                    Err(error) => {
                        assert_eq!(error.code().word, "already_settled");
                        0
                    }
                });
                ends.sum::<usize>()
            })).collect();
            // From the other end, so that the two meet.
            let cancelled = claims.iter().rev().flat_map(|(_, claims)| claims.iter().rev()).map(|claim| {
                let cancel: CancelDispatch = request(&json!({ "id": claim.id, "expected_revision": 2 }));
                kernel.execute(shop.chief.clone().into(), cancel)
            });
            let cancelled: Vec<_> = cancelled.collect();
            let given_up: usize = cancelled.into_iter().map(|answer| match answer.wait() {
                Ok(_) => 1,
                Err(error) => {
                    assert_eq!(error.code().word, "illegal_transition");
                    0
                }
            }).sum();
            let done: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
            (done, given_up)
        });
        assert_eq!(done + given_up, 1_000);
        assert_eq!(usize::try_from(shop.count("dispatch_cancelled")).unwrap(), given_up);
        must_have_one_end_each(&shop, 1_000);
    }
}

/// Done, or told that it came too late.
fn must_be_an_end(answer: Result<Dispatch, Error>) {
    match answer {
        Ok(dispatch) => assert_eq!(dispatch.state.as_str(), "completed"),
        Err(error) => assert_eq!(error.code().word, "already_settled"),
    }
}

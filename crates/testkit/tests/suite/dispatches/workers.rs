//! Workers on several kernels of one database.

use std::collections::BTreeSet;

use comity_kernel::options::Sharing;
use comity_testkit::{Kit, both_engines};

use super::*;

/// How many dispatches the workers share.
const WORK: usize = 120;

both_engines! {
    // H1 L2: two kernels claim from one queue, and nothing is claimed twice
    fn two_kernels_claim_from_one_queue(engine) {
        let kit = Kit::with(engine, |options| options.sharing = Sharing::Shared);
        let shop = Shop::of(Team::of(kit));
        let mut options = shop.team.kit.options().clone();
        options.sharing = Sharing::Shared;
        let other = Kernel::open(options).unwrap();
        let run = shop.run(1, &json!({ "max_dispatches": 7 }));
        for n in 0..WORK {
            shop.create(&if n % 3 == 0 { json!({ "run": run }) } else { json!({}) });
        }
        let work = |kernel: &Kernel, who: &Actor| {
            let mut done = Vec::new();
            loop {
                let claim: ClaimDispatch = request(&json!({ "agent_kinds": ["coder"] }));
                let claim = kernel.execute(who.clone().into(), claim).wait().unwrap().answer;
                let Some(claim) = claim.dispatch else {
                    return done;
                };
                let finish: FinishDispatch = request(&json!({
                    "id": claim.id, "fence": claim.fence, "outcome": "completed",
                }));
                kernel.execute(who.clone().into(), finish).wait().unwrap();
                done.push(claim.id);
            }
        };
        let own = shop.team.kit.kernel();
        let done: Vec<_> = std::thread::scope(|scope| {
            let workers = [
                scope.spawn(|| work(own, &shop.team.blue)),
                scope.spawn(|| work(&other, &shop.team.green)),
                scope.spawn(|| work(own, &shop.team.red)),
            ];
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        let each: BTreeSet<_> = done.iter().collect();
        assert_eq!((done.len(), each.len()), (WORK, WORK));
        assert_eq!(shop.count("dispatch_claimed"), i64::try_from(WORK).unwrap());
    }

    // H1: what one kernel's transaction claimed is gone from another's
    fn one_of_two_kernels_gets_the_last(engine) {
        let kit = Kit::with(engine, |options| options.sharing = Sharing::Shared);
        let shop = Shop::of(Team::of(kit));
        let mut options = shop.team.kit.options().clone();
        options.sharing = Sharing::Shared;
        let other = Kernel::open(options).unwrap();
        for _ in 0..20 {
            let made = shop.create(&json!({}));
            let claim = || -> ClaimDispatch { request(&json!({ "agent_kinds": ["coder"] })) };
            let first = shop.team.kit.kernel().execute(shop.team.blue.clone().into(), claim());
            let second = other.execute(shop.team.green.clone().into(), claim());
            let got = [first.wait().unwrap(), second.wait().unwrap()].map(|reply| reply.answer.dispatch);
            let got: Vec<_> = got.iter().flatten().map(|dispatch| dispatch.id).collect();
            assert_eq!(got, [made.id]);
        }
    }
}

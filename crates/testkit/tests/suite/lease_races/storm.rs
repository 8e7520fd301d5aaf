//! Restarts while agents renew: nothing is lost early, nothing is doubled (3.12).

use std::collections::BTreeMap;

use comity_kernel::options::Sharing;
use comity_testkit::crash::{Heard, Launch, Order, Process, Target};
use comity_testkit::{Kit, both_engines, leases};
use serde_json::Value;

use super::*;

const DRIVER: &str = env!("CARGO_BIN_EXE_driver");

/// What holders keep renewing in the storm of kills. The operator holds them: a driver acts for it.
const LOCKS: usize = 32;
const KILLS: usize = 8;

fn order(id: &str, op: &'static str, request: Value) -> Order {
    Order {
        caller: 0,
        id: id.to_owned(),
        op,
        request,
        events: 1,
        refused_with: None,
    }
}

/// Hears as many answers, and returns the fences by order.
fn fences(process: &Process, answers: usize) -> BTreeMap<String, i64> {
    let mut fences = BTreeMap::new();
    for _ in 0..answers {
        match process.hear(PATIENCE) {
            Heard::Line(line) => {
                let answer: Value = serde_json::from_str(&line).unwrap();
                let fence = answer["ok"]["lock"]["fence"].as_i64();
                let name = answer["ok"]["lock"]["name"].as_str();
                let (Some(fence), Some(name)) = (fence, name) else {
                    panic!("lost: {answer}");
                };
                fences.insert(name.to_owned(), fence);
            }
            heard => panic!("{heard:?} after {} answers", fences.len()),
        }
    }
    fences
}

both_engines! {
    // 3.12 F9 F15: stopped and started again and again
    fn a_storm_of_restarts_loses_nothing_early_and_doubles_nothing(engine) {
        let mut kit = Kit::new(engine);
        let agents: [Actor; 8] = town(&kit);
        let leases: Vec<_> = agents
            .iter()
            .enumerate()
            .map(|(n, agent)| held(&kit, agent, reserve(&format!("d{n}/**"), 10)))
            .collect();
        for round in 0..20 {
            kit.clock.advance_us(9 * SECOND);
            let unheard: Vec<_> = agents
                .iter()
                .zip(&leases)
                .filter(|(_, lease)| (lease.id.get() + round) % 3 == 0)
                .map(|(agent, lease)| kit.kernel().execute(agent.clone().into(), renew(lease.id.get(), 10)))
                .collect();
            // Some are answered by the stop, some before it; nobody listens.
            drop(unheard);
            kit.restart();
            for (agent, lease) in agents.iter().zip(&leases) {
                let (id, fence) = (lease.id, lease.fence);
                let answer = kit.run_as(agent.clone(), renew(id.get(), 10)).unwrap().answer;
                let kept = &answer.reservations[0];
                assert_eq!((kept.id, kept.fence, kept.ttl_remaining_ms), (id, fence, 10_000));
                let again = kit.run_as(agent.clone(), reserve(&lease.path_pattern, 10)).unwrap().answer;
                assert!(!again.created && again.reservations[0].id == id);
            }
        }
        assert_eq!(kit.shell("select count(*) from reservation").unwrap(), "8");
        kit.clock.advance_us(10 * SECOND);
        for (agent, lease) in agents.iter().zip(&leases) {
            assert_eq!(word(&kit.run_as(agent.clone(), renew(lease.id.get(), 10))), "lease_expired");
        }
    }

    // 3.12 F14: SIGKILL in the middle of renewals, on the system's own clock
    fn a_storm_of_kills_loses_nothing_early_and_doubles_nothing(engine) {
        let directory = tempfile::tempdir().unwrap();
        let target = Target::fresh(engine, directory.path());
        let launch = Launch::new(DRIVER, target.clone());
        let mut process = Process::start(&launch);
        process.ready().unwrap();
        process.ask(&Order::project()).unwrap();
        let request = |n: usize| json!({ "project": "web", "name": format!("l{n}"), "ttl": "10m" });
        for n in 0..LOCKS {
            process.send(&order(&format!("take-{n}"), "acquire_lock", request(n)));
        }
        let taken = fences(&process, LOCKS);
        for kill in 0..KILLS {
            for n in 0..LOCKS {
                let op = if n % 2 == 0 { "renew_lock" } else { "acquire_lock" };
                process.send(&order(&format!("k{kill}-{n}"), op, request(n)));
            }
            // Somewhere in the middle: after as many answers the next batch is under way.
            let heard = fences(&process, kill * LOCKS / KILLS);
            assert!(heard.iter().all(|(name, fence)| taken[name] == *fence));
            process.kill();
            process = Process::start(&launch);
            process.ready().unwrap();
        }
        for n in 0..LOCKS {
            process.send(&order(&format!("last-{n}"), "renew_lock", request(n)));
        }
        assert_eq!(fences(&process, LOCKS), taken);
        drop(process);
        let mut options = target.options();
        options.sharing = Sharing::Shared;
        let kernel = Kernel::open(options).unwrap();
        let history = leases::judge(&kernel).unwrap();
        assert_eq!(history.leases().len(), LOCKS);
        drop(kernel);
        target.clean_up();
    }
}

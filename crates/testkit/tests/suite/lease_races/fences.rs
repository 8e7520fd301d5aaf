//! What a fence is good for: a store that checks it takes nothing from who has lost its lease.

use std::collections::HashMap;

use comity_testkit::{Kit, SeededEntropy, both_engines};

use super::*;

/// A place that agents write to; it knows nothing of leases but the fences it is shown.
#[derive(Default)]
struct Store {
    latest: HashMap<String, i64>,
    stale: usize,
    refused: usize,
}

impl Store {
    /// Takes a write; one that comes after a later holder's is stale.
    fn write(&mut self, file: &str, fence: i64, checks: bool) {
        let latest = self.latest.entry(file.to_owned()).or_default();
        if fence < *latest && checks {
            self.refused += 1;
            return;
        }
        self.stale += usize::from(fence < *latest);
        *latest = fence.max(*latest);
    }
}

both_engines! {
    // F14 3.4: holders are stopped past the end of their leases, and then write
    fn a_store_that_checks_fences_takes_no_stale_write(engine) {
        let mut kit = Kit::new(engine);
        let agents: [Actor; 4] = town(&kit);
        let dice = SeededEntropy::new(5);
        let pick = |bound: usize| usize::try_from(dice.below(bound as u64)).unwrap();
        let (mut fenced, mut unfenced) = (Store::default(), Store::default());
        let mut believed: HashMap<(usize, String), i64> = HashMap::new();
        let mut last = 0;
        for round in 0..200 {
            let (who, file) = (pick(4), format!("f{}", pick(2)));
            if pick(3) == 0 {
                let answer = kit.run_as(agents[who].clone(), reserve(&file, 1));
                if let Ok(reply) = answer {
                    let lease = &reply.answer.reservations[0];
                    if reply.answer.created {
                        assert!(lease.fence.get() > last, "a fence only grows");
                        last = lease.fence.get();
                    }
                    believed.insert((who, file.clone()), lease.fence.get());
                }
            } else if let Some(fence) = believed.get(&(who, file.clone())) {
                // It asks nobody: it was stopped, and does not know for how long.
                fenced.write(&file, *fence, true);
                unfenced.write(&file, *fence, false);
            }
            kit.clock.advance_us(i64::try_from(pick(900_000)).unwrap());
            if round % 50 == 49 {
                kit.restart();
            }
        }
        assert_eq!(fenced.stale, 0);
        assert!(fenced.refused > 10 && unfenced.stale > 10, "{} {}", fenced.refused, unfenced.stale);
    }
}

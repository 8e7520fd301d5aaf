//! Several kernels on one database: embedded processes on a file, servers on PostgreSQL.

use std::sync::Barrier;

use comity_kernel::options::Sharing;
use comity_testkit::{Kit, both_engines};

use super::*;

/// Opens another kernel on the same database.
pub(super) fn second(kit: &Kit) -> Kernel {
    let mut options = kit.options().clone();
    options.sharing = Sharing::Shared;
    // A gate that holds one of them must not hold the other.
    options.ambient.failpoints = comity_kernel::failpoint::Failpoints::default();
    Kernel::open(options).unwrap()
}

fn shared_kit(engine: comity_testkit::Engine) -> Kit {
    Kit::with(engine, |options| options.sharing = Sharing::Shared)
}

both_engines! {
    // F1 L2: two kernels that want the same files at once: one has them, the other is told
    fn of_two_kernels_one_wins(engine) {
        let kit = shared_kit(engine);
        let [blue, red] = town(&kit);
        let other = second(&kit);
        for round in 0..20 {
            let barrier = Barrier::new(2);
            let race = |kernel: &Kernel, actor: &Actor, end: &str| {
                let command = reserve(&format!("r{round}/{end}"), 60);
                barrier.wait();
                kernel.execute(actor.clone().into(), command).wait()
            };
            let (first, second) = std::thread::scope(|scope| {
                let first = scope.spawn(|| race(kit.kernel(), &blue, "**"));
                let second = scope.spawn(|| race(&other, &red, "a.rs"));
                (first.join().unwrap(), second.join().unwrap())
            });
            let mut words = [word(&first), word(&second)];
            words.sort_unstable();
            assert_eq!(words, ["ok", "reservation_conflict"]);
        }
    }

    // F1 L2: what another kernel granted since is seen by the transaction that decides
    fn a_kernel_sees_what_another_granted_a_moment_ago(engine) {
        let kit = shared_kit(engine);
        let [blue, red] = town(&kit);
        let other = second(&kit);
        let gate = Held::at_batch(&kit);
        let late = ask(&kit, &blue, reserve("src", 60));
        gate.reached();
        let early = other.execute(red.into(), reserve("src/a.rs", 60)).wait();
        gate.open();
        assert_eq!([word(&early), word(&late.wait())], ["ok", "reservation_conflict"]);
    }

    // F15: two sweepers at once write every end once
    fn two_sweepers_write_every_end_once(engine) {
        let kit = shared_kit(engine);
        let [blue] = town(&kit);
        let other = second(&kit);
        for round in 1..=5 {
            for n in 0..20 {
                held(&kit, &blue, reserve(&format!("f{n}"), 1));
            }
            kit.clock.advance_us(SECOND - 1);
            for kernel in [kit.kernel(), &other] {
                sweep(kernel);
            }
            assert_eq!(count(&kit, "lease_expired"), (round - 1) * 20, "none is early");
            kit.clock.advance_us(1);
            // Both have found something to do before either does it.
            let gate = Held::at_batch(&kit);
            std::thread::scope(|scope| {
                let first = scope.spawn(|| sweep(kit.kernel()));
                gate.reached();
                sweep(&other);
                gate.open();
                first.join().unwrap();
            });
            assert_eq!(count(&kit, "lease_expired"), round * 20);
        }
    }
}

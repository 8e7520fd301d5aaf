//! Expiry on the lease clock: to the microsecond, whatever the wall says, over restarts.

use comity_kernel::reservation::{CheckFiles, ListReservations};
use comity_testkit::{Kit, both_engines};

use super::*;

/// Counts an agent's active leases.
fn active(kit: &Kit, actor: &Actor) -> usize {
    let list: ListReservations = request(&json!({}));
    kit.ask_as(actor.clone(), list).unwrap().answer.items.len()
}

fn is_free(kit: &Kit, file: &str) -> bool {
    let check: CheckFiles = request(&json!({ "project": "web", "paths": [file] }));
    kit.ask(check).unwrap().answer.free
}

both_engines! {
    // F9 F15 3.7: active means `expires > now`; a microsecond late is 410
    fn a_lease_ends_at_its_microsecond(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        let lease = held(&kit, &blue, reserve("a", 10));
        held(&kit, &blue, reserve("b", 10));
        kit.run_as(blue.clone(), lock("port", 10)).unwrap();
        kit.clock.advance_us(10 * SECOND - 1);
        let late = kit.run_as(red.clone(), reserve("b", 10));
        assert_eq!(word(&late), "reservation_conflict");
        assert_eq!(word(&kit.run_as(red.clone(), lock("port", 10))), "reservation_conflict");
        assert!(!is_free(&kit, "b"));
        assert_eq!(active(&kit, &blue), 2);
        // Still good: the last moment to renew it.
        let renewed = kit.run_as(blue.clone(), renew(lease.id.get(), 10)).unwrap();
        assert_eq!(renewed.answer.reservations[0].ttl_remaining_ms, 10_000);
        assert_eq!(renewed.answer.reservations[0].fence, lease.fence);
        kit.clock.advance_us(1);
        assert!(is_free(&kit, "b"));
        assert_eq!(active(&kit, &blue), 1);
        assert_eq!(word(&kit.run_as(red.clone(), lock("port", 10))), "ok");
        assert_eq!(word(&kit.run_as(red.clone(), reserve("b", 10))), "ok");
        kit.clock.advance_us(10 * SECOND - 1);
        // The present holder is named.
        held(&kit, &red, reserve("a/below", 10));
        let late = kit.run_as(blue, renew(lease.id.get(), 10));
        let Err(Error::LeaseExpired { holders, .. }) = late else {
            panic!("{late:?}");
        };
        let named: Vec<_> = holders.iter().map(|one| one.held_by.as_str()).collect();
        assert_eq!(named, ["Agent1"]);
    }

    // F9: a lock that has expired is told of as a lock, not as the file of the same name
    fn an_expired_lock_names_no_holder_of_files(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        kit.run_as(blue.clone(), lock("build", 10)).unwrap();
        kit.clock.advance_us(10 * SECOND);
        held(&kit, &red, reserve("build", 60));
        let late = kit.run_as(blue, renew_lock("build", 10));
        let Err(Error::LeaseExpired { holders, .. }) = late else {
            panic!("{late:?}");
        };
        assert_eq!(holders, []);
    }

    // 3.2: the wall clock ends nothing and revives nothing
    fn jumps_of_the_wall_end_and_revive_nothing(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        let gone = held(&kit, &blue, reserve("gone", 1));
        kit.clock.advance_us(SECOND);
        let kept = held(&kit, &blue, reserve("kept", 3_600));
        for jump in [-HOUR, 24 * HOUR, 365 * 24 * HOUR, -400 * 24 * HOUR] {
            kit.clock.jump_wall_us(jump);
            sweep(kit.kernel());
            let answer = kit.run_as(blue.clone(), renew(kept.id.get(), 3_600)).unwrap().answer;
            assert_eq!(answer.reservations[0].ttl_remaining_ms, 3_600_000, "{jump}");
            assert_eq!(word(&kit.run_as(red.clone(), reserve("kept", 60))), "reservation_conflict");
            assert_eq!(word(&kit.run_as(blue.clone(), renew(gone.id.get(), 60))), "lease_expired");
            assert!(is_free(&kit, "gone"));
        }
        assert_eq!(count(&kit, "lease_expired"), 1);
    }

    // 3.2: a machine that sleeps does not stop the lease clock
    fn eight_hours_of_sleep_expire_a_lease(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        let lease = held(&kit, &blue, reserve("a", 1_800));
        kit.clock.advance_us(8 * HOUR);
        assert_eq!(word(&kit.run_as(blue, renew(lease.id.get(), 60))), "lease_expired");
        assert_eq!(word(&kit.run_as(red, reserve("a", 60))), "ok");
    }

    // 3.2 F14: a restart keeps the remaining time, and another boot never shortens it
    fn restart_and_reboot_keep_what_remains(engine) {
        let mut kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        let lease = held(&kit, &blue, reserve("a", 100));
        kit.clock.advance_us(30 * SECOND);
        kit.restart();
        let get = || comity_kernel::reservation::GetReservation { id: lease.id };
        let remaining = |kit: &Kit| kit.ask(get()).unwrap().answer.reservation.ttl_remaining_ms;
        assert_eq!(remaining(&kit), 70_000);
        kit.stop();
        kit.clock.advance_us(20 * SECOND);
        kit.restart();
        assert_eq!(remaining(&kit), 50_000);
        // Of another boot nobody knows how long it took.
        kit.kernel().probe().wait().unwrap();
        kit.stop();
        kit.clock.reboot("boot-2");
        kit.clock.advance_us(HOUR);
        kit.restart();
        assert_eq!(remaining(&kit), 50_000);
        assert_eq!(word(&kit.run_as(red.clone(), reserve("a", 60))), "reservation_conflict");
        kit.clock.advance_us(50 * SECOND);
        let next = kit.run_as(red, reserve("a", 60)).unwrap().answer;
        assert!(next.reservations[0].fence > lease.fence);
    }

    // F15 3.7: the sweeper writes each end once and none early, and changes nothing by it
    fn the_sweeper_writes_each_end_once_and_none_early(engine) {
        let kit = Kit::new(engine);
        let [blue] = town(&kit);
        for n in 1..=10 {
            held(&kit, &blue, reserve(&format!("f{n}"), n));
        }
        kit.run_as(blue.clone(), lock("port", 5)).unwrap();
        for second in 1..=10 {
            kit.clock.advance_us(SECOND - 1);
            sweep(kit.kernel());
            let written = |second: i64| second + i64::from(second >= 5);
            assert_eq!(count(&kit, "lease_expired"), written(second - 1));
            kit.clock.advance_us(1);
            let before = active(&kit, &blue);
            sweep(kit.kernel());
            sweep(kit.kernel());
            assert_eq!(count(&kit, "lease_expired"), written(second));
            assert_eq!(active(&kit, &blue), before);
        }
    }
}

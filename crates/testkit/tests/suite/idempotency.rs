//! A command takes effect once (C2).

use comity_kernel::Error;
use comity_testkit::kit::{operator_with_key, register};
use comity_testkit::{Kit, both_engines};

const HOUR: i64 = 3_600 * 1_000_000;

both_engines! {
    // C2
    fn a_key_survives_a_restart(engine) {
        let mut kit = Kit::new(engine);
        kit.project("/srv/web");
        let first = kit.run_as(operator_with_key("k"), register("web", "Blue")).unwrap();
        kit.restart();
        let again = kit.run_as(operator_with_key("k"), register("web", "Blue")).unwrap();
        assert!(again.replayed);
        assert_eq!((again.seq, again.answer.agent.id), (first.seq, first.answer.agent.id));
    }

    // C2: only successes are stored
    fn a_failure_may_be_tried_again_under_its_key(engine) {
        let kit = Kit::new(engine);
        let early = kit.run_as(operator_with_key("k"), register("web", "Blue")).unwrap_err();
        assert_eq!(early.code().word, "not_found");
        kit.project("/srv/web");
        let later = kit.run_as(operator_with_key("k"), register("web", "Blue")).unwrap();
        assert!(!later.replayed && later.answer.created);
    }

    // C2: per credential and operation
    fn another_credential_has_keys_of_its_own(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (_, blue) = kit.agent("web", "Blue");
        let key = comity_kernel::actor::IdempotencyKey::parse("k").unwrap();
        kit.run_as(operator_with_key("k"), register("web", "Red")).unwrap();
        let own = comity_kernel::Caller::from(blue).with_key(key);
        let resumed = kit.run_as(own, register("web", "Blue")).unwrap();
        assert!(!resumed.replayed);
    }

    // C2 3.2: kept 24 h on the lease clock; the wall clock's jumps do not count
    fn a_key_is_forgotten_after_a_day_of_the_lease_clock(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let run = || kit.run_as(operator_with_key("k"), register("web", "Blue"));
        run().unwrap();
        kit.clock.jump_wall_us(48 * HOUR);
        assert!(run().unwrap().replayed);
        kit.clock.advance_us(24 * HOUR - 1);
        assert!(run().unwrap().replayed);
        kit.kernel().tidy().wait().unwrap();
        assert_eq!(kit.shell("select count(*) from idempotency").unwrap(), "1");
        kit.clock.advance_us(1);
        assert!(matches!(run(), Err(Error::NameTaken { .. })));
        kit.kernel().tidy().wait().unwrap();
        assert_eq!(kit.shell("select count(*) from idempotency").unwrap(), "0");
    }
}

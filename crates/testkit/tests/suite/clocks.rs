//! Two clocks (3.2): the wall for people, the lease clock for expiry.

use comity_testkit::{Kit, both_engines};

const HOUR: i64 = 3_600 * 1_000_000;

fn lease_us(kit: &Kit) -> i64 {
    kit.kernel().probe().wait().unwrap();
    kit.shell("select lease_us from log_head")
        .unwrap()
        .parse()
        .unwrap()
}

both_engines! {
    // 3.2 J13 K4 L7, fault 12
    fn the_lease_clock_follows_time_and_not_the_wall(engine) {
        let kit = Kit::new(engine);
        let start = lease_us(&kit);
        kit.clock.jump_wall_us(-HOUR);
        assert_eq!(lease_us(&kit), start);
        kit.clock.jump_wall_us(24 * HOUR);
        assert_eq!(lease_us(&kit), start);
        kit.clock.advance_us(8 * HOUR);
        assert_eq!(lease_us(&kit), start + 8 * HOUR);
    }

    // 3.2: kept at every commit, on from there after a restart and after another boot
    fn the_lease_clock_goes_on_after_restart_and_reboot(engine) {
        let mut kit = Kit::new(engine);
        let start = lease_us(&kit);
        kit.stop();
        kit.clock.advance_us(HOUR);
        kit.restart();
        assert_eq!(lease_us(&kit), start + HOUR);
        kit.stop();
        kit.clock.reboot("boot-2");
        kit.clock.advance_us(5 * HOUR);
        kit.restart();
        assert_eq!(lease_us(&kit), start + HOUR);
        kit.clock.advance_us(HOUR);
        assert_eq!(lease_us(&kit), start + 2 * HOUR);
    }

    // 3.2: `at` is the wall clock as read; order is `seq`
    fn events_bear_the_wall_time_and_are_ordered_by_seq(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/a");
        kit.clock.jump_wall_us(-HOUR);
        kit.project("/srv/b");
        let times = kit.shell("select at from event order by seq").unwrap();
        let times: Vec<i64> = times.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(times[1] - times[0], -HOUR);
    }

    // 3.2: integer microseconds everywhere
    fn times_are_integers(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/a");
        let typed = match engine {
            comity_testkit::Engine::Sqlite => "select distinct typeof(at) from event",
            comity_testkit::Engine::Postgres => "select distinct pg_typeof(at) from event",
        };
        let typed = kit.shell(typed).unwrap();
        assert!(["integer", "bigint"].contains(&typed.as_str()), "{typed}");
    }
}

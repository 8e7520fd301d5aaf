//! The race matrix (3.6): everything that can happen to one lease, in pairs.

use comity_kernel::reservation::GetReservation;
use comity_kernel::{Actor, Error};
use comity_testkit::{Kit, both_engines};

use super::*;

/// What can happen to a lease of the first agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Renew,
    Release,
    Force,
    /// The second agent wants the same.
    TakeOver,
    /// The end of what has expired is written down.
    Sweep,
}

const ACTS: [Act; 5] = [
    Act::Renew,
    Act::Release,
    Act::Force,
    Act::TakeOver,
    Act::Sweep,
];

/// When it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// A microsecond before the lease expires.
    Before,
    /// At the very moment.
    At,
}

/// What is true of a lease, by the rules alone.
#[derive(Clone, Copy, Debug)]
struct Rules {
    is_up: bool,
    ended: Option<&'static str>,
}

impl Rules {
    fn act(&mut self, act: Act) -> &'static str {
        let end = match act {
            Act::Release => "released",
            Act::Force => "forced",
            Act::Renew => "",
            Act::TakeOver if self.ended.is_none() && !self.is_up => return "reservation_conflict",
            Act::TakeOver => return "ok",
            Act::Sweep => {
                if self.is_up && self.ended.is_none() {
                    self.ended = Some("expired");
                }
                return "ok";
            }
        };
        match self.ended {
            None if self.is_up => "lease_expired",
            Some("expired") => "lease_expired",
            Some(_) => "lease_ended",
            None => {
                self.ended = (!end.is_empty()).then_some(end);
                "ok"
            }
        }
    }
}

struct World<'a> {
    kit: &'a Kit,
    holder: &'a Actor,
    other: &'a Actor,
}

/// What came of something, once it is known.
type Coming = Box<dyn FnOnce() -> &'static str>;

fn coming<T: 'static>(ticket: Ticket<Reply<T>>) -> Coming {
    Box::new(move || word(&ticket.wait()))
}

impl World<'_> {
    /// Lets it happen; returns when the writer has it.
    fn start(&self, act: Act, id: i64, file: &str) -> Coming {
        let kernel = self.kit.share();
        let holder = || self.holder.clone().into();
        match act {
            Act::Renew => coming(kernel.execute(holder(), renew(id, 60))),
            Act::Release => coming(kernel.execute(holder(), release(id))),
            Act::Force => coming(kernel.execute(Actor::OPERATOR.into(), force(id))),
            Act::TakeOver => coming(kernel.execute(self.other.clone().into(), reserve(file, 60))),
            Act::Sweep => {
                let swept = std::thread::spawn(move || soon(kernel.sweep()).unwrap());
                Box::new(move || {
                    swept.join().unwrap();
                    "ok"
                })
            }
        }
    }

    /// Lets two things happen in this order; returns what came of them.
    fn pair(&self, meeting: Meeting, acts: [Act; 2], id: i64, file: &str) -> [&'static str; 2] {
        let [first, second] = acts;
        if meeting == Meeting::Apart {
            return [first, second].map(|act| self.start(act, id, file)());
        }
        let gate = Held::at_batch(self.kit);
        let first = self.start(first, id, file);
        gate.reached();
        let second = self.start(second, id, file);
        until(|| self.kit.kernel().waiting().0 == 1);
        gate.open();
        [first(), second()]
    }

    /// How the lease ended, if anybody wrote it down.
    fn ended(&self, id: i64) -> String {
        let sql = format!("select coalesce(ended, '') from reservation where id = {id}");
        self.kit.shell(&sql).unwrap()
    }
}

both_engines! {
    // 3.6 3.8 F9 F15: renew, release, force, take over and expire, in every order
    fn every_pair_ends_a_lease_once_and_tells_the_truth(engine) {
        let kit = Kit::new(engine);
        let [holder, other] = town(&kit);
        let world = World { kit: &kit, holder: &holder, other: &other };
        let mut files = 0;
        for meeting in Meeting::BOTH {
            for when in [When::Before, When::At] {
                for acts in ACTS.iter().flat_map(|a| ACTS.map(|b| [*a, b])) {
                    // A sweep that finds nothing never reaches the writer.
                    let idles = acts.contains(&Act::Sweep) && when == When::Before;
                    // Whoever is second finds nothing due, once the first has written it.
                    let twice = acts == [Act::Sweep; 2];
                    if meeting == Meeting::Together && (idles || twice) {
                        continue;
                    }
                    files += 1;
                    let file = format!("f{files}");
                    let id = held(&kit, &holder, reserve(&file, 10)).id.get();
                    let early = i64::from(when == When::Before);
                    kit.clock.advance_us(10 * SECOND - early);
                    let mut rules = Rules { is_up: when == When::At, ended: None };
                    let mut expected = acts.map(|act| rules.act(act));
                    if acts == [Act::TakeOver; 2] && when == When::At {
                        expected[1] = "ok"; // its own, again
                    }
                    let what = format!("{acts:?} {meeting:?} {when:?}");
                    assert_eq!(world.pair(meeting, acts, id, &file), expected, "{what}");
                    assert_eq!(world.ended(id), rules.ended.unwrap_or_default(), "{what}");
                    kit.clock.advance_us(60 * SECOND);
                    sweep(kit.kernel());
                }
            }
        }
        assert!(files > 80, "{files}");
    }

    // 3.6 F1: of two who want what overlaps, whoever comes first has it
    fn who_reserves_first_has_it(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        for (n, meeting) in Meeting::BOTH.into_iter().enumerate() {
            for (m, [first, second]) in [[&blue, &red], [&red, &blue]].into_iter().enumerate() {
                let pattern = |end: &str| format!("d{n}{m}/{end}");
                let (won, lost) = meeting.run(
                    &kit,
                    || ask(&kit, first, reserve(&pattern("*.rs"), 60)),
                    || ask(&kit, second, reserve(&pattern("a.*"), 60)),
                );
                let won = won.unwrap().answer.reservations.remove(0);
                let Err(Error::ReservationConflict { conflicts }) = lost else {
                    panic!("{lost:?}");
                };
                let named: Vec<_> = conflicts.iter().map(|one| (one.reservation_id, one.fence)).collect();
                assert_eq!(named, [(won.id, won.fence)]);
            }
        }
    }

    // 3.6 F6 3.9: an upgrade is a grant; the shared row goes with it or stays as it was
    fn an_upgrade_is_checked_against_the_others(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        for (n, meeting) in Meeting::BOTH.into_iter().enumerate() {
            let file = |end: &str| format!("u{n}{end}");
            let both = file("both");
            let shares = [&blue, &red].map(|who| held(&kit, who, shared(&both, 60)));
            let (one, other) = meeting.run(
                &kit,
                || ask(&kit, &blue, reserve(&both, 60)),
                || ask(&kit, &red, reserve(&both, 60)),
            );
            assert_eq!([word(&one), word(&other)], ["reservation_conflict"; 2]);
            for share in shares {
                let get = GetReservation { id: share.id };
                assert!(kit.ask(get).unwrap().answer.reservation.is_active, "the shared one stays");
            }

            let first = file("first");
            let share = held(&kit, &blue, shared(&first, 60));
            let (upgraded, late) = meeting.run(
                &kit,
                || ask(&kit, &blue, reserve(&first, 60)),
                || ask(&kit, &red, shared(&first, 60)),
            );
            let upgraded = upgraded.unwrap().answer.reservations.remove(0);
            assert!(upgraded.id > share.id && upgraded.fence > share.fence && upgraded.exclusive);
            assert_eq!(word(&late), "reservation_conflict");
            assert!(!kit.ask(GetReservation { id: share.id }).unwrap().answer.reservation.is_active);

            let last = file("last");
            let share = held(&kit, &blue, shared(&last, 60));
            let (joined, refused) = meeting.run(
                &kit,
                || ask(&kit, &red, shared(&last, 60)),
                || ask(&kit, &blue, reserve(&last, 60)),
            );
            assert_eq!([word(&joined), word(&refused)], ["ok", "reservation_conflict"]);
            assert!(kit.ask(GetReservation { id: share.id }).unwrap().answer.reservation.is_active);
        }
    }

    // 3.6 F11: many are granted together or not at all
    fn of_many_all_or_none_whoever_comes_first(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        for (n, meeting) in Meeting::BOTH.into_iter().enumerate() {
            for many_first in [true, false] {
                let dir = format!("m{n}{many_first}");
                let names = ["a", "b", "c"].map(|name| format!("{dir}/{name}"));
                let many: ReserveFiles = request(&json!({ "paths": names }));
                let one = || ask(&kit, &red, reserve(&format!("{dir}/b"), 60));
                let many = || ask(&kit, &blue, many);
                let words = if many_first {
                    let (many, one) = meeting.run(&kit, many, one);
                    [word(&many), word(&one)]
                } else {
                    let (one, many) = meeting.run(&kit, one, many);
                    [word(&many), word(&one)]
                };
                let rows = kit.shell(&format!(
                    "select count(*) from reservation where substr(pattern, 1, {}) = '{dir}'", dir.len()
                ));
                let (expected, all) = if many_first {
                    (["ok", "reservation_conflict"], "3")
                } else {
                    (["reservation_conflict", "ok"], "1")
                };
                assert_eq!((words, rows.unwrap().as_str()), (expected, all));
            }
        }
    }
}

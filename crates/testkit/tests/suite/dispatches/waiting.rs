//! Waiting for work: woken by whatever makes some claimable, in turn, and only for who is still
//! there (3.5).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use comity_domain::Span;
use comity_kernel::actor::{IdempotencyKey, Party};
use comity_kernel::ambient::{Clock, Reading};
use comity_kernel::dispatch::claim::ClaimedDispatch;
use comity_kernel::line::{Claim, Patient};
use comity_kernel::tx::WriteTx;
use comity_kernel::{Caller, Command, Reply, Stop};
use comity_testkit::{Kit, both_engines};
use serde::Serialize;

use super::*;

fn wait_for(
    shop: &Shop,
    who: &Actor,
    wait: &str,
) -> impl Future<Output = Result<Reply<ClaimedDispatch>, Error>> + Send + use<> {
    let wish = json!({ "agent_kinds": ["coder"], "lease": "1m", "wait": wait });
    let command: ClaimDispatch = request(&wish);
    let kernel = shop.team.kit.kernel();
    kernel.execute_patiently(who.clone().into(), command)
}

/// A claim that counts how often its caller looks for work.
#[derive(Clone, Serialize)]
#[serde(transparent)]
struct Counted {
    claim: ClaimDispatch,
    #[serde(skip)]
    looks: Arc<AtomicUsize>,
}

impl Counted {
    fn new(wish: &Value) -> Self {
        let (claim, looks) = (request(wish), Arc::default());
        Self { claim, looks }
    }

    fn looks(&self) -> usize {
        self.looks.load(Ordering::SeqCst)
    }
}

impl Command for Counted {
    const NAME: &'static str = ClaimDispatch::NAME;
    const WHO: &'static [Party] = ClaimDispatch::WHO;
    type Answer = ClaimedDispatch;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<ClaimedDispatch, Stop> {
        self.claim.decide(tx)
    }

    fn is_kept(answer: &ClaimedDispatch) -> bool {
        ClaimDispatch::is_kept(answer)
    }
}

impl Patient for Counted {
    type Look = <ClaimDispatch as Patient>::Look;

    fn patience(&self) -> Option<Span> {
        self.claim.patience()
    }

    fn claim(&self) -> Claim {
        self.claim.claim()
    }

    fn look(&self) -> Self::Look {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.claim.look()
    }

    fn is_in_vain(answer: &ClaimedDispatch) -> bool {
        ClaimDispatch::is_in_vain(answer)
    }
}

/// A clock that counts the snapshots it is read for.
struct SnapshotClock {
    clock: Arc<dyn Clock>,
    snapshots: AtomicUsize,
}

impl Clock for SnapshotClock {
    fn read(&self, server_us: Option<i64>) -> Reading {
        let thread = std::thread::current();
        if thread.name().is_some_and(|name| name.starts_with("reader")) {
            self.snapshots.fetch_add(1, Ordering::SeqCst);
        }
        self.clock.read(server_us)
    }
}

fn with_key(who: &Actor) -> Caller {
    Caller::from(who.clone()).with_key(IdempotencyKey::parse("k").unwrap())
}

/// Lets everything that is ready run.
async fn settle() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

/// Waits for work while something happens.
fn meanwhile(shop: &Shop, what: impl FnOnce() + Send) -> Dispatch {
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let claimed = soon(wait_for(shop, &shop.team.red, "60s"));
            claimed.unwrap().answer.dispatch.expect("work")
        });
        // Nothing is lost if it does not wait yet.
        std::thread::yield_now();
        what();
        waiting.join().unwrap()
    })
}

both_engines! {
    // BEHAVIOUR: whatever makes work claimable wakes who waits
    fn whatever_makes_work_claimable_wakes(engine) {
        let shop = Shop::new(engine);
        let (blue, red) = (&shop.team.blue, &shop.team.red);
        let done = |claim: &Dispatch| drop(shop.finish(red, claim, "completed").unwrap());
        let claim = meanwhile(&shop, || drop(shop.create(&json!({}))));
        done(&claim);
        // A dependency is completed.
        let before = shop.claimed(blue, &json!({ "agent_kind": "first" }));
        let last = shop.create(&json!({ "depends_on": [before.id] }));
        let claim = meanwhile(&shop, || drop(shop.finish(blue, &before, "completed").unwrap()));
        assert_eq!(claim.id, last.id);
        done(&claim);
        // A run goes on.
        let run = shop.run(1, &json!({ "max_dispatches": 1 }));
        shop.steer("run_paused", run);
        let rests = shop.create(&json!({ "run": run }));
        let claim = meanwhile(&shop, || shop.steer("run_resumed", run));
        assert_eq!(claim.id, rests.id);
        done(&claim);
        // A limit is freed: by an end, and by a cancel.
        let full = shop.claimed(blue, &json!({ "run": run }));
        let next = shop.create(&json!({ "run": run }));
        let claim = meanwhile(&shop, || drop(shop.finish(blue, &full, "failed").unwrap()));
        assert_eq!(claim.id, next.id);
        let next = shop.create(&json!({ "run": run }));
        let cancel = json!({ "id": claim.id, "expected_revision": 2 });
        let claim = meanwhile(&shop, || drop(shop.call(&shop.chief, "cancel_dispatch", &cancel).unwrap()));
        assert_eq!(claim.id, next.id);
        done(&claim);
        // A worker retires.
        let held = shop.claimed(blue, &json!({}));
        let retire = json!({ "project": "web", "agent": "Blue" });
        let claim = meanwhile(&shop, || drop(shop.call(&Actor::OPERATOR, "retire_agent", &retire).unwrap()));
        assert_eq!(claim.id, held.id);
    }

    // 3.2: what the clock alone makes claimable wakes, too, without a server
    fn the_clock_alone_wakes(engine) {
        let shop = Shop::new(engine);
        let blue = &shop.team.blue;
        let held = shop.claimed(blue, &json!({}));
        shop.team.kit.clock.advance_us(MINUTE - 1_000);
        let claim = meanwhile(&shop, || shop.team.kit.clock.advance_us(1_000));
        assert_eq!((claim.id, claim.claims), (held.id, 2));
        shop.finish(&shop.team.red, &claim, "failed").unwrap();
        let next = shop.call(&shop.chief, "retry_dispatch", &json!({ "id": held.id })).unwrap();
        shop.team.kit.clock.advance_us(5 * SECOND - 1_000);
        let claim = meanwhile(&shop, || shop.team.kit.clock.advance_us(1_000));
        assert_eq!(json!(claim.id), next["dispatch"]["id"]);
    }

    // 3.5: first come, first served
    fn who_waits_first_is_served_first(engine) {
        let shop = Shop::new(engine);
        let waiters = [&shop.team.blue, &shop.team.green, &shop.team.red];
        let served = Arc::new(Mutex::new(Vec::new()));
        let wish: CreateDispatch = request(&wish(&json!({})));
        soon(async {
            let mut waiting = tokio::task::JoinSet::new();
            for (n, waiter) in waiters.into_iter().enumerate() {
                let (grant, served) = (wait_for(&shop, waiter, "60s"), Arc::clone(&served));
                waiting.spawn(async move {
                    let claimed = grant.await.unwrap().answer.dispatch.expect("work");
                    served.lock().unwrap().push((n, claimed.id.get()));
                });
                settle().await;
            }
            for _ in waiters {
                shop.team.kit.kernel().execute(shop.chief.clone().into(), wish.clone()).await.unwrap();
                waiting.join_next().await.unwrap().unwrap();
            }
        });
        assert_eq!(*served.lock().unwrap(), [(0, 1), (1, 2), (2, 3)]);
    }

    // BEHAVIOUR: the end of patience is nothing, and so is the end of the server
    fn the_end_of_patience_is_nothing(engine) {
        let shop = Shop::new(engine);
        let nothing = soon(wait_for(&shop, &shop.team.blue, "20ms")).unwrap();
        assert_eq!(nothing.answer.dispatch, None);
        soon(async {
            let waiting = tokio::spawn(wait_for(&shop, &shop.team.blue, "60s"));
            settle().await;
            shop.team.kit.kernel().end_waits();
            assert_eq!(waiting.await.unwrap().unwrap().answer.dispatch, None);
        });
    }

    // 3.5: whoever has left by the time the writer comes to it claims nothing
    fn a_waiter_that_left_claims_nothing(engine) {
        let shop = Shop::new(engine);
        let kernel = shop.team.kit.kernel();
        let made = shop.create(&json!({}));
        let gate = shop.team.kit.failpoints.pause("writer.before_batch");
        let before = kernel.probe();
        gate.wait_until_hit();
        soon(async {
            let waiting = tokio::spawn(wait_for(&shop, &shop.team.blue, "60s"));
            while kernel.waiting().0 == 0 {
                tokio::task::yield_now().await;
            }
            waiting.abort();
            assert!(waiting.await.unwrap_err().is_cancelled());
        });
        gate.open();
        before.wait().unwrap();
        kernel.probe().wait().unwrap();
        assert_eq!(shop.get(made.id).claims, 0);
    }

    // C2: one who waits with a key and is served finds the same answer again
    fn a_patient_claim_with_a_key_is_one_claim(engine) {
        let shop = Shop::new(engine);
        let caller = || with_key(&shop.team.blue);
        let wish = json!({ "agent_kinds": ["coder"], "wait": "60s" });
        let claim = || {
            let command: ClaimDispatch = request(&wish);
            soon(shop.team.kit.kernel().execute_patiently(caller(), command)).unwrap()
        };
        let first = std::thread::scope(|scope| {
            let waiting = scope.spawn(claim);
            shop.create(&json!({}));
            shop.create(&json!({}));
            waiting.join().unwrap()
        });
        let again = claim();
        assert!(again.replayed);
        assert_eq!(again.answer, first.answer);
        // How long one would have waited is no part of what was asked.
        let now: ClaimDispatch = request(&json!({ "agent_kinds": ["coder"] }));
        let again = shop.team.kit.kernel().execute(caller(), now).wait().unwrap();
        assert_eq!((again.replayed, again.answer), (true, first.answer));
    }

    // C2 3.5: who lost the answer to its key has it again without waiting for other work
    fn a_repeated_key_is_answered_before_anybody_waits(engine) {
        let shop = Shop::new(engine);
        let kernel = shop.team.kit.kernel();
        shop.create(&json!({}));
        let claim = Counted::new(&json!({ "agent_kinds": ["coder"], "wait": "10s" }));
        let call = |claim: &Counted| soon(kernel.execute_patiently(with_key(&shop.team.blue), claim.clone()));
        let first = call(&claim).unwrap();
        assert_eq!((first.replayed, claim.looks()), (false, 1));
        let again = call(&claim).unwrap();
        assert_eq!((again.replayed, claim.looks()), (true, 1));
        assert_eq!((again.answer, again.seq), (first.answer, first.seq));
        let other = Counted::new(&json!({ "agent_kinds": ["tester"], "wait": "10s" }));
        assert_eq!(call(&other).unwrap_err().code().word, "idempotency_mismatch");
        assert_eq!(other.looks(), 0);
    }

    // 3.5: what makes no work claimable disturbs nobody who waits for work
    fn other_events_wake_nobody(engine) {
        let mut kit = Kit::new(engine);
        let counter = Arc::new(SnapshotClock { clock: kit.clock.clone(), snapshots: AtomicUsize::new(0) });
        kit.reopen(|options| options.ambient.clock = counter.clone()).unwrap();
        let shop = Shop::of(Team::of(kit));
        let claim = Counted::new(&json!({ "project": "web", "agent_kinds": ["coder"], "wait": "60s" }));
        let before = counter.snapshots.load(Ordering::SeqCst);
        // Each look is one snapshot; each other asks what has happened since the last.
        let asked = || (counter.snapshots.load(Ordering::SeqCst) - before).saturating_sub(claim.looks());
        let (quiet, claimed) = std::thread::scope(|scope| {
            let kernel = shop.team.kit.kernel();
            let waiting = scope.spawn(|| soon(kernel.execute_patiently(Actor::OPERATOR.into(), claim.clone())));
            until(|| asked() == 1 && claim.looks() == 1);
            // Whoever looks because of one asks about the next but one only after that.
            for asks in 2..=6 {
                let letter = json!({ "project": "web", "to": ["operator"], "subject": "s", "body": "b" });
                let letter: comity_kernel::mail::SendMessage = request(&letter);
                shop.team.kit.run(letter).unwrap();
                until(|| asked() >= asks);
            }
            let quiet = (asked(), claim.looks());
            let work: CreateDispatch = request(&wish(&json!({})));
            shop.team.kit.run_as(shop.chief.clone(), work).unwrap();
            (quiet, waiting.join().unwrap())
        });
        assert_eq!(quiet, (6, 1));
        assert!(claimed.unwrap().answer.dispatch.is_some());
        assert_eq!(claim.looks(), 2);
    }
}

//! Waiting for others to let go: in turn, with the whole time from the grant, and only for who is
//! still there (3.5).

use std::sync::{Arc, Mutex};

use comity_kernel::Caller;
use comity_kernel::actor::IdempotencyKey;
use comity_kernel::reservation::reserve::ReservedFiles;
use comity_testkit::{Kit, both_engines};

use super::*;

/// A request that waits so long.
fn patient(pattern: &str, wait: &str) -> ReserveFiles {
    request(&json!({ "patterns": [pattern], "ttl": "10s", "wait": wait }))
}

fn wait_for(
    kit: &Kit,
    actor: &Actor,
    command: ReserveFiles,
) -> impl Future<Output = Result<Reply<ReservedFiles>, Error>> + Send + use<> {
    kit.kernel()
        .execute_patiently(actor.clone().into(), command)
}

fn with_key(actor: &Actor) -> Caller {
    Caller::from(actor.clone()).with_key(IdempotencyKey::parse("k").unwrap())
}

/// Lets everything that is ready run.
async fn settle() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

both_engines! {
    // 3.5: first come, first served
    fn who_waits_first_is_served_first(engine) {
        let kit = Kit::new(engine);
        let [blue, waiters @ ..]: [Actor; 4] = town(&kit);
        let lease = held(&kit, &blue, reserve("src/**", 60));
        let served = Arc::new(Mutex::new(Vec::new()));
        soon(async {
            let mut waiting = tokio::task::JoinSet::new();
            for (n, waiter) in waiters.into_iter().enumerate() {
                let grant = wait_for(&kit, &waiter, patient(["src/a", "src/*", "**/a"][n], "60s"));
                let (kernel, served) = (kit.share(), Arc::clone(&served));
                waiting.spawn(async move {
                    let granted = grant.await.unwrap().answer;
                    served.lock().unwrap().push(n);
                    let id = granted.reservations[0].id.get();
                    kernel.execute(waiter.into(), release(id)).await.unwrap();
                });
                // It stands in line before the next one comes.
                settle().await;
            }
            kit.kernel().execute(blue.into(), release(lease.id.get())).await.unwrap();
            while waiting.join_next().await.is_some() {}
        });
        assert_eq!(*served.lock().unwrap(), [0, 1, 2]);
    }

    // 3.5: the time counts from the grant, not from the request
    fn a_grant_after_waiting_has_its_whole_time(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        let lease = held(&kit, &blue, reserve("a", 60));
        let granted = soon(async {
            let waiting = tokio::spawn(wait_for(&kit, &red, patient("a", "60s")));
            settle().await;
            kit.clock.advance_us(7 * SECOND);
            kit.kernel().execute(blue.into(), release(lease.id.get())).await.unwrap();
            waiting.await.unwrap().unwrap()
        });
        assert!(granted.answer.created);
        assert_eq!(granted.answer.reservations[0].ttl_remaining_ms, 10_000);
    }

    // 3.5: whoever has left by the time the writer comes to it is granted nothing
    fn a_waiter_that_left_is_granted_nothing(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        let gate = Held::at_batch(&kit);
        let before = kit.kernel().probe();
        gate.reached();
        soon(async {
            let waiting = tokio::spawn(wait_for(&kit, &red, patient("a", "60s")));
            // It saw that nothing is in its way, and its request waits for the writer.
            while kit.kernel().waiting().0 == 0 {
                tokio::task::yield_now().await;
            }
            waiting.abort();
            assert!(waiting.await.unwrap_err().is_cancelled());
        });
        gate.open();
        before.wait().unwrap();
        kit.kernel().probe().wait().unwrap();
        assert_eq!(kit.shell("select count(*) from reservation").unwrap(), "0");
        assert!(kit.run_as(blue, reserve("a", 60)).unwrap().answer.created);
    }

    // 3.5: one that leaves the line is passed over
    fn who_leaves_the_line_is_passed_over(engine) {
        let kit = Kit::new(engine);
        let [blue, red, green] = town(&kit);
        let lease = held(&kit, &blue, reserve("a", 60));
        let granted = soon(async {
            let first = tokio::spawn(wait_for(&kit, &red, patient("a", "60s")));
            settle().await;
            let second = tokio::spawn(wait_for(&kit, &green, patient("a", "60s")));
            settle().await;
            first.abort();
            assert!(first.await.unwrap_err().is_cancelled());
            kit.kernel().execute(blue.into(), release(lease.id.get())).await.unwrap();
            second.await.unwrap().unwrap()
        });
        assert_eq!(granted.answer.reservations[0].held_by, "Agent2");
        assert_eq!(kit.shell("select count(*) from reservation").unwrap(), "2");
    }

    // 3.5 F2: the end of patience is the conflict
    fn the_end_of_patience_is_the_conflict(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        let lease = held(&kit, &blue, reserve("a", 60));
        let answer = soon(wait_for(&kit, &red, patient("a", "20ms")));
        let Err(Error::ReservationConflict { conflicts }) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(conflicts[0].reservation_id, lease.id);
    }

    // 3.5 F15: a lease expires without an event, and whoever waits notices
    fn expiry_alone_wakes_who_waits(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        held(&kit, &blue, reserve("a", 1));
        let head = *kit.kernel().head().borrow();
        let granted = soon(async {
            let waiting = tokio::spawn(wait_for(&kit, &red, patient("a", "60s")));
            settle().await;
            kit.clock.advance_us(SECOND);
            waiting.await.unwrap().unwrap()
        });
        assert_eq!(granted.seq.get(), head.get() + 1, "nothing but the grant was written");
    }

    // 3.5: a server that stops tells everybody who waits
    fn ended_waits_are_answered_with_the_conflict(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        held(&kit, &blue, reserve("a", 60));
        kit.run_as(blue.clone(), lock("port", 60)).unwrap();
        let port: AcquireLock = request(&json!({ "name": "port", "wait": "60s" }));
        soon(async {
            let files = tokio::spawn(wait_for(&kit, &red, patient("a", "60s")));
            let port = tokio::spawn(kit.kernel().execute_patiently(red.clone().into(), port));
            settle().await;
            kit.kernel().end_waits();
            assert_eq!(word(&files.await.unwrap()), "reservation_conflict");
            assert_eq!(word(&port.await.unwrap()), "reservation_conflict");
        });
    }

    // C2 3.5: who lost the answer to its key has it again, whoever holds the files by now
    fn a_repeated_key_is_answered_before_anybody_waits(engine) {
        let kit = Kit::new(engine);
        let [blue, red] = town(&kit);
        let call = || soon(kit.kernel().execute_patiently(with_key(&blue), patient("a", "60s")));
        let first = call().unwrap();
        kit.run_as(blue.clone(), release(first.answer.reservations[0].id.get())).unwrap();
        held(&kit, &red, reserve("a", 3_600));
        let started = Instant::now();
        let again = call().unwrap();
        assert!(again.replayed);
        assert_eq!(again.answer, first.answer);
        assert!(started.elapsed() < PATIENCE / 2, "it waited");
    }

    // 3.5: who has a key that was never answered keeps the place it came to
    fn a_key_costs_nobody_its_place(engine) {
        let kit = Kit::new(engine);
        let [blue, red, green] = town(&kit);
        let lease = held(&kit, &blue, reserve("a", 60));
        let first = soon(async {
            let keyed = kit.kernel().execute_patiently(with_key(&red), patient("a", "60s"));
            let keyed = tokio::spawn(keyed);
            tokio::task::yield_now().await;
            let other = tokio::spawn(wait_for(&kit, &green, patient("a", "60s")));
            tokio::task::yield_now().await;
            kit.kernel().execute(blue.into(), release(lease.id.get())).await.unwrap();
            let first = keyed.await.unwrap().unwrap();
            let id = first.answer.reservations[0].id.get();
            assert!(!other.is_finished());
            kit.kernel().execute(red.into(), release(id)).await.unwrap();
            other.await.unwrap().unwrap();
            first
        });
        assert_eq!(first.answer.reservations[0].held_by, "Agent1");
    }
}

//! Group commit: batching is invisible, floods and stops are harmless, readers do not wait.
//!
//! `COMITY_BATCH_LISTS` says how many lists of commands are split.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use comity_kernel::ambient::Entropy;
use comity_kernel::command::Secret;
use comity_kernel::failpoint::{Action, Gate};
use comity_kernel::operation::{self, Outcome};
use comity_kernel::project::{EnsureProject, EnsuredProject};
use comity_kernel::store::StoreError;
use comity_kernel::token::{CreateToken, RevokeToken};
use comity_kernel::{Actor, Error, Kernel, Options, Reply, Ticket};
use comity_testkit::kit::{operator_with_key, register, request};
use comity_testkit::{Engine, Kit, SeededEntropy, both_engines};
use serde_json::{Value, json};

use self::commands::{AgentNames, How, Linger, LostAtFirst, Meet, Meeting, Poisoned, Sabotage};

mod commands;

/// Longer than anything here takes, so that a hang is a failure.
const PATIENCE: Duration = Duration::from_secs(30);

const BEFORE_BATCH: &str = "writer.before_batch";
const BEFORE_COMMIT: &str = "writer.before_commit";

both_engines! {
    // B2 B4 B5 A6 L4
    fn any_split_into_batches_gives_the_same_answers_and_state(engine) {
        let lists = std::env::var("COMITY_BATCH_LISTS").ok();
        let lists = lists.and_then(|lists| lists.parse().ok()).unwrap_or(6);
        println!("batching: {lists} lists, each split twice, {engine:?}");
        for seed in 1..=lists {
            let list = a_list(seed);
            let alone = run_in_batches(engine, &list, &vec![1; list.len()], |options| options.batch_max = 1);
            check_the_poisoned(&list, &alone);
            for split in 1..=2 {
                let sizes = a_split(&SeededEntropy::new(1_000 * seed + split), list.len());
                let together = run_in_batches(engine, &list, &sizes, |_| {});
                assert_eq!(together, alone, "list {seed}, batches of {sizes:?}");
            }
        }
    }

    // B3
    fn a_batch_that_is_lost_runs_again_one_by_one(engine) {
        let kit = Kit::new(engine);
        let gate = Held::at(&kit, BEFORE_BATCH);
        let commands: Vec<_> = (1..=8)
            .map(|n| {
                let command = LostAtFirst::new(ensure(&format!("/srv/{n}")), &kit.failpoints);
                let attempts = Arc::clone(&command.attempts);
                (kit.kernel().execute(Actor::OPERATOR.into(), command), attempts)
            })
            .collect();
        gate.reached();
        gate.open();
        let mut run_again = 0;
        for (ticket, attempts) in commands {
            match (soon(ticket), attempts.load(Ordering::SeqCst)) {
                (Ok(_), 2) => run_again += 1,
                // A slow machine left it alone in its batch: then the failure is its own.
                (Err(Error::StorageFull), 1) => {}
                (answer, attempts) => panic!("{answer:?} after {attempts} attempts"),
            }
        }
        assert!(run_again >= 2, "{run_again}");
        let seq = i64::try_from(run_again).unwrap();
        assert_eq!(project_count(&kit), (run_again, seq));
        kit.failpoints.clear(BEFORE_COMMIT);
    }

    // L2: a batch that lost against another server is run again from fresh reads, ten times
    fn a_batch_that_lost_against_another_server_runs_again(engine) {
        let kit = Kit::new(engine);
        let outrun = |times| vec![StoreError::Conflict(Arc::new(std::fmt::Error)); times];
        let run = |key: &str, times| {
            let command = Sabotage::new(ensure(key), outrun(times), &kit.failpoints);
            let attempts = Arc::clone(&command.attempts);
            let answer = soon(kit.kernel().execute(Actor::OPERATOR.into(), command));
            (answer, attempts.load(Ordering::SeqCst))
        };
        let (won, attempts) = run("/srv/1", 9);
        assert!(won.unwrap().answer.created);
        assert_eq!(attempts, 10);
        let (lost, attempts) = run("/srv/2", 10);
        assert!(matches!(lost, Err(Error::Busy { .. })), "{lost:?}");
        assert_eq!(attempts, 10);
        kit.failpoints.clear(BEFORE_COMMIT);
        assert_eq!(project_count(&kit), (1, 1));
    }

    // A11: the disk fails while a lost batch runs one by one; nobody behind it is acknowledged
    fn after_a_failed_disk_nobody_in_the_batch_is_acknowledged(engine) {
        // However slow the machine is, they are one batch.
        let kit = Kit::with(engine, |options| options.batch_us_max = 60_000_000);
        let gate = Held::at(&kit, BEFORE_BATCH);
        let cause = || Arc::new(std::fmt::Error);
        let plan = vec![StoreError::Full(cause()), StoreError::Io(cause())];
        let first = Sabotage::new(ensure("/srv/0"), plan, &kit.failpoints);
        let mut tickets = vec![kit.kernel().execute(Actor::OPERATOR.into(), first)];
        gate.reached();
        // The fault passes: whoever runs after the failed disk could be committed, and must not be.
        tickets.extend((1..=3).map(|n| {
            let plan = vec![StoreError::Full(cause())];
            let behind = Sabotage::new(ensure(&format!("/srv/{n}")), plan, &kit.failpoints);
            kit.kernel().execute(Actor::OPERATOR.into(), behind)
        }));
        gate.open();
        for ticket in tickets {
            let answer = soon(ticket);
            assert!(answer.is_err(), "{answer:?}");
        }
        assert!(kit.kernel().gave_up().borrow().is_some());
        kit.failpoints.clear(BEFORE_COMMIT);
        assert_eq!(project_count(&kit), (0, 0));
    }

    // B2
    fn a_command_that_cannot_be_committed_fails_alone(engine) {
        let kit = Kit::with(engine, |options| options.batch_max = 1);
        let gate = Held::at(&kit, BEFORE_BATCH);
        let command = |n| LostAtFirst::new(ensure(&format!("/srv/{n}")), &kit.failpoints);
        let lost = kit.kernel().execute(Actor::OPERATOR.into(), command(0));
        gate.reached();
        let behind = |n| kit.kernel().execute(Actor::OPERATOR.into(), command(n).not_lost());
        let behind: Vec<_> = (1..=3).map(behind).collect();
        gate.open();
        assert!(matches!(soon(lost), Err(Error::StorageFull)));
        for ticket in behind {
            assert!(soon(ticket).expect("not touched by another's failure").answer.created);
        }
    }

    // E5 B2
    fn a_token_revoked_earlier_in_the_batch_acts_no_more(engine) {
        let kit = Kit::new(engine);
        let actor = operator_by_token(&kit);
        let id = actor.token().unwrap();
        let gate = Held::at(&kit, BEFORE_BATCH);
        let revoked = kit.kernel().execute(Actor::OPERATOR.into(), RevokeToken { id });
        gate.reached();
        let late = kit.kernel().execute(actor.into(), ensure("/srv/late"));
        gate.open();
        assert!(soon(revoked).unwrap().answer.token.revoked_at.is_some());
        assert!(matches!(soon(late), Err(Error::Unauthorized)));
    }

    // fault 11
    fn a_panic_in_a_command_is_one_internal_error(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let answer = kit.run(Poisoned::new(How::Panic, "poison"));
        let Err(Error::Internal { id, .. }) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(id.len(), 12, "{id}");
        let next = kit.run(register("web", "poison")).expect("the next command works");
        assert_eq!((next.answer.agent.id.get(), next.seq.get()), (1, 3));
    }

    // B6
    fn one_callers_flood_delays_another_by_two_batches_at_most(engine) {
        let kit = Kit::with(engine, |options| {
            options.batch_max = 4;
            options.queue_max = 40;
            options.queue_per_caller_max = 20;
        });
        let [flood, other, third, fourth] = std::array::from_fn(|_| operator_by_token(&kit));
        let mut number = 0;
        let mut send = |actor: &Actor| {
            number += 1;
            kit.kernel().execute(actor.clone().into(), ensure(&format!("/srv/{number}")))
        };
        let gate = Held::at(&kit, BEFORE_BATCH);
        // One is in the writer's hands, twenty wait.
        let mut taken = vec![send(&flood)];
        gate.reached();
        taken.extend((0..20).map(|_| send(&flood)));
        for _ in 0..100 {
            assert_busy(send(&flood), "of this caller"); // answered while the writer stands still
        }
        let single = send(&other);
        taken.extend((0..19).map(|_| send(&third)));
        for actor in [&flood, &other, &third, &fourth] {
            assert_busy(send(actor), "too many requests");
        }
        gate.open();
        let single = soon(single).expect("the single command").seq;
        let taken: Vec<_> = taken.into_iter().map(|ticket| soon(ticket).unwrap().seq).collect();
        let before = taken.iter().filter(|seq| **seq < single).count();
        assert!(before < 2 * 4, "{before} commands were before it");
        let in_order = |seqs: &[_]| seqs.is_sorted();
        assert!(in_order(&taken[..21]) && in_order(&taken[21..]));
        assert_eq!(project_count(&kit).0, 41);
    }

    // B8
    fn a_stop_answers_everybody_who_waits(engine) {
        let mut kit = Kit::with(engine, |options| options.batch_max = 4);
        kit.stop();
        for waiting in 0..=2 * 4 {
            let kernel = Kernel::open(kit.options().clone()).unwrap();
            let gate = Held::at(&kit, BEFORE_BATCH);
            let send = |n| {
                let key = format!("/srv/{waiting}/{n}");
                kernel.execute(Actor::OPERATOR.into(), ensure(&key))
            };
            let tickets: Vec<_> = (0..waiting).map(send).collect();
            if waiting > 0 {
                gate.reached();
            }
            let clocks = Arc::strong_count(&kit.clock);
            let stopped = in_thread(move || kernel.stop());
            // Idle readers end, and let go of the clock, once both queues are closed.
            let closed = || Arc::strong_count(&kit.clock) + kit.options().readers <= clocks;
            until(closed);
            gate.open();
            stopped.recv_timeout(Duration::from_secs(5)).expect("stopped in time");
            for ticket in tickets {
                assert!(soon(ticket).expect("an answer").answer.created);
            }
        }
        kit.failpoints.clear(BEFORE_BATCH);
    }

    // B8: the fault is a slow disk; what cannot be done in time is answered unheard
    fn a_stop_does_not_wait_for_a_slow_writer(engine) {
        let mut kit = Kit::with(engine, |options| options.batch_max = 1);
        kit.stop();
        let kernel = Kernel::open(kit.options().clone()).unwrap();
        kit.failpoints.set(BEFORE_BATCH, Action::Delay(Duration::from_millis(200)));
        let send = |n| kernel.execute(Actor::OPERATOR.into(), ensure(&format!("/srv/{n}")));
        let tickets: Vec<_> = (0..40).map(send).collect();
        let started = Instant::now();
        let stopped = in_thread(move || kernel.stop());
        stopped.recv_timeout(PATIENCE).expect("stopped");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        let answers: Vec<_> = tickets.into_iter().map(soon).collect();
        let done = answers.iter().take_while(|answer| answer.is_ok()).count();
        assert!(0 < done && done < answers.len(), "{done}");
        let busy = |answer: &Result<_, Error>| matches!(answer, Err(Error::Busy { .. }));
        assert!(answers[done..].iter().all(busy));
        kit.failpoints.clear(BEFORE_BATCH);
        kit.restart();
        assert_eq!(project_count(&kit).0, done); // nobody was told wrong
    }

    // A3
    fn readers_do_not_wait_for_the_writer(engine) {
        let kit = Kit::with(engine, |options| options.readers = 4);
        kit.project("/srv/web");
        let gate = Held::at(&kit, BEFORE_COMMIT);
        let held = kit.kernel().execute(Actor::OPERATOR.into(), ensure("/srv/late"));
        gate.reached();
        let meeting = Meeting::default();
        let ask = |_| kit.kernel().query(Actor::OPERATOR, Meet::new(&meeting, 4));
        let asked: Vec<_> = (0..4).map(ask).collect();
        for ticket in asked {
            let read = soon(ticket).expect("an answer while the writer is held");
            assert_eq!((read.answer, read.as_of_seq.get()), (1, 1));
        }
        gate.open();
        assert_eq!(soon(held).unwrap().seq.get(), 2);
        assert_eq!(project_count(&kit), (2, 2));
    }

    // A3
    fn the_writer_does_not_wait_for_readers(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let (entered, leave) = (Meeting::default(), Meeting::default());
        let linger = Linger::new(&entered, &leave);
        let lingering = kit.kernel().query(Actor::OPERATOR, linger);
        entered.meet(2);
        let command = kit.kernel().execute(Actor::OPERATOR.into(), ensure("/srv/late"));
        assert_eq!(soon(command).expect("a commit beside the snapshot").seq.get(), 2);
        leave.meet(2);
        let read = soon(lingering).unwrap();
        assert_eq!((read.answer, read.as_of_seq.get()), ((1, 1), 1));
        assert_eq!(project_count(&kit), (2, 2));
    }
}

// Lists of commands, and how they are split.

/// One command of a list.
#[derive(Clone, Debug)]
enum Item {
    /// An operation, its request, and an idempotency key.
    Call(&'static str, Value, Option<u64>),
    /// A command that misbehaves after it has emitted an event.
    Poisoned(How),
}

/// What came of a list.
#[derive(Debug, PartialEq)]
struct Ran {
    answers: Vec<Value>,
    poisoned: Vec<String>,
    state_hash: String,
}

fn a_list(seed: u64) -> Vec<Item> {
    let random = SeededEntropy::new(seed);
    let first = Item::Call("ensure_project", json!({ "key": "/srv/web" }), None);
    let rest = (0..30).map(|_| an_item(&random));
    std::iter::once(first).chain(rest).collect()
}

fn an_item(random: &SeededEntropy) -> Item {
    let pick = |bound| random.below(bound);
    let agent = pick(6) + 1;
    let (operation, request) = match pick(18) {
        0 => (
            "ensure_project",
            json!({ "key": format!("/srv/{}", pick(4)) }),
        ),
        1 => (
            "update_project",
            json!({ "project": "web", "name": format!("web {}", pick(3)) }),
        ),
        2..=4 => {
            let name = format!("agent-{}", pick(8));
            let request = json!({ "project": "web", "name": name, "program": "p", "model": "m" });
            ("register_agent", request)
        }
        5 => (
            "register_agent",
            json!({ "project": "web", "program": "p", "model": "m" }),
        ),
        6 => {
            let task = format!("task {}", pick(3));
            (
                "update_agent",
                json!({ "agent": agent, "task": task, "capabilities": [task] }),
            )
        }
        7 => ("rotate_token", json!({ "agent": agent })),
        8 => ("retire_agent", json!({ "agent": agent })),
        9 => ("create_token", json!({ "role": "observer" })),
        10 => ("revoke_token", json!({ "id": pick(8) + 1 })),
        11 | 12 => {
            let to = [agent.to_string(), "*".to_owned(), "operator".to_owned()];
            let to = &to[usize::try_from(pick(3)).unwrap()..];
            let letter =
                json!({ "project": "web", "to": to, "subject": "s", "body": "some words" });
            ("send_message", letter)
        }
        13 => ("reply", json!({ "id": pick(4) + 1, "body": "more words" })),
        14 => ("acknowledge", json!({ "ids": [pick(4) + 1] })),
        _ => {
            let which = usize::try_from(pick(6)).unwrap();
            return Item::Poisoned(How::ALL[which]);
        }
    };
    let key = (pick(3) == 0).then(|| pick(2));
    Item::Call(operation, request, key)
}

fn a_split(random: &SeededEntropy, length: usize) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut left = length;
    while left > 0 {
        let size = usize::try_from(random.below(12)).unwrap() + 1;
        sizes.push(size.min(left));
        left -= size.min(left);
    }
    sizes
}

/// Runs a list in batches of these sizes; returns what came of it.
fn run_in_batches(
    engine: Engine,
    list: &[Item],
    sizes: &[usize],
    change: impl FnOnce(&mut Options),
) -> Ran {
    let kit = Kit::with(engine, |options| {
        options.ambient.entropy = Arc::new(AlwaysTheSame);
        change(options);
    });
    let mut answers = Vec::new();
    let mut items = list.iter().enumerate();
    for size in sizes {
        let gate = Held::at(&kit, BEFORE_BATCH);
        let mut submit = |(at, item)| submit(kit.kernel(), at, item);
        let mut waiting: Vec<_> = items.by_ref().take(1).map(&mut submit).collect();
        gate.reached();
        waiting.extend(items.by_ref().take(size - 1).map(&mut submit));
        gate.open();
        answers.extend(waiting.into_iter().map(soon));
    }
    kit.failpoints.clear(BEFORE_BATCH);
    Ran {
        answers,
        poisoned: poisoned_agents(&kit),
        state_hash: kit.doctor().state_hash,
    }
}

fn submit(kernel: &Kernel, at: usize, item: &Item) -> Pin<Box<dyn Future<Output = Value>>> {
    match item {
        Item::Call(operation, request, key) => {
            let caller = match key {
                Some(key) => operator_with_key(&format!("key-{key}")),
                None => Actor::OPERATOR.into(),
            };
            let operation = operation::find(operation).unwrap();
            let call = (operation.call)(kernel, caller, request.clone());
            Box::pin(async move { shown(call.await) })
        }
        Item::Poisoned(how) => {
            let command = Poisoned::new(*how, &format!("poisoned-{at}"));
            let ticket = kernel.execute(Actor::OPERATOR.into(), command);
            Box::pin(async move {
                let answer = ticket.await.map(|reply| Outcome {
                    replayed: reply.replayed,
                    answer: json!({ "seq": reply.seq }),
                    secret: None,
                });
                shown(answer)
            })
        }
    }
}

fn shown(answer: Result<Outcome, Error>) -> Value {
    match answer {
        Ok(outcome) => {
            let token = outcome.secret.and_then(Secret::token);
            let token = token.map(|issued| issued.secret.reveal());
            json!({ "answer": outcome.answer, "token": token })
        }
        Err(error) => error.to_json(),
    }
}

/// A poisoned command is answered as what it is, whatever it says itself, and only what a
/// refusal emitted stands.
fn check_the_poisoned(list: &[Item], ran: &Ran) {
    let mut stand = Vec::new();
    for (at, (item, answer)) in list.iter().zip(&ran.answers).enumerate() {
        let Item::Poisoned(how) = item else { continue };
        let code = match how {
            How::Panic | How::Violate | How::Swallow | How::SwallowRead => "internal",
            How::Fail => "invalid",
            How::Refuse => "forbidden",
        };
        assert_eq!(answer["error"], code, "{how:?}: {answer}");
        if let How::Refuse = how {
            stand.push(format!("poisoned-{at}"));
        }
    }
    assert_eq!(ran.poisoned, stand);
}

fn poisoned_agents(kit: &Kit) -> Vec<String> {
    let names = kit.ask(AgentNames).unwrap().answer.into_iter();
    names.filter(|name| name.starts_with("poisoned-")).collect()
}

/// Gives everybody the same bytes. A token's hash still differs by its number.
///
/// An internal error draws its number when it is answered, which is after the batch; with bytes
/// that follow each other the tokens of the batch would depend on how it was split.
struct AlwaysTheSame;

impl Entropy for AlwaysTheSame {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

// Waiting, never for ever.

/// The writer held at a failpoint, and let go when the test ends, however it ends.
struct Held(Gate);

impl Held {
    fn at(kit: &Kit, failpoint: &str) -> Self {
        Self(kit.failpoints.pause(failpoint))
    }

    fn reached(&self) {
        let gate = self.0.clone();
        let hit = in_thread(move || gate.wait_until_hit());
        hit.recv_timeout(PATIENCE).expect("the writer comes by");
    }

    fn open(&self) {
        self.0.open();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.open();
    }
}

fn soon<T>(answer: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let answered = runtime.block_on(async { tokio::time::timeout(PATIENCE, answer).await });
    answered.expect("an answer in time")
}

fn in_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> mpsc::Receiver<T> {
    let (done, receiver) = mpsc::channel();
    std::thread::spawn(move || done.send(run()));
    receiver
}

fn until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "it never came true");
        std::thread::yield_now();
    }
}

// Small things.

fn ensure(key: &str) -> EnsureProject {
    request(&json!({ "key": key }))
}

fn operator_by_token(kit: &Kit) -> Actor {
    let create: CreateToken = request(&json!({ "role": "operator" }));
    let secret = kit.run(create).unwrap().answer.secret.unwrap();
    soon(kit.kernel().authenticate(&secret.reveal()))
        .unwrap()
        .answer
}

fn assert_busy(ticket: Ticket<Reply<EnsuredProject>>, part: &str) {
    match soon(ticket) {
        Err(Error::Busy { reason }) => assert!(reason.contains(part), "{reason}"),
        other => panic!("{other:?}"),
    }
}

fn project_count(kit: &Kit) -> (usize, i64) {
    let meet = Meet::new(&Meeting::default(), 1);
    let read = soon(kit.kernel().query(Actor::OPERATOR, meet)).unwrap();
    (read.answer, read.as_of_seq.get())
}

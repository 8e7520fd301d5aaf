//! Hooks as the kernel keeps them: who may have one, what waits, in which order, and who tells it.

use comity_domain::{HookId, Seq};
use comity_kernel::event::LogAfter;
use comity_kernel::hook::queue::{Ended, Taken, Tried, Waiting};
use comity_kernel::hook::standing::HookStanding;
use comity_kernel::hook::work::{HookEvent, HookTask, HookWork, Work};
use comity_kernel::hook::{AddHook, AddedHook, DeadLetters, Hook, HookState, ListHooks};
use comity_kernel::hook::{RemoveHook, RetryDeadLetter};
use comity_kernel::{Actor, Error, Kernel, Options};
use comity_testkit::kit::{operator_with_key, request};
use comity_testkit::pruned::prune;
use comity_testkit::{Engine, Kit, both_engines};
use serde_json::{Value, json};

fn add(kit: &Kit, wish: &Value) -> Result<AddedHook, Error> {
    Ok(kit.run(request::<AddHook>(wish))?.answer)
}

fn added(kit: &Kit) -> HookId {
    let wish = json!({ "url": "http://hooks.example/in" });
    add(kit, &wish).unwrap().hook.id
}

fn list(kit: &Kit) -> Vec<Hook> {
    kit.ask(ListHooks::default()).unwrap().answer.items
}

fn only(kit: &Kit) -> Hook {
    list(kit).pop().unwrap()
}

fn only_of(kit: &Kit, id: HookId) -> Hook {
    let found = list(kit).into_iter().find(|hook| hook.id == id);
    found.unwrap()
}

fn work(kit: &Kit) -> Work {
    kit.ask_as(Actor::System, HookWork { each: 100 })
        .unwrap()
        .answer
}

fn task(kit: &Kit) -> HookTask {
    work(kit).hooks.pop().unwrap()
}

fn due(kit: &Kit) -> Vec<i64> {
    task(kit).due.iter().map(|due| due.seq.get()).collect()
}

/// Takes the office by the name of `holder`; returns the fence if it was had.
fn stand(kernel: &Kernel, holder: &str) -> Option<i64> {
    kernel.stand_for_hooks(holder.to_owned()).wait().unwrap();
    let work = kernel.query(Actor::System, HookWork { each: 0 }).wait();
    let present = work.unwrap().answer.deliverer.unwrap();
    (present.holder == holder).then_some(present.fence)
}

/// Has a hook want events of these subjects, one behind the other from its place on.
fn want(kit: &Kit, fence: i64, hook: HookId, subjects: &[i64]) -> Vec<i64> {
    let from = task(kit).through;
    let seqs = (1..).map(|n| Seq::new(from.get() + n));
    let wanted: Vec<_> = seqs
        .zip(subjects)
        .map(|(seq, subject)| Waiting {
            seq,
            subject: ("message".to_owned(), *subject),
        })
        .collect();
    let seqs = wanted.iter().map(|one| one.seq.get()).collect();
    let through = wanted.last().unwrap().seq;
    let taken = Taken {
        hook,
        from,
        through,
        wanted,
    };
    kit.kernel()
        .move_hooks(fence, vec![taken], Vec::new())
        .wait()
        .unwrap();
    seqs
}

fn tried(kit: &Kit, fence: i64, hook: HookId, seq: i64, ended: Ended) {
    let seq = Seq::new(seq);
    let tried = Tried { hook, seq, ended };
    kit.kernel()
        .move_hooks(fence, Vec::new(), vec![tried])
        .wait()
        .unwrap();
}

fn failed(rest_us: i64) -> Ended {
    let reason = "answered 500".to_owned();
    Ended::Failed { reason, rest_us }
}

fn given_up() -> Ended {
    Ended::GivenUp {
        reason: "answered 410 Gone".to_owned(),
    }
}

/// The whole log of a database.
fn events_of(kit: &Kit) -> Vec<comity_kernel::log::Recorded> {
    let all = comity_kernel::archive::ArchiveBatch {
        after: Seq::ZERO,
        through: Seq::new(i64::MAX),
        events_max: 10_000,
        bytes_max: i64::MAX,
    };
    kit.ask_as(Actor::System, all).unwrap().answer.events
}

both_engines! {
    fn a_hook_is_added_listed_and_removed(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        let wish = json!({
            "url": "https://hooks.example/in", "filter": { "project": "web", "kinds": ["project_updated"] },
        });
        let made = add(&kit, &wish).unwrap();
        let hook = made.hook;
        assert_eq!((hook.url.as_deref(), hook.since, hook.lag), (Some("https://hooks.example/in"), Seq::new(1), 1));
        assert_eq!((hook.state, hook.revision), (HookState::Following, 1));
        assert_eq!(list(&kit), std::slice::from_ref(&hook));
        let removed = kit.run(RemoveHook { id: hook.id }).unwrap();
        assert_eq!((removed.answer.hook.state, removed.answer.hook.revision), (HookState::Removed, 2));
        let again = kit.run(RemoveHook { id: hook.id }).unwrap();
        assert_eq!((again.answer, again.seq), (removed.answer, removed.seq));
        assert_eq!(list(&kit), []);
        let gone = kit.run(RemoveHook { id: HookId::new(99) }).unwrap_err();
        assert_eq!(gone.code().word, "not_found");
    }

    // S18: the secret is told once and is in no event and no stored answer
    fn the_secret_is_told_once_and_is_not_on_the_log(engine) {
        let kit = Kit::new(engine);
        let wish = || request::<AddHook>(&json!({ "url": "http://hooks.example/" }));
        let first = kit.run_as(operator_with_key("k"), wish()).unwrap();
        let secret = first.answer.secret.unwrap().reveal();
        let again = kit.run_as(operator_with_key("k"), wish()).unwrap();
        assert!(again.replayed && again.answer.secret.is_none());
        assert_eq!((again.answer.hook.id, again.seq), (first.answer.hook.id, first.seq));
        let digits = secret.rsplit_once('_').unwrap().1;
        let stored = kit.shell("select payload from event union all select answer from idempotency").unwrap();
        assert!(!stored.contains(digits) && stored.contains("hooks.example"));
        assert!(!format!("{:?}", work(&kit)).contains(digits));
    }

    fn a_hook_that_cannot_be_is_refused(engine) {
        let kit = Kit::new(engine);
        kit.project("/srv/web");
        for (wish, field) in [
            (json!({}), "url"),
            (json!({ "url": "http://a/", "command": ["/bin/true"] }), "command"),
            (json!({ "command": ["/bin/true"] }), "command"),
            (json!({ "url": "http://a/", "since": 2 }), "since"),
            (json!({ "url": "http://a/", "since": -1 }), "since"),
            (json!({ "url": "http://a/", "filter": { "kinds": ["no_such"] } }), "kinds"),
        ] {
            let refused = add(&kit, &wish).unwrap_err().to_json();
            assert_eq!((&refused["error"], &refused["field"]), (&json!("invalid"), &json!(field)), "{wish}");
        }
        let refused = add(&kit, &json!({ "command": ["/bin/true"] })).unwrap_err();
        assert!(refused.to_string().contains("allow_commands"), "{refused}");
        let decoded = comity_domain::json::decode::<AddHook>(json!({ "url": "ftp://a/" }));
        assert!(decoded.is_err());
        for _ in 0..64 {
            added(&kit);
        }
        let refused = add(&kit, &json!({ "url": "http://a/" })).unwrap_err();
        assert_eq!(refused.code().word, "limit_exceeded");
    }

    fn a_program_is_allowed_by_the_configuration(engine) {
        let kit = Kit::with(engine, |options: &mut Options| options.hook_commands = true);
        let made = add(&kit, &json!({ "command": ["/bin/cat", "-"] })).unwrap();
        assert!(made.secret.is_none());
        assert_eq!(made.hook.command.unwrap(), ["/bin/cat", "-"]);
    }

    // I7: the first of each subject, and no other
    fn a_subject_is_told_in_order_and_holds_nobody_else_back(engine) {
        let kit = Kit::new(engine);
        let hook = added(&kit);
        let fence = stand(kit.kernel(), "a").unwrap();
        let seqs = want(&kit, fence, hook, &[7, 7, 8, 7]);
        let [first, second, other, third] = seqs[..] else { panic!("{seqs:?}") };
        assert_eq!(due(&kit), [first, other]);
        tried(&kit, fence, hook, first, failed(5_000_000));
        tried(&kit, fence, hook, other, Ended::Told);
        assert_eq!((due(&kit), task(&kit).next_us), (vec![], Some(5_000_000)));
        assert_eq!(only(&kit).last_error.as_deref(), Some("answered 500"));
        kit.clock.advance_us(5_000_000);
        assert_eq!(due(&kit), [first]);
        tried(&kit, fence, hook, first, Ended::Told);
        assert_eq!(due(&kit), [second]);
        tried(&kit, fence, hook, second, Ended::Told);
        assert_eq!(due(&kit), [third]);
        tried(&kit, fence, hook, third, Ended::Told);
        assert_eq!((due(&kit), only(&kit).waiting), (vec![], 0));
    }

    fn a_dead_letter_lets_the_next_go_and_can_be_retried(engine) {
        let kit = Kit::new(engine);
        let hook = added(&kit);
        let fence = stand(kit.kernel(), "a").unwrap();
        let seqs = want(&kit, fence, hook, &[7, 7]);
        tried(&kit, fence, hook, seqs[0], given_up());
        assert_eq!(due(&kit), [seqs[1]]);
        let letters = || kit.ask(request::<DeadLetters>(&json!({ "hook": hook }))).unwrap().answer.items;
        let dead = letters();
        assert_eq!((dead[0].seq.get(), dead[0].attempts, &*dead[0].subject), (seqs[0], 1, "message:7"));
        assert_eq!((only(&kit).dead, only(&kit).waiting), (1, 1));
        let retry = |seq: i64| kit.run(RetryDeadLetter { hook, seq: Seq::new(seq) });
        assert_eq!(retry(seqs[1]).unwrap_err().code().word, "not_found");
        retry(seqs[0]).unwrap();
        assert_eq!((letters(), due(&kit)), (vec![], vec![seqs[0]]));
        assert_eq!(retry(seqs[0]).unwrap_err().code().word, "not_found");
        tried(&kit, fence, hook, seqs[0], given_up());
        kit.run(RemoveHook { id: hook }).unwrap();
        let gone = kit.ask(request::<DeadLetters>(&json!({ "hook": hook }))).unwrap_err();
        assert_eq!(gone.code().word, "not_found");
        assert_eq!(kit.shell("select count(*) from hook_delivery").unwrap(), "0");
        assert_eq!(retry(seqs[0]).unwrap_err().code().word, "not_found");
    }

    fn what_was_taken_is_not_taken_twice(engine) {
        let kit = Kit::new(engine);
        let hook = added(&kit);
        let fence = stand(kit.kernel(), "a").unwrap();
        let seqs = want(&kit, fence, hook, &[7]);
        tried(&kit, fence, hook, seqs[0], Ended::Told);
        // The same page again, as after an answer that was lost.
        let seq = Seq::new(seqs[0]);
        let from = Seq::new(seqs[0] - 1);
        let wanted = vec![Waiting { seq, subject: ("message".to_owned(), 7) }];
        let taken = Taken { hook, from, through: seq, wanted };
        kit.kernel().move_hooks(fence, vec![taken], Vec::new()).wait().unwrap();
        assert!(due(&kit).is_empty());
    }

    // I6: whoever was replaced writes nothing any more
    fn whoever_was_replaced_writes_no_more(engine) {
        let kit = Kit::new(engine);
        let hook = added(&kit);
        let old = stand(kit.kernel(), "a").unwrap();
        let seqs = want(&kit, old, hook, &[7]);
        kit.clock.advance_us(20_000_001);
        let new = stand(kit.kernel(), "b").unwrap();
        assert!(new > old);
        tried(&kit, old, hook, seqs[0], Ended::Told);
        let through = task(&kit).through;
        let seq = through.next();
        let taken = Taken { hook, from: through, through: seq, wanted: Vec::new() };
        kit.kernel().move_hooks(old, vec![taken], Vec::new()).wait().unwrap();
        assert_eq!((due(&kit), task(&kit).through), (vec![seqs[0]], through));
        tried(&kit, new, hook, seqs[0], Ended::Told);
        assert!(due(&kit).is_empty());
    }

    fn the_office_is_renewed_and_left(engine) {
        let kit = Kit::new(engine);
        added(&kit);
        let fence = stand(kit.kernel(), "a").unwrap();
        kit.clock.advance_us(15_000_000);
        assert_eq!(stand(kit.kernel(), "a"), Some(fence));
        kit.clock.advance_us(15_000_000);
        if engine == Engine::Postgres {
            // Its time is not up.
            assert_eq!(stand(kit.kernel(), "b"), None);
        }
        assert_eq!(stand(kit.kernel(), "a"), Some(fence));
        kit.kernel().resign_from_hooks("a".to_owned()).wait().unwrap();
        assert_eq!(stand(kit.kernel(), "b"), Some(fence + 1));
    }

    fn the_lowest_place_is_that_of_whoever_needs_most(engine) {
        let kit = Kit::new(engine);
        let needed = || {
            let stand = kit.ask_as(Actor::System, HookStanding).unwrap().answer;
            stand.needed_after.map(Seq::get)
        };
        assert_eq!(needed(), None);
        let first = added(&kit);
        let from = task(&kit).through.get();
        assert_eq!(needed(), Some(from));
        let fence = stand(kit.kernel(), "a").unwrap();
        let seqs = want(&kit, fence, first, &[7, 8]);
        assert_eq!(needed(), Some(seqs[0] - 1));
        tried(&kit, fence, first, seqs[0], Ended::Told);
        assert_eq!(needed(), Some(seqs[1] - 1));
        tried(&kit, fence, first, seqs[1], given_up());
        assert_eq!(needed(), Some(seqs[1]));
        kit.run(RemoveHook { id: first }).unwrap();
        assert_eq!(needed(), None);
    }

    // I3: nobody is told less than was asked for without a word
    fn what_was_pruned_is_not_promised(engine) {
        let mut kit = Kit::new(engine);
        kit.expect_damage();
        for slug in ["a", "b", "c", "d"] {
            kit.project(&format!("/srv/{slug}"));
        }
        let hook = add(&kit, &json!({ "url": "http://hooks.example/in", "since": 0 })).unwrap().hook.id;
        let fence = stand(kit.kernel(), "a").unwrap();
        let seqs = want(&kit, fence, hook, &[7, 8, 9, 10]);
        tried(&kit, fence, hook, seqs[1], given_up());
        tried(&kit, fence, hook, seqs[3], given_up());
        tried(&kit, fence, hook, seqs[0], Ended::Told);
        tried(&kit, fence, hook, seqs[2], Ended::Told);
        prune(&kit, seqs[2]);
        let pruned = |error: Error| {
            assert_eq!((error.code().word, error.code().status), ("pruned", 410));
            error.to_json()["oldest_seq"].as_i64().unwrap()
        };
        let since = |since: i64| add(&kit, &json!({ "url": "http://hooks.example/in", "since": since }));
        for gone in [0, seqs[2] - 1] {
            assert_eq!(pruned(since(gone).unwrap_err()), seqs[3]);
            assert_eq!(pruned(kit.ask_as(Actor::System, LogAfter { since: Seq::new(gone) }).unwrap_err()), seqs[3]);
        }
        since(seqs[2]).unwrap();
        let retry = |seq: i64| kit.run(RetryDeadLetter { hook, seq: Seq::new(seq) });
        assert_eq!(pruned(retry(seqs[1]).unwrap_err()), seqs[3]);
        assert_eq!(only_of(&kit, hook).dead, 2, "it stays a dead letter");
        retry(seqs[3]).unwrap();
        let told = |seq: i64| kit.ask_as(Actor::System, HookEvent { seq: Seq::new(seq) });
        assert_eq!(pruned(told(seqs[1]).unwrap_err()), seqs[3]);
        assert!(told(seqs[3]).unwrap().answer.is_some());
    }

    // S18: what is off the log does not come back with it
    fn a_hook_whose_database_was_lost_says_so(engine) {
        let kit = Kit::new(engine);
        added(&kit);
        let restored = Kit::from_log(engine, &events_of(&kit));
        let hook = only(&restored);
        assert_eq!((hook.state, hook.through, hook.lag), (HookState::Lost, None, 0));
        assert!(work(&restored).hooks.is_empty());
        let stand = restored.ask_as(Actor::System, HookStanding).unwrap().answer;
        assert_eq!((stand.hooks, stand.lost), (1, 1));
        restored.run(RemoveHook { id: hook.id }).unwrap();
        assert_eq!(list(&restored), []);
    }
}

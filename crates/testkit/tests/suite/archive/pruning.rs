//! Pruning: the archive alone has the oldest part of the log, and nothing else changes (I1, I3).

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use comity_archive::store::restore;
use comity_domain::Seq;
use comity_domain::limits::PRUNE_PIECE;
use comity_kernel::archive::position::NotWritten;
use comity_kernel::archive::{ArchiveId, Archivist as _};
use comity_kernel::checkpoint::History;
use comity_kernel::checkpoint::history::Visit;
use comity_kernel::epoch::LinkAt;
use comity_kernel::failpoint::Action;
use comity_kernel::store::StoreError;
use comity_kernel::transfer::replay_log;
use comity_kernel::{Actor, Error};
use comity_testkit::kit::options_for;
use comity_testkit::{Engine, Kit, both_engines, golden};
use serde_json::{Value, json};

use super::Kept;

/// A workspace where everything happened once, archived; what reads the log is far ahead.
fn lived(engine: Engine) -> Kept {
    lived_in(Kit::new(engine))
}

fn lived_in(kit: Kit) -> Kept {
    let kept = Kept::around(kit, 500);
    golden::scenario(&kept.kit);
    // The scenario ends with a redaction, which goes with what it redacts or not at all.
    let last = json!({ "key": "/srv/last" });
    let made = kept.kit.call(Actor::OPERATOR, "ensure_project", &last);
    made.unwrap();
    kept.drain();
    past_all_readers(&kept.kit);
    kept
}

/// Puts all that read the log far ahead.
fn past_all_readers(kit: &Kit) {
    for sql in [
        "update hook_cursor set through = 1000000",
        "delete from hook_delivery",
        "insert into consumer_cursor (consumer_id, placed_seq, seq, document, seen_at, seen_lease_us)
         select id, placed_seq, 1000000, '{\"v\":1,\"seq\":1000000}', 0, 0 from consumer where ttl_us is null
         on conflict (consumer_id) do update
         set placed_seq = excluded.placed_seq, seq = excluded.seq",
    ] {
        kit.shell(sql).unwrap();
    }
}

/// A history that takes longer once than an idle session may.
struct Slow {
    past: Arc<dyn History>,
    slow: Arc<AtomicBool>,
}

impl History for Slow {
    fn archive(&self) -> Result<ArchiveId, Error> {
        self.past.archive()
    }

    fn pages(&self, through: Seq, visit: Visit<'_>) -> Result<(), Error> {
        if self.slow.swap(false, Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5_500));
        }
        self.past.pages(through, visit)
    }
}

fn prune(kit: &Kit, request: &Value) -> Result<Value, Error> {
    kit.call(Actor::OPERATOR, "prune", request)
}

/// The event before which everything may go: the end of the log.
fn end(kept: &Kept) -> i64 {
    kept.kit.kernel().head().borrow().get()
}

fn count(kit: &Kit, sql: &str) -> i64 {
    kit.shell(sql).unwrap().trim().parse().unwrap()
}

fn check<'a>(findings: &'a comity_kernel::doctor::Findings, name: &str) -> &'a str {
    let found = findings
        .checks
        .iter()
        .find(|check| check.name == name)
        .unwrap();
    assert!(!found.ok, "{name} passed: {}", found.detail);
    &found.detail
}

both_engines! {
    // I1: what goes is the oldest part, the archive has it, and nothing else changes
    fn what_is_pruned_is_in_the_archive_and_the_state_is_the_same(engine) {
        let kept = lived(engine);
        let (end, before) = (end(&kept), kept.kit.doctor());
        let planned = prune(&kept.kit, &json!({ "before": end, "dry_run": true })).unwrap();
        assert_eq!((&planned["in_the_way"], planned["events"].as_i64()), (&json!([]), Some(end - 1)));
        assert_eq!(count(&kept.kit, "select count(*) from checkpoint"), 1);
        let pruned = prune(&kept.kit, &json!({ "before": end })).unwrap();
        assert_eq!((pruned["pruned_to"].as_i64(), pruned["events"].as_i64()), (Some(end - 1), Some(end - 1)));
        assert_eq!(count(&kept.kit, "select min(seq) from event"), end);
        let after = kept.kit.doctor();
        assert!(after.ok, "{after:#?}");
        assert_eq!(after.seq.get(), before.seq.get() + 1);
        // Asked again it changes nothing.
        prune(&kept.kit, &json!({ "before": end })).unwrap();
        assert_eq!(kept.kit.doctor(), after);
        // The archive goes on, and is still what the log says.
        kept.kit.call(Actor::OPERATOR, "ensure_project", &json!({ "key": "/srv/next" })).unwrap();
        kept.drain();
        assert!(kept.archiver.verify().unwrap().ok, "{:#?}", kept.archiver.verify());
        // A second time, with what came since.
        let end = self::end(&kept);
        prune(&kept.kit, &json!({ "before": end })).unwrap();
        assert_eq!(count(&kept.kit, "select count(*) from checkpoint"), 3);
        assert!(kept.archiver.verify().unwrap().ok);
    }

    // D1: what a page shows of a run is the same, whether or not its beginning was pruned
    fn the_page_of_a_run_is_the_same(engine) {
        let kept = lived(engine);
        let gates = json!({ "plan->work": [], "work->done": [] });
        let run = json!({ "project": "web", "goal": "g", "phases": ["plan", "work", "done"], "gates": gates });
        let run = kept.kit.call(Actor::OPERATOR, "create_run", &run).unwrap()["run"]["id"].clone();
        let steer = |operation: &str| {
            kept.kit.call(Actor::OPERATOR, operation, &json!({ "run": run })).unwrap();
            kept.drain();
        };
        for _ in 0..2 {
            steer("pause_run");
            steer("resume_run");
            past_all_readers(&kept.kit);
            prune(&kept.kit, &json!({ "before": end(&kept) })).unwrap();
        }
        steer("advance_run");
        // Its page was written with what is kept; it is compared with one from the whole log.
        let verified = kept.archiver.verify().unwrap();
        assert!(verified.ok, "{verified:#?}");
    }

    // D11 3.2: moved, brought back and made anew it is the whole log again, of the same state
    fn a_pruned_log_is_moved_brought_back_and_archived_anew(engine) {
        let mut kept = lived(engine);
        let rendered = kept.git(&["ls-tree", "-r", "main", "projects", "attachments"]);
        prune(&kept.kit, &json!({ "before": end(&kept) })).unwrap();
        kept.drain();
        let state = kept.kit.doctor().state_hash;
        kept.archiver.rebuild().unwrap();
        assert_eq!(kept.git(&["ls-tree", "-r", "main", "projects", "attachments"]), rendered);
        assert!(kept.archiver.verify().unwrap().ok);
        let mut fresh = Kit::new(engine);
        fresh.stop();
        restore(&kept.repository, fresh.options(), |_, _| {}).unwrap();
        fresh.restart();
        assert_eq!(fresh.doctor().state_hash, state);
        assert_eq!(count(&fresh, "select min(seq) from event"), 1);
        assert_eq!(count(&fresh, "select pruned_to from log_head"), 0);
        let directory = tempfile::tempdir().unwrap();
        let (target, _) = options_for(Engine::Sqlite, directory.path());
        let moved = replay_log(kept.kit.options(), &target, |_, _| {}).unwrap();
        assert_eq!(moved.state_hash, state);
        kept.restart();
    }

    // I3: who still needs it is in the way, and is named
    fn nobody_loses_what_it_still_needs(engine) {
        let kept = Kept::new(engine);
        golden::scenario(&kept.kit);
        let refused = |request: Value| {
            let error = prune(&kept.kit, &request).unwrap_err();
            assert_eq!((error.code().word, error.code().status), ("still_needed", 409));
            error.to_json()["by"].clone()
        };
        kept.drain();
        let end = end(&kept);
        kept.kit.call(Actor::OPERATOR, "ensure_project", &json!({ "key": "/srv/late" })).unwrap();
        let moved = |archive: &str, to: i64, unwritten: Vec<NotWritten>| {
            let archive = ArchiveId::parse(archive).unwrap();
            kept.kit.kernel().archive_moved(archive, (Seq::new(1), Seq::new(to)), Seq::ZERO, unwritten).wait().unwrap();
        };
        let unwritten = NotWritten { seq: Seq::new(8), path: "a".to_owned(), reason: "no".to_owned() };
        moved("another", 7, Vec::new());
        moved("third", end + 1, vec![unwritten]);
        // The last event of the scenario redacts the one before it: both go or none.
        let by = refused(json!({ "before": end }));
        let by: Vec<_> = by.as_array().unwrap().iter().map(|one| (
            one["what"].as_str().unwrap(), one["may_go_to"].as_i64().unwrap())).collect();
        let found = |what: &str| by.iter().find(|(named, _)| named.contains(what)).map(|(_, to)| *to);
        assert_eq!(found("the archive another"), Some(7), "{by:?}");
        assert_eq!(found("quarantine"), Some(7), "{by:?}");
        assert_eq!(found("the redaction of event"), Some(end - 2), "{by:?}");
        assert!(found("the durable consumer `").is_some_and(|to| to < end - 1), "{by:?}");
        assert!(found("the hook ").is_some_and(|to| to < end - 1), "{by:?}");
        assert_eq!(by.len(), 5, "{by:?}");
        let by = refused(json!({ "before": end + 2 })).to_string();
        assert!(by.contains("the archive, which has not come further"), "{by}");
        // Who has not been heard of for a week is not waited for.
        kept.kit.clock.advance_us(8 * 24 * 3_600_000_000);
        let by = refused(json!({ "before": end })).to_string();
        assert!(!by.contains("another") && !by.contains("quarantine"), "{by}");
        let nothing = prune(&kept.kit, &json!({})).unwrap_err();
        assert_eq!(nothing.code().word, "invalid");
        let both = prune(&kept.kit, &json!({ "before": 2, "older_than": "1d" })).unwrap_err();
        assert_eq!(both.code().word, "invalid");
        assert_eq!(count(&kept.kit, "select count(*) from checkpoint"), 1);
    }

    // I1 A3: a crash in the middle is continued
    fn a_crash_in_the_middle_is_continued(engine) {
        let mut kept = lived(engine);
        for nth in 0..2 * PRUNE_PIECE {
            kept.kit.call(Actor::OPERATOR, "ensure_project", &json!({ "key": format!("/srv/{nth}") })).unwrap();
        }
        let end = kept.drain();
        let oldest = || count(&kept.kit, "select min(seq) from event");
        let sweep = || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(kept.kit.kernel().sweep())
        };
        let crash = || Action::Fail(StoreError::Shape("a crash"));
        past_all_readers(&kept.kit);
        // The second piece fails behind its events, the third before them.
        kept.kit.failpoints.set_at("prune.piece_gone", crash(), 2);
        prune(&kept.kit, &json!({ "before": end })).unwrap_err();
        kept.kit.failpoints.clear("prune.piece_gone");
        assert_eq!(oldest(), PRUNE_PIECE + 1);
        kept.kit.failpoints.set_at("prune.piece", crash(), 2);
        sweep().unwrap_err();
        kept.kit.failpoints.clear("prune.piece");
        assert_eq!(oldest(), 2 * PRUNE_PIECE + 1);
        // What was pruned is not shown, though some of it is still there.
        let events = kept.kit.call(Actor::OPERATOR, "events", &json!({ "since": 2 * PRUNE_PIECE }));
        assert_eq!(events.unwrap_err().to_json()["oldest_seq"], end);
        let findings = kept.kit.doctor();
        assert!(findings.ok, "{findings:#?}");
        sweep().unwrap();
        assert_eq!(oldest(), end);
        kept.restart();
    }

    // I1 I3: who comes while the archive is read is not passed
    fn who_comes_meanwhile_is_not_passed(engine) {
        let kept = lived(engine);
        let end = end(&kept);
        let message = count(&kept.kit, "select min(seq) from event where kind = 'message_sent'");
        for (operation, request, named) in [
            ("register_consumer", json!({ "name": "late", "since": 3 }), "the durable consumer `late`"),
            ("add_hook", json!({ "url": "http://127.0.0.1:9/", "since": 3 }), "the hook "),
            ("redact", json!({ "seq": message, "reason": "a password" }), "the redaction of event"),
        ] {
            let gate = kept.kit.failpoints.pause("prune.proven");
            let error = std::thread::scope(|scope| {
                let pruning = scope.spawn(|| prune(&kept.kit, &json!({ "before": end })).unwrap_err());
                gate.wait_until_hit();
                let came = kept.kit.call(Actor::OPERATOR, operation, &request);
                gate.open();
                came.unwrap();
                pruning.join().unwrap()
            });
            kept.kit.failpoints.clear("prune.proven");
            assert_eq!(error.code().word, "still_needed", "{operation}: {error}");
            assert!(error.to_string().contains(named), "{error}");
            assert_eq!(count(&kept.kit, "select pruned_to from log_head"), 0);
            past_all_readers(&kept.kit);
        }
    }

    // I1: the archive takes its time, and the database's own session lasts as long
    fn a_long_past_is_examined_and_moved(engine) {
        let slow = Arc::new(AtomicBool::new(false));
        let turns_slow = Arc::clone(&slow);
        let kept = lived_in(Kit::with(engine, |options| {
            let past = options.history.take().unwrap();
            options.history = Some(Arc::new(Slow { past, slow: turns_slow }));
        }));
        prune(&kept.kit, &json!({ "before": end(&kept) })).unwrap();
        slow.store(true, Ordering::SeqCst);
        let findings = kept.kit.doctor();
        assert!(findings.ok, "{findings:#?}");
        let directory = tempfile::tempdir().unwrap();
        let (target, _) = options_for(Engine::Sqlite, directory.path());
        slow.store(true, Ordering::SeqCst);
        replay_log(kept.kit.options(), &target, |_, _| {}).unwrap();
    }

    // I1: a checkpoint that says something else is found
    fn a_changed_checkpoint_is_found(engine) {
        let mut kept = lived(engine);
        prune(&kept.kit, &json!({ "before": end(&kept) })).unwrap();
        kept.kit.expect_damage();
        let (off, on) = match engine {
            Engine::Sqlite => ("drop trigger checkpoint_update", "select 1"),
            Engine::Postgres => (
                "alter table checkpoint disable trigger user",
                "alter table checkpoint enable trigger user",
            ),
        };
        let last = "where id = (select max(id) from checkpoint)";
        kept.kit.shell(off).unwrap();
        kept.kit.shell(&format!("update checkpoint set state_hash = 'x' {last}")).unwrap();
        kept.kit.shell(on).unwrap();
        let findings = kept.kit.doctor();
        assert!(check(&findings, "checkpoint").contains("the checkpoint says x"), "{findings:#?}");
    }

    // I1 D3: one reads the whole log at a time, and what a crash left of it goes
    fn one_copy_of_the_whole_log_at_a_time(engine) {
        let mut kept = lived(engine);
        prune(&kept.kit, &json!({ "before": end(&kept) })).unwrap();
        kept.drain();
        let turn = fs::File::create(kept.repository.with_extension("whole.lock")).unwrap();
        turn.try_lock().unwrap();
        for refused in [kept.archiver.verify().map(|_| ()), kept.archiver.rebuild().map(|_| ())] {
            assert_eq!(refused.unwrap_err().code().word, "busy");
        }
        drop(turn);
        let left = kept.repository.with_extension("whole");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("comity.db"), "a secret").unwrap();
        kept.restart();
        kept.drain();
        assert!(!left.exists());
        assert!(kept.archiver.rebuild().is_ok() && kept.archiver.verify().unwrap().ok && !left.exists());
    }

    // I1: what is pruned is out of reach, and whoever asks is told
    fn what_is_pruned_is_told_as_pruned(engine) {
        let kept = lived(engine);
        let end = end(&kept);
        prune(&kept.kit, &json!({ "before": end })).unwrap();
        for (operation, request) in [
            ("redact", json!({ "seq": 1, "reason": "late" })),
            ("run_timeline", json!({ "run": 1 })),
            ("run_status", json!({ "run": 1, "at": end })),
            ("events", json!({ "since": 3 })),
        ] {
            let error = kept.kit.call(Actor::OPERATOR, operation, &request).unwrap_err();
            assert_eq!((error.code().word, error.to_json()["oldest_seq"].as_i64()), ("pruned", Some(end)), "{operation}");
        }
        let links = |seq: i64| kept.kit.ask_as(Actor::System, LinkAt { seq: Seq::new(seq) });
        assert!(links(end - 1).unwrap().answer.is_some(), "the checkpoint knows");
        assert!(matches!(links(1), Err(Error::Pruned { .. })));
    }

    // I1: nobody takes events out by hand
    fn a_stranger_prunes_nothing(engine) {
        let kept = lived(engine);
        let end = end(&kept);
        let refused = |sql: &str, by: &str| {
            let error = kept.kit.shell(sql).unwrap_err();
            assert!(error.contains(by), "{sql}: {error}");
        };
        refused("delete from event where seq = 1", "event_delete");
        refused("update log_head set pruned_to = 3", "log_head_pruned");
        let forged = "insert into checkpoint select 3, hash, 'x', 11, 4, 1, 1 from event where seq = 3";
        refused(forged, "checkpoint_insert");
        prune(&kept.kit, &json!({ "before": end })).unwrap();
        refused(&format!("delete from event where seq = {end}"), "event_delete");
        refused(&format!("update log_head set pruned_to = {end}"), "log_head_");
        refused("update log_head set pruned_to = 0", "log_head_");
        refused("update checkpoint set state_hash = 'x'", "checkpoint_update");
        refused("delete from checkpoint", "checkpoint_delete");
    }

    // I1: what was pruned goes in order, the oldest first, whoever takes it
    fn only_the_oldest_goes(engine) {
        let mut kept = lived(engine);
        let end = end(&kept);
        kept.kit.failpoints.set_at("prune.piece", Action::Fail(StoreError::Shape("a crash")), 1);
        prune(&kept.kit, &json!({ "before": end })).unwrap_err();
        kept.kit.failpoints.clear("prune.piece");
        // Where an epoch began there is none right before it.
        kept.kit.fill("delete from event where seq = 6;\nupdate event set kind = 'epoch_begun' where seq = 7;\n").unwrap();
        kept.kit.expect_damage();
        for late in ["seq = 2", "seq = 3", &format!("seq = {}", end - 1), "seq > 1 and seq < 5", "seq = 7"] {
            let error = kept.kit.shell(&format!("delete from event where {late}")).unwrap_err();
            assert!(error.contains("event_delete"), "{late}: {error}");
        }
        assert_eq!(count(&kept.kit, "select min(seq) from event"), 1);
    }

    // I1 D3: without the archive the doctor says so, and nothing begins another one
    fn an_archive_that_is_needed_is_not_begun_anew(engine) {
        let mut kept = lived(engine);
        prune(&kept.kit, &json!({ "before": end(&kept) })).unwrap();
        let aside = kept.repository.with_extension("aside");
        fs::rename(&kept.repository, &aside).unwrap();
        kept.restart();
        assert!(kept.archiver.step().unwrap_err().to_string().contains("alone has the events up to"));
        assert!(kept.archiver.rebuild().is_err() && !kept.repository.exists());
        let findings = kept.kit.doctor();
        assert!(!findings.ok && check(&findings, "fold").contains("put the archive's repository back"));
        let directory = tempfile::tempdir().unwrap();
        let (target, _) = options_for(Engine::Sqlite, directory.path());
        assert!(replay_log(kept.kit.options(), &target, |_, _| {}).is_err());
        fs::rename(&aside, &kept.repository).unwrap();
        kept.restart();
        kept.drain();
    }

    // I1: a line that somebody changed is found, wherever only the archive has it
    fn a_changed_line_of_the_archive_is_found(engine) {
        let mut kept = lived(engine);
        let end = end(&kept);
        forge(&kept, "web", "wep");
        let error = prune(&kept.kit, &json!({ "before": end })).unwrap_err();
        assert_eq!(error.code().word, "damaged", "{error}");
        assert_eq!(count(&kept.kit, "select pruned_to from log_head"), 0);
        forge(&kept, "wep", "web");
        prune(&kept.kit, &json!({ "before": end })).unwrap();
        forge(&kept, "web", "wep");
        let findings = kept.kit.doctor();
        assert!(check(&findings, "chain").contains("in the archive"), "{findings:#?}");
        kept.restart();
        let verified = kept.archiver.verify().unwrap();
        assert!(!verified.ok, "{verified:#?}");
        forge(&kept, "wep", "web");
        assert!(kept.kit.doctor().ok);
    }

    // I1 I3: what happens meanwhile is there afterwards
    fn it_goes_on_while_the_log_is_pruned(engine) {
        let kept = lived(engine);
        let kernel = kept.kit.share();
        let writers: Vec<_> = (0..4).map(|writer| {
            let kernel = std::sync::Arc::clone(&kernel);
            std::thread::spawn(move || {
                for nth in 0..40 {
                    let request = comity_testkit::kit::request::<comity_kernel::project::EnsureProject>(
                        &json!({ "key": format!("/srv/{writer}/{nth}") }));
                    kernel.execute(Actor::OPERATOR.into(), request).wait().unwrap();
                }
            })
        }).collect();
        for _ in 0..4 {
            let through = kept.drain();
            prune(&kept.kit, &json!({ "before": through })).unwrap();
        }
        for writer in writers {
            writer.join().unwrap();
        }
        drop(kernel);
        kept.drain();
        assert!(kept.archiver.verify().unwrap().ok);
        assert_eq!(count(&kept.kit, "select count(*) from project where key like '/srv/%/%'"), 160);
    }

    // I1: as much as is old goes
    fn what_is_old_goes(engine) {
        let kept = lived(engine);
        let old = end(&kept);
        kept.kit.clock.advance_us(3_600_000_000);
        kept.kit.call(Actor::OPERATOR, "ensure_project", &json!({ "key": "/srv/young" })).unwrap();
        kept.drain();
        let pruned = prune(&kept.kit, &json!({ "older_than": "30m" })).unwrap();
        assert_eq!(pruned["pruned_to"], old);
    }
}

/// Replaces a word in the first piece of the archive's log, with a commit that looks as before.
fn forge(kept: &Kept, from: &str, to: &str) {
    let script = "set -e; path=$(git ls-tree -r --name-only main log | head -n 1); \
        blob=$(git show \"main:$path\" | sed \"s/$FROM/$TO/g\" | git hash-object -w --stdin); \
        git read-tree main; git update-index --cacheinfo \"100644,$blob,$path\"; \
        commit=$(git log -1 --format=%B main | git commit-tree $(git write-tree)); \
        git update-ref refs/heads/main $commit";
    let index = kept.kit.directory().join("forged.index");
    let done = Command::new("sh")
        .args(["-c", script])
        .env("GIT_DIR", &kept.repository)
        .env("GIT_INDEX_FILE", index)
        .env("FROM", from)
        .env("TO", to)
        .envs([("GIT_AUTHOR_NAME", "c"), ("GIT_AUTHOR_EMAIL", "c@c")])
        .envs([("GIT_COMMITTER_NAME", "c"), ("GIT_COMMITTER_EMAIL", "c@c")])
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// How many entries of its index PostgreSQL reads to remove the oldest events, all in one transaction.
fn entries_read(kept: &Kept, events: i64) -> i64 {
    let printed = kept.kit.shell(&format!(
        "begin; set local enable_seqscan = off; set local enable_bitmapscan = off;
         delete from event where seq <= {events};
         select 'read', pg_stat_get_xact_tuples_returned('event_pkey'::regclass); rollback"
    ));
    let printed = printed.unwrap();
    let read = printed.lines().find_map(|line| line.strip_prefix("read|"));
    read.unwrap().parse().unwrap()
}

// Events that went and are still seen by somebody are not read again for each that goes
#[test]
fn removing_an_event_costs_the_same_however_many_went_before() {
    let kept = lived(Engine::Postgres);
    let end = end(&kept);
    let crash = Action::Fail(StoreError::Shape("a crash"));
    kept.kit.failpoints.set_at("prune.piece", crash, 1);
    prune(&kept.kit, &json!({ "before": end })).unwrap_err();
    kept.kit.failpoints.clear("prune.piece");
    let (few, many) = (entries_read(&kept, 20), entries_read(&kept, 100));
    assert!(
        few > 0 && many <= 5 * few + 100,
        "{few} for 20, {many} for 100"
    );
}

//! What goes wrong with an archive, and that it harms nothing.

use comity_archive::store::ArchiveError;
use comity_kernel::failpoint::Action;
use comity_kernel::store::StoreError;

use super::*;

fn say(kept: &Kept, word: &str) {
    let letter = json!({ "project": "web", "to": ["operator"], "subject": word, "body": word });
    kept.kit
        .call(Actor::OPERATOR, "send_message", &letter)
        .unwrap();
}

both_engines! {
    // D2 D3 D7, fault 9: an end at any step leaves each message in one commit
    fn an_end_at_any_step_archives_once(engine) {
        for step in ["archive.before_objects", "archive.after_ref", "archive.after_cursor"] {
            let mut kept = Kept::new(engine);
            kept.kit.project("/srv/web");
            kept.drain();
            say(&kept, "first");
            let broken = StoreError::Shape("what a test wants");
            kept.kit.failpoints.set(step, Action::Fail(broken));
            assert!(kept.archiver.step().is_err(), "{step}");
            kept.kit.failpoints.clear(step);
            kept.restart();
            say(&kept, "second");
            kept.drain();
            kept.must_be_right();
            for message in ["1-first", "2-second"] {
                let path = format!(":(glob)projects/web/messages/**/{message}.md");
                assert_eq!(kept.commits_of(&path), 1, "{step} {message}");
            }
        }
    }

    // D4: one that cannot be written harms only itself, and is told of
    fn what_cannot_be_written_is_in_quarantine_alone(engine) {
        let kept = Kept::new(engine);
        golden::scenario(&kept.kit);
        kept.kit.shell("delete from blob_owner; delete from blob where length(bytes) = 5").unwrap();
        kept.drain();
        let status = kept.archiver.status().unwrap();
        assert_eq!((status.state, status.lag), (ArchiveState::Following, 0));
        assert_eq!(status.quarantined_count, 1, "{status:#?}");
        assert!(status.quarantined[0].path.starts_with("attachments/2c/"));
        kept.must_be_right();
        assert_eq!(kept.archiver.retry().unwrap().left, 1);
        kept.archiver.rebuild().unwrap();
        kept.must_be_right();
        let put = json!({ "content": "aGVsbG8=" });
        kept.kit.call(Actor::OPERATOR, "put_attachment", &put).unwrap();
        kept.drain();
        let retried = kept.archiver.retry().unwrap();
        assert_eq!((retried.written, retried.left), (1, 0));
        kept.must_be_right();
    }
}

// D4 D5: what is written late is not older than what is there
#[test]
fn a_late_file_does_not_undo_a_newer_one() {
    let kept = Kept::new(Engine::Sqlite);
    kept.kit.project("/srv/web");
    let (_, blue) = kept.kit.agent("web", "Blue");
    kept.drain();
    let path = "projects/web/agents/1-blue.json";
    kept.kit
        .shell(&format!(
            "insert into quarantine (archive_id, seq, path, reason, added_at)
             select a.id, e.seq, '{path}', 'a test wants it', 0
             from archive a, event e where e.kind = 'agent_registered'"
        ))
        .unwrap();
    kept.kit
        .call(
            blue,
            "update_agent",
            &json!({ "agent": "Blue", "task": "something new" }),
        )
        .unwrap();
    kept.drain();
    kept.archiver.retry().unwrap();
    let file = kept.git(&["show", &format!("main:{path}")]);
    assert!(file.contains("something new"), "{file}");
    kept.must_be_right();
    assert_eq!(kept.archiver.status().unwrap().quarantined_count, 0);
}

// Fault 6: what is not a repository any more does not stand for the one around it
#[test]
fn a_repository_around_the_archive_is_never_written() {
    let mut kept = Kept::new(Engine::Sqlite);
    let around = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(kept.kit.directory()).args(arguments);
        String::from_utf8(git.output().unwrap().stdout).unwrap()
    };
    around(&["init", "--quiet", "--initial-branch=master"]);
    kept.kit.project("/srv/web");
    kept.drain();
    // As after a copy by a tool that leaves out folders with nothing in them.
    std::fs::remove_file(kept.repository.join("refs/heads/main")).unwrap();
    std::fs::remove_dir_all(kept.repository.join("refs")).unwrap();
    kept.archiver = archiver(&kept.kit, kept.kit.share(), 500);
    let stepped = kept.archiver.step();
    assert_eq!(around(&["for-each-ref"]), "", "{stepped:?}");
    assert!(stepped.is_err(), "{stepped:?}");
    assert!(kept.archiver.verify().is_err());
    assert_eq!(kept.archiver.status().unwrap().through.get(), 0);
}

// D8, fault 7: the database plays no part
#[test]
fn locks_that_a_killed_git_left_are_cleared() {
    let mut kept = Kept::new(Engine::Sqlite);
    kept.kit.project("/srv/web");
    kept.drain();
    for left in [
        "HEAD.lock",
        "index.lock",
        "maintenance.lock",
        "refs/heads/main.lock",
        "packed-refs.lock",
        "objects/pack/pack-1.keep",
        "objects/pack/tmp_pack_1",
        "fast_import_crash_1",
    ] {
        std::fs::write(kept.repository.join(left), "").unwrap();
    }
    say(&kept, "word");
    kept.restart();
    kept.drain();
    kept.must_be_right();
}

// Fault 6: what somebody else made or committed is seen, explained and left alone
#[test]
fn a_foreign_repository_or_commit_is_never_overwritten() {
    let mut kept = Kept::new(Engine::Sqlite);
    kept.kit.project("/srv/web");
    std::fs::create_dir(&kept.repository).unwrap();
    std::fs::write(kept.repository.join("precious"), "x").unwrap();
    assert!(matches!(
        kept.archiver.step(),
        Err(ArchiveError::Foreign { .. })
    ));
    let status = kept.archiver.status().unwrap();
    assert_eq!((status.state, status.lag), (ArchiveState::Stopped, 1));
    assert!(
        status.detail.contains("not made by Comity") && status.degraded_since.is_some(),
        "{}",
        status.detail
    );
    assert_eq!(std::fs::read_dir(&kept.repository).unwrap().count(), 1);
    std::fs::remove_dir_all(&kept.repository).unwrap();
    kept.drain();
    // Nor what takes the place of one that is open.
    let own = kept.repository.with_extension("own");
    std::fs::rename(&kept.repository, &own).unwrap();
    std::fs::create_dir(&kept.repository).unwrap();
    std::fs::write(kept.repository.join("precious"), "x").unwrap();
    say(&kept, "first");
    assert!(matches!(
        kept.archiver.step(),
        Err(ArchiveError::Foreign { .. })
    ));
    assert_eq!(std::fs::read_dir(&kept.repository).unwrap().count(), 1);
    std::fs::remove_dir_all(&kept.repository).unwrap();
    std::fs::rename(&own, &kept.repository).unwrap();
    kept.drain();
    let tree = kept.git(&["rev-parse", "main^{tree}"]);
    let stranger = Command::new("git")
        .args(["-c", "user.name=x", "-c", "user.email=x@x", "--git-dir"])
        .arg(&kept.repository)
        .args(["commit-tree", tree.trim(), "-p", "main", "-m", "mine"])
        .output()
        .unwrap();
    let theirs = String::from_utf8(stranger.stdout)
        .unwrap()
        .trim()
        .to_owned();
    kept.git(&["update-ref", "refs/heads/main", &theirs]);
    say(&kept, "word");
    assert!(matches!(
        kept.archiver.step(),
        Err(ArchiveError::Foreign { .. })
    ));
    kept.restart();
    assert!(matches!(
        kept.archiver.step(),
        Err(ArchiveError::Foreign { .. })
    ));
    assert_eq!(kept.git(&["rev-parse", "main"]).trim(), theirs);
}

// Fault 6, K5: how it stands is looked at, not remembered
#[test]
fn a_repository_that_is_gone_is_told_at_once_and_made_anew() {
    let kept = Kept::new(Engine::Sqlite);
    for name in ["before the first commit", "after it"] {
        kept.drain();
        std::fs::remove_dir_all(&kept.repository).unwrap();
        let status = kept.archiver.status().unwrap();
        assert_eq!(status.state, ArchiveState::Degraded, "{name}");
        assert!(status.detail.contains("is gone"), "{}", status.detail);
        kept.drain();
        assert_eq!(
            kept.archiver.status().unwrap().state,
            ArchiveState::Following
        );
        kept.kit.project("/srv/web");
    }
    kept.drain();
    kept.must_be_right();
    // A reference that somebody packed is where it was.
    kept.git(&["pack-refs", "--all"]);
    assert_eq!(
        kept.archiver.status().unwrap().state,
        ArchiveState::Following
    );
    say(&kept, "word");
    kept.drain();
    kept.must_be_right();
}

// A14, fault 5: a database that lost its end, or grew another one, is not archived over
#[test]
fn a_database_that_was_put_back_is_found_out() {
    let mut kept = Kept::new(Engine::Sqlite);
    kept.kit.project("/srv/web");
    let copy = kept.kit.directory().join("copy.db");
    kept.kit.kernel().backup(&copy).unwrap();
    say(&kept, "lost");
    kept.drain();
    let head = kept.git(&["rev-parse", "main"]);
    let mut options = kept.kit.options().clone();
    options.database = comity_kernel::Options::sqlite(copy).database;
    let back = Arc::new(Kernel::open(options).unwrap());
    kept.restart();
    let again = archiver(&kept.kit, Arc::clone(&back), 500);
    drop(kept.archiver);
    assert!(matches!(again.step(), Err(ArchiveError::Ahead { .. })));
    let end = comity_archive::store::End::of(&kept.repository, &back).unwrap();
    let behind = end.must_not_be_lost().unwrap_err();
    assert_eq!(
        (behind.code().word, behind.code().exit),
        ("behind_archive", 7)
    );
    for key in ["/srv/a", "/srv/b", "/srv/c"] {
        let ensure = comity_testkit::kit::request::<comity_kernel::project::EnsureProject>(
            &json!({ "key": key }),
        );
        back.execute(Actor::OPERATOR.into(), ensure).wait().unwrap();
    }
    assert!(matches!(again.step(), Err(ArchiveError::Foreign { .. })));
    let end = comity_archive::store::End::of(&kept.repository, &back).unwrap();
    assert!(
        matches!(end, comity_archive::store::End::Replaced(_)),
        "{end:?}"
    );
    kept.archiver = archiver(&kept.kit, kept.kit.share(), 500);
    assert_eq!(kept.git(&["rev-parse", "main"]), head);
}

// D7: one archiver
#[test]
fn a_second_archiver_waits_for_the_first() {
    let kept = Kept::new(Engine::Sqlite);
    kept.kit.project("/srv/web");
    kept.drain();
    let second = archiver(&kept.kit, kept.kit.share(), 500);
    assert!(matches!(second.step(), Err(ArchiveError::Held)));
    drop(kept.archiver);
    second.step().unwrap();
}

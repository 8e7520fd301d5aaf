//! The Git archive: what the log says, exactly once, and both ways.

mod broken;
mod discoveries;
mod dispatches;
mod epoch;
mod export;
mod pruning;
mod rebuild;
mod redactions;
mod runs;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use comity_archive::store::{Archiver, Settings, restore};
use comity_kernel::archive::{ArchiveState, Archivist};
use comity_kernel::{Actor, Kernel};
use comity_testkit::{Engine, Kit, both_engines, golden};
use serde_json::json;

/// A kernel, and an archive of its log in the kit's own directory.
struct Kept {
    archiver: Archiver,
    repository: PathBuf,
    kit: Kit,
}

impl Kept {
    fn new(engine: Engine) -> Self {
        Self::around(Kit::new(engine), 500)
    }

    fn around(kit: Kit, batch_max: i64) -> Self {
        let repository = kit.directory().join("archive.git");
        Self {
            archiver: archiver(&kit, kit.share(), batch_max),
            repository,
            kit,
        }
    }

    /// Puts another archiver in the place of this one, as a restart does.
    fn restart(&mut self) {
        self.archiver = archiver(&self.kit, self.kit.share(), 500);
    }

    fn drain(&self) -> i64 {
        self.archiver.drain().unwrap().get()
    }

    fn must_be_right(&self) {
        let verified = self.archiver.verify().unwrap();
        assert!(verified.ok, "{verified:#?}");
        let head = self.kit.kernel().head().borrow().get();
        assert_eq!((verified.through.get(), verified.events), (head, head));
    }

    /// What `git` says, as anybody would ask it.
    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .arg("--git-dir")
            .arg(&self.repository)
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same where it may be no text.
    fn git_bytes(&self, arguments: &[&str]) -> Vec<u8> {
        let mut git = Command::new("git");
        let output = git
            .arg("--git-dir")
            .arg(&self.repository)
            .args(arguments)
            .output();
        output.unwrap().stdout
    }

    /// Whether any object there is has these words.
    fn holds(&self, words: &str) -> bool {
        let objects = self.git_bytes(&["cat-file", "--batch-all-objects", "--batch"]);
        let mut windows = objects.windows(words.len());
        windows.any(|window| window == words.as_bytes())
    }

    /// How many commits introduce or change a path.
    fn commits_of(&self, path: &str) -> usize {
        self.git(&["log", "--format=%H", "--", path])
            .lines()
            .count()
    }
}

fn archiver(kit: &Kit, kernel: Arc<Kernel>, batch_max: i64) -> Archiver {
    let settings = Settings {
        repository: kit.directory().join("archive.git"),
        lock: kit.directory().join("archive.lock"),
        batch_max,
    };
    Archiver::new(kernel, kit.options().ambient.clone(), settings)
}

both_engines! {
    // D1 D2 D6 D11 D12: the archive says what the log says, and a database comes out of it again
    fn everything_that_happened_is_in_git_and_comes_back(engine) {
        let kept = Kept::new(engine);
        golden::scenario(&kept.kit);
        kept.drain();
        kept.must_be_right();
        let findings = kept.kit.doctor();
        let mut fresh = Kit::new(engine);
        fresh.stop();
        let mut through = Vec::new();
        restore(&kept.repository, fresh.options(), |at, _| through.push(at)).unwrap();
        fresh.restart();
        assert!(!through.is_empty());
        assert_eq!(fresh.doctor().state_hash, findings.state_hash);
        assert_eq!(fresh.kernel().epoch(), kept.kit.kernel().epoch());
        // Attachments too, and counters go on above what was.
        let bytes = fresh.call(Actor::OPERATOR, "get_attachment", &json!({
            "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        })).unwrap();
        assert_eq!(bytes["content"], "aGVsbG8=");
        let seq = findings.seq.get();
        assert_eq!(fresh.call(Actor::OPERATOR, "ensure_project", &json!({ "key": "/srv/more" })).unwrap()["seq"], seq + 1);
    }

    // D5 K6: a rendered file is a function of the log, however it was cut; made anew it is the same
    fn the_cut_does_not_matter_and_a_rebuild_is_the_same(engine) {
        let kept = Kept::new(engine);
        golden::scenario(&kept.kit);
        kept.drain();
        let rendered = |kept: &Kept| kept.git(&["ls-tree", "-r", "main", "projects", "attachments"]);
        let whole = rendered(&kept);
        let before = kept.git(&["rev-parse", "main"]);
        let rebuilt = kept.archiver.rebuild().unwrap();
        assert_eq!(kept.git(&["rev-parse", "main"]), before, "the same commits");
        assert!(rebuilt.old.is_some_and(|old| PathBuf::from(old).exists()));
        kept.must_be_right();
        let one_by_one = Kept::around(Kit::from_log(engine, &golden_log(&kept)), 1);
        let blobs = match engine {
            Engine::Sqlite => "select 'insert into blob (sha256, bytes, added_at) values (x''' || hex(sha256) || ''', x''' || hex(bytes) || ''', 0);' from blob",
            Engine::Postgres => r"select 'insert into blob (sha256, bytes, added_at) values (''\x' || encode(sha256, 'hex') || ''', ''\x' || encode(bytes, 'hex') || ''', 0);' from blob",
        };
        one_by_one.kit.fill(&kept.kit.shell(blobs).unwrap()).unwrap();
        one_by_one.drain();
        assert_eq!(rendered(&one_by_one), whole);
        one_by_one.must_be_right();
    }

    // BEHAVIOUR: a person can read it
    fn a_person_reads_it(engine) {
        let kept = Kept::new(engine);
        golden::scenario(&kept.kit);
        kept.drain();
        let files = kept.git(&["ls-tree", "-r", "--name-only", "main"]);
        for path in ["projects/web/agents/1-blue.json", "projects/web/threads/0/1.md", "projects/web/reservations/0/1.json"] {
            assert!(files.lines().any(|file| file == path), "{path}: {files}");
        }
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "/_.-\n".contains(c);
        assert!(files.chars().all(good), "{files}"); // S10
        let message = files.lines().find(|file| file.contains("/1-the-plan")).unwrap();
        let text = kept.git(&["show", &format!("main:{message}")]);
        let letter = comity_archive::store::Letter::parse(&text).unwrap();
        assert_eq!((letter.from.as_str(), letter.subject.as_str()), ("Gray", "The plan: été, 日本"));
        assert_eq!(letter.body, "two\nlines, *it's* the plan");
        assert_eq!(letter.bcc, ["Far@project", "Gray"]);
        let log = kept.git(&["log", "-1", "--format=%an <%ae>%n%B", "main"]);
        assert!(log.starts_with("Comity <comity@localhost>\n"), "{log}");
        assert!(log.contains("Comity-Epoch: ") && log.trim_end().rsplit('\n').next().unwrap().starts_with("Comity-Through: "), "{log}");
        let thread = kept.git(&["show", "main:projects/web/threads/0/1.md"]);
        assert!(thread.contains("> two\n> lines, *it's* the plan\n"), "{thread}");
    }

    // D5 D13: a page is bounded
    fn the_page_of_a_long_thread_shows_its_end(engine) {
        let kept = Kept::new(engine);
        kept.kit.project("/srv/web");
        let first = kept.kit.call(Actor::OPERATOR, "send_message", &json!({ "project": "web", "to": ["operator"], "subject": "s", "body": "number 1" })).unwrap();
        for n in 2..=203 {
            kept.kit.call(Actor::OPERATOR, "reply", &json!({ "id": first["message"]["id"], "body": format!("number {n}\n# not a head") })).unwrap();
        }
        kept.drain();
        let page = kept.git(&["show", "main:projects/web/threads/0/1.md"]);
        assert!(page.contains("203 messages") && page.contains("> number 203\n") && page.contains("> number 4\n"), "{page}");
        assert!(!page.contains("> number 3\n"), "only the last 200");
        assert!(page.contains("> # not a head"), "words of others stay quotes");
        kept.must_be_right();
    }
}

// L8 on PostgreSQL, where several servers share a database: each keeps its own archive, all say the same
#[test]
fn two_servers_keep_two_archives_that_say_the_same() {
    let kept = Kept::new(Engine::Postgres);
    let other = Arc::new(Kernel::open(kept.kit.options().clone()).unwrap());
    let elsewhere = tempfile::tempdir().unwrap();
    let settings = Settings {
        repository: elsewhere.path().join("archive.git"),
        lock: elsewhere.path().join("archive.lock"),
        batch_max: 7,
    };
    let second = Archiver::new(other, kept.kit.options().ambient.clone(), settings.clone());
    golden::scenario(&kept.kit);
    let reached = kept.drain();
    kept.kit.project("/srv/later");
    assert_eq!(second.drain().unwrap().get(), reached + 1);
    assert_eq!(kept.drain(), reached + 1);
    assert!(second.verify().unwrap().ok);
    kept.must_be_right();
    let tree = |repository: &std::path::Path| {
        let git = Command::new("git")
            .arg("--git-dir")
            .arg(repository)
            .args(["ls-tree", "-r", "main", "projects"])
            .output();
        String::from_utf8(git.unwrap().stdout).unwrap()
    };
    assert_eq!(tree(&kept.repository), tree(&settings.repository));
}

fn golden_log(kept: &Kept) -> Vec<comity_kernel::log::Recorded> {
    events_of(&kept.kit)
}

/// The log of a database, up to the end of its first epoch.
fn events_of(kit: &Kit) -> Vec<comity_kernel::log::Recorded> {
    let all = comity_kernel::archive::ArchiveBatch {
        after: comity_domain::Seq::ZERO,
        through: comity_domain::Seq::new(i64::MAX),
        events_max: 10_000,
        bytes_max: i64::MAX,
    };
    let read = kit.kernel().query(Actor::System, all).wait();
    read.unwrap().answer.events
}

#[test]
fn nothing_is_archived_before_the_first_event() {
    let kept = Kept::new(Engine::Sqlite);
    assert_eq!(kept.drain(), 0);
    let status = kept.archiver.status().unwrap();
    assert_eq!((status.state, status.lag), (ArchiveState::Following, 0));
    assert!(kept.archiver.verify().unwrap().ok);
}

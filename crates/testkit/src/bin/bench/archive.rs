//! The archive: how fast it is drained, and whether that stays so as it grows.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use comity_archive::store::{Archiver, Settings};
use comity_kernel::{Kernel, Options};
use tempfile::TempDir;

use crate::Wanted;
use crate::base::{SqliteBase, message};
use crate::commit::per_second;
use crate::load::run_all;
use crate::pairs::Pairs;
use crate::row::{Row, Target};

/// Events of one commit.
const BATCH: usize = 64;
/// Commits of one run of the drain; it has packs put together on the way.
const BATCHES: usize = 100;
/// Messages in the small and in the large archive.
const SMALL: usize = 1_000;
const LARGE: usize = 200_000;
/// Commits of one run on a grown archive: one of them puts packs together.
const GROWN_BATCHES: usize = 50;

/// Archives messages, against the same bytes given to `git` by hand.
pub(crate) fn drain(wanted: &Wanted) -> Vec<Row> {
    let source = Source::new(wanted, BATCHES * BATCH);
    let first = source.archiver("first.git");
    while first.step().expect("a commit").more {}
    let streams = streams_of(&source.path("first.git"));
    let events = source.kernel.head().borrow().get();
    let events = usize::try_from(events).expect("it is small");
    let mut number = 0;
    let pairs = Pairs::measure(|| {
        number += 1;
        let name = format!("archive-{number}.git");
        let archiver = source.archiver(&name);
        let hand = Hand::new(source.path(&format!("hand-{number}.git")));
        let mut took = [Duration::ZERO; 2];
        for stream in &streams {
            let started = Instant::now();
            assert!(archiver.step().expect("a commit").more);
            took[0] += started.elapsed();
            let started = Instant::now();
            hand.import(stream);
            took[1] += started.elapsed();
        }
        assert_eq!(head_of(&source.path(&name)), head_of(&hand.0));
        took.map(|took| per_second(events, took)).into()
    });
    let note = format!(
        "{events} events in commits of {BATCH}; the floor is one git fast-import of the same bytes \
         and one syncfs for each"
    );
    let target = Target::AtLeast(0.7);
    vec![Row::compared("archive_drain", "/s", &pairs, target, note)]
}

/// Archives some more messages into a large archive, and into a small one.
pub(crate) fn growth(wanted: &Wanted) -> Vec<Row> {
    let more = (crate::pairs::REPETITIONS * GROWN_BATCHES + 2) * BATCH;
    let grown = |count: usize| {
        let source = Source::new(wanted, count + more);
        let archiver = source.archiver("archive.git");
        for _ in 0..count / BATCH {
            archiver.step().expect("a commit");
        }
        (archiver, source)
    };
    let (large, _large) = grown(LARGE);
    let (small, _small) = grown(SMALL);
    let pairs = Pairs::measure(|| {
        let mut took = [Duration::ZERO; 2];
        for _ in 0..GROWN_BATCHES {
            for (archiver, took) in [&large, &small].into_iter().zip(&mut took) {
                let started = Instant::now();
                assert!(archiver.step().expect("a commit").more);
                *took += started.elapsed();
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "it is small")]
        let ms = |took: Duration| took.as_secs_f64() * 1e3 / GROWN_BATCHES as f64;
        (ms(took[0]), ms(took[1]))
    });
    let note = format!(
        "a commit of {BATCH} events on {LARGE} messages, against {SMALL}; the mean of \
         {GROWN_BATCHES}, packs put together among them"
    );
    let target = Target::AtMost(1.5);
    vec![Row::compared("archive_growth", "ms", &pairs, target, note)]
}

/// A log to be archived, and where archives of it go.
struct Source {
    kernel: Arc<Kernel>,
    options: Options,
    directory: TempDir,
}

impl Source {
    fn new(wanted: &Wanted, count: usize) -> Self {
        let directory = TempDir::new_in(&wanted.directory).expect("a directory");
        let base = SqliteBase::new(directory.path());
        let options = Options::sqlite(base.copy("archive.db"));
        let kernel = Arc::new(Kernel::open(options.clone()).expect("the kernel opens"));
        let messages = (0..count).map(message).collect();
        run_all(&kernel, &base.callers, messages);
        Self {
            kernel,
            options,
            directory,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn archiver(&self, name: &str) -> Archiver {
        let settings = Settings {
            repository: self.path(name),
            lock: self.path(&format!("{name}.lock")),
            batch_max: i64::try_from(BATCH).expect("it is small"),
        };
        let ambient = self.options.ambient.clone();
        Archiver::new(Arc::clone(&self.kernel), ambient, settings)
    }
}

/// A repository that is filled by hand.
struct Hand(PathBuf);

impl Hand {
    fn new(path: PathBuf) -> Self {
        std::fs::create_dir(&path).expect("a directory");
        git(&path, &["init", "-q", "--bare", "--template="], b"");
        Self(path)
    }

    fn import(&self, stream: &[u8]) {
        let arguments = ["fast-import", "--quiet", "--done", "--date-format=raw"];
        let settings = ["-c", "fastimport.unpackLimit=1"];
        git(&self.0, &[&settings[..], &arguments].concat(), stream);
        let directory = std::fs::File::open(&self.0).expect("a directory");
        rustix::fs::syncfs(&directory).expect("it is flushed");
    }
}

/// Runs `git` with this input; returns what it says.
fn git(directory: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .arg("--git-dir")
        .arg(directory)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git runs");
    let mut stdin = child.stdin.take().expect("its input is a pipe");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).expect("git takes it"));
        child.wait_with_output().expect("git ends")
    });
    assert!(output.status.success(), "git {arguments:?}");
    output.stdout
}

fn head_of(repository: &Path) -> Vec<u8> {
    git(repository, &["rev-parse", "refs/heads/main"], b"")
}

/// Makes the streams that make the commits of a repository again, byte for byte.
fn streams_of(repository: &Path) -> Vec<Vec<u8>> {
    let shown = git(
        repository,
        &[
            "log",
            "--reverse",
            "--root",
            "-r",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            "--format=%H",
            "refs/heads/main",
        ],
        b"",
    );
    let shown = String::from_utf8(shown).expect("names are plain");
    let mut commits: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for line in shown.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix(':') {
            None => commits.push((line, Vec::new())),
            Some(entry) => {
                let (facts, path) = entry.split_once('\t').expect("a path");
                let object = facts.split(' ').nth(3).expect("an object");
                let (_, files) = commits.last_mut().expect("a commit");
                files.push((object, path));
            }
        }
    }
    let mut names = String::new();
    for (commit, files) in &commits {
        let objects = files.iter().map(|(object, _)| *object);
        for object in std::iter::once(*commit).chain(objects) {
            writeln!(names, "{object}").expect("it is a string");
        }
    }
    let objects = objects_of(&git(repository, &["cat-file", "--batch"], names.as_bytes()));
    let mut parent = None;
    let stream = |(commit, files): &(&str, Vec<(&str, &str)>)| {
        let before = parent.replace((*commit).to_owned());
        stream_of(&objects, commit, files, before.as_deref())
    };
    commits.iter().map(stream).collect()
}

/// Takes apart what `cat-file --batch` says.
fn objects_of(mut said: &[u8]) -> HashMap<String, Vec<u8>> {
    let mut objects = HashMap::new();
    while let Some(end) = said.iter().position(|byte| *byte == b'\n') {
        let head = std::str::from_utf8(&said[..end]).expect("a line");
        let (name, size) = (head.split(' ').next(), head.rsplit(' ').next());
        let size: usize = size.and_then(|size| size.parse().ok()).expect("a size");
        let bytes = &said[end + 1..][..size];
        objects.insert(name.expect("a name").to_owned(), bytes.to_vec());
        said = &said[end + size + 2..];
    }
    objects
}

fn stream_of(
    objects: &HashMap<String, Vec<u8>>,
    commit: &str,
    files: &[(&str, &str)],
    parent: Option<&str>,
) -> Vec<u8> {
    let text = std::str::from_utf8(&objects[commit]).expect("a text");
    let (head, message) = text.split_once("\n\n").expect("a message");
    let people = head.lines().filter(|line| !line.starts_with("tree "));
    let people = people.filter(|line| !line.starts_with("parent "));
    let people: Vec<_> = people.collect();
    let from = parent.map_or_else(String::new, |parent| format!("from {parent}\n"));
    let (people, length) = (people.join("\n"), message.len());
    let mut stream = format!(
        "feature done\ncommit refs/heads/main\nmark :1\n{people}\ndata {length}\n{message}\n{from}"
    )
    .into_bytes();
    for (object, path) in files {
        let bytes = &objects[*object];
        let entry = format!("M 100644 inline {path}\ndata {}\n", bytes.len());
        stream.extend_from_slice(entry.as_bytes());
        stream.extend_from_slice(bytes);
        stream.push(b'\n');
    }
    stream.extend_from_slice(b"done\n");
    stream
}

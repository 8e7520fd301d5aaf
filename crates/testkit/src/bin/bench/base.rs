//! The database that all measurements start from: projects, and an operator's token per caller.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use comity_domain::AgentName;
use comity_kernel::agent::RegisterAgent;
use comity_kernel::ambient::Ambient;
use comity_kernel::failpoint::Failpoints;
use comity_kernel::mail::SendMessage;
use comity_kernel::project::EnsureProject;
use comity_kernel::store::recording::{Recorder, Transaction};
use comity_kernel::token::CreateToken;
use comity_kernel::{Actor, Command, Kernel, Options};
use comity_testkit::kit::request;
use comity_testkit::{ManualClock, SeededEntropy};
use serde_json::json;

/// The project of all agents.
pub(crate) const PROJECT: &str = "/srv/bench";
/// A project that only readers look at, so that what they read stays as it is.
pub(crate) const QUIET: &str = "/srv/quiet";
/// The agent that all messages are for.
pub(crate) const READER: &str = "Reader";
/// Callers that wait for their answers side by side.
pub(crate) const CALLERS: usize = 64;

/// A clock that stands and randomness that repeats: a base is the same wherever it is made, and
/// what was recorded on one can be issued by hand on another.
fn still(clock: ManualClock) -> Ambient {
    Ambient {
        clock: Arc::new(clock),
        entropy: Arc::new(SeededEntropy::new(1)),
        failpoints: Failpoints::default(),
    }
}

/// Makes the base; returns who may call. Their ids are the same in every base.
pub(crate) fn make(mut options: Options) -> Vec<Actor> {
    options.ambient = still(ManualClock::default());
    let kernel = Kernel::open(options).expect("the kernel opens");
    prepare_project(&kernel);
    let quiet: EnsureProject = request(&json!({ "key": QUIET }));
    run(&kernel, quiet);
    let reader: RegisterAgent = request(&json!({
        "project": PROJECT, "name": READER, "program": "bench", "model": "none",
    }));
    run(&kernel, reader);
    let make_caller = |_| {
        let token: CreateToken = request(&json!({ "role": "operator" }));
        let made = run(&kernel, token).token;
        Actor::Operator {
            token: Some(made.id),
        }
    };
    let callers = (0..CALLERS).map(make_caller).collect();
    kernel.stop();
    callers
}

/// Makes the project of all agents.
pub(crate) fn prepare_project(kernel: &Kernel) {
    let project: EnsureProject = request(&json!({ "key": PROJECT }));
    run(kernel, project);
}

fn run<C: Command>(kernel: &Kernel, command: C) -> C::Answer {
    let ticket = kernel.execute(Actor::OPERATOR.into(), command);
    ticket.wait().expect("the operator may").answer
}

/// A base in a SQLite file.
pub(crate) struct SqliteBase {
    path: PathBuf,
    pub(crate) callers: Vec<Actor>,
}

impl SqliteBase {
    pub(crate) fn new(directory: &Path) -> Self {
        let path = directory.join("base.db");
        let callers = make(Options::sqlite(&path));
        Self { path, callers }
    }

    /// Adds more to the base.
    pub(crate) fn add(&self, more: fn(&Kernel)) {
        let mut options = Options::sqlite(&self.path);
        options.ambient = still(ManualClock::default());
        let kernel = Kernel::open(options).expect("the kernel opens");
        more(&kernel);
        kernel.stop();
    }

    /// Copies the base under another name.
    pub(crate) fn copy(&self, name: &str) -> PathBuf {
        let target = self.path.with_file_name(name);
        for end in ["", "-wal"] {
            let beside = |path: &Path| PathBuf::from(format!("{}{end}", path.display()));
            let (from, to) = (beside(&self.path), beside(&target));
            if from.exists() {
                std::fs::copy(from, to).expect("the base can be copied");
            } else if to.exists() {
                std::fs::remove_file(to).expect("an old copy can be removed");
            }
        }
        target
    }
}

/// Runs the commands one by one, each in a transaction of its own, and writes their SQL down.
pub(crate) fn record<C: Command + Clone>(
    mut options: Options,
    callers: &[Actor],
    commands: &[C],
) -> Vec<Transaction> {
    let recorder = Recorder::default();
    let tomorrow = ManualClock::default();
    // The lease clock of a PostgreSQL base begins when it is made. The recorded mark must lie
    // ahead of that of every base the statements are issued on.
    tomorrow.advance_us(24 * 60 * 60 * 1_000_000);
    options.ambient = still(tomorrow);
    options.recorder = Some(recorder.clone());
    let kernel = Kernel::open(options).expect("the kernel opens");
    for (command, caller) in commands.iter().zip(callers.iter().cycle()) {
        let ticket = kernel.execute(caller.clone().into(), command.clone());
        ticket.wait().expect("it is done");
    }
    kernel.stop();
    let script = recorder.take();
    assert_eq!(script.len(), commands.len(), "a transaction for each");
    script
}

/// Messages as agents write them: a subject, and a body of some eighty words.
pub(crate) fn messages(count: usize) -> Vec<SendMessage> {
    (0..count).map(message).collect()
}

/// The `nth` message.
pub(crate) fn message(nth: usize) -> SendMessage {
    request(&message_json(nth))
}

/// The `nth` message as it is sent over HTTP.
pub(crate) fn message_json(nth: usize) -> serde_json::Value {
    const FIRST: [&str; 16] = [
        "par", "tok", "test", "gre", "log", "for", "lea", "mer", "bra", "src", "rev", "ple", "fai",
        "sin", "com", "dep",
    ];
    const SECOND: [&str; 16] = [
        "ser", "enize", "s", "en", "in", "m", "se", "ge", "nch", "auth", "iew", "ase", "ling",
        "ce", "mit", "loy",
    ];
    // Some 250 words, drawn as if by chance: most words of a message are there once, and each word
    // is in every third message.
    let drawn = |at: usize| (nth * 80 + at + 1).wrapping_mul(2_654_435_761) >> 7;
    let word = |at: usize| format!("{}{}", FIRST[drawn(at) % 16], SECOND[drawn(at) / 16 % 16]);
    let body: Vec<String> = (0..80).map(word).collect();
    json!({
        "project": PROJECT, "to": [READER],
        "subject": format!("{} {} TKT-{nth}", word(90), word(91)), "body": body.join(" "),
    })
}

/// Requests for agents that have nothing special about them.
pub(crate) fn agents(count: usize) -> Vec<RegisterAgent> {
    let first = some_agent();
    (0..count).map(|nth| named(&first, nth)).collect()
}

/// A request for one agent.
pub(crate) fn some_agent() -> RegisterAgent {
    request(&json!({
        "project": PROJECT,
        "program": "claude-code",
        "model": "a-model-of-this-year",
        "task": "Move the parser to the new tokenizer and keep its tests green",
    }))
}

/// The same request for the `nth` agent.
pub(crate) fn named(agent: &RegisterAgent, nth: usize) -> RegisterAgent {
    RegisterAgent {
        name: AgentName::parse(&format!("Agent-{nth:06}")).ok(),
        ..agent.clone()
    }
}

//! One kernel on either engine, checked when the test is over.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use comity_archive::store::Past;
use comity_kernel::actor::IdempotencyKey;
use comity_kernel::agent::{Agent, RegisterAgent};
use comity_kernel::ambient::Ambient;
use comity_kernel::doctor::Findings;
use comity_kernel::failpoint::Failpoints;
use comity_kernel::log::Recorded;
use comity_kernel::options::Database;
use comity_kernel::project::{EnsureProject, Project};
use comity_kernel::store::PostgresTarget;
use comity_kernel::transfer::{replay_events, replay_log};
use comity_kernel::{Actor, AsOf, Caller, Error, Kernel, Options, Query, Reply};
use tempfile::TempDir;

use crate::crash::Target;
use crate::leases::{self, History};
use crate::{ManualClock, SeededEntropy};

/// Which database a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A file of its own.
    Sqlite,
    /// A schema of its own on the server that `COMITY_TEST_POSTGRES` names.
    Postgres,
}

/// A kernel with its database, clock and failpoints, alone in the world.
///
/// When it is dropped it examines the database as `doctor` does: the chain, the fold and the
/// revisions must hold after every test (C1, I1). Then the judge of leases reads the log (F1).
pub struct Kit {
    kernel: Option<Arc<Kernel>>,
    directory: TempDir,
    options: Options,
    /// The clock the kernel reads.
    pub clock: Arc<ManualClock>,
    /// The kernel's failpoints.
    pub failpoints: Failpoints,
    check_at_end: bool,
    schema: Option<String>,
}

impl Kit {
    /// Opens a kernel with everything as usual.
    pub fn new(engine: Engine) -> Self {
        Self::with(engine, |_| {})
    }

    /// Opens the database again with some options changed.
    pub fn reopen(&mut self, change: impl FnOnce(&mut Options)) -> Result<(), Error> {
        self.kernel = None;
        change(&mut self.options);
        self.kernel = Some(Arc::new(Kernel::open(self.options.clone())?));
        Ok(())
    }

    /// Opens a kernel with some options changed.
    pub fn with(engine: Engine, change: impl FnOnce(&mut Options)) -> Self {
        let mut kit = Self::closed(engine);
        change(&mut kit.options);
        kit.restart();
        kit
    }

    /// Opens a kernel on a database that a log was replayed into.
    pub fn from_log(engine: Engine, log: &[Recorded]) -> Self {
        let mut kit = Self::closed(engine);
        replay_events(log, &kit.options).expect("the log folds");
        kit.restart();
        kit
    }

    /// A fresh database that no kernel runs on yet.
    fn closed(engine: Engine) -> Self {
        let mut private = tempfile::Builder::new();
        private.permissions(Permissions::from_mode(0o700));
        let directory = private.tempdir().expect("a temporary directory");
        let clock = Arc::new(ManualClock::default());
        let failpoints = Failpoints::default();
        let (mut options, schema) = options_for(engine, directory.path());
        options.ambient = Ambient {
            clock: Arc::clone(&clock) as Arc<_>,
            entropy: Arc::new(SeededEntropy::new(1)),
            failpoints: failpoints.clone(),
        };
        options.readers = 2;
        let archive = directory.path().join("archive.git");
        options.history = Some(Arc::new(Past::of(archive)));
        Self {
            kernel: None,
            directory,
            options,
            clock,
            failpoints,
            check_at_end: true,
            schema,
        }
    }

    /// Returns the running kernel.
    pub fn kernel(&self) -> &Kernel {
        self.kernel.as_ref().expect("the kernel runs")
    }

    /// Returns the running kernel for a server to stand around; it must end before the kit does.
    pub fn share(&self) -> Arc<Kernel> {
        Arc::clone(self.kernel.as_ref().expect("the kernel runs"))
    }

    /// Returns how the kernel was opened, to open another one on the same database.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the directory that belongs to this test.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Stops the kernel and opens the database again.
    pub fn restart(&mut self) {
        self.kernel = None;
        let kernel = Kernel::open(self.options.clone()).expect("the kernel opens again");
        self.kernel = Some(Arc::new(kernel));
    }

    /// Stops the kernel.
    pub fn stop(&mut self) {
        self.kernel = None;
    }

    /// Runs SQL in the engine's own shell, as a stranger with a connection would.
    ///
    /// Answers what the shell printed, or its complaint.
    pub fn shell(&self, sql: &str) -> Result<String, String> {
        let output = match &self.options.database {
            Database::Sqlite(file) => {
                let mut shell = Command::new("sqlite3");
                shell.arg("-bail").arg(&file.path).arg(sql).output()
            }
            Database::Postgres(_) => {
                let mut shell = psql();
                let place = format!("set search_path to {}", self.schema_name());
                shell.arg("-c").arg(place).arg("-c").arg(sql).output()
            }
        };
        printed(&output.expect("the shell runs"))
    }

    /// Fills a stopped database with rows as they are, past the triggers that keep others from it.
    pub fn fill(&self, sql: &str) -> Result<String, String> {
        let (mut shell, first) = match &self.options.database {
            Database::Sqlite(file) => {
                let mut shell = Command::new("sqlite3");
                shell.arg("-bail").arg(&file.path);
                (shell, ".dbconfig enable_trigger off\n".to_owned())
            }
            Database::Postgres(_) => {
                let place = format!("set search_path to {};\n", self.schema_name());
                (psql(), place + "set session_replication_role = replica;\n")
            }
        };
        // An argument holds no more than 128 KiB.
        shell.stdin(Stdio::piped());
        shell.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn().expect("the shell runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        // A shell that fails reads no further, and says why.
        let _ = stdin.write_all((first + sql).as_bytes());
        drop(stdin);
        printed(&child.wait_with_output().expect("the shell ends"))
    }

    fn schema_name(&self) -> &str {
        let url = self.schema.as_deref();
        let (_, schema) = url
            .and_then(|url| url.split_once("schema="))
            .expect("a schema");
        schema
    }

    /// Examines the database as `doctor` does.
    pub fn doctor(&self) -> Findings {
        self.kernel()
            .doctor(self.directory.path())
            .expect("the doctor can look")
    }

    /// Judges the leases by the log, with none of the product's own rules.
    pub fn judge_leases(&mut self) -> Result<History, String> {
        let pruned = self.shell("select pruned_to from log_head where pruned_to > 0");
        if pruned.is_ok_and(|pruned| !pruned.trim().is_empty()) {
            return self.judge_the_whole_log();
        }
        leases::judge(self.kernel()).or_else(|_| {
            // A kernel that was told to stop, or gave up, answers nobody.
            self.restart();
            leases::judge(self.kernel())
        })
    }

    /// Judges the leases of a log that was pruned, on a copy that has all of it.
    fn judge_the_whole_log(&self) -> Result<History, String> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (copy, _) = options_for(Engine::Sqlite, directory.path());
        let failed = |error: Error| error.to_string();
        replay_log(&self.options, &copy, |_, _| {}).map_err(failed)?;
        leases::judge(&Kernel::open(copy).map_err(failed)?)
    }

    /// Names the database for another process.
    pub fn target(&self) -> Target {
        let file = || Target::Sqlite(self.directory.path().join("comity.db"));
        self.schema.clone().map_or_else(file, Target::Postgres)
    }

    /// Leaves the database unexamined: the test broke it on purpose.
    pub fn expect_damage(&mut self) {
        self.check_at_end = false;
    }

    /// Runs a command as the operator.
    pub fn run<C: comity_kernel::Command>(&self, command: C) -> Result<Reply<C::Answer>, Error> {
        self.run_as(Actor::OPERATOR, command)
    }

    /// Runs a command as somebody.
    pub fn run_as<C: comity_kernel::Command>(
        &self,
        caller: impl Into<Caller>,
        command: C,
    ) -> Result<Reply<C::Answer>, Error> {
        self.kernel().execute(caller.into(), command).wait()
    }

    /// Asks as the operator.
    pub fn ask<Q: Query>(&self, query: Q) -> Result<AsOf<Q::Answer>, Error> {
        self.ask_as(Actor::OPERATOR, query)
    }

    /// Asks as somebody.
    pub fn ask_as<Q: Query>(&self, actor: Actor, query: Q) -> Result<AsOf<Q::Answer>, Error> {
        self.kernel().query(actor, query).wait()
    }

    /// Calls an operation by name, as surfaces do.
    pub fn call(
        &self,
        caller: impl Into<Caller>,
        operation: &str,
        request: &serde_json::Value,
    ) -> Result<serde_json::Value, Error> {
        let operation = comity_kernel::operation::find(operation)?;
        let call = (operation.call)(self.kernel(), caller.into(), request.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let outcome = runtime.expect("a runtime").block_on(call)?;
        Ok(outcome.answer)
    }

    /// Makes or finds a project.
    pub fn project(&self, key: &str) -> Project {
        let command: EnsureProject = request(&serde_json::json!({ "key": key }));
        self.run(command).expect("a project").answer.project
    }

    /// Registers an agent and authenticates it with the token it got.
    pub fn agent(&self, project: &str, name: &str) -> (Agent, Actor) {
        self.agent_with(project, name, &[])
    }

    /// The same, with rights.
    pub fn agent_with(&self, project: &str, name: &str, rights: &[&str]) -> (Agent, Actor) {
        let command: RegisterAgent = request(&serde_json::json!({
            "project": project, "name": name, "program": "test", "model": "none",
            "rights": rights,
        }));
        let registered = self.run(command).expect("an agent").answer;
        let token = registered.secret.expect("a token").reveal();
        let actor = self.kernel().authenticate(&token).wait().expect("an actor");
        (registered.agent, actor.answer)
    }
}

impl Drop for Kit {
    fn drop(&mut self) {
        if self.check_at_end && !std::thread::panicking() {
            if self.kernel.is_none() {
                self.restart();
            }
            let findings = self.doctor();
            assert!(findings.ok, "{findings:#?}");
            if let Err(what) = self.judge_leases() {
                panic!("{what}");
            }
        }
        self.kernel = None;
        if let Some(schema) = &self.schema {
            drop_schema(schema);
        }
    }
}

/// The operator with an idempotency key.
pub fn operator_with_key(key: &str) -> Caller {
    Caller::from(Actor::OPERATOR).with_key(IdempotencyKey::parse(key).expect("a key"))
}

/// Makes a request the way a surface does: from JSON.
pub fn request<T: serde::de::DeserializeOwned>(json: &serde_json::Value) -> T {
    comity_domain::json::decode(json.clone()).expect("a valid request")
}

/// A request to register an agent.
pub fn register(project: &str, name: &str) -> RegisterAgent {
    request(&serde_json::json!({
        "project": project, "name": name, "program": "test", "model": "none",
    }))
}

/// Returns options for a fresh database of an engine, and the schema's URL to drop afterwards.
pub fn options_for(engine: Engine, directory: &Path) -> (Options, Option<String>) {
    match engine {
        Engine::Sqlite => {
            let mut options = Options::sqlite(directory.join("comity.db"));
            options.backups = Some(directory.to_owned());
            options.exports = Some(directory.join("exports"));
            (options, None)
        }
        Engine::Postgres => {
            let url = fresh_schema_url();
            let mut options = Options::postgres(&url).expect("a PostgreSQL URL");
            options.exports = Some(directory.join("exports"));
            (options, Some(url))
        }
    }
}

/// Returns the URL of a schema that nobody else uses.
pub fn fresh_schema_url() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let server = postgres_server();
    let number = COUNTER.fetch_add(1, Ordering::SeqCst);
    let joint = if server.contains('?') { '&' } else { '?' };
    format!("{server}{joint}schema=t{}_{number}", std::process::id())
}

fn psql() -> Command {
    let mut shell = Command::new("psql");
    shell.args(["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1"]);
    shell.arg(postgres_server());
    shell
}

/// Returns what a shell printed, or why it failed.
fn printed(output: &Output) -> Result<String, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(text(&output.stderr))
}

fn postgres_server() -> String {
    std::env::var("COMITY_TEST_POSTGRES")
        .expect("COMITY_TEST_POSTGRES names a PostgreSQL server; `scripts/test` starts one")
}

/// Removes a schema that [`fresh_schema_url`] named.
pub fn drop_schema(url: &str) {
    let target = PostgresTarget::parse(url).expect("the schema's URL");
    comity_kernel::store::drop_schema(&target).expect("the schema can be dropped");
}
